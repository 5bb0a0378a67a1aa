package wrap_test

import (
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// small is a request of 9 tokens by estimate (8 around the message, 1 within) and an answer of at most 91.
func small() *agentloop.Request {
	req := user("hi")
	req.MaxOutputTokens = 91
	return req
}

func TestBudgetCounts(t *testing.T) {
	reported := &agentloop.Usage{InputTokens: 20, OutputTokens: 30}
	for name, c := range map[string]struct {
		step scripted.Step
		used int64
	}{
		"what is reported":                   {scripted.Step{Text: "abc", Usage: reported}, 50},
		"an estimate if nothing is":          {scripted.Step{Text: "abcdef", Reasoning: "abc"}, 9 + 3},
		"calls too":                          {scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "abc", Arguments: "abcdef"}}}, 9 + 3},
		"nothing for a call that failed":     {scripted.Step{Err: errBroken}, 0},
		"what came before it broke off":      {scripted.Step{Text: "abc", Err: errBroken}, 9 + 1},
		"more than reserved, if it was more": {scripted.Step{Text: "a", Usage: &agentloop.Usage{InputTokens: 900}}, 900},
	} {
		b := wrap.NewBudget(100)
		_, _ = collect(wrap.Limit(scripted.New(c.step), b).Generate(t.Context(), small()))
		if b.Used() != c.used || b.Left() != max(0, 100-c.used) {
			t.Errorf("%s: used %d, left %d; want %d used", name, b.Used(), b.Left(), c.used)
		}
	}
}

func TestBudgetThatMayNotCoverACallRefusesIt(t *testing.T) {
	full := fullRequest()
	full.MaxOutputTokens = 0
	for name, c := range map[string]struct {
		budget *wrap.Budget
		req    *agentloop.Request
		ok     bool
	}{
		"just enough":       {wrap.NewBudget(100), small(), true},
		"one too few":       {wrap.NewBudget(99), small(), false},
		"zero value":        {new(wrap.Budget), small(), false},
		"the default limit": {wrap.NewBudget(4096 + 59), full, true},
		"all of a request":  {wrap.NewBudget(4096 + 58), full, false},
	} {
		inner := scripted.New(scripted.Step{Text: "ok"})
		_, err := collect(wrap.Limit(inner, c.budget).Generate(t.Context(), c.req))
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, wrap.ErrBudget) || len(inner.Requests()) > 0 != c.ok {
			t.Errorf("%s: error %v, %d calls", name, err, len(inner.Requests()))
		}
		if !c.ok && c.budget.Used() != 0 {
			t.Errorf("%s: used %d", name, c.budget.Used())
		}
	}
}

// Calls side by side reserve before they run: however they meet, what they use together stays within the budget.
func TestParallelCallsCanNotOvershoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := wrap.NewBudget(350)
		answer := func(*agentloop.Request) scripted.Step {
			return scripted.Step{Text: "ok", Delay: time.Second, Usage: &agentloop.Usage{InputTokens: 9, OutputTokens: 91}}
		}
		var mu sync.Mutex
		var served, refused int
		var wg sync.WaitGroup
		for range 20 {
			m := wrap.Limit(scripted.Func(answer), b) // a model each, the budget shared
			wg.Go(func() {
				_, err := collect(m.Generate(t.Context(), small()))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					served++
				case errors.Is(err, wrap.ErrBudget):
					refused++
				}
			})
		}
		synctest.Wait()
		if left := b.Left(); left != 50 || b.Used() != 0 {
			t.Errorf("while they run: left %d, used %d", left, b.Used())
		}
		wg.Wait()
		if served != 3 || refused != 17 || b.Used() != 300 {
			t.Errorf("%d served, %d refused, %d used", served, refused, b.Used())
		}
	})
}

func TestBudgetIsGivenBackWhenTheConsumerStops(t *testing.T) {
	b := wrap.NewBudget(1000)
	stopEarly(t, func() iter.Seq2[agentloop.Chunk, error] {
		return wrap.Limit(scripted.New(scripted.Step{Text: "ab", ChunkSize: 1}), b).Generate(t.Context(), small())
	}, 3)
	if b.Used() != 3*10 || b.Left() != 970 {
		t.Errorf("used %d, left %d", b.Used(), b.Left())
	}
}
