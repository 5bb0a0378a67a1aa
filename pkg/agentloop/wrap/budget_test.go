package wrap_test

import (
	"context"
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

// price is 100 micros for the reservation of a small request: 9 for its input, 91 for its answer.
var price = &agentloop.Price{InputMicros: 1_000_000, CachedInputMicros: 500_000, OutputMicros: 1_000_000, Currency: "EUR"}

func TestBudgetCounts(t *testing.T) {
	reported := &agentloop.Usage{InputTokens: 20, CachedInputTokens: 20, OutputTokens: 30}
	for name, c := range map[string]struct {
		step         scripted.Step
		tokens, cost int64
	}{
		"what is reported":                   {scripted.Step{Text: "abc", Usage: reported}, 50, 40},
		"an estimate if nothing is":          {scripted.Step{Text: "abcdef", Reasoning: "abc"}, 9 + 3, 9 + 3},
		"calls too":                          {scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "abc", Arguments: "abcdef"}}}, 9 + 3, 9 + 3},
		"nothing for a call that failed":     {scripted.Step{Err: errBroken}, 0, 0},
		"what came before it broke off":      {scripted.Step{Text: "abc", Err: errBroken}, 9 + 1, 9 + 1},
		"more than reserved, if it was more": {scripted.Step{Text: "a", Usage: &agentloop.Usage{InputTokens: 900}}, 900, 900},
	} {
		b := new(wrap.Budget)
		_, _ = collect(wrap.Limit(scripted.New(c.step), b, price).Generate(t.Context(), small()))
		if want := (wrap.Spend{Tokens: c.tokens, CostMicros: c.cost}); b.Used() != want {
			t.Errorf("%s: used %v, want %v", name, b.Used(), want)
		}
	}
}

func TestBudgetThatMayNotCoverACallRefusesIt(t *testing.T) {
	full := fullRequest()
	full.MaxOutputTokens = 0
	for name, c := range map[string]struct {
		limit wrap.Spend
		req   *agentloop.Request
		ok    bool
	}{
		"just enough tokens": {wrap.Spend{Tokens: 100}, small(), true},
		"one token too few":  {wrap.Spend{Tokens: 99}, small(), false},
		"just enough money":  {wrap.Spend{CostMicros: 100}, small(), true},
		"one micro too few":  {wrap.Spend{CostMicros: 99}, small(), false},
		"enough of both":     {wrap.Spend{Tokens: 100, CostMicros: 100}, small(), true},
		"money without end":  {wrap.Spend{Tokens: 99, CostMicros: 1000}, small(), false},
		"no bound":           {wrap.Spend{}, small(), true},
		"nothing left":       {wrap.Spend{Tokens: -1}, small(), false},
		"the default limit":  {wrap.Spend{Tokens: 4096 + 59}, full, true},
		"all of a request":   {wrap.Spend{Tokens: 4096 + 58}, full, false},
	} {
		inner, b := scripted.New(scripted.Step{Text: "ok"}), wrap.NewBudget(c.limit)
		_, err := collect(wrap.Limit(inner, b, price).Generate(t.Context(), c.req))
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, agentloop.ErrBudget) || len(inner.Requests()) > 0 != c.ok {
			t.Errorf("%s: error %v, %d calls", name, err, len(inner.Requests()))
		}
		if !c.ok && b.Used() != (wrap.Spend{}) {
			t.Errorf("%s: used %v", name, b.Used())
		}
	}
}

func TestBudgetOfMoneyRequiresAPrice(t *testing.T) {
	inner := scripted.New(scripted.Step{Text: "ok"})
	_, err := collect(wrap.Limit(inner, wrap.NewBudget(wrap.Spend{CostMicros: 1_000_000}), nil).Generate(t.Context(), small()))
	if err == nil || errors.Is(err, agentloop.ErrBudget) || len(inner.Requests()) > 0 {
		t.Errorf("error %v, %d calls", err, len(inner.Requests()))
	}
}

// Calls side by side reserve before they run: however they meet, what they use together stays within the budget.
func TestParallelCallsStayWithinTheBudget(t *testing.T) {
	for name, limit := range map[string]wrap.Spend{"tokens": {Tokens: 350}, "money": {CostMicros: 350}} {
		synctest.Test(t, func(t *testing.T) {
			b := wrap.NewBudget(limit)
			answer := func(*agentloop.Request) scripted.Step {
				return scripted.Step{Text: "ok", Delay: time.Second, Usage: &agentloop.Usage{InputTokens: 9, OutputTokens: 91}}
			}
			var mu sync.Mutex
			var served, refused int
			var wg sync.WaitGroup
			for range 20 {
				m := wrap.Limit(scripted.Func(answer), b, price) // a model each, the budget shared
				wg.Go(func() {
					_, err := collect(m.Generate(t.Context(), small()))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						served++
					case errors.Is(err, agentloop.ErrBudget):
						refused++
					}
				})
			}
			wg.Wait()
			if used := (wrap.Spend{Tokens: 300, CostMicros: 300}); served != 3 || refused != 17 || b.Used() != used {
				t.Errorf("%s: %d served, %d refused, %v used", name, served, refused, b.Used())
			}
		})
	}
}

func TestBudgetIsGivenBackWhenTheConsumerStops(t *testing.T) {
	b := wrap.NewBudget(wrap.Spend{Tokens: 130})
	stopEarly(t, func() iter.Seq2[agentloop.Chunk, error] {
		return wrap.Limit(scripted.New(scripted.Step{Text: "ab", ChunkSize: 1}), b, nil).Generate(t.Context(), small())
	}, 3)
	if b.Used() != (wrap.Spend{Tokens: 3 * 10}) {
		t.Errorf("used %v", b.Used())
	}
	if _, err := collect(wrap.Limit(scripted.New(scripted.Step{}), b, nil).Generate(t.Context(), small())); err != nil {
		t.Errorf("nothing is reserved, and 100 are left: %v", err)
	}
}

// A run that meets a shared budget ends by it, and the others have what is left.
func TestRunEndsWithTheSharedBudget(t *testing.T) {
	model := scripted.Func(func(*agentloop.Request) scripted.Step {
		return scripted.Step{
			Usage:     &agentloop.Usage{InputTokens: 900, OutputTokens: 100},
			ToolCalls: []agentloop.ToolCall{{Name: "note", Arguments: `{"id":"a"}`}},
		}
	})
	b := wrap.NewBudget(wrap.Spend{CostMicros: 6000})
	note := agentloop.NewTool("note", "Notes.", func(context.Context, struct {
		ID string `json:"id"`
	}) (string, error) {
		return "noted", nil
	})
	loop, err := agentloop.New(agentloop.Config{Model: wrap.Retry(wrap.Limit(model, b, price), wrap.RetryConfig{}), Tools: []agentloop.Tool{note}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := loop.Run(t.Context(), nil, "Go.")
	if !errors.Is(err, agentloop.ErrBudget) || result.FinishReason != agentloop.FinishBudget || len(result.Calls) == 0 {
		t.Errorf("%s, %d tool calls, error %v", result.FinishReason, len(result.Calls), err)
	}
	if used := b.Used().CostMicros; used != int64(len(result.Calls))*1000 || used > 6000 {
		t.Errorf("%d micros used for %d tool calls", used, len(result.Calls))
	}
}
