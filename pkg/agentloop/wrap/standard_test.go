package wrap_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// trace counts the attempts that it sees, and keeps their errors.
type trace struct {
	next     agentloop.Model
	attempts int
	errs     []error
}

func (m *trace) wrap(next agentloop.Model) agentloop.Model { m.next = next; return m }

func (m *trace) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		m.attempts++
		for c, err := range m.next.Generate(ctx, req) {
			if err != nil {
				m.errs = append(m.errs, err)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

func TestStandardZeroOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := scripted.New(fail(overloaded), fail(overloaded), scripted.Step{Text: "<think>Hm.</think>Done."})
		chunks, err := collect(wrap.Standard(inner, wrap.Options{}).Generate(t.Context(), user("hi")))
		if text, reasoning := textOf(chunks); text != "Done." || reasoning != "Hm." || err != nil {
			t.Errorf("text %q, reasoning %q, error %v", text, reasoning, err)
		}
	})
}

// Every layer is on. The first attempt hangs, the second one is overloaded, the third answers.
func TestStandardOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage := &agentloop.Usage{InputTokens: 10, OutputTokens: 5}
		considered := `<think>I could <tool_call>{"name":"note","arguments":{"id":"considered"}}</tool_call></think>`
		inner := scripted.New(
			scripted.Step{Hang: true},
			fail(overloaded),
			scripted.Step{Text: considered + `<tool_call>{"name":"note","arguments":{"id":"asked"}}</tool_call>`, ChunkSize: 1, Usage: usage},
			scripted.Step{Text: "<think>Good.</think>Done.", Usage: usage},
		)
		var exchanges []wrap.Exchange
		traced := new(trace)
		budget := wrap.NewBudget(wrap.Spend{Tokens: 100_000})
		m := wrap.Standard(inner, wrap.Options{
			IdleTimeout: time.Minute, Record: func(x wrap.Exchange) { exchanges = append(exchanges, x) }, Trace: traced.wrap,
			Budget: budget, NoReasoning: true, TextTools: true, Fallbacks: []agentloop.Model{scripted.New()},
		})
		answer, ids, err := runWith(t, m)
		if answer != "Done." || err != nil {
			t.Errorf("answer %q, error %v", answer, err)
		}
		if diff := cmp.Diff([]string{"asked"}, ids); diff != "" {
			t.Errorf("Reasoning is not below TextTools: tool calls (-want +got):\n%s", diff)
		}
		if traced.attempts != 4 || len(traced.errs) != 2 || !errors.Is(traced.errs[0], wrap.ErrIdle) {
			t.Errorf("Trace is not between IdleTimeout and Retry: %d attempts, errors %v", traced.attempts, traced.errs)
		}
		if len(exchanges) != 4 || exchanges[0].Error == nil || !strings.Contains(exchanges[0].Error.Message, "idle") {
			t.Errorf("Record is not between IdleTimeout and Retry: %d exchanges", len(exchanges))
		}
		var recorded string
		for _, c := range exchanges[2].Chunks {
			recorded += c.Text
		}
		if !strings.HasPrefix(recorded, considered) || len(exchanges[2].Request.Tools) > 0 {
			t.Errorf("Record is not below Reasoning and TextTools: %q", recorded)
		}
		if got := budget.Used(); got.Tokens != 30 {
			t.Errorf("Limit does not count each attempt once: %v used", got)
		}
		for i, req := range inner.Requests() {
			if !req.NoReasoning {
				t.Errorf("request %d does not ask for no reasoning", i)
			}
		}
	})
}

func TestStandardDoesNotRetryOrTraceARefusal(t *testing.T) {
	inner, traced := scripted.New(scripted.Step{Text: "Done."}), new(trace)
	m := wrap.Standard(inner, wrap.Options{Budget: wrap.NewBudget(wrap.Spend{Tokens: 1}), Trace: traced.wrap})
	if _, err := collect(m.Generate(t.Context(), user("hi"))); !errors.Is(err, agentloop.ErrBudget) || traced.attempts != 0 {
		t.Errorf("%d attempts, error %v", traced.attempts, err)
	}
}

func TestStandardFallsBackAfterRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := scripted.New(fail(overloaded), fail(overloaded), fail(overloaded))
		second := scripted.New(fail(overloaded), scripted.Step{Text: "<think>Hm.</think>Done."})
		m := wrap.Standard(first, wrap.Options{Fallbacks: []agentloop.Model{wrap.Standard(second, wrap.Options{})}})
		chunks, err := collect(m.Generate(t.Context(), user("hi")))
		if text, _ := textOf(chunks); text != "Done." || err != nil || first.Remaining()+second.Remaining() > 0 {
			t.Errorf("text %q, error %v, %d and %d steps left", text, err, first.Remaining(), second.Remaining())
		}
	})
}

// A fallback model with native tool calls is not below the text protocol of the first model.
func TestStandardFallbackHasItsOwnLayers(t *testing.T) {
	native := scripted.New(scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "note", Arguments: `{"id":"asked"}`}}}, scripted.Step{Text: "Done."})
	first := scripted.Func(func(*agentloop.Request) scripted.Step { return fail(refused) })
	m := wrap.Standard(first, wrap.Options{TextTools: true, Fallbacks: []agentloop.Model{native}})
	answer, ids, err := runWith(t, m)
	if answer != "Done." || len(ids) != 1 || err != nil {
		t.Errorf("answer %q, calls %q, error %v", answer, ids, err)
	}
	if len(native.Requests()[0].Tools) == 0 {
		t.Error("the fallback model gets its tools as text")
	}
}

// Another call spends the budget while the first one waits for its second attempt, which is then refused.
func TestStandardReservesForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := wrap.NewBudget(wrap.Spend{Tokens: 150})
		inner := scripted.New(fail(&statusError{429, time.Minute}), scripted.Step{Text: "Done."})
		other := wrap.Limit(scripted.New(scripted.Step{Text: "a", Usage: &agentloop.Usage{InputTokens: 9, OutputTokens: 91}}), budget, nil)
		time.AfterFunc(time.Second, func() {
			if _, err := collect(other.Generate(t.Context(), small())); err != nil {
				t.Error(err)
			}
		})
		m := wrap.Standard(inner, wrap.Options{Budget: budget})
		if _, err := collect(m.Generate(t.Context(), small())); !errors.Is(err, agentloop.ErrBudget) || inner.Remaining() != 1 {
			t.Errorf("error %v, %d steps left", err, inner.Remaining())
		}
	})
}
