package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// A model that wants tools for ever is stopped by the tokens that it uses or by what they cost, and asked for an answer once.
func TestTokensAndMoneyAreBounded(t *testing.T) {
	const perCall = 100
	price := &agentloop.Price{InputMicros: 1_000_000, OutputMicros: 2_000_000, Currency: "EUR"} // a call costs 110 micros
	cases := []struct {
		name         string
		tokens, cost int64
		err          error
		calls        int // of tools
	}{
		{"no bound", 0, 0, agentloop.ErrMaxSteps, 5},
		{"far off", 1000, 1000, agentloop.ErrMaxSteps, 5},
		{"tokens just not reached", 401, 0, agentloop.ErrMaxSteps, 5},
		{"tokens reached exactly", 400, 0, agentloop.ErrBudget, 4},
		{"tokens passed", 250, 0, agentloop.ErrBudget, 3},
		{"tokens passed by the first call, whose tools still run", 1, 0, agentloop.ErrBudget, 1},
		{"money just not reached", 0, 441, agentloop.ErrMaxSteps, 5},
		{"money reached exactly", 0, 440, agentloop.ErrBudget, 4},
		{"money passed", 0, 250, agentloop.ErrBudget, 3},
		{"tokens first", 200, 440, agentloop.ErrBudget, 2},
		{"money first", 400, 220, agentloop.ErrBudget, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.Func(func(req *agentloop.Request) scripted.Step {
				s := scripted.Step{Usage: &agentloop.Usage{InputTokens: perCall - 10, OutputTokens: 10}}
				if req.NoToolCalls {
					s.Text = "enough"
				} else {
					s.ToolCalls = []agentloop.ToolCall{call("echo", `{"text":"x"}`)}
				}
				return s
			})
			got, err := mustNew(t, agentloop.Config{
				Model: paired(t, model), Tools: []agentloop.Tool{echo("echo")}, MaxSteps: 5, MaxTotalTokens: c.tokens,
				MaxCostMicros: c.cost, Price: price,
			}).Run(t.Context(), nil, "hi")
			want := agentloop.FinishMaxSteps
			if c.err == agentloop.ErrBudget {
				want = agentloop.FinishBudget
			}
			if !errors.Is(err, c.err) || got.FinishReason != want || got.Text != "enough" {
				t.Errorf("%s %q, error %v", got.FinishReason, got.Text, err)
			}
			if len(got.Calls) != c.calls || len(got.Steps) != c.calls+1 {
				t.Errorf("%d tool calls, %d model calls", len(got.Calls), len(got.Steps))
			}
		})
	}
}

func TestBudgetDoesNotCutAnAnswer(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "long", Usage: &agentloop.Usage{OutputTokens: 1000}})
	got, err := mustNew(t, agentloop.Config{
		Model: model, MaxTotalTokens: 10, MaxCostMicros: 10, Price: &agentloop.Price{OutputMicros: 1_000_000},
	}).Run(t.Context(), nil, "hi")
	if err != nil || got.FinishReason != agentloop.FinishStop || got.Text != "long" {
		t.Errorf("%s %q, error %v", got.FinishReason, got.Text, err)
	}
}

// A model may have a budget of its own, and refuse a call for it, also the last one, for the answer.
func TestModelMayRefuseForItsBudget(t *testing.T) {
	refusal := fmt.Errorf("shared budget: %w: 12 of 5000 left", agentloop.ErrBudget)
	look := scripted.Step{Text: "Looking.", ToolCalls: []agentloop.ToolCall{call("echo", `{"text":"x"}`)}}
	cases := []struct {
		name   string
		steps  []scripted.Step
		tokens int64
		text   string
		calls  int
	}{
		{"at once", []scripted.Step{{Err: refusal}}, 0, "", 0},
		{"after tools", []scripted.Step{look, {Err: refusal}}, 0, "", 1},
		{"half way", []scripted.Step{look, {Text: "It ra", Err: refusal}}, 0, "It ra", 1},
		{"when the run's own is used up", []scripted.Step{look, {Err: refusal}}, 1, "", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.New(c.steps...)
			got, err := mustNew(t, agentloop.Config{
				Model: paired(t, model), Tools: []agentloop.Tool{echo("echo")}, MaxTotalTokens: c.tokens,
			}).Run(t.Context(), nil, "hi")
			if !errors.Is(err, agentloop.ErrBudget) || !strings.Contains(err.Error(), "12 of 5000") || model.Remaining() > 0 {
				t.Errorf("error %v, %d steps left", err, model.Remaining())
			}
			if got.FinishReason != agentloop.FinishBudget || got.Text != c.text || len(got.Calls) != c.calls {
				t.Errorf("%s %q, %d tool calls", got.FinishReason, got.Text, len(got.Calls))
			}
		})
	}
}

// notes returns what the loop said beside the results of each step's tools.
func notes(messages []agentloop.Message) []string {
	var all []string
	for _, m := range messages {
		if m.Role == agentloop.RoleTool {
			_, note, _ := strings.Cut(m.Text, "</tool_result>\n")
			all = append(all, strings.ReplaceAll(note, "<loop_note text=", ""))
		}
	}
	return all
}

const (
	lastRound = `"You can call tools once more; after that you must answer from what you know."/>`
	hurry     = `"Little time is left. Call a tool only if there is no answer without it."/>`
	lastCall  = `"You have no tool calls left. Answer now from what you know; say plainly what you could not find out."/>`
)

func TestModelIsToldWhenLimitsAreNear(t *testing.T) {
	cases := []struct {
		name     string
		maxSteps int
		timeout  time.Duration // none when 0
		reserve  time.Duration
		want     []string // after each step, which takes a second
	}{
		{"one step at most", 1, 0, 0, []string{lastCall}},
		{"steps run out", 3, 0, 0, []string{"", lastRound, lastCall}},
		{"time enough", 3, time.Hour, time.Minute, []string{"", lastRound, lastCall}},
		{"less than a quarter of the time is left, said once", 10, 10 * time.Second, 2 * time.Second, []string{"", "", "", "", "", "", hurry, lastCall}},
		{"a quarter is left exactly", 5, 12 * time.Second, 8 * time.Second, []string{"", "", "", lastCall}},
		{"without a reserve", 4, 3500 * time.Millisecond, 0, []string{"", "", lastRound + "\n" + hurry}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := scripted.Func(func(req *agentloop.Request) scripted.Step {
					if req.NoToolCalls {
						return scripted.Step{Text: "enough"}
					}
					return scripted.Step{Delay: time.Second, ToolCalls: []agentloop.ToolCall{call("echo", fmt.Sprintf(`{"text":"%d"}`, len(req.Messages)))}}
				})
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				run := mustNew(t, agentloop.Config{
					Model: paired(t, model), Tools: []agentloop.Tool{echo("echo")}, MaxSteps: c.maxSteps, Reserve: c.reserve,
				}).Start(nil, "hi")
				for !run.Done() {
					for range run.Step(ctx) {
					}
				}
				if diff := cmp.Diff(c.want, notes(run.Messages())); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
				for _, r := range run.Result().Calls {
					if strings.Contains(r.Preview, "loop_note") || strings.Contains(r.Preview, "tool_result") {
						t.Errorf("the log shows more than the content: %s", r.Preview)
					}
				}
			})
		})
	}
}

// An answer that was cut before it began, because the model reasoned for too long, is tried once more without reasoning.
func TestAnswerCutInReasoningIsRetriedWithoutReasoning(t *testing.T) {
	lost := scripted.Step{Reasoning: "secret thoughts", FinishReason: agentloop.FinishLength}
	stopped := scripted.Step{Reasoning: "secret thoughts"}
	cutOff := scripted.Step{FinishReason: agentloop.FinishLength}
	look := scripted.Step{Reasoning: "secret thoughts", ToolCalls: []agentloop.ToolCall{call("echo", `{"text":"x"}`)}}
	answer := scripted.Step{Reasoning: "secret thoughts", Text: "Rain."}
	cases := []struct {
		name  string
		steps []scripted.Step
		plain []bool // whether each call asked for no reasoning
		err   error
	}{
		{"none lost", []scripted.Step{answer}, []bool{false}, nil},
		{"lost, then an answer", []scripted.Step{lost, answer}, []bool{false, true}, nil},
		{"lost after tools, which stay allowed", []scripted.Step{look, lost, look, answer}, []bool{false, false, true, true}, nil},
		{"lost twice, then asked in words", []scripted.Step{lost, lost, answer}, []bool{false, true, true}, nil},
		{"lost for good", []scripted.Step{lost, lost, lost}, []bool{false, true, true}, agentloop.ErrNoAnswer},
		{"not cut", []scripted.Step{stopped, answer}, []bool{false, false}, nil},
		{"cut without reasoning", []scripted.Step{cutOff, answer}, []bool{false, false}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.New(c.steps...)
			run := mustNew(t, agentloop.Config{Model: paired(t, model), Tools: []agentloop.Tool{echo("echo")}, MaxSteps: 3}).Start(nil, "hi")
			for !run.Done() {
				for range run.Step(t.Context()) {
				}
			}
			if got := run.Result(); !errors.Is(run.Err(), c.err) || c.err == nil && got.Text != "Rain." {
				t.Errorf("%s %q, error %v", got.FinishReason, got.Text, run.Err())
			}
			var plain []bool
			for _, req := range model.Requests() {
				plain = append(plain, req.NoReasoning)
			}
			if diff := cmp.Diff(c.plain, plain); diff != "" || model.Remaining() > 0 {
				t.Errorf("%d steps left, calls without reasoning (-want +got):\n%s", model.Remaining(), diff)
			}
			all, err := json.Marshal([]any{run.Messages(), run.Result(), model.Requests()})
			if err != nil || strings.Contains(string(all), "secret") {
				t.Errorf("error %v, reasoning in the conversation or the result: %s", err, all)
			}
		})
	}
}

func TestACutAnswerIsContinued(t *testing.T) {
	errBroken := errors.New("broken")
	cut := scripted.Step{Text: "One. Tw", FinishReason: agentloop.FinishLength}
	busy := cut
	busy.Usage = &agentloop.Usage{InputTokens: 60, OutputTokens: 60}
	for name, c := range map[string]struct {
		steps   []scripted.Step
		kept    string
		refused bool
		text    string
		finish  agentloop.FinishReason
	}{
		"the rest":               {[]scripted.Step{cut, {Text: "Two."}}, "One. ", false, "One. Two.", agentloop.FinishStop},
		"cut again":              {[]scripted.Step{cut, cut}, "One. ", false, "One. One. Tw", agentloop.FinishLength},
		"a failure":              {[]scripted.Step{cut, {Text: "T", Err: errBroken}}, "One. ", false, "One. T", agentloop.FinishLength},
		"nothing":                {[]scripted.Step{cut, {Text: " "}}, "One. ", false, "One.  ", agentloop.FinishLength},
		"calls are not made":     {[]scripted.Step{cut, {Text: "Two.", ToolCalls: []agentloop.ToolCall{{Name: "none"}}}}, "One. ", false, "One. Two.", agentloop.FinishStop},
		"nothing to keep":        {[]scripted.Step{cut}, " ", true, "One. Tw", agentloop.FinishLength},
		"a whole answer":         {[]scripted.Step{{Text: "One. Two."}}, "One. ", true, "One. Two.", agentloop.FinishStop},
		"a budget that is used":  {[]scripted.Step{busy}, "One. ", true, "One. Tw", agentloop.FinishLength},
		"an answer without end":  {[]scripted.Step{{Text: strings.Repeat("One. ", 1000)}}, "One. ", true, strings.Repeat("One. ", 1000)[:640], agentloop.FinishLength},
		"a call that has failed": {[]scripted.Step{{Text: "One. Tw", Err: errBroken}}, "One. ", true, "One. Tw", agentloop.FinishError},
	} {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(c.steps...)
			loop, err := agentloop.New(agentloop.Config{Model: model, MaxTotalTokens: 100, MaxOutputTokens: 10})
			if err != nil {
				t.Fatal(err)
			}
			run := loop.Start(nil, "count")
			for range run.Step(t.Context()) {
			}
			if run.Continue(t.Context(), c.kept) == c.refused {
				t.Errorf("continues: %v", !c.refused)
			}
			for range run.Step(t.Context()) {
			}
			if got := run.Result(); !run.Done() || got.Text != c.text || got.FinishReason != c.finish || model.Remaining() > 0 {
				t.Errorf("%s: %q", got.FinishReason, got.Text)
			}
			if requests := model.Requests(); len(requests) > 1 {
				last := requests[1].Messages
				if n := len(last); !requests[1].NoToolCalls || n != 3 || last[1].Text != c.kept || last[2].Role != agentloop.RoleUser {
					t.Errorf("asked %+v", last)
				}
			}
		})
	}
}
