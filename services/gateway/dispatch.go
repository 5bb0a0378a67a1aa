package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// branch is one assignment being worked on. Exactly one of answer and err is set once it is done.
type branch struct {
	turn       *turn
	assignment *routerv1.Assignment
	alone      bool // its text is the reply's, so it is passed on as it comes

	answer   *specialistv1.Answer
	err      error
	streamed strings.Builder // what was passed on
	spent    *commonv1.Usage // as last told; nil: nothing was told
}

// result is how the branch went.
func (b *branch) result() *gatewayv1.AssignmentResult {
	r := &gatewayv1.AssignmentResult{Assignment: b.assignment}
	if b.err != nil {
		r.Outcome = &gatewayv1.AssignmentResult_Failure{Failure: failure(b.err)}
	} else {
		r.Outcome = &gatewayv1.AssignmentResult_Answer{Answer: b.answer}
	}
	return r
}

// dispatch works on all assignments at the same time and waits until every one is done or has run into its deadline. The
// branches are in the order of the routing.
func (s *Service) dispatch(ctx context.Context, t *turn, d *routerv1.RoutingDecision) []*branch {
	ctx, cancel := context.WithDeadline(ctx, s.branchesDue(ctx, len(d.GetAssignments())))
	defer cancel()
	branches := make([]*branch, len(d.GetAssignments()))
	var wg sync.WaitGroup
	for i, a := range d.GetAssignments() {
		b := &branch{turn: t, assignment: a, alone: len(branches) == 1}
		branches[i] = b
		wg.Go(func() { s.runBranch(ctx, b) })
	}
	wg.Wait()
	return branches
}

// branchesDue is when specialists must be done, so that there is time left to merge, record and reply.
func (s *Service) branchesDue(ctx context.Context, assignments int) time.Time {
	due := replyDue(ctx)
	if assignments > 1 {
		due = due.Add(-min(s.cfg.MergeReserve, time.Until(due)/4))
	}
	return due
}

// replyDue is when the text must be there.
func replyDue(ctx context.Context) time.Time {
	due, _ := ctx.Deadline()
	return due.Add(-min(recordMargin, time.Until(due)/10))
}

// runBranch works on one assignment and reports its beginning and end.
func (s *Service) runBranch(ctx context.Context, b *branch) {
	a := b.assignment
	ctx, span := s.tracer.Start(ctx, telemetry.OperationInvokeAgent+" "+a.GetSpecialist(),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String(telemetry.KeyOperation, telemetry.OperationInvokeAgent),
			attribute.String(telemetry.KeyAgent, a.GetSpecialist()),
			attribute.String(telemetry.KeyConversation, b.turn.scope.ThreadID),
			attribute.String(telemetry.KeyStore, b.turn.scope.StoreID),
			attribute.String(telemetry.KeyAssignment, a.GetAssignmentId()),
		))
	defer span.End()
	b.turn.events.agentStarted(a)
	b.answer, b.err = s.answer(ctx, b)
	b.turn.ledger.settle(b, b.answer, b.err)
	if b.err != nil {
		f := failure(b.err)
		span.SetAttributes(attribute.String(telemetry.KeyErrorType, f.GetCode()))
		span.SetStatus(codes.Error, f.GetMessage())
		s.cfg.Logger.WarnContext(ctx, "assignment failed", "store", b.turn.scope.StoreID, "turn", b.turn.scope.TurnID,
			"assignment", a.GetAssignmentId(), "specialist", a.GetSpecialist(), "code", f.GetCode(), "error", b.err)
	}
	b.turn.events.agentFinished(b.result())
}

// answer asks the specialist and passes its progress on. A panic becomes an error; the stack goes to the log.
func (s *Service) answer(ctx context.Context, b *branch) (answer *specialistv1.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.ErrorContext(ctx, "panic in a branch", "specialist", b.assignment.GetSpecialist(),
				"panic", p, "stack", string(debug.Stack()))
			answer, err = nil, errors.New("panic in the gateway")
		}
	}()
	client, ok := s.directory.client(b.assignment.GetSpecialist())
	if !ok {
		return nil, fmt.Errorf("there is no specialist %q", b.assignment.GetSpecialist())
	}
	ctx, cancel := context.WithCancel(ctx) // releases the stream, however this ends
	defer cancel()
	stream, err := client.Answer(ctx, s.equipped(ctx, b, b.assignment.GetSpecialist(), b.request()))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", b.assignment.GetSpecialist(), err)
	}
	for {
		ev, err := stream.Recv()
		switch {
		case err != nil && answer != nil:
			return answer, nil // the stream has ended; how, does not matter any more
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("ask %s: the stream ended without an answer", b.assignment.GetSpecialist())
		case err != nil:
			return nil, fmt.Errorf("ask %s: %w", b.assignment.GetSpecialist(), err)
		}
		if a := ev.GetAnswer(); a != nil && answer == nil {
			if strings.TrimSpace(a.GetText()) == "" {
				return nil, fmt.Errorf("ask %s: the answer is empty", b.assignment.GetSpecialist())
			}
			answer = a
		}
		b.passOn(ev)
	}
}

// passOn reports the progress of a specialist. Its text is the reply's only if nobody else is asked.
func (b *branch) passOn(ev *specialistv1.AnswerResponse) {
	switch ev := ev.GetEvent().(type) {
	case *specialistv1.AnswerResponse_ToolCallStarted:
		b.turn.events.toolCallStarted(b.assignment, ev.ToolCallStarted)
	case *specialistv1.AnswerResponse_ToolCallFinished:
		b.turn.events.toolCallFinished(b.assignment, ev.ToolCallFinished.GetToolCall())
	case *specialistv1.AnswerResponse_TextDelta:
		if b.alone {
			b.streamed.WriteString(ev.TextDelta.GetText())
			b.turn.events.text(ev.TextDelta.GetText())
		}
	case *specialistv1.AnswerResponse_Spent:
		b.spent = ev.Spent.GetUsage()
	}
}
