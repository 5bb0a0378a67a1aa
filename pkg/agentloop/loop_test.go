package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

func call(name, arguments string) agentloop.ToolCall {
	return agentloop.ToolCall{Name: name, Arguments: arguments}
}

// echo is a tool that returns its text.
func echo(name string) agentloop.Tool {
	return agentloop.NewTool(name, "Repeats a text.", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (map[string]string, error) {
		return map[string]string{"echo": in.Text}, nil
	})
}

func TestNewRejectsBadConfig(t *testing.T) {
	model := scripted.New()
	run := func(context.Context, agentloop.ToolCall) (any, error) { return nil, nil }
	byHand := func(name, schema string) agentloop.Tool {
		return agentloop.Tool{ToolSpec: agentloop.ToolSpec{Name: name, Parameters: json.RawMessage(schema)}, Run: run}
	}
	slow := echo("a")
	slow.Timeout = -1
	cases := []struct {
		name string
		cfg  agentloop.Config
		want string
	}{
		{"no model", agentloop.Config{}, "Config.Model is nil"},
		{"negative bound", agentloop.Config{Model: model, MaxSteps: -1}, "negative"},
		{"negative budget", agentloop.Config{Model: model, MaxTotalTokens: -1}, "negative"},
		{"negative budget of money", agentloop.Config{Model: model, MaxCostMicros: -1, Price: &agentloop.Price{}}, "negative"},
		{"budget of money without a price", agentloop.Config{Model: model, MaxCostMicros: 1}, "requires Config.Price"},
		{"negative timeout of a tool", agentloop.Config{Model: model, Tools: []agentloop.Tool{slow}}, "negative timeout"},
		{"tool without a name", agentloop.Config{Model: model, Tools: []agentloop.Tool{echo("")}}, `tool name ""`},
		{"tool with a name that no provider takes", agentloop.Config{Model: model, Tools: []agentloop.Tool{echo("look it up")}}, `tool name "look it up"`},
		{"two tools of one name", agentloop.Config{Model: model, Tools: []agentloop.Tool{echo("a"), echo("a")}}, `tool name "a" is taken`},
		{"tool without a function", agentloop.Config{Model: model, Tools: []agentloop.Tool{{ToolSpec: agentloop.ToolSpec{Name: "a"}}}}, `"a" has no function`},
		{"tool without a schema", agentloop.Config{Model: model, Tools: []agentloop.Tool{byHand("a", "")}}, `"a": parameters`},
		{"tool with a schema that is none", agentloop.Config{Model: model, Tools: []agentloop.Tool{byHand("a", `{"type":7}`)}}, `"a": parameters`},
		{"tool with a schema of no object", agentloop.Config{Model: model, Tools: []agentloop.Tool{byHand("a", `{"type":"string"}`)}}, `not "object"`},
		{"tool with a schema that leads nowhere", agentloop.Config{Model: model, Tools: []agentloop.Tool{byHand("a", `{"type":"object","properties":{"x":{"$ref":"#/nowhere"}}}`)}}, `"a": parameters`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := agentloop.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRequestHoldsTheConfiguration(t *testing.T) {
	temperature := 0.2
	tool := echo("echo")
	history := []agentloop.Message{{Role: agentloop.RoleUser, Text: "before"}, {Role: agentloop.RoleAssistant, Text: "yes"}}
	model := scripted.New(scripted.Step{Text: "hi"})
	loop := mustNew(t, agentloop.Config{Model: model, System: "Be terse.", Tools: []agentloop.Tool{tool}, Temperature: &temperature})
	if _, err := loop.Run(t.Context(), history, "hello"); err != nil {
		t.Fatal(err)
	}
	want := &agentloop.Request{
		Messages: []agentloop.Message{
			{Role: agentloop.RoleSystem, Text: "Be terse."}, history[0], history[1], {Role: agentloop.RoleUser, Text: "hello"},
		},
		Tools: []agentloop.ToolSpec{tool.ToolSpec}, Temperature: &temperature, MaxOutputTokens: agentloop.DefaultMaxOutputTokens,
	}
	if diff := cmp.Diff(want, model.Requests()[0]); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestResultIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := scripted.New(
			scripted.Step{
				Delay: time.Second, Text: "Let me see.", Reasoning: "hm", Model: "m-1",
				ToolCalls: []agentloop.ToolCall{{ID: "a", Name: "echo", Arguments: `{"text": "x"}`}, {ID: "b", Name: "echo", Arguments: `{"text":"y"}`}, {ID: "c", Name: "none"}},
				Usage:     &agentloop.Usage{InputTokens: 100, OutputTokens: 20, CachedInputTokens: 40, ReasoningTokens: 5},
			},
			scripted.Step{
				Delay: 2 * time.Second, Text: "x and y", Model: "m-2",
				Usage: &agentloop.Usage{InputTokens: 200, OutputTokens: 10},
			},
		)
		loop := mustNew(t, agentloop.Config{
			Model: model, Tools: []agentloop.Tool{echo("echo")},
			Price: &agentloop.Price{InputMicros: 1_000_000, CachedInputMicros: 500_000, OutputMicros: 2_000_000, Currency: "EUR"},
		})
		begun := time.Now()
		got, err := loop.Run(t.Context(), nil, "hi")
		if err != nil {
			t.Fatal(err)
		}
		at := begun.Add(time.Second)
		x, y := map[string]string{"echo": "x"}, map[string]string{"echo": "y"}
		want := &agentloop.Result{
			Text: "x and y", FinishReason: agentloop.FinishStop, Model: "m-2", Duration: 3 * time.Second,
			Steps: []agentloop.StepRecord{
				{
					Text: "Let me see.", FinishReason: agentloop.FinishToolCalls, ToolCalls: 3, Duration: time.Second,
					Usage: agentloop.Usage{InputTokens: 100, OutputTokens: 20, CachedInputTokens: 40, ReasoningTokens: 5, ModelCalls: 1},
				},
				{
					Text: "x and y", FinishReason: agentloop.FinishStop, Duration: 2 * time.Second,
					Usage: agentloop.Usage{InputTokens: 200, OutputTokens: 10, ModelCalls: 1},
				},
			},
			Calls: []agentloop.CallRecord{
				{ToolCall: agentloop.ToolCall{ID: "a", Name: "echo", Arguments: `{"text":"x"}`}, Value: x, Preview: `{"echo":"x"}`, Start: at},
				{ToolCall: agentloop.ToolCall{ID: "b", Name: "echo", Arguments: `{"text":"y"}`}, Value: y, Preview: `{"echo":"y"}`, Start: at},
				{ToolCall: agentloop.ToolCall{ID: "c", Name: "none"}, Error: `there is no tool "none"; the tools are: [echo]`, Refused: true, Start: at},
			},
			Usage: agentloop.Usage{InputTokens: 300, OutputTokens: 30, CachedInputTokens: 40, ReasoningTokens: 5, ModelCalls: 2},
			Cost:  &agentloop.Cost{Micros: 260 + 20 + 60, Currency: "EUR"},
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		if v, ok := got.Payload("b"); !ok || !cmp.Equal(v, any(y)) {
			t.Errorf("payload of b: %v, %v", v, ok)
		}
		for _, id := range []string{"c", "d"} {
			if v, ok := got.Payload(id); ok || v != nil {
				t.Errorf("payload of %s: %v, %v", id, v, ok)
			}
		}
	})
}

func TestUsageIsEstimatedWhereNoneIsReported(t *testing.T) {
	model := scripted.New(
		scripted.Step{Reasoning: "12345678", ToolCalls: []agentloop.ToolCall{call("echo", `{"text":"x"}`)}},
		scripted.Step{Text: "hi", Usage: &agentloop.Usage{InputTokens: 1, OutputTokens: 1}},
	)
	got, err := mustNew(t, agentloop.Config{Model: model, Tools: []agentloop.Tool{echo("echo")}}).Run(t.Context(), nil, "hello you")
	if err != nil {
		t.Fatal(err)
	}
	first := got.Steps[0].Usage
	if !first.Estimated || first.InputTokens < 3 || first.OutputTokens != (8+4+12)/4 || first.ReasoningTokens != 2 {
		t.Errorf("estimate %+v", first)
	}
	if got.Steps[1].Usage.Estimated || !got.Usage.Estimated || got.Usage.ModelCalls != 2 || got.Cost != nil {
		t.Errorf("sum %+v, cost %v", got.Usage, got.Cost)
	}
}

func TestPriceRoundsUpAndNeverPaysForCacheTwice(t *testing.T) {
	price := &agentloop.Price{InputMicros: 10, OutputMicros: 0, Currency: "USD"}
	cases := []struct {
		name  string
		usage agentloop.Usage
		want  int64
	}{
		{"nothing", agentloop.Usage{}, 0},
		{"less than a micro", agentloop.Usage{InputTokens: 1}, 1},
		{"cached at the same price", agentloop.Usage{InputTokens: 200_000, CachedInputTokens: 100_000}, 2},
		{"more cached than sent", agentloop.Usage{InputTokens: 100_000, CachedInputTokens: 900_000}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := price.Of(c.usage); got.Micros != c.want || got.Currency != "USD" {
				t.Errorf("%+v, want %d", got, c.want)
			}
		})
	}
}

func TestModelErrorsEndTheRun(t *testing.T) {
	boom := errors.New("boom")
	inner := context.DeadlineExceeded // of some inner call: not the run's
	cases := []struct {
		name   string
		steps  []scripted.Step
		reason agentloop.FinishReason
		text   string
		is     error
		usage  bool
	}{
		{"before anything", []scripted.Step{{Err: boom}}, agentloop.FinishError, "", boom, false},
		{"half way", []scripted.Step{{Text: "It ra", Err: boom}}, agentloop.FinishError, "It ra", boom, true},
		{"half way through a call", []scripted.Step{{ToolCalls: []agentloop.ToolCall{call("echo", `{"te`)}, Err: boom}}, agentloop.FinishError, "", boom, true},
		{"an inner deadline", []scripted.Step{{Err: inner}}, agentloop.FinishError, "", inner, false},
		{"an answer that just ends", []scripted.Step{{Chunks: []agentloop.Chunk{{Text: "So"}}}}, agentloop.FinishStop, "So", nil, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			loop := mustNew(t, agentloop.Config{Model: scripted.New(c.steps...), Tools: []agentloop.Tool{echo("echo")}})
			got, err := loop.Run(t.Context(), nil, "hi")
			if !errors.Is(err, c.is) || got.FinishReason != c.reason || got.Text != c.text {
				t.Errorf("%s %q, error %v", got.FinishReason, got.Text, err)
			}
			if len(got.Steps) != 1 || got.Usage.ModelCalls != 1 || (got.Usage.InputTokens > 0) != c.usage {
				t.Errorf("%d steps, usage %+v", len(got.Steps), got.Usage)
			}
			if len(got.Calls) != 0 {
				t.Errorf("calls %+v", got.Calls)
			}
		})
	}
}

// A model that always wants a tool must not be asked more than MaxSteps times plus one, for whatever MaxSteps.
func TestCapIsExact(t *testing.T) {
	for _, tools := range [][]agentloop.Tool{nil, {echo("echo")}} {
		for maxSteps := range 5 {
			model := scripted.Func(func(req *agentloop.Request) scripted.Step {
				if req.NoToolCalls {
					return scripted.Step{Text: "enough"}
				}
				return scripted.Step{ToolCalls: []agentloop.ToolCall{call("echo", `{"text":"x"}`)}}
			})
			got, err := mustNew(t, agentloop.Config{Model: paired(t, model), Tools: tools, MaxSteps: maxSteps}).Run(t.Context(), nil, "hi")
			steps := maxSteps
			if steps == 0 {
				steps = agentloop.DefaultMaxSteps
			}
			if !errors.Is(err, agentloop.ErrMaxSteps) || got.Text != "enough" || got.FinishReason != agentloop.FinishMaxSteps {
				t.Errorf("%d steps: %s %q, error %v", maxSteps, got.FinishReason, got.Text, err)
			}
			if len(got.Steps) != steps+1 || len(got.Calls) != steps {
				t.Errorf("%d steps: %d model calls, %d tool calls", maxSteps, len(got.Steps), len(got.Calls))
			}
		}
	}
}

func TestRunIsAdvancedByHand(t *testing.T) {
	model := scripted.New(scripted.Step{ToolCalls: []agentloop.ToolCall{call("echo", `{"text":"x"}`)}}, scripted.Step{Text: "done"})
	run := mustNew(t, agentloop.Config{Model: model, Tools: []agentloop.Tool{echo("echo")}}).Start(nil, "hi")
	var messages []int
	for !run.Done() {
		for range run.Step(t.Context()) {
		}
		messages = append(messages, len(run.Messages()))
	}
	for range run.Step(t.Context()) {
		t.Error("a step after the end yields something")
	}
	if diff := cmp.Diff([]int{3, 4}, messages); diff != "" || run.Err() != nil || run.Result().Text != "done" {
		t.Errorf("messages after each step: %v, error %v, text %q", messages, run.Err(), run.Result().Text)
	}
	run.Messages()[0].Text = "changed"
	if run.Messages()[0].Text != "hi" {
		t.Error("Messages returned the conversation itself")
	}
}

// quirk is a model made of a function.
type quirk func(yield func(agentloop.Chunk, error) bool)

func (q quirk) Generate(context.Context, *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return iter.Seq2[agentloop.Chunk, error](q)
}

func TestContextThatEndsWithTheModel(t *testing.T) {
	opaque := errors.New("connection reset")
	cases := []struct {
		name   string
		chunk  agentloop.Chunk
		err    error
		is     []error
		reason agentloop.FinishReason
		text   string
	}{
		{"a whole answer stays one", agentloop.Chunk{Text: "all", FinishReason: agentloop.FinishStop}, nil, []error{nil}, agentloop.FinishStop, "all"},
		{"part of an answer does not become one", agentloop.Chunk{Text: "al"}, nil, []error{context.Canceled}, agentloop.FinishCanceled, "al"},
		{"an error that does not tell the cause", agentloop.Chunk{Text: "al"}, opaque, []error{context.Canceled, opaque}, agentloop.FinishCanceled, "al"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			model := quirk(func(yield func(agentloop.Chunk, error) bool) {
				if !yield(c.chunk, nil) {
					return
				}
				cancel()
				if c.err != nil {
					yield(agentloop.Chunk{}, c.err)
				}
			})
			got, err := mustNew(t, agentloop.Config{Model: model}).Run(ctx, nil, "hi")
			for _, is := range c.is {
				if !errors.Is(err, is) {
					t.Errorf("error %v, want %v", err, is)
				}
			}
			if got.FinishReason != c.reason || got.Text != c.text {
				t.Errorf("%s %q", got.FinishReason, got.Text)
			}
		})
	}
}

// What a tool has done is told as done, even when nobody waits for it any more.
func TestToolResultAtTheEndOfTheContextIsKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tool := agentloop.NewTool("book", "", func(context.Context, struct{}) (string, error) { cancel(); return "booked", nil })
	model := scripted.New(scripted.Step{ToolCalls: []agentloop.ToolCall{call("book", "")}})
	got, err := mustNew(t, agentloop.Config{Model: model, Tools: []agentloop.Tool{tool}}).Run(ctx, nil, "hi")
	if !errors.Is(err, context.Canceled) || len(got.Calls) != 1 || got.Calls[0].Value != "booked" || got.Calls[0].Error != "" {
		t.Errorf("calls %+v, error %v", got.Calls, err)
	}
}

func TestFinalToolEndsTheRun(t *testing.T) {
	ask := agentloop.NewTool("ask", "Asks the user.", func(_ context.Context, in struct {
		Question string `json:"question"`
	}) (string, error) {
		if in.Question == "" {
			return "", errors.New("the question is empty")
		}
		return "asked", nil
	})
	ask.Final = true
	question := func(id string) agentloop.ToolCall {
		return agentloop.ToolCall{ID: id, Name: "ask", Arguments: `{"question":"Which size?"}`}
	}
	read := agentloop.ToolCall{ID: "r", Name: "echo", Arguments: `{"text":"x"}`}
	empty := agentloop.ToolCall{ID: "e", Name: "ask", Arguments: `{"question":""}`}
	cases := []struct {
		name string
		step scripted.Step
		want []string // events
	}{
		{"alone, and nothing is said", scripted.Step{ToolCalls: []agentloop.ToolCall{question("a")}},
			[]string{"0 start a", "0 end a", "0 step, 1 calls", "finished "}},
		{"beside text and another call, which runs", scripted.Step{Text: "One question.", ToolCalls: []agentloop.ToolCall{question("a"), read}},
			[]string{"0 text One question.", "0 start a", "0 end a", "0 start r", "0 end r", "0 step, 2 calls", "finished One question."}},
		{"twice the same", scripted.Step{ToolCalls: []agentloop.ToolCall{question("a"), question("b")}},
			[]string{"0 start a", "0 end a", "0 start b", "0 end b", "0 step, 2 calls", "finished "}},
		{"refused: the run goes on", scripted.Step{Text: "Hm.", ToolCalls: []agentloop.ToolCall{{ID: "a", Name: "ask", Arguments: `{}`}}},
			[]string{"0 text Hm.", "0 start a", "0 end a", "0 step, 1 calls", "1 text more", "1 step, 0 calls", "finished more"}},
		{"failed: the run goes on", scripted.Step{ToolCalls: []agentloop.ToolCall{empty}},
			[]string{"0 start e", "0 end e", "0 step, 1 calls", "1 text more", "1 step, 0 calls", "finished more"}},
		{"one of two failed", scripted.Step{ToolCalls: []agentloop.ToolCall{empty, question("a")}},
			[]string{"0 start e", "0 end e", "0 start a", "0 end a", "0 step, 2 calls", "finished "}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.New(c.step, scripted.Step{Text: "more"})
			loop := mustNew(t, agentloop.Config{Model: model, Tools: []agentloop.Tool{echo("echo"), ask}, MaxParallel: 1})
			var got []string
			for ev, err := range loop.Stream(t.Context(), nil, "hi") {
				if err != nil {
					t.Error(err)
				}
				if end, ok := ev.(agentloop.Finished); ok && end.Result.FinishReason != agentloop.FinishStop {
					t.Errorf("finish reason %s", end.Result.FinishReason)
				}
				got = append(got, describe(ev))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
