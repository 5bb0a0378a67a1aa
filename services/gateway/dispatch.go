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
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// errNotWanted is why a branch is cancelled that ran ahead on an assignment that the final decision does not have.
var errNotWanted = errors.New("the final routing does not have the assignment")

// runBranch works on one assignment until it is done, due or the context ends.
func (s *Service) runBranch(ctx context.Context, b *branch, due time.Time) {
	req, name := b.asked, b.specialist
	ctx, span := s.tracer.Start(ctx, telemetry.OperationInvokeAgent+" "+name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String(telemetry.KeyOperation, telemetry.OperationInvokeAgent),
			attribute.String(telemetry.KeyAgent, name),
			attribute.String(telemetry.KeyConversation, b.turn.scope.ThreadID),
			attribute.String(telemetry.KeyStore, b.turn.scope.StoreID),
			attribute.String(telemetry.KeyAssignment, req.GetAssignmentId()),
		))
	defer span.End()
	answer, err := s.answer(ctx, b, due)
	b.turn.ledger.settle(b, answer, err)
	switch {
	case errors.Is(context.Cause(ctx), errNotWanted):
		span.SetAttributes(attribute.String(telemetry.KeyRunAheadOutcome, outcomeCanceled))
	case err != nil:
		f := failure(err)
		span.SetAttributes(attribute.String(telemetry.KeyErrorType, f.GetCode()))
		span.SetStatus(codes.Error, f.GetMessage())
		s.cfg.Logger.WarnContext(ctx, "assignment failed", "store", b.turn.scope.StoreID, "turn", b.turn.scope.TurnID,
			"assignment", req.GetAssignmentId(), "specialist", name, "code", f.GetCode(), "error", err)
	}
	b.finish(answer, err)
}

// answer asks the specialist and passes its progress on. A panic becomes an error; the stack goes to the log.
func (s *Service) answer(ctx context.Context, b *branch, due time.Time) (answer *specialistv1.Answer, err error) {
	name := b.specialist
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.ErrorContext(ctx, "panic in a branch", "specialist", name, "panic", p, "stack", string(debug.Stack()))
			answer, err = nil, errors.New("panic in the gateway")
		}
	}()
	client, ok := s.directory.client(name)
	if !ok {
		return nil, fmt.Errorf("there is no specialist %q", name)
	}
	ctx, cancel := context.WithDeadline(ctx, due)
	release := cancel
	defer func() { release() }()
	if err := enough(ctx, leastCall, "ask "+name); err != nil {
		return nil, err
	}
	stream, err := client.Answer(ctx, s.equipped(ctx, b, name, b.asked))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", name, orLate(ctx, err))
	}
	for {
		ev, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("ask %s: the stream ended without an answer", name)
		case err != nil:
			return nil, fmt.Errorf("ask %s: %w", name, orLate(ctx, err))
		}
		if a := ev.GetAnswer(); a != nil {
			if strings.TrimSpace(a.GetText()) == "" {
				return nil, fmt.Errorf("ask %s: the answer is empty", name)
			}
			release = func() { letEnd(&b.turn.ends, stream, cancel) }
			return a, nil
		}
		b.passOn(ctx, ev)
	}
}

// letEnd has a stream end by itself behind the turn's back, since its last word is said: the call ends as it does for who
// reads it to the end, and nobody waits but whoever waits for ends. A stream that goes on is cut by cancel, which is called in
// any case.
func letEnd[T any](ends *sync.WaitGroup, stream grpc.ServerStreamingClient[T], cancel context.CancelFunc) {
	ends.Go(func() {
		defer cancel()
		defer time.AfterFunc(streamEnd, cancel).Stop()
		for {
			if _, err := stream.Recv(); err != nil {
				return // how it ended does not matter any more
			}
		}
	})
}

// orLate returns the error of a call, which is that of the deadline if the call was cancelled because it was late.
func orLate(ctx context.Context, err error) error {
	if status.Code(err) == grpccodes.Canceled && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
