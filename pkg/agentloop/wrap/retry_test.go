package wrap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

func fail(err error) scripted.Step { return scripted.Step{Err: err} }

func TestRetry(t *testing.T) {
	ok := scripted.Step{Text: "ok"}
	for name, c := range map[string]struct {
		steps []scripted.Step
		calls int
		text  string
		err   error
	}{
		"no failure":                           {[]scripted.Step{ok}, 1, "ok", nil},
		"a failure that passes":                {[]scripted.Step{fail(overloaded), ok}, 2, "ok", nil},
		"the last attempt succeeds":            {[]scripted.Step{fail(overloaded), fail(overloaded), ok}, 3, "ok", nil},
		"attempts are bounded":                 {[]scripted.Step{fail(overloaded), fail(overloaded), fail(overloaded), ok}, 3, "", overloaded},
		"what the error calls final is final":  {[]scripted.Step{fail(refused), ok}, 1, "", refused},
		"an unknown error is final":            {[]scripted.Step{fail(errBroken), ok}, 1, "", errBroken},
		"a connection that breaks":             {[]scripted.Step{fail(&net.OpError{Op: "dial", Err: errBroken}), ok}, 2, "ok", nil},
		"an answer that breaks off at once":    {[]scripted.Step{fail(fmt.Errorf("read: %w", io.ErrUnexpectedEOF)), ok}, 2, "ok", nil},
		"a name is no answer yet":              {[]scripted.Step{{Chunks: []agentloop.Chunk{{Model: "m"}, {}}, Err: overloaded}, ok}, 2, "ok", nil},
		"never after a chunk":                  {[]scripted.Step{{Text: "half", Err: overloaded}, ok}, 1, "half", overloaded},
		"never after a thought":                {[]scripted.Step{{Reasoning: "hm", Err: overloaded}, ok}, 1, "", overloaded},
		"the context's errors are never tried": {[]scripted.Step{fail(context.Canceled), ok}, 1, "", context.Canceled},
		"nor is a deadline":                    {[]scripted.Step{fail(fmt.Errorf("x: %w", context.DeadlineExceeded)), ok}, 1, "", context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := scripted.New(c.steps...)
				got, err := collect(wrap.Retry(inner, wrap.RetryConfig{}).Generate(t.Context(), user("hi")))
				if text, _ := textOf(got); text != c.text || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Errorf("got %q, %v; want %q, %v", text, err, c.text, c.err)
				}
				if n := len(inner.Requests()); n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
			})
		})
	}
}

func TestRetryKeepsTheChunks(t *testing.T) {
	chunks := []agentloop.Chunk{{Text: "a"}, {Model: "n"}, {Text: "b"}, {FinishReason: agentloop.FinishStop}}
	got, err := collect(wrap.Retry(scripted.New(scripted.Step{Chunks: chunks}), wrap.RetryConfig{}).Generate(t.Context(), user("hi")))
	if diff := cmp.Diff(chunks, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	named := []agentloop.Chunk{{Model: "m"}, {}, {Text: "a"}}
	got, err = collect(wrap.Retry(scripted.New(scripted.Step{Chunks: named}), wrap.RetryConfig{}).Generate(t.Context(), user("hi")))
	if diff := cmp.Diff([]agentloop.Chunk{{Model: "m", Text: "a"}}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	got, err = collect(wrap.Retry(scripted.New(scripted.Step{Chunks: named[:2]}), wrap.RetryConfig{}).Generate(t.Context(), user("hi")))
	if diff := cmp.Diff(named[:1], got); diff != "" || err != nil {
		t.Errorf("an answer of a name only: error %v (-want +got):\n%s", err, diff)
	}
}

// The waits are random below a bound that doubles: over many runs they come near it, and never beyond.
func TestBackoffGrowsToItsBound(t *testing.T) {
	cfg := wrap.RetryConfig{MaxAttempts: 6, BaseDelay: time.Second, MaxDelay: 5 * time.Second}
	bounds := []time.Duration{1, 2, 4, 5, 5}
	longest := make([]time.Duration, len(bounds))
	shortest := make([]time.Duration, len(bounds))
	for i := range shortest {
		shortest[i] = time.Hour
	}
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Time
			inner := scripted.Func(func(*agentloop.Request) scripted.Step {
				at = append(at, time.Now())
				return fail(overloaded)
			})
			if _, err := collect(wrap.Retry(inner, cfg).Generate(t.Context(), user("hi"))); !strings.HasPrefix(err.Error(), "attempt 6: ") {
				t.Fatalf("error %v", err)
			}
			for i := range bounds {
				wait := at[i+1].Sub(at[i])
				longest[i], shortest[i] = max(longest[i], wait), min(shortest[i], wait)
			}
		})
	}
	for i, bound := range bounds {
		bound *= time.Second
		if longest[i] > bound || longest[i] < bound*8/10 || shortest[i] > bound*2/10 {
			t.Errorf("wait %d is between %v and %v, want all of 0 to %v", i, shortest[i], longest[i], bound)
		}
	}
}

func TestRetryWaitsAsLongAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := scripted.New(fail(&statusError{429, 90 * time.Second}), scripted.Step{Text: "ok"})
		begun := time.Now()
		_, err := collect(wrap.Retry(inner, wrap.RetryConfig{}).Generate(t.Context(), user("hi")))
		if took := time.Since(begun); took != 90*time.Second || err != nil {
			t.Errorf("took %v, error %v", took, err)
		}
	})
}

func TestRetryDoesNotOutlastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, calls := range map[time.Duration]int{29 * time.Second: 2, 30 * time.Second: 1, time.Hour: 1} {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			inner := scripted.New(fail(&statusError{429, wait}), scripted.Step{Text: "ok"})
			begun := time.Now()
			_, err := collect(wrap.Retry(inner, wrap.RetryConfig{}).Generate(ctx, user("hi")))
			if n := len(inner.Requests()); n != calls {
				t.Errorf("wait %v: %d calls, want %d", wait, n, calls)
			}
			if calls == 1 && (time.Since(begun) != 0 || !errors.As(err, new(*statusError))) {
				t.Errorf("wait %v: error %v after %v, want the model's at once", wait, err, time.Since(begun))
			}
			cancel()
		}
	})
}

func TestRetryStopsWaitingWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		inner := scripted.New(fail(&statusError{429, time.Hour}))
		begun := time.Now()
		_, err := collect(wrap.Retry(inner, wrap.RetryConfig{}).Generate(ctx, user("hi")))
		if !errors.Is(err, context.Canceled) || !errors.As(err, new(*statusError)) || time.Since(begun) != time.Minute {
			t.Errorf("error %v after %v", err, time.Since(begun))
		}
	})
}

func TestRetryAsksRetryable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := scripted.New(fail(errBroken), fail(overloaded))
		judge := func(err error) (time.Duration, bool) { return time.Second, err == errBroken }
		begun := time.Now()
		_, err := collect(wrap.Retry(inner, wrap.RetryConfig{Retryable: judge}).Generate(t.Context(), user("hi")))
		if !errors.Is(err, overloaded) || time.Since(begun) != time.Second || inner.Remaining() != 0 {
			t.Errorf("error %v after %v", err, time.Since(begun))
		}
	})
}

func TestRetryStopsWithItsConsumer(t *testing.T) {
	stopEarly(t, func() iter.Seq2[agentloop.Chunk, error] {
		return wrap.Retry(scripted.New(scripted.Step{Text: "abc", ChunkSize: 1, Err: errBroken}), wrap.RetryConfig{}).Generate(t.Context(), user("hi"))
	}, 4)
}

func TestFallback(t *testing.T) {
	ok := scripted.Step{Text: "ok"}
	for name, c := range map[string]struct {
		first, second scripted.Step
		asked         bool // the second model
		text          string
		err           error
	}{
		"the first answers":                  {ok, fail(errBroken), false, "ok", nil},
		"the second answers for the first":   {fail(overloaded), ok, true, "ok", nil},
		"whatever failed":                    {fail(errBroken), ok, true, "ok", nil},
		"a budget that is used up":           {fail(agentloop.ErrBudget), ok, true, "ok", nil},
		"not once a chunk went out":          {scripted.Step{Text: "half", Err: overloaded}, ok, false, "half", overloaded},
		"not when the request is at fault":   {fail(badRequest), ok, false, "", badRequest},
		"not on the context's errors":        {fail(context.Canceled), ok, false, "", context.Canceled},
		"both fail, the first is reported":   {fail(refused), fail(errBroken), true, "", refused},
		"both fail, the second is reported":  {fail(refused), fail(errBroken), true, "", errBroken},
		"the second finds fault with itself": {fail(refused), fail(badRequest), true, "", badRequest},
	} {
		t.Run(name, func(t *testing.T) {
			second := scripted.New(c.second)
			got, err := collect(wrap.Fallback(scripted.New(c.first), second).Generate(t.Context(), user("hi")))
			if text, _ := textOf(got); text != c.text || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %q, %v; want %q, %v", text, err, c.text, c.err)
			}
			if asked := len(second.Requests()) > 0; asked != c.asked {
				t.Errorf("second asked: %v", asked)
			}
		})
	}
}

func TestFallbackWithoutModels(t *testing.T) {
	if _, err := collect(wrap.Fallback().Generate(t.Context(), user("hi"))); err == nil {
		t.Error("no error")
	}
}

// The error of a chain asks for what the best of its errors asks for.
func TestErrorOfAChain(t *testing.T) {
	chain := func(errs ...error) error {
		var models []agentloop.Model
		for _, err := range errs {
			models = append(models, scripted.New(fail(err)))
		}
		_, err := collect(wrap.Fallback(models...).Generate(t.Context(), user("hi")))
		return err
	}
	for name, c := range map[string]struct {
		err   error
		wait  time.Duration
		retry bool
		bad   bool
	}{
		"one of them":       {chain(refused, overloaded), 0, true, false},
		"the shortest wait": {chain(&statusError{429, time.Hour}, refused, &statusError{429, time.Minute}), time.Minute, true, false},
		"none of them":      {chain(refused, errBroken), 0, false, false},
		"the last is bad":   {chain(refused, badRequest, overloaded), 0, false, true},
	} {
		wait, retry := wrap.Retryable(c.err)
		bad := errors.Is(c.err, endpoint.ErrBadRequest)
		if wait != c.wait || retry != c.retry || bad != c.bad {
			t.Errorf("%s: %v: wait %v, retry %v, bad request %v", name, c.err, wait, retry, bad)
		}
	}
	if got, want := chain(refused, errBroken).Error(), "2 models failed: status 4xx\nbroken"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}
