package specialist_test

import (
	"context"
	"slices"
	"testing"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
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
		{"a price is invented", "The Dune Lamp costs 39.00 EUR, and 7 are left.", []string{"39.00 EUR"}, 2},
		{"all is invented", "The Dune Lamp costs $49 with the code LAMP-8.", []string{"$49", "LAMP-8"}, 2},
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
			if lowered := a.GetConfidence() < 0.4; lowered != (tt.unsupported != nil) {
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
