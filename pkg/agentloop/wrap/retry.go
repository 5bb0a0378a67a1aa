package wrap

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Defaults for the zero values of [RetryConfig].
const (
	DefaultMaxAttempts = 3
	DefaultBaseDelay   = 500 * time.Millisecond
	DefaultMaxDelay    = 20 * time.Second
)

// RetryConfig says how [Retry] tries again. The zero value is the defaults.
type RetryConfig struct {
	// MaxAttempts bounds the calls, the first one included. Zero: DefaultMaxAttempts. 1: no call is tried again.
	MaxAttempts int
	// BaseDelay bounds the wait before the second attempt; the bound doubles with each further one. The wait is chosen
	// evenly between zero and the bound, so that many callers do not come back at once. Zero: DefaultBaseDelay.
	BaseDelay time.Duration
	// MaxDelay is the largest bound. Zero: DefaultMaxDelay.
	MaxDelay time.Duration
	// Retryable judges an error: whether to try again, and how long to wait. A wait above zero takes the place of the
	// chosen one and is bounded by the context only. It is not asked about the context's errors. Nil: [Retryable].
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

// bound returns the longest wait after a number of failed attempts.
func (cfg RetryConfig) bound(failed int) time.Duration {
	d := cfg.BaseDelay
	for range failed - 1 {
		if d >= cfg.MaxDelay/2 {
			return cfg.MaxDelay
		}
		d *= 2
	}
	return min(d, cfg.MaxDelay)
}

// Retry returns a model that asks m again when it fails before its first chunk. It does not when the wait would outlast
// the context's deadline: the caller gets the error while it still has time for something else. Once a chunk went out a
// failure is passed on as it is, since the consumer has part of the answer. The error of the last attempt is returned,
// wrapped if there were several.
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
			begun, err := attempt(r.next.Generate(ctx, req), yield)
			if begun {
				return
			}
			wait, again := r.judge(ctx, err, failed)
			if !again {
				if failed > 1 {
					err = fmt.Errorf("attempt %d: %w", failed, err)
				}
				yield(agentloop.Chunk{}, err)
				return
			}
			if cause := sleep(ctx, wait); cause != nil {
				yield(agentloop.Chunk{}, fmt.Errorf("waiting to try again: %w, after: %w", cause, err))
				return
			}
		}
	}
}

// judge returns whether to try again after a number of failed attempts, and when.
func (r *retrier) judge(ctx context.Context, err error, failed int) (wait time.Duration, again bool) {
	if failed >= r.cfg.MaxAttempts || contextError(ctx, err) {
		return 0, false
	}
	wait, again = r.cfg.Retryable(err)
	if !again {
		return 0, false
	}
	if wait <= 0 {
		wait = rand.N(r.cfg.bound(failed) + 1)
	}
	deadline, ok := ctx.Deadline()
	return wait, !ok || time.Until(deadline) > wait
}

// sleep waits, and returns the context's error if it ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
