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

const patience = 10 * time.Second

func TestSilence(t *testing.T) {
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
		"never a chunk":                     {model: scripted.New(scripted.Step{Chunks: []agentloop.Chunk{}, Hang: true}), err: wrap.ErrSilent, took: patience},
		"half of an answer":                 {model: scripted.New(scripted.Step{Chunks: three[:2], Hang: true}), want: three[:2], err: wrap.ErrSilent, took: patience},
		"a slow start":                      {model: scripted.New(scripted.Step{Chunks: three[:1], Delay: patience + 1, Hang: true}), err: wrap.ErrSilent, took: patience},
		"slow, but never silent":            {model: scripted.New(scripted.Step{Chunks: three, Delay: patience - 1, ChunkDelay: patience - 1}), want: three, took: 4 * (patience - 1)},
		"a slow consumer":                   {model: scripted.New(scripted.Step{Chunks: three}), consumer: time.Hour, want: three, took: 4 * time.Hour},
		"a slow consumer of a slow model":   {model: scripted.New(scripted.Step{Chunks: three[:2], ChunkDelay: patience - 1, Hang: true}), consumer: time.Hour, want: three[:2], err: wrap.ErrSilent, took: 2*time.Hour + 2*patience - 1},
		"the model's own error":             {model: scripted.New(scripted.Step{Chunks: three[:1], Err: errBroken}), want: three[:1], err: errBroken},
		"the deadline comes first":          {model: scripted.New(scripted.Step{Chunks: three[:1], Hang: true}), deadline: patience - 1, want: three[:1], err: context.DeadlineExceeded, took: patience - 1},
		"a model that ends without a word":  {model: afterCancel(agentloop.Chunk{}, nil), want: []agentloop.Chunk{say("a"), {}}, err: wrap.ErrSilent, took: patience},
		"a model that says a word more":     {model: afterCancel(say("z"), errBroken), want: []agentloop.Chunk{say("a"), say("z")}, err: wrap.ErrSilent, took: patience},
		"an answer that was whole":          {model: scripted.New(scripted.Step{Chunks: []agentloop.Chunk{say("a"), done}, Hang: true}), want: []agentloop.Chunk{say("a"), done}, took: patience},
		"a model that then finds its end":   {model: afterCancel(done, nil), want: []agentloop.Chunk{say("a"), done}, took: patience},
		"a model that names itself is none": {model: scripted.New(scripted.Step{Chunks: []agentloop.Chunk{{Model: "m"}}, Delay: patience - 1, Hang: true}), want: []agentloop.Chunk{{Model: "m"}}, err: wrap.ErrSilent, took: 2*patience - 1},
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
				for chunk, e := range wrap.Silence(c.model, patience).Generate(ctx, user("hi")) {
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

func TestSilenceOfNothingIsNone(t *testing.T) {
	m := scripted.New()
	if got := wrap.Silence(m, 0); got != agentloop.Model(m) {
		t.Errorf("%T, want the model itself", got)
	}
}

func TestSilentErrorAsksForAnotherTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := collect(wrap.Silence(scripted.New(scripted.Step{Hang: true}), patience).Generate(t.Context(), user("hi")))
		if wait, retry := wrap.Retryable(err); wait != 0 || !retry {
			t.Errorf("%v: wait %v, retry %v", err, wait, retry)
		}
		if errors.Is(err, context.Canceled) {
			t.Errorf("%v says that the caller left", err)
		}
		if want := "wrap: the model fell silent: nothing came for 10s"; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}

// However a consumer leaves, at whatever chunk, the clock is stopped: synctest and goleak would find one that runs on.
func TestSilenceEndsWithItsConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.Silence(scripted.Func(func(*agentloop.Request) scripted.Step {
			return scripted.Step{Text: "Hello there.", ChunkSize: 3, ChunkDelay: time.Second}
		}), patience)
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
func TestSilenceBesideOthers(t *testing.T) {
	hangs, answers := scripted.Step{Hang: true}, scripted.Step{Text: "<think>So.</think>Done."}
	retry := func(m agentloop.Model) agentloop.Model { return wrap.Retry(m, wrap.RetryConfig{}) }
	silence := func(m agentloop.Model) agentloop.Model { return wrap.Silence(m, patience) }
	reasoning := func(m agentloop.Model) agentloop.Model { return wrap.Reasoning(m, wrap.ReasoningConfig{}) }
	slow := scripted.Step{Text: "One by one.", ChunkSize: 1, ChunkDelay: patience - 1}
	b := wrap.NewBudget(wrap.Spend{})
	for name, c := range map[string]struct {
		model func() agentloop.Model
		text  string
		err   error
	}{
		"Retry over Silence":       {func() agentloop.Model { return retry(silence(scripted.New(hangs, answers))) }, "Done.", nil},
		"Silence over Retry":       {func() agentloop.Model { return silence(retry(scripted.New(hangs, answers))) }, "", wrap.ErrSilent},
		"Fallback over Silence":    {func() agentloop.Model { return wrap.Fallback(silence(scripted.New(hangs)), scripted.New(answers)) }, "Done.", nil},
		"Silence over Fallback":    {func() agentloop.Model { return silence(wrap.Fallback(scripted.New(hangs), scripted.New(answers))) }, "", wrap.ErrSilent},
		"Reasoning over Silence":   {func() agentloop.Model { return reasoning(silence(scripted.New(slow))) }, "One by one.", nil},
		"Silence over Limit":       {func() agentloop.Model { return retry(silence(wrap.Limit(scripted.New(hangs, answers), b, nil))) }, "Done.", nil},
		"Limit over Silence":       {func() agentloop.Model { return retry(wrap.Limit(silence(scripted.New(hangs, answers)), b, nil)) }, "Done.", nil},
		"Silence, but not a retry": {func() agentloop.Model { return silence(scripted.New(hangs, answers)) }, "", wrap.ErrSilent},
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

// What Reasoning holds back is silence to a clock above it.
func TestSilenceOverReasoningHearsNothingOfWhatIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.New(scripted.Step{Chunks: []agentloop.Chunk{{Text: "One"}, {Text: " by"}, {Text: " one."}}, ChunkDelay: patience - 1})
		m := wrap.Silence(wrap.Reasoning(slow, wrap.ReasoningConfig{}), patience)
		if _, err := collect(m.Generate(t.Context(), user("hi"))); !errors.Is(err, wrap.ErrSilent) {
			t.Errorf("error %v: the documentation is wrong", err)
		}
	})
}

// A replay takes no time, so it goes by what was recorded of the silence.
func TestSilenceIsPlayedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var exchanges []wrap.Exchange
		record := func(m agentloop.Model) agentloop.Model {
			return wrap.Record(m, func(x wrap.Exchange) { exchanges = append(exchanges, x) })
		}
		silence := func(m agentloop.Model) agentloop.Model { return wrap.Silence(m, patience) }
		for name, c := range map[string]struct {
			below func(agentloop.Model) agentloop.Model // and with the recorder
			above func(agentloop.Model) agentloop.Model
			text  string // of the replay
		}{
			"Record over Silence": {func(m agentloop.Model) agentloop.Model { return record(silence(m)) }, func(m agentloop.Model) agentloop.Model { return m }, "Done."},
			"Silence over Record": {record, silence, ""},
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
