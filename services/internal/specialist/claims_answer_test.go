package specialist_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/confidence"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// pricedLamps is a specialist whose tool returns a price.
var pricedLamps = specialist.Definition{
	Name: "lamps", Purpose: "Finds lamps.", Prompt: "You find lamps, 3 at most.",
	Tools: func(t *specialist.Turn) []agentloop.Tool {
		return []agentloop.Tool{agentloop.NewTool("look", "Looks for lamps.", func(context.Context, lookArgs) (any, error) {
			t.Found(1)
			t.AddProducts(&specialistv1.ProductChoice{ProductId: "L1", Title: "Dune Lamp", Price: eur(4900)})
			return map[string]any{"title": "Dune Lamp", "price": "49.00 EUR", "stock": 7}, nil
		})}
	},
}

func TestClaimsWithoutSupportLowerTheConfidence(t *testing.T) {
	for _, tt := range []struct {
		name, text  string
		unsupported []string
		claims      int32
	}{
		{"all are supported", "The Dune Lamp costs €49, and 7 are left.", nil, 2},
		{"what the shopper wrote is repeated", "Under 60 EUR there is the Dune Lamp, 49 EUR.", nil, 2},
		{"there are none", "The Dune Lamp.", nil, 0},
		{"what the prompt says is no support", "Here are 3.", []string{"3"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", Message: "a lamp under 60 euros, and my order"}
			r, err := ask(t, serve(t, pricedLamps, scripted.New(look("lamp"), scripted.Step{Text: tt.text})), req)
			if err != nil {
				t.Fatal(err)
			}
			a := r.answer
			if !slices.Equal(a.GetUnsupportedClaims(), tt.unsupported) || a.GetClaims() != tt.claims {
				t.Errorf("unsupported of %d claims are %q, want %q of %d", a.GetClaims(), a.GetUnsupportedClaims(), tt.unsupported, tt.claims)
			}
			if lowered := a.GetConfidence() < confidence.HandoffBelow; lowered != (tt.unsupported != nil) {
				t.Errorf("confidence is %v", a.GetConfidence())
			}
			if a.GetText() != tt.text {
				t.Errorf("the text was changed: %q", a.GetText())
			}
		})
	}
}

func TestAtMostTenClaimsAreNamed(t *testing.T) {
	text := "It has 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112 and 112 lamps."
	r, err := ask(t, serve(t, pricedLamps, scripted.New(look("lamp"), scripted.Step{Text: text})), question)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.answer; len(a.GetUnsupportedClaims()) != 10 || a.GetClaims() != 13 {
		t.Errorf("%d of %d claims are named, confidence %v", len(a.GetUnsupportedClaims()), a.GetClaims(), a.GetConfidence())
	}
}

// What code makes of the findings when a model cannot be asked any more is not held against them again.
func TestWhatCodeSaysMakesNoClaims(t *testing.T) {
	call := look("lamp")
	call.Usage = &agentloop.Usage{InputTokens: 2000, OutputTokens: 1000}
	def := pricedLamps
	def.Tools = func(t *specialist.Turn) []agentloop.Tool {
		return []agentloop.Tool{agentloop.NewTool("look", "Looks for lamps.", func(context.Context, lookArgs) (string, error) {
			t.Found(1)
			t.AddProducts(&specialistv1.ProductChoice{ProductId: "L1", Title: "Dune Lamp", Price: eur(4900)})
			return "found", nil
		})}
	}
	req := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", Budget: &commonv1.Budget{MaxTokens: 3200}}
	r, err := ask(t, serve(t, def, scripted.New(call)), req)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.answer; a.GetText() != "- Dune Lamp, 49.00 EUR" || a.GetClaims() != 0 || len(a.GetUnsupportedClaims()) > 0 {
		t.Errorf("%q makes %d claims, unsupported %q, confidence %v", a.GetText(), a.GetClaims(), a.GetUnsupportedClaims(), a.GetConfidence())
	}
}

// sold is a specialist whose tool returns two products with ids.
var sold = specialist.Definition{
	Name: "lamps", Purpose: "Finds lamps.", Prompt: "You find lamps.",
	Tools: func(t *specialist.Turn) []agentloop.Tool {
		return []agentloop.Tool{agentloop.NewTool("look", "Looks for lamps.", func(context.Context, lookArgs) (any, error) {
			t.Found(2)
			t.AddProducts(&specialistv1.ProductChoice{ProductId: "L-1", Title: "Dune Lamp", Price: eur(4900)})
			return map[string]any{"lamps": []map[string]any{
				{"product_id": "L-1", "title": "Dune Lamp", "price": "49.00 EUR"},
				{"product_id": "L-2", "title": "Reed Lamp", "price": "81.00 EUR", "was": "95.00 EUR"},
			}}, nil
		})}
	},
}

func TestClaimRules(t *testing.T) {
	const (
		amount   = specialistv1.ClaimKind_CLAIM_KIND_AMOUNT
		number   = specialistv1.ClaimKind_CLAIM_KIND_NUMBER
		pass     = specialistv1.ClaimAction_CLAIM_ACTION_PASS
		drop     = specialistv1.ClaimAction_CLAIM_ACTION_DROP
		askAgain = specialistv1.ClaimAction_CLAIM_ACTION_ASK_AGAIN
		handOff  = specialistv1.ClaimAction_CLAIM_ACTION_HAND_OFF
	)
	rule := func(kind specialistv1.ClaimKind, action specialistv1.ClaimAction) []*specialistv1.ClaimRule {
		return []*specialistv1.ClaimRule{{Kind: kind, Action: action}}
	}
	for _, tt := range []struct {
		name  string
		rules []*specialistv1.ClaimRule
		texts []string // of the model, one after the other
		want  string
		lost  []string
	}{
		{"an honest answer", nil, []string{"The Dune Lamp is 49 EUR. The Reed Lamp is 81 EUR."}, "The Dune Lamp is 49 EUR. The Reed Lamp is 81 EUR.", nil},
		{"a price is invented", nil, []string{"Take the Dune Lamp at 39 EUR.\nIt is warm."}, "It is warm.", []string{"39 EUR"}},
		{"the other's price", nil, []string{"- Dune Lamp: 81 EUR\n- Reed Lamp: 81 EUR"}, "- Dune Lamp: 49.00 EUR\n- Reed Lamp: 81 EUR", []string{"81 EUR"}},
		{"the other's earlier price", nil, []string{"The Dune Lamp is 95 EUR. It is warm."}, "It is warm.", []string{"95 EUR"}},
		{"no subject", nil, []string{"It is warm. It is 39 EUR with SPRING-20. Fine."}, "It is warm. Fine.", []string{"39 EUR", "SPRING-20"}},
		{"a number", nil, []string{"It has 12 lights."}, "It has 12 lights.", []string{"12"}},
		{"a measure", nil, []string{"It has 12 watts. It is warm."}, "It is warm.", []string{"12"}},
		{"a period in words", nil, []string{"You have thirty days to return it. It is warm."}, "It is warm.", []string{"thirty"}},
		{"nothing is left, but what the tools found", nil, []string{"Use SPRING-20."}, "- Dune Lamp, 49.00 EUR", []string{"SPRING-20"}},
		{"amounts pass", rule(amount, pass), []string{"It is 39 EUR."}, "It is 39 EUR.", []string{"39 EUR"}},
		{"numbers are dropped", rule(number, drop), []string{"It has 12 lights. It is warm."}, "It is warm.", []string{"12"}},
		{"ask again", rule(amount, askAgain), []string{"It is warm. It is 39 EUR. It is red.", "It is 49 EUR. It is red."}, "It is warm. It is 49 EUR. It is red.", []string{"39 EUR"}},
		{"ask again at the start", rule(amount, askAgain), []string{"It is 39 EUR.", "It is 49 EUR."}, "It is 49 EUR.", []string{"39 EUR"}},
		{"ask again only once", rule(amount, askAgain), []string{"It is warm. It is 39 EUR.", "It is 38 EUR. It is red."}, "It is warm. It is red.", []string{"39 EUR", "38 EUR"}},
		{"hand off", rule(amount, handOff), []string{"It is warm. It is 39 EUR."}, "It is warm.", []string{"39 EUR"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps := []scripted.Step{look("lamp")}
			for _, text := range tt.texts {
				steps = append(steps, scripted.Step{Text: text, ChunkSize: 5})
			}
			model := scripted.New(steps...)
			req := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", ClaimRules: tt.rules}
			r, err := ask(t, serve(t, sold, model), req)
			if err != nil {
				t.Fatal(err)
			}
			if r.answer.GetText() != tt.want || r.text != tt.want || model.Remaining() > 0 {
				t.Errorf("%q, deltas add up to %q, %d steps left; want %q", r.answer.GetText(), r.text, model.Remaining(), tt.want)
			}
			if !slices.Equal(r.answer.GetUnsupportedClaims(), tt.lost) {
				t.Errorf("unsupported claims %q, want %q", r.answer.GetUnsupportedClaims(), tt.lost)
			}
			handsOff := slices.ContainsFunc(r.answer.GetSuggestedActions(), func(a *specialistv1.SuggestedAction) bool { return a.GetHandOff() != nil })
			if handsOff != (tt.name == "hand off") {
				t.Errorf("suggested actions %v", r.answer.GetSuggestedActions())
			}
		})
	}
}

func TestBadClaimRulesAreRefused(t *testing.T) {
	req := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", ClaimRules: []*specialistv1.ClaimRule{
		{}, {Kind: 99, Action: 1}, {Kind: 1, Action: 99}, {Kind: 1, Action: 1},
	}}
	_, err := ask(t, serve(t, sold, scripted.New()), req)
	var fields []string
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	want := []string{"claim_rules[0].kind", "claim_rules[0].action", "claim_rules[1].kind", "claim_rules[2].action", "claim_rules[3].kind"}
	if !slices.Equal(fields, want) {
		t.Errorf("violations of %v, want %v", fields, want)
	}
}
