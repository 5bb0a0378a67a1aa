package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// ErrIdle reports that a model sent nothing for as long as [IdleTimeout] allows.
var ErrIdle = errors.New("wrap: idle timeout")

// IdleTimeout returns a model that stops a call of m that sends nothing for d, before the first chunk or after any other. The
// error wraps [ErrIdle] and is retryable, so [Retry] over IdleTimeout makes another attempt if nothing was yielded. Zero or
// less: m itself.
//
// It complements the context's deadline: a deadline short enough to detect a hung connection would cut long answers that are
// under way.
//
// Only the model's time counts: the timer stands still while the consumer has a chunk. Every chunk resets it, including
// reasoning and chunks that only name the model. What adapters do not pass on does not reset it, such as comment lines that
// keep a connection open. An answer that does not stream sends nothing until it is whole, and some providers send nothing
// while a model reasons: d must be longer than that.
//
// An answer whose finish reason has come is whole; the sequence then ends without an error. The call ends when m does, which
// must respect its context, as every Model must.
func IdleTimeout(m agentloop.Model, d time.Duration) agentloop.Model {
	if d <= 0 {
		return m
	}
	return &idleModel{next: m, timeout: d}
}

type idleModel struct {
	next    agentloop.Model
	timeout time.Duration
}

// Generate implements [agentloop.Model].
func (m *idleModel) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := startIdleTimer(m.timeout, cancel)
		defer timer.pause()
		finished := false
		for c, err := range m.next.Generate(ctx, req) {
			timer.pause()
			if err != nil && timer.fired {
				break // the error only says that the call was cancelled
			}
			finished = finished || c.FinishReason != ""
			if !yield(c, err) || err != nil {
				return
			}
			timer.resume()
		}
		timer.pause()
		if timer.fired && !finished {
			yield(agentloop.Chunk{}, &idleError{after: m.timeout})
		}
	}
}

// idleTimer calls a function once it has run for a time without a pause. It belongs to one goroutine.
type idleTimer struct {
	timer   *time.Timer
	timeout time.Duration
	called  chan struct{} // closed after the call
	running bool
	fired   bool // as of the last pause
}

func startIdleTimer(timeout time.Duration, call func()) *idleTimer {
	t := &idleTimer{timeout: timeout, called: make(chan struct{}), running: true}
	t.timer = time.AfterFunc(timeout, func() { call(); close(t.called) })
	return t
}

// pause stops the timer. If it is firing, pause waits for the function, so that nothing outlives the call.
func (t *idleTimer) pause() {
	if t.running && !t.timer.Stop() {
		<-t.called
		t.fired = true
	}
	t.running = false
}

// resume restarts the timer from zero, unless it has fired.
func (t *idleTimer) resume() {
	if !t.fired {
		t.timer.Reset(t.timeout)
		t.running = true
	}
}

// idleError is an ErrIdle that says after how long.
type idleError struct{ after time.Duration }

// Error implements error.
func (e *idleError) Error() string { return fmt.Sprintf("%v: nothing came for %v", ErrIdle, e.after) }

// Unwrap returns ErrIdle.
func (e *idleError) Unwrap() error { return ErrIdle }

// RetryHint implements [RetryHinter]: the next connection may lead to a server that answers.
func (e *idleError) RetryHint() (after time.Duration, retry bool) { return 0, true }

// ErrorType returns a short name for the kind of the error, which package agentotel reports.
func (e *idleError) ErrorType() string { return "idle_timeout" }
