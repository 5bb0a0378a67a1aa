package agentloop_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

type route struct {
	Agent string `json:"agent"`
	Score int    `json:"score,omitempty"`
}

func text(s string) scripted.Step {
	return scripted.Step{Text: s, Usage: &agentloop.Usage{InputTokens: 10, OutputTokens: 1}}
}

func TestGenerateFindsTheValue(t *testing.T) {
	const good = `{"agent":"search","score":3}`
	want := route{Agent: "search", Score: 3}
	cases := []struct {
		name   string
		steps  []scripted.Step
		want   route
		err    error
		repair string // part of what the model is told after the first answer
	}{
		{name: "plain", steps: []scripted.Step{text(good)}, want: want},
		{name: "in a code fence", steps: []scripted.Step{text("```json\n" + good + "\n```")}, want: want},
		{name: "in prose with braces", steps: []scripted.Step{text("I use {curly} braces { here: " + good + " and so on }")}, want: want},
		{name: "almost JSON", steps: []scripted.Step{text("```json\n{agent: 'search', \"score\": 3,}\n```")}, want: want},
		{name: "almost JSON around JSON", steps: []scripted.Step{text(`{'x': ` + good + `, agent: 'support'}`), text(good)}, want: want, repair: "x: unknown"},
		{name: "null for what is optional", steps: []scripted.Step{text(`{"agent":"search","score":null}`)}, want: route{Agent: "search"}},
		{name: "mended", steps: []scripted.Step{text(`{"score":3}`), text(good)}, want: want, repair: "agent: missing"},
		{name: "mended after prose", steps: []scripted.Step{text("search, I think"), text(good)}, want: want, repair: "want a JSON object"},
		{name: "cut, with a whole object within", steps: []scripted.Step{text(`{"x":` + good + `, "agent`), text(good)}, want: want, repair: "unexpected EOF"},
		{name: "bad twice", steps: []scripted.Step{text(`{}`), text(`{"agent":{}}`)}, err: agentloop.ErrBadOutput, repair: "agent"},
		{name: "too large for its type", steps: []scripted.Step{text(`{"agent":"a","score":1e300}`), text(good)}, want: want, repair: "score: got 1e+300, want an integer"},
		{name: "nothing, then the value", steps: []scripted.Step{text(""), text(good)}, want: want, repair: "You wrote nothing"},
		{name: "nothing twice", steps: []scripted.Step{text(""), text("")}, err: agentloop.ErrNoAnswer, repair: "You wrote nothing"},
		{name: "tools that are not there", steps: []scripted.Step{{ToolCalls: []agentloop.ToolCall{call("route", good)}}, text(good)}, want: want, repair: "no tool calls left"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.New(c.steps...)
			got, result, err := agentloop.Generate[route](t.Context(), agentloop.GenerateConfig{Model: paired(t, model), Name: "route"}, nil, "where to?")
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if len(result.Steps) != len(c.steps) || result.Usage.ModelCalls != len(c.steps) || model.Remaining() != 0 {
				t.Errorf("%d steps, usage %+v", len(result.Steps), result.Usage)
			}
			if c.repair == "" {
				return
			}
			messages := model.Requests()[1].Messages
			if last := messages[len(messages)-1]; last.Role == agentloop.RoleAssistant || !strings.Contains(last.Text, c.repair) {
				t.Errorf("the model was told %q, want %q", last.Text, c.repair)
			}
		})
	}
}

func TestGenerateAsksForTheSchema(t *testing.T) {
	temperature := 0.1
	history := []agentloop.Message{{Role: agentloop.RoleUser, Text: "before"}, {Role: agentloop.RoleAssistant, Text: "yes"}}
	narrowed := json.RawMessage(`{"type":"object","properties":{"agent":{"enum":["search","support"]}},"required":["agent"]}`)
	model := scripted.New(text(`{"agent":"nobody"}`), text(`{"agent":"support"}`))
	got, result, err := agentloop.Generate[route](t.Context(), agentloop.GenerateConfig{
		Model: model, Name: "route", System: "Route.", Schema: narrowed, Temperature: &temperature, MaxOutputTokens: 99,
		Price: &agentloop.Price{InputMicros: 1_000_000, Currency: "EUR"},
	}, history, "where to?")
	if err != nil || got.Agent != "support" {
		t.Fatalf("%+v, error %v", got, err)
	}
	if diff := cmp.Diff(&agentloop.Cost{Micros: 20, Currency: "EUR"}, result.Cost); diff != "" || result.Usage.InputTokens != 20 {
		t.Errorf("cost (-want +got):\n%s", diff)
	}
	first, second := model.Requests()[0], model.Requests()[1]
	want := &agentloop.Request{
		Messages:    []agentloop.Message{{Role: agentloop.RoleSystem, Text: "Route."}, history[0], history[1], {Role: agentloop.RoleUser, Text: "where to?"}},
		Temperature: &temperature, MaxOutputTokens: 99, Output: &agentloop.OutputSchema{Name: "route", Schema: narrowed},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first request (-want +got):\n%s", diff)
	}
	if n := len(second.Messages); n != 6 || second.Messages[4].Text != `{"agent":"nobody"}` || len(history) != 2 {
		t.Errorf("second request has %d messages: %+v", n, second.Messages)
	}
}

func TestGenerateRejectsBadConfig(t *testing.T) {
	cases := []struct {
		name string
		cfg  agentloop.GenerateConfig
		want string
	}{
		{"no model", agentloop.GenerateConfig{Name: "a"}, "Model is nil"},
		{"no name", agentloop.GenerateConfig{Model: scripted.New()}, `Name is ""`},
		{"no schema of an object", agentloop.GenerateConfig{Model: scripted.New(), Name: "a", Schema: json.RawMessage(`[]`)}, "Schema"},
		{"negative bound", agentloop.GenerateConfig{Model: scripted.New(), Name: "a", MaxOutputTokens: -1}, "negative"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, result, err := agentloop.Generate[route](t.Context(), c.cfg, nil, "hi")
			if err == nil || !strings.Contains(err.Error(), c.want) || result != nil {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestGenerateReportsAModelThatFailsTheSecondTime(t *testing.T) {
	boom := errors.New("boom")
	_, result, err := agentloop.Generate[route](t.Context(), agentloop.GenerateConfig{
		Model: scripted.New(text("no"), scripted.Step{Err: boom}), Name: "route",
	}, nil, "hi")
	if !errors.Is(err, boom) || len(result.Steps) != 2 {
		t.Errorf("%d steps, error %v", len(result.Steps), err)
	}
}
