package specialist_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/specialist"
)

// A specialist is a purpose, a prompt and tools. Serve serves it; here it is asked without a network, and a script plays the model.
func Example() {
	def := specialist.Definition{
		Name:    "repairs",
		Purpose: "Says how long repairs take. Not for orders.",
		Prompt:  "You answer questions about repairs. Look the time up.",
		Tools: func(t *specialist.Turn) []agentloop.Tool {
			return []agentloop.Tool{agentloop.NewTool("repair_time", "How many days a repair takes.",
				func(_ context.Context, in struct {
					Item string `json:"item"`
				}) (string, error) {
					t.Found(1)
					return fmt.Sprintf("%s in store %s: 6 days", in.Item, t.StoreID()), nil
				})}
		},
	}
	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "repair_time", Arguments: `{"item":"tent"}`}}},
		scripted.Step{Text: "A tent takes 6 days. It costs 30.00 EUR."},
	)
	s, err := specialist.New(def, specialist.Config{Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := s.Ask(context.Background(), "demo", "How long does it take to repair a tent?")
	fmt.Println(answer.GetText(), err)
	fmt.Println("no tool said:", answer.GetUnsupportedClaims())
	// Output:
	// A tent takes 6 days. <nil>
	// no tool said: [30.00 EUR]
}

func TestWhatATurnNotesIsInTheAnswer(t *testing.T) {
	def := specialist.Definition{
		Name: "repairs", Purpose: "Repairs.", Prompt: "Repairs.",
		Tools: func(turn *specialist.Turn) []agentloop.Tool {
			return []agentloop.Tool{agentloop.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) {
				turn.AddProducts(&specialistv1.ProductChoice{ProductId: "P1", Title: "Seam tape"}, &specialistv1.ProductChoice{ProductId: "P2", Title: "Zip"})
				turn.AddActions(&specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{Reason: "asked"}}})
				return "Seam tape", nil
			})}
		},
	}
	model := scripted.New(scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "look"}}}, scripted.Step{Text: "Use the Seam tape."})
	s, err := specialist.New(def, specialist.Config{Model: model})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Ask(t.Context(), "demo", "what mends a tent")
	if err != nil {
		t.Fatal(err)
	}
	if p := answer.GetProducts(); len(p) != 1 || p[0].GetProductId() != "P1" {
		t.Errorf("products %v", p)
	}
	if a := answer.GetSuggestedActions(); len(a) != 1 || a[0].GetHandOff() == nil {
		t.Errorf("actions %v", a)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	full := specialist.Definition{Name: "repairs", Purpose: "Repairs.", Prompt: "Repairs."}
	model := scripted.New()
	nameless, named := full, full
	nameless.Name, named.Name = "", "Repairs!"
	for want, make := range map[string]func() error{
		"needs a name": func() error { _, err := specialist.New(nameless, specialist.Config{Model: model}); return err },
		"lower-case":   func() error { _, err := specialist.New(named, specialist.Config{Model: model}); return err },
		"Model":        func() error { _, err := specialist.New(full, specialist.Config{}); return err },
		"ScopeKeys": func() error {
			s, err := specialist.New(full, specialist.Config{Model: model})
			if err != nil {
				return err
			}
			return s.Serve(t.Context())
		},
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}
