package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// ErrSilent says that a model sent nothing for as long as [Silence] lets it.
var ErrSilent = errors.New("wrap: the model fell silent")

// Silence returns a model that stops a call of m in which nothing comes for d, before the first chunk or after any other, and
// fails it with an error that wraps [ErrSilent]. The error is a [RetryHinter] that asks for another try, so that [Retry] over
// Silence makes one if nothing had gone out. Zero or less: m itself.
//
// It is a second clock beside the context's deadline. A deadline that is short enough to find out about a hung connection
// would cut long answers that are under way; one that is long enough for those waits out the hung ones.
//
// Only the model's time counts: the clock stands still while the consumer has a chunk. Any chunk sets it back, reasoning
// and one that only names the model included. What adapters do not pass on does not: a stream of comment lines or empty
// events, which keep a connection open and say nothing of the model behind it, is silence. So is the time in which a model
// reasons and its provider sends nothing of it, and all of an answer that does not stream: d must be longer than those.
//
// An answer whose finish reason has come is whole; silence after it ends the sequence without an error. The call ends when m
// does, which must honour its context, as every Model must.
func Silence(m agentloop.Model, d time.Duration) agentloop.Model {
	if d <= 0 {
		return m
	}
	return &listener{next: m, max: d}
}

type listener struct {
	next agentloop.Model
	max  time.Duration
}

// Generate implements [agentloop.Model].
func (l *listener) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		alarm := startAlarm(l.max, cancel)
		defer alarm.pause()
		finished := false
		for c, err := range l.next.Generate(ctx, req) {
			alarm.pause()
			if err != nil && alarm.rang {
				break // it only says that the call was stopped
			}
			finished = finished || c.FinishReason != ""
			if !yield(c, err) || err != nil {
				return
			}
			alarm.resume()
		}
		alarm.pause()
		if alarm.rang && !finished {
			yield(agentloop.Chunk{}, &silentError{after: l.max})
		}
	}
}

// alarm calls a function once it has run for a time without a pause. It belongs to one goroutine.
type alarm struct {
	timer   *time.Timer
	after   time.Duration
	called  chan struct{} // closed after the call
	running bool
	rang    bool // as of the last pause
}

func startAlarm(after time.Duration, call func()) *alarm {
	a := &alarm{after: after, called: make(chan struct{}), running: true}
	a.timer = time.AfterFunc(after, func() { call(); close(a.called) })
	return a
}

// pause stops the clock. If the function is just being called it waits for it, so that nothing of it outlives the call.
func (a *alarm) pause() {
	if a.running && !a.timer.Stop() {
		<-a.called
		a.rang = true
	}
	a.running = false
}

// resume starts the clock anew, unless it rang.
func (a *alarm) resume() {
	if !a.rang {
		a.timer.Reset(a.after)
		a.running = true
	}
}

// silentError is an ErrSilent that says how long it took.
type silentError struct{ after time.Duration }

// Error implements error.
func (e *silentError) Error() string {
	return fmt.Sprintf("%v: nothing came for %v", ErrSilent, e.after)
}

// Unwrap returns ErrSilent.
func (e *silentError) Unwrap() error { return ErrSilent }

// RetryHint implements [RetryHinter]: the next connection may lead to a server that answers.
func (e *silentError) RetryHint() (after time.Duration, retry bool) { return 0, true }

// ErrorType returns a short name for the kind of the error. Package agentotel asks for it.
func (e *silentError) ErrorType() string { return "silent" }
