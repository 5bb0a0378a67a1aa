package wrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Defaults for the zero values of [RetryConfig].
const (
	DefaultMaxAttempts = 3
	DefaultBaseDelay   = 500 * time.Millisecond
	DefaultMaxDelay    = 20 * time.Second
)

// RetryConfig configures [Retry]. The zero value means the defaults.
type RetryConfig struct {
	// MaxAttempts limits the calls, including the first one. Zero: DefaultMaxAttempts. 1: no retries.
	MaxAttempts int
	// BaseDelay is the longest wait before the second attempt; it doubles with each further attempt. The wait is random
	// between zero and this, so that many callers do not return at once. Zero: DefaultBaseDelay.
	BaseDelay time.Duration
	// MaxDelay limits the doubled waits. Zero: DefaultMaxDelay.
	MaxDelay time.Duration
	// Retryable decides whether to retry after an error, and how long to wait. A wait above zero replaces the random one and
	// has no limit except the context's deadline. It is not called for the context's errors. Nil: [Retryable].
	Retryable func(error) (wait time.Duration, retry bool)
}

func (cfg RetryConfig) withDefaults() RetryConfig {
	if cfg.MaxAttempts <= 0 {
		cfg.MaxAttempts = DefaultMaxAttempts
	}
	if cfg.BaseDelay <= 0 {
		cfg.BaseDelay = DefaultBaseDelay
	}
	if cfg.MaxDelay <= 0 {
		cfg.MaxDelay = DefaultMaxDelay
	}
	if cfg.Retryable == nil {
		cfg.Retryable = Retryable
	}
	return cfg
}

// longestWait returns the longest random wait after a number of failed attempts.
func (cfg RetryConfig) longestWait(failed int) time.Duration {
	d := cfg.BaseDelay
	for range failed - 1 {
		if d >= cfg.MaxDelay/2 {
			return cfg.MaxDelay
		}
		d *= 2
	}
	return min(d, cfg.MaxDelay)
}

// RetryHinter is an error that knows whether a retry may succeed. The errors of adapters implement it. [Retryable] finds it
// with errors.As.
type RetryHinter interface {
	error
	// RetryHint reports whether a retry may succeed, and how long to wait before it. Zero: the failure does not say.
	RetryHint() (after time.Duration, retry bool)
}

// Retryable is the default of [RetryConfig]. It asks the error's [RetryHinter] if there is one. Otherwise, network failures
// and broken-off answers may be retried, and all other errors may not.
func Retryable(err error) (wait time.Duration, retry bool) {
	var hint RetryHinter
	if errors.As(err, &hint) {
		return hint.RetryHint()
	}
	var network net.Error
	return 0, errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Retry returns a model that calls m again if a call fails before its first chunk. After the first chunk it passes a failure
// on, because the consumer has part of the answer. It does not retry if the wait would exceed the context's deadline, so the
// caller gets the error while there is time for something else. The error is the last attempt's, wrapped with the
// number of attempts if there were several.
func Retry(m agentloop.Model, cfg RetryConfig) agentloop.Model {
	return &retrier{next: m, cfg: cfg.withDefaults()}
}

type retrier struct {
	next agentloop.Model
	cfg  RetryConfig
}

// Generate implements [agentloop.Model].
func (r *retrier) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		for failed := 1; ; failed++ {
			started, err := attempt(r.next.Generate(ctx, req), yield)
			if started {
				return
			}
			wait, again := r.decide(ctx, err, failed)
			if !again {
				if failed > 1 {
					err = fmt.Errorf("attempt %d: %w", failed, err)
				}
				yield(agentloop.Chunk{}, err)
				return
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				yield(agentloop.Chunk{}, fmt.Errorf("waiting to try again: %w, after: %w", ctx.Err(), err))
				return
			}
		}
	}
}

// decide returns whether to retry after a number of failed attempts, and when.
func (r *retrier) decide(ctx context.Context, err error, failed int) (wait time.Duration, again bool) {
	if failed >= r.cfg.MaxAttempts || isContextError(ctx, err) {
		return 0, false
	}
	wait, again = r.cfg.Retryable(err)
	if !again {
		return 0, false
	}
	if wait <= 0 {
		wait = rand.N(r.cfg.longestWait(failed) + 1)
	}
	deadline, ok := ctx.Deadline()
	return wait, !ok || time.Until(deadline) > wait
}

// isContextError reports whether a call failed because its context ended.
func isContextError(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// attempt yields an answer and reports whether any of it was yielded, including an error after the first chunk. If nothing
// was, it returns the error. A chunk that only names the model waits for the next one, because providers send it before they
// know whether they can answer.
func attempt(chunks iter.Seq2[agentloop.Chunk, error], yield func(agentloop.Chunk, error) bool) (started bool, err error) {
	model := ""
	for c, err := range chunks {
		switch {
		case err != nil && !started:
			return false, err
		case err == nil && !started && isEmpty(c):
			if c.Model != "" {
				model = c.Model
			}
			continue
		case !started && c.Model == "":
			c.Model = model
		}
		started = true
		if !yield(c, err) || err != nil {
			return true, nil
		}
	}
	if !started && model != "" {
		yield(agentloop.Chunk{Model: model}, nil)
	}
	return true, nil
}
