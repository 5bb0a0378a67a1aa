package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// record keeps the turn, also if the caller has just gone. By now there is an answer, so trouble is logged and not
// returned, save that the turn is another gateway's: then it has another answer.
func (s *Service) record(ctx context.Context, t *turn, reply *gatewayv1.AskResponse) error {
	due, _ := ctx.Deadline()
	turnCtx := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(maxRecordTime, time.Until(due)))
	defer cancel()
	err := s.threads.record(ctx, t, reply, s.cfg.Now())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, state.ErrLockLost), errors.Is(context.Cause(turnCtx), errTakenOver):
		return errTakenOver
	}
	s.cfg.Logger.ErrorContext(ctx, "turn not recorded", "store", t.scope.StoreID, "turn", t.scope.TurnID, "error", err)
	return nil
}

// shownAfter is what the shopper was last shown after a reply. A reply that goes on about one product of the list, or about
// none, keeps it: "the second one" is still the second of that list.
func shownAfter(before, products []*specialistv1.ProductChoice) []*specialistv1.ProductChoice {
	about := func(p *specialistv1.ProductChoice) bool { return p.GetProductId() == products[0].GetProductId() }
	if len(products) == 0 || len(products) == 1 && len(before) >= 2 && slices.ContainsFunc(before, about) {
		return before
	}
	return products
}

// replay tells the events of a turn that another call has answered.
func (t *turn) replay() *gatewayv1.AskResponse {
	t.events.routed(t.replied.GetRouting())
	for _, r := range t.replied.GetResults() {
		t.events.agentStarted(r.GetAssignment())
		t.events.agentFinished(r)
	}
	t.events.text(t.replied.GetText())
	return t.replied
}
