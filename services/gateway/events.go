package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// pendingEvents is the number of events that may wait for a slow reader before the turn waits too.
const pendingEvents = 64

// events carries the events of a turn to the one goroutine that sends them. What was emitted must not be modified.
type events struct {
	ctx    context.Context // ends when the reader has gone
	cancel context.CancelCauseFunc
	queue  chan *gatewayv1.AskStreamResponse
	end    func()        // closes queue; may be called again
	done   chan struct{} // closed when the sender has ended; err is then set
	err    error
}

// newEvents starts the sender. The caller must close the events or, after a panic, end them.
func newEvents(ctx context.Context, send func(*gatewayv1.AskStreamResponse) error) *events {
	e := &events{queue: make(chan *gatewayv1.AskStreamResponse, pendingEvents), done: make(chan struct{})}
	e.ctx, e.cancel = context.WithCancelCause(ctx)
	e.end = sync.OnceFunc(func() { close(e.queue) })
	go e.send(send)
	return e
}

// send sends until the queue is closed. A failure cancels the turn; send then empties the queue.
func (e *events) send(send func(*gatewayv1.AskStreamResponse) error) {
	defer close(e.done)
	for ev := range e.queue {
		if e.err != nil {
			continue
		}
		if err := sendRecovered(send, ev); err != nil {
			e.err = fmt.Errorf("send event: %w", err)
			e.cancel(e.err)
		}
	}
}

// sendRecovered sends one event. A panic becomes an error: the goroutine has no handler that would recover.
func sendRecovered(send func(*gatewayv1.AskStreamResponse) error, ev *gatewayv1.AskStreamResponse) (err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("panic in sending an event", "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	return send(ev)
}

// emit queues an event. It waits for a slow reader as long as the turn may last. It is safe for concurrent use.
func (e *events) emit(ev *gatewayv1.AskStreamResponse) {
	select {
	case e.queue <- ev:
	case <-e.ctx.Done():
	}
}

// close waits until all events are sent and returns the first error of sending. Nothing may be emitted afterwards.
//
// A reader that takes nothing blocks the transport's Send until the handler returns, so close waits no longer than the turn may
// last.
func (e *events) close() error {
	defer e.cancel(nil)
	e.end()
	select {
	case <-e.done:
		return e.err
	case <-e.ctx.Done():
		return context.Cause(e.ctx)
	}
}
