package e2e

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// A bare answer goes to the specialist that asked, whatever its words. A message with a request of its own does not.
func TestTheAnswerToAQuestionGoesToTheSpecialistThatAsked(t *testing.T) {
	const asked, question = "I want to send something back", "Which item do you mean?"
	for _, c := range []struct {
		answer, to string
		model      bool // asks again
	}{
		{"the trail running shoes, size 42", suite.Support, true},
		{"die Schuhe, Größe 42", suite.Support, true},
		{"les chaussures, taille 42", suite.Support, true},
		{"los zapatos, talla 42", suite.Support, true},
		{"Do you have a two-person tent under 200 euros?", suite.Search, false},
	} {
		t.Run(c.answer, func(t *testing.T) {
			redisServer, err := state.Embedded()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = redisServer.Close() })
			var prompts []string
			m := scripted.Func(func(req *agentloop.Request) scripted.Step {
				prompts = append(prompts, req.Messages[0].Text)
				if len(prompts) == 1 {
					return scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "ask_shopper", Arguments: `{"question":"` + question + `"}`}}}
				}
				return scripted.Step{Text: "All right."}
			})
			h := newSystemWith(t, redisServer.URL(), newBrain(t), func(cfg *suite.Config) {
				cfg.Model, cfg.FastModel = &model.Traced{Model: m}, nil // the classifier routes
			})
			first := h.ask(t, asked)
			if first.GetClarifyingQuestion().GetText() != question || !slices.Equal(specialists(first), []string{suite.Support}) {
				t.Fatalf("%v asks %v", specialists(first), first.GetClarifyingQuestion())
			}
			reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{
				StoreId: "demo", CustomerId: "ava", ThreadId: first.GetThreadId(), Message: c.answer,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := specialists(reply); !slices.Equal(got, []string{c.to}) {
				t.Errorf("answered by %v, want %s", got, c.to)
			}
			if last := prompts[len(prompts)-1]; strings.Contains(last, "<asked>\n"+asked+"\n"+question+"\n</asked>") != c.model {
				t.Errorf("the specialist is told of the question: %v, want %v:\n%s", !c.model, c.model, last)
			}
		})
	}
}
