package merge

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

func TestAModelJudgesTheMerge(t *testing.T) {
	const kettle, terms = "The kettle Brine is 39 EUR and holds 1.7 litres.", "You can return it within 30 days."
	for _, tt := range []struct {
		name, merged string
		verdict      scripted.Step
		want         string
		lost         string
	}{
		{"all is right", "The Brine is 39 EUR, for 1.7 litres. Return it within 30 days.", scripted.Step{Text: `{"wrong":[]}`}, "The Brine is 39 EUR, for 1.7 litres. Return it within 30 days.", ""},
		{"a sentence is wrong", "The Brine is 39 EUR and holds 1.7 litres. It whistles. Return it within 30 days.", scripted.Step{Text: `{"wrong":[{"sentence":2,"why":"no answer says so"}]}`},
			"The Brine is 39 EUR and holds 1.7 litres. Return it within 30 days.", "It whistles. (judge: no answer says so)"},
		{"code doubts what the model finds right", "The Brine is 39 EUR and holds 1.7 litres, 8 cups or so. Return it within 30 days.", scripted.Step{Text: `{"wrong":[]}`},
			"The Brine is 39 EUR and holds 1.7 litres, 8 cups or so. Return it within 30 days.", ""},
		{"no model talks code into a code", "The Brine is 39 EUR and holds 1.7 litres. Use TEA-5. Return it within 30 days.", scripted.Step{Text: `{"wrong":[]}`},
			"The Brine is 39 EUR and holds 1.7 litres. Return it within 30 days.", "TEA-5"},
		{"no model talks code into an action", "The Brine is 39 EUR and holds 1.7 litres. I have cancelled your order. Return it within 30 days.", scripted.Step{Text: `{"wrong":[]}`},
			"The Brine is 39 EUR and holds 1.7 litres. Return it within 30 days.", "I have cancelled your order."},
		{"the model cannot be asked", "The Brine is 39 EUR and holds 1.7 litres. It is 29 EUR on Monday. It whistles. Return it within 30 days.", scripted.Step{Err: errors.New("down")},
			"The Brine is 39 EUR and holds 1.7 litres. It whistles. Return it within 30 days.", "29 EUR, Monday"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			used := &agentloop.Usage{InputTokens: 10, OutputTokens: 1}
			tt.verdict.Usage = used
			model := scripted.New(scripted.Step{Text: tt.merged, ChunkSize: 5, Usage: used}, tt.verdict)
			said, asked := "", 0
			m := New(Config{Model: model, Reserve: time.Minute, Logger: slog.New(slog.DiscardHandler)})
			r := m.Merge(t.Context(), Input{
				Message: "a kettle, and can I return it?", Language: "en", Judge: true, Due: time.Now().Add(time.Minute),
				Parts: []Part{{"a kettle", answering(kettle, "Brine")}, {"can I return it?", answering(terms)}},
				Check: asIs, Say: func(s string) {
					if said += s; asked == 0 {
						asked = len(model.Requests())
					}
				},
			})
			if r.Text != tt.want || said != tt.want || r.Method != gatewayv1.MergeMethod_MERGE_METHOD_MODEL {
				t.Errorf("%q by %v, said %q, want %q", r.Text, r.Method, said, tt.want)
			}
			if got := lost(r); got != tt.lost {
				t.Errorf("dropped %q, want %q", got, tt.lost)
			}
			if asked != 2 || tt.verdict.Err == nil && (r.Model.Usage.InputTokens != 20 || r.Model.Usage.ModelCalls != 2) {
				t.Errorf("said after %d model calls, of which %+v counts", asked, r.Model.Usage)
			}
			question := model.Requests()[1].Messages[1].Text
			for _, want := range []string{"a kettle, and can I return it?", kettle, terms, "1: The Brine"} {
				if !strings.Contains(question, want) {
					t.Errorf("the model is not given %q in\n%s", want, question)
				}
			}
			if tt.verdict.Err == nil && len(r.Claims.Rejected()) > 0 {
				t.Errorf("rejected claims %v", r.Claims.Rejected())
			}
		})
	}
}

func TestAModelThatJudgesSaysWhichAnswersAreLeftOut(t *testing.T) {
	const kettle, terms = "The kettle Brine is 39 EUR and holds 1.7 litres.", "You can return it within 30 days."
	for _, tt := range []struct{ name, merged, verdict, want string }{
		{"said in other words", kettle + " For returns, take four weeks and two days.", `{"wrong":[],"missing":[]}`, kettle + " For returns, take four weeks and two days."},
		{"left out", kettle, `{"wrong":[],"missing":[2]}`, kettle + "\n\n" + terms},
		{"the model does not say", kettle, `{"wrong":[]}`, kettle + "\n\n" + terms},
		{"said wrongly", kettle + " You have four weeks to return it.", `{"wrong":[{"sentence":2,"why":"it is 30 days"}],"missing":[]}`, kettle + "\n\n" + terms},
	} {
		m := New(Config{Model: scripted.New(scripted.Step{Text: tt.merged}, scripted.Step{Text: tt.verdict}), Reserve: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		r := m.Merge(t.Context(), Input{
			Message: "a kettle, and can I return it?", Language: "en", Judge: true, Due: time.Now().Add(time.Minute),
			Parts: []Part{{"a kettle", answering(kettle, "Brine")}, {"can I return it?", answering(terms)}}, Check: asIs, Say: func(string) {},
		})
		if r.Text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, r.Text, tt.want)
		}
	}
}

// lost returns the claims that a merge dropped, with a judge's reasons.
func lost(r Result) string {
	var out []string
	for _, c := range r.Lost {
		said := c.Text
		for _, source := range c.Sources {
			said += " (" + source.Rule + ": " + source.Value + ")"
		}
		out = append(out, said)
	}
	return strings.Join(out, ", ")
}

// A single answer has been judged by its specialist.
func TestASingleAnswerIsNotJudgedAgain(t *testing.T) {
	a := answering("The kettle Brine keeps water hot.")
	a.CheckedClaims = grounding.Claims{{
		End: len(a.Text), Text: a.Text, Kind: grounding.Statement, Verdict: grounding.Supported, Sources: []grounding.Source{{Rule: grounding.RuleJudge}},
	}}.Proto()
	model := scripted.New()
	m := New(Config{Model: model, Reserve: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	r := m.Merge(t.Context(), Input{
		Message: "a kettle", Judge: true, Due: time.Now().Add(time.Minute), Parts: []Part{{"a kettle", a}}, Check: asIs, Say: func(string) {},
	})
	if len(r.Claims) != 1 || r.Claims[0].Verdict != grounding.Supported || r.Claims[0].Sources[0].Rule != grounding.RuleJudge {
		t.Errorf("claims %+v", r.Claims)
	}
	if len(model.Requests()) > 0 {
		t.Error("the model was asked")
	}
}
