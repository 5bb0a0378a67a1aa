package gateway

import (
	"context"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// record keeps the turn. By now there is an answer, so trouble is logged and not returned; and the turn is kept even if
// the caller has just gone.
func (s *Service) record(ctx context.Context, t *turn, reply *gatewayv1.AskResponse) {
	due, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(maxRecordTime, time.Until(due)))
	defer cancel()
	if err := s.threads.record(ctx, t.scope, t.message, reply, s.cfg.Now()); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "turn not recorded", "store", t.scope.StoreID, "turn", t.scope.TurnID, "error", err)
	}
}
