package wrap_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// modelFunc is a model by its method.
type modelFunc func(ctx context.Context, yield func(agentloop.Chunk, error) bool)

func (f modelFunc) Generate(ctx context.Context, _ *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) { f(ctx, yield) }
}

const timeout = 10 * time.Second

func TestIdleTimeout(t *testing.T) {
	say := func(text string) agentloop.Chunk { return agentloop.Chunk{Text: text} }
	done := agentloop.Chunk{FinishReason: agentloop.FinishStop}
	three := []agentloop.Chunk{say("a"), {Reasoning: "b"}, say("c"), done}
	// afterCancel says something once its context has ended, and ends in its own way.
	afterCancel := func(c agentloop.Chunk, err error) agentloop.Model {
		return modelFunc(func(ctx context.Context, yield func(agentloop.Chunk, error) bool) {
			if !yield(say("a"), nil) {
				return
			}
			<-ctx.Done()
			if yield(c, nil) && err != nil {
				yield(agentloop.Chunk{}, err)
			}
		})
	}
	for name, c := range map[string]struct {
		model    agentloop.Model
		consumer time.Duration // that it takes over each chunk
		deadline time.Duration // zero: none
		want     []agentloop.Chunk
		err      error
		took     time.Duration
	}{
		"never a chunk":                     {model: scripted.New(scripted.Step{Chunks: []agentloop.Chunk{}, Hang: true}), err: wrap.ErrIdle, took: timeout},
		"half of an answer":                 {model: scripted.New(scripted.Step{Chunks: three[:2], Hang: true}), want: three[:2], err: wrap.ErrIdle, took: timeout},
		"a slow start":                      {model: scripted.New(scripted.Step{Chunks: three[:1], Delay: timeout + 1, Hang: true}), err: wrap.ErrIdle, took: timeout},
		"slow, but never silent":            {model: scripted.New(scripted.Step{Chunks: three, Delay: timeout - 1, ChunkDelay: timeout - 1}), want: three, took: 4 * (timeout - 1)},
		"a slow consumer":                   {model: scripted.New(scripted.Step{Chunks: three}), consumer: time.Hour, want: three, took: 4 * time.Hour},
		"a slow consumer of a slow model":   {model: scripted.New(scripted.Step{Chunks: three[:2], ChunkDelay: timeout - 1, Hang: true}), consumer: time.Hour, want: three[:2], err: wrap.ErrIdle, took: 2*time.Hour + 2*timeout - 1},
		"the model's own error":             {model: scripted.New(scripted.Step{Chunks: three[:1], Err: errBroken}), want: three[:1], err: errBroken},
		"the deadline comes first":          {model: scripted.New(scripted.Step{Chunks: three[:1], Hang: true}), deadline: timeout - 1, want: three[:1], err: context.DeadlineExceeded, took: timeout - 1},
		"a model that ends without a word":  {model: afterCancel(agentloop.Chunk{}, nil), want: []agentloop.Chunk{say("a"), {}}, err: wrap.ErrIdle, took: timeout},
		"a model that says a word more":     {model: afterCancel(say("z"), errBroken), want: []agentloop.Chunk{say("a"), say("z")}, err: wrap.ErrIdle, took: timeout},
		"an answer that was whole":          {model: scripted.New(scripted.Step{Chunks: []agentloop.Chunk{say("a"), done}, Hang: true}), want: []agentloop.Chunk{say("a"), done}, took: timeout},
		"a model that then finds its end":   {model: afterCancel(done, nil), want: []agentloop.Chunk{say("a"), done}, took: timeout},
		"a model that names itself is none": {model: scripted.New(scripted.Step{Chunks: []agentloop.Chunk{{Model: "m"}}, Delay: timeout - 1, Hang: true}), want: []agentloop.Chunk{{Model: "m"}}, err: wrap.ErrIdle, took: 2*timeout - 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				begun := time.Now()
				var got []agentloop.Chunk
				var err error
				for chunk, e := range wrap.IdleTimeout(c.model, timeout).Generate(ctx, user("hi")) {
					if err = e; e == nil {
						got = append(got, chunk)
						time.Sleep(c.consumer)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("chunks (-want +got):\n%s", diff)
				}
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if took := time.Since(begun); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func TestNoIdleTimeout(t *testing.T) {
	m := scripted.New()
	if got := wrap.IdleTimeout(m, 0); got != agentloop.Model(m) {
		t.Errorf("%T, want the model itself", got)
	}
}

func TestIdleErrorIsRetryable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := collect(wrap.IdleTimeout(scripted.New(scripted.Step{Hang: true}), timeout).Generate(t.Context(), user("hi")))
		if wait, retry := wrap.Retryable(err); wait != 0 || !retry {
			t.Errorf("%v: wait %v, retry %v", err, wait, retry)
		}
		if errors.Is(err, context.Canceled) {
			t.Errorf("%v says that the caller left", err)
		}
		if want := "wrap: idle timeout: nothing came for 10s"; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}

// However a consumer leaves, at whatever chunk, the clock is stopped: synctest and goleak would find one that runs on.
func TestIdleTimerEndsWithItsConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.IdleTimeout(scripted.Func(func(*agentloop.Request) scripted.Step {
			return scripted.Step{Text: "Hello there.", ChunkSize: 3, ChunkDelay: time.Second}
		}), timeout)
		stopEarly(t, func() iter.Seq2[agentloop.Chunk, error] { return m.Generate(t.Context(), user("hi")) }, 4)
		for _, at := range []int{1, 2} {
			func() {
				defer func() { _ = recover() }()
				seen := 0
				for range m.Generate(t.Context(), user("hi")) {
					if seen++; seen == at {
						panic("the consumer fails")
					}
				}
			}()
		}
	})
}

// What the documentation says of the order.
func TestIdleTimeoutWithOtherWrappers(t *testing.T) {
	hangs, answers := scripted.Step{Hang: true}, scripted.Step{Text: "<think>So.</think>Done."}
	retry := func(m agentloop.Model) agentloop.Model { return wrap.Retry(m, wrap.RetryConfig{}) }
	idle := func(m agentloop.Model) agentloop.Model { return wrap.IdleTimeout(m, timeout) }
	reasoning := func(m agentloop.Model) agentloop.Model { return wrap.Reasoning(m, wrap.ReasoningConfig{}) }
	slow := scripted.Step{Text: "One by one.", ChunkSize: 1, ChunkDelay: timeout - 1}
	b := wrap.NewBudget(wrap.Spend{})
	for name, c := range map[string]struct {
		model func() agentloop.Model
		text  string
		err   error
	}{
		"Retry over IdleTimeout":     {func() agentloop.Model { return retry(idle(scripted.New(hangs, answers))) }, "Done.", nil},
		"IdleTimeout over Retry":     {func() agentloop.Model { return idle(retry(scripted.New(hangs, answers))) }, "", wrap.ErrIdle},
		"Fallback over IdleTimeout":  {func() agentloop.Model { return wrap.Fallback(idle(scripted.New(hangs)), scripted.New(answers)) }, "Done.", nil},
		"IdleTimeout over Fallback":  {func() agentloop.Model { return idle(wrap.Fallback(scripted.New(hangs), scripted.New(answers))) }, "", wrap.ErrIdle},
		"Reasoning over IdleTimeout": {func() agentloop.Model { return reasoning(idle(scripted.New(slow))) }, "One by one.", nil},
		"IdleTimeout over Limit":     {func() agentloop.Model { return retry(idle(wrap.Limit(scripted.New(hangs, answers), b, nil))) }, "Done.", nil},
		"Limit over IdleTimeout":     {func() agentloop.Model { return retry(wrap.Limit(idle(scripted.New(hangs, answers)), b, nil)) }, "Done.", nil},
		"IdleTimeout without Retry":  {func() agentloop.Model { return idle(scripted.New(hangs, answers)) }, "", wrap.ErrIdle},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chunks, err := collect(reasoning(c.model()).Generate(t.Context(), user("hi")))
				if text, _ := textOf(chunks); text != c.text || !errors.Is(err, c.err) {
					t.Errorf("text %q, error %v; want %q and %v", text, err, c.text, c.err)
				}
			})
		})
	}
}

// What Reasoning holds back is idle to a clock above it.
func TestIdleTimeoutOverReasoningIgnoresHeldText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.New(scripted.Step{Chunks: []agentloop.Chunk{{Text: "One"}, {Text: " by"}, {Text: " one."}}, ChunkDelay: timeout - 1})
		m := wrap.IdleTimeout(wrap.Reasoning(slow, wrap.ReasoningConfig{Hold: 100}), timeout)
		if _, err := collect(m.Generate(t.Context(), user("hi"))); !errors.Is(err, wrap.ErrIdle) {
			t.Errorf("error %v: the documentation is wrong", err)
		}
	})
}

// A replay takes no time, so it goes by what was recorded of the idle.
func TestIdleTimeoutIsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var exchanges []wrap.Exchange
		record := func(m agentloop.Model) agentloop.Model {
			return wrap.Record(m, func(x wrap.Exchange) { exchanges = append(exchanges, x) })
		}
		idle := func(m agentloop.Model) agentloop.Model { return wrap.IdleTimeout(m, timeout) }
		for name, c := range map[string]struct {
			below func(agentloop.Model) agentloop.Model // and with the recorder
			above func(agentloop.Model) agentloop.Model
			text  string // of the replay
		}{
			"Record over IdleTimeout": {func(m agentloop.Model) agentloop.Model { return record(idle(m)) }, func(m agentloop.Model) agentloop.Model { return m }, "Done."},
			"IdleTimeout over Record": {record, idle, ""},
		} {
			exchanges = nil
			model := scripted.New(scripted.Step{Hang: true}, scripted.Step{Text: "Done."})
			for _, m := range []agentloop.Model{c.below(model), nil} {
				want := "Done."
				if m == nil {
					m, want = wrap.Replay(exchanges), c.text
				}
				chunks, err := collect(wrap.Retry(c.above(m), wrap.RetryConfig{}).Generate(t.Context(), user("hi")))
				if text, _ := textOf(chunks); text != want {
					t.Errorf("%s: text %q, error %v, want %q", name, text, err, want)
				}
			}
		}
	})
}
