package wrap_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/texttools"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// layer is one wrapper of a composition.
type layer struct {
	name string
	wrap func(agentloop.Model) agentloop.Model
}

// flaky is a model without tool calls that thinks aloud, cuts its answers anywhere and fails now and then.
func flaky() agentloop.Model {
	calls := `<think>I could <tool_call>{"name":"note","arguments":{"id":"thought"}}</tool_call></think>` +
		"\nLooking.\n" + `<tool_call>{"name":"note","arguments":{"id":"asked"}}</tool_call>`
	return scripted.New(
		scripted.Step{Chunks: []agentloop.Chunk{{Model: "flaky"}}, Err: overloaded},
		scripted.Step{Text: calls, ChunkSize: 1},
		scripted.Step{Err: overloaded},
		scripted.Step{Text: "<think>Good.</think>Done.", ChunkSize: 1},
	)
}

// runWith runs a loop with one tool, and returns the answer and what the tool was called with.
func runWith(t *testing.T, m agentloop.Model) (answer string, ids []string, err error) {
	t.Helper()
	var mu sync.Mutex // calls of one step run side by side
	note := agentloop.NewTool("note", "Notes.", func(_ context.Context, in struct {
		ID string `json:"id"`
	}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, in.ID)
		return "noted", nil
	})
	loop, err := agentloop.New(agentloop.Config{Model: m, Tools: []agentloop.Tool{note}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := loop.Run(t.Context(), nil, "Go.")
	return result.Text, ids, err
}

// Every order that the package's documentation allows gives the same run.
func TestOrders(t *testing.T) {
	var exchanges []wrap.Exchange
	layers := []layer{
		{"retry", func(m agentloop.Model) agentloop.Model { return wrap.Retry(m, wrap.RetryConfig{}) }},
		{"fallback", func(m agentloop.Model) agentloop.Model { return wrap.Fallback(scripted.Func(unable), m) }},
		{"reasoning", func(m agentloop.Model) agentloop.Model { return wrap.Reasoning(m, wrap.ReasoningConfig{}) }},
		{"texttools", texttools.New},
		{"record", func(m agentloop.Model) agentloop.Model {
			return wrap.Record(m, func(x wrap.Exchange) { exchanges = append(exchanges, x) })
		}},
		{"limit", func(m agentloop.Model) agentloop.Model {
			return wrap.Limit(m, wrap.NewBudget(wrap.Spend{Tokens: 100_000}), nil)
		}},
	}
	for _, order := range permutations(layers) { // from the provider to the loop
		at := func(name string) int {
			return slices.IndexFunc(order, func(l layer) bool { return l.name == name })
		}
		if at("texttools") < at("reasoning") {
			continue
		}
		var names []string
		m := flaky()
		for _, l := range order {
			m = l.wrap(m)
			names = append(names, l.name)
		}
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exchanges = nil
				answer, ids, err := runWith(t, m)
				if answer != "Done." || err != nil {
					t.Errorf("answer %q, error %v", answer, err)
				}
				if diff := cmp.Diff([]string{"asked"}, ids); diff != "" {
					t.Errorf("tool calls (-want +got):\n%s", diff)
				}
				replay(t, exchanges, order[at("record")+1:])
			})
		})
	}
}

// unable fails like a provider that does not know the key.
func unable(*agentloop.Request) scripted.Step { return scripted.Step{Err: refused} }

// replay runs a recording through what was above the recorder.
func replay(t *testing.T, exchanges []wrap.Exchange, above []layer) {
	t.Helper()
	player := wrap.Replay(exchanges)
	var m agentloop.Model = player
	for _, l := range above {
		if l.name == "fallback" {
			m = wrap.Fallback(scripted.Func(unable), m)
			continue
		}
		m = l.wrap(m)
	}
	answer, ids, err := runWith(t, m)
	if answer != "Done." || len(ids) != 1 || err != nil || player.Remaining() != 0 {
		t.Errorf("replay: answer %q, calls %q, error %v, %d exchanges remain", answer, ids, err, player.Remaining())
	}
}

// The one order that the documentation forbids does what it says.
func TestReasoningOverTextToolsRunsConsideredCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.Retry(flaky(), wrap.RetryConfig{})
		_, ids, _ := runWith(t, wrap.Reasoning(texttools.New(m), wrap.ReasoningConfig{}))
		if !slices.Contains(ids, "thought") {
			t.Errorf("calls %q: the documentation is wrong", ids)
		}
	})
}

func TestChainOfModelsOfDifferentKinds(t *testing.T) {
	native := scripted.New(fail(overloaded), scripted.Step{Text: "Done."})
	text := scripted.New(scripted.Step{Text: `<tool_call>{"name":"note","arguments":{"id":"asked"}}</tool_call>`})
	answer, ids, err := runWith(t, wrap.Fallback(native, texttools.New(text)))
	if answer != "Done." || err != nil || len(ids) != 1 {
		t.Errorf("answer %q, calls %q, error %v", answer, ids, err)
	}
	if got := native.Requests()[1].Messages; len(got[1].ToolCalls) != 1 {
		t.Errorf("the first model does not see the call of the second: %+v", got)
	}
}

func TestBudgetIsCheckedForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := wrap.NewBudget(wrap.Spend{Tokens: 150})
		inner := scripted.New(scripted.Step{Text: "<think>a", Usage: &agentloop.Usage{InputTokens: 9, OutputTokens: 91}})
		m := wrap.Retry(wrap.Limit(inner, b, nil), wrap.RetryConfig{})
		if _, err := collect(m.Generate(t.Context(), small())); err != nil {
			t.Fatal(err)
		}
		if _, err := collect(m.Generate(t.Context(), small())); !errors.Is(err, agentloop.ErrBudget) || len(inner.Requests()) != 1 {
			t.Errorf("error %v, %d calls", err, len(inner.Requests()))
		}
	})
}
