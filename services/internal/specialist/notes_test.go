package specialist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/wording"
)

// Models copy what tools tell them.
func TestNotesOfToolsAreNotShownRaw(t *testing.T) {
	def := specialist.Definition{
		Name: "lamps", Purpose: "Finds lamps.", Prompt: "You find lamps.",
		Tools: func(*specialist.Turn) []agentloop.Tool {
			return []agentloop.Tool{agentloop.NewTool("look", "Looks for lamps.", func(_ context.Context, in lookArgs) (any, error) {
				if in.What == "broken" {
					return nil, errors.New("the catalog cannot be read now; say so, and name no price")
				}
				return map[string]any{
					"lamps": []any{map[string]any{"note": "Sold out: Dune Lamp."}}, "note": "No lamp is blue.", "instruction": "Say what comes nearest. Do not guess.",
				}, nil
			})}
		},
	}
	const english, german = "do you have a blue lamp for my desk?", "haben Sie eine blaue Lampe für meinen Schreibtisch?"
	for _, tt := range []struct{ name, what, asked, said, want string }{
		{"a fact in English", "lamp", english, "No lamp is blue. The nearest is red.", "No lamp is blue. The nearest is red."},
		{"a fact in another language", "lamp", german, "No lamp is blue.  Am nächsten kommt Rot.", "Am nächsten kommt Rot."},
		{"in a list", "lamp", german, "Leider nicht:\n- Sold out: Dune Lamp.", "Leider nicht:"},
		{"an instruction", "lamp", english, "No lamp is blue. Say what comes nearest. Do not guess!", "No lamp is blue."},
		{"one's own words", "lamp", english, "I do not want to guess.", "I do not want to guess."},
		{"an error", "broken", english, "The catalog cannot be read now; say so, and name no price.", fmt.Sprintf(wording.In("en").Unanswered, english)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model := scripted.New(look(tt.what), scripted.Step{Text: tt.said})
			r, err := ask(t, serve(t, def, model), &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: tt.asked, Message: tt.asked})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.answer.GetText(); got != tt.want {
				t.Errorf("text %q, want %q", got, tt.want)
			}
		})
	}
}
