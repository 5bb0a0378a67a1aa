package gateway

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// workflow names a turn in traces.
	workflow = "shopping_turn"
	// maxRecordTime bounds the recording of a turn, which must not keep a made answer from the shopper.
	maxRecordTime = 2 * time.Second
	// recordMargin is what is kept of a turn for recording and replying, but never more than a tenth of what is left.
	recordMargin = 250 * time.Millisecond
)

// bounded gives a turn a deadline if its caller set none.
func (s *Service) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.TurnTimeout)
}

// ask admits one message and runs its turn. It is all of Ask and, with somebody listening to events, of AskStream. The
// context has a deadline.
func (s *Service) ask(ctx context.Context, req *gatewayv1.AskRequest, ev *events) (*gatewayv1.AskResponse, error) {
	leave, err := s.limiter.enter(req.GetStoreId())
	if err != nil {
		return nil, err
	}
	defer leave()
	t, err := s.admit(ctx, req, ev)
	if err != nil {
		return nil, err
	}
	if t.replied != nil {
		return t.replay(), nil
	}
	ctx, span := s.tracer.Start(scope.NewContext(ctx, t.scope), telemetry.OperationInvokeWorkflow+" "+workflow, trace.WithAttributes(
		attribute.String(telemetry.KeyOperation, telemetry.OperationInvokeWorkflow),
		attribute.String(telemetry.KeyWorkflow, workflow),
		attribute.String(telemetry.KeyConversation, t.scope.ThreadID),
		attribute.String(telemetry.KeyStore, t.scope.StoreID),
	))
	defer span.End()
	if t.requestID != "" {
		span.SetAttributes(attribute.String(telemetry.KeyRequest, t.requestID))
	}
	reply, err := s.run(ctx, t)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		return nil, err
	}
	span.SetAttributes(
		attribute.String(telemetry.KeyRoutingSource, reply.GetRouting().GetSource().String()),
		attribute.String(telemetry.KeyMergeMethod, reply.GetMergeMethod().String()),
	)
	return reply, nil
}

// run takes an admitted turn through its stages, while it holds its places.
func (s *Service) run(ctx context.Context, t *turn) (*gatewayv1.AskResponse, error) {
	held := newHold(ctx, t)
	defer held.release()
	ctx = held.ctx
	decision, branches, err := s.work(ctx, t)
	if err != nil {
		return nil, held.lost(err)
	}
	merged := s.merge(s.withMergeBudget(ctx, t), t, branches)
	reply := s.reply(ctx, t, decision, branches, merged)
	if err := s.record(ctx, t, reply); err != nil {
		return nil, err
	}
	held.settled = true
	s.summaries.start(ctx, t)
	return reply, nil
}
