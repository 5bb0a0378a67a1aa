package gateway

import (
	"context"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
)

// RunAhead says when specialists start before the routing is final.
type RunAhead string

// The ways of running ahead.
const (
	RunAheadAlways  RunAhead = "always"
	RunAheadCertain RunAhead = "certain"
	RunAheadOff     RunAhead = "off"
)

func (r RunAhead) valid() bool {
	return r == "" || r == RunAheadAlways || r == RunAheadCertain || r == RunAheadOff
}

// work routes the message and has the specialists answer it.
func (s *Service) work(ctx context.Context, t *turn) (*routerv1.RoutingDecision, []*branch, error) {
	decision, err := s.route(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	t.ledger.routed(decision)
	t.events.routed(decision)
	branches := s.dispatch(ctx, t, decision)
	return decision, branches, nothingAnswered(ctx, branches)
}
