package fanout

import (
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// Emit passes the events of a turn to the listener. It is safe for concurrent use, and may wait for a slow listener. A nil
// Emit drops events. What was emitted must not be modified.
type Emit func(*gatewayv1.AskStreamResponse)

// Routed reports the final routing.
func (e Emit) Routed(d *routerv1.RoutingDecision) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_Routed{Routed: &gatewayv1.Routed{Decision: d}}})
}

// Started reports the start of an assignment.
func (e Emit) Started(a *routerv1.Assignment) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_AgentStarted{
		AgentStarted: &gatewayv1.AgentStarted{Assignment: a}}})
}

// Finished reports the outcome of an assignment.
func (e Emit) Finished(r *gatewayv1.AssignmentResult) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_AgentFinished{
		AgentFinished: &gatewayv1.AgentFinished{Result: r}}})
}

// ToolCallStarted reports the start of a specialist's tool call.
func (e Emit) ToolCallStarted(assignmentID, specialist string, c *specialistv1.ToolCallStarted) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_ToolCallStarted{
		ToolCallStarted: &gatewayv1.AgentToolCallStarted{
			AssignmentId: assignmentID, Specialist: specialist, ToolCall: c}}})
}

// ToolCallFinished reports the end of a specialist's tool call.
func (e Emit) ToolCallFinished(assignmentID, specialist string, c *specialistv1.ToolCall) {
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_ToolCallFinished{
		ToolCallFinished: &gatewayv1.AgentToolCallFinished{
			AssignmentId: assignmentID, Specialist: specialist, ToolCall: c}}})
}

// Text reports a piece of the reply's text.
func (e Emit) Text(text string) {
	if text == "" {
		return
	}
	e.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_TextDelta{
		TextDelta: &specialistv1.TextDelta{Text: text}}})
}

func (e Emit) emit(ev *gatewayv1.AskStreamResponse) {
	if e != nil {
		e(ev)
	}
}
