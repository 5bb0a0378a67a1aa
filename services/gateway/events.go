package gateway

import (
	"context"
	"fmt"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// pendingEvents is how many events may wait for a slow reader before the turn waits for it too.
const pendingEvents = 64

// events carries the events of a turn to the one goroutine that sends them. A nil *events takes events and drops them,
// so that a turn is the same whether anybody listens. What was emitted must not be changed any more.
type events struct {
	ctx    context.Context // ends when the reader has gone
	cancel context.CancelCauseFunc
	queue  chan *gatewayv1.AskStreamResponse
	done   chan struct{} // closed when the sender has ended; err is then set
	err    error
}

// newEvents starts the sender. The caller must close what it gets.
func newEvents(ctx context.Context, send func(*gatewayv1.AskStreamResponse) error) *events {
	e := &events{queue: make(chan *gatewayv1.AskStreamResponse, pendingEvents), done: make(chan struct{})}
	e.ctx, e.cancel = context.WithCancelCause(ctx)
	go e.send(send)
	return e
}

// send sends until the queue is closed. After a failure it goes on to empty the queue, and the turn is cancelled.
func (e *events) send(send func(*gatewayv1.AskStreamResponse) error) {
	defer close(e.done)
	for ev := range e.queue {
		if e.err != nil {
			continue
		}
		if err := send(ev); err != nil {
			e.err = fmt.Errorf("send event: %w", err)
			e.cancel(e.err)
		}
	}
}

// emit queues an event. It waits for a slow reader as long as the turn may last. Safe for concurrent use.
func (e *events) emit(ev *gatewayv1.AskStreamResponse) {
	if e == nil {
		return
	}
	select {
	case e.queue <- ev:
	case <-e.ctx.Done():
	}
}

// close waits until all events are sent and returns the first error of sending. Nothing may be emitted afterwards.
//
// A reader that takes nothing blocks the transport's Send, which gRPC releases only when the handler returns; so close
// waits no longer than the turn may last.
func (e *events) close() error {
	defer e.cancel(nil)
	close(e.queue)
	select {
	case <-e.done:
		return e.err
	case <-e.ctx.Done():
		return context.Cause(e.ctx)
	}
}

func (e *events) routed(d *routerv1.RoutingDecision) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_Routed{Routed: &gatewayv1.Routed{Decision: d}}})
}

func (e *events) agentStarted(a *routerv1.Assignment) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_AgentStarted{
		AgentStarted: &gatewayv1.AgentStarted{Assignment: a}}})
}

func (e *events) agentFinished(r *gatewayv1.AssignmentResult) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_AgentFinished{
		AgentFinished: &gatewayv1.AgentFinished{Result: r}}})
}

func (e *events) toolCallStarted(a *routerv1.Assignment, c *specialistv1.ToolCallStarted) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_ToolCallStarted{
		ToolCallStarted: &gatewayv1.AgentToolCallStarted{
			AssignmentId: a.GetAssignmentId(), Specialist: a.GetSpecialist(), ToolCall: c}}})
}

func (e *events) toolCallFinished(a *routerv1.Assignment, c *specialistv1.ToolCall) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_ToolCallFinished{
		ToolCallFinished: &gatewayv1.AgentToolCallFinished{
			AssignmentId: a.GetAssignmentId(), Specialist: a.GetSpecialist(), ToolCall: c}}})
}

func (e *events) text(text string) {
	if text == "" {
		return
	}
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_TextDelta{
		TextDelta: &specialistv1.TextDelta{Text: text}}})
}
