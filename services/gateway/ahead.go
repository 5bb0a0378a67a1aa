package gateway

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// RunAhead says when specialists start before the routing is final.
type RunAhead string

// The ways of running ahead. Replies are the same in all of them; what differs is how soon they come, and how many tokens
// are spent on specialists that turn out not to be wanted.
const (
	// RunAheadAlways starts the specialists of every provisional assignment.
	RunAheadAlways RunAhead = "always"
	// RunAheadCertain starts those of assignments that the rules alone would have been trusted with.
	RunAheadCertain RunAhead = "certain"
	// RunAheadOff starts nothing before the routing is final.
	RunAheadOff RunAhead = "off"
)

func (r RunAhead) valid() bool {
	return r == "" || r == RunAheadAlways || r == RunAheadCertain || r == RunAheadOff
}

// work routes the message and has the specialists answer it. If it succeeds, all branches have ended when it returns.
func (s *Service) work(ctx context.Context, t *turn) (*routerv1.RoutingDecision, []*branch, error) {
	c := &crew{service: s, turn: t}
	decision, err := s.decide(ctx, t, func(d *routerv1.RoutingDecision) { c.runAhead(ctx, d) })
	if err != nil {
		return nil, nil, err
	}
	branches := c.collect(ctx, decision)
	return decision, branches, nothingAnswered(ctx, branches)
}

// decide returns the final decision: the one that was kept before the turn was resumed, or else the router's.
func (s *Service) decide(
	ctx context.Context, t *turn, provisional func(*routerv1.RoutingDecision),
) (*routerv1.RoutingDecision, error) {
	if d := t.journal.decision(); d != nil {
		return d, nil
	}
	if err := enough(ctx, leastTurn, "begin a turn"); err != nil {
		return nil, err
	}
	if s.ahead == nil {
		provisional = nil
	}
	d, err := s.route(ctx, t, provisional)
	if err != nil {
		return nil, err
	}
	t.journal.decided(d)
	return d, nil
}

// crew is the branches of one turn. Its methods are called from one goroutine.
type crew struct {
	service *Service
	turn    *turn
	ahead   []*branch // that run ahead, on provisional assignments
	due     time.Time // of those
}

// runAhead starts the branches of a provisional decision.
func (c *crew) runAhead(ctx context.Context, d *routerv1.RoutingDecision) {
	if !c.service.ahead.allowed() {
		return
	}
	c.turn.ledger.routed(d)
	c.due = c.service.branchesDue(ctx, len(d.GetAssignments()))
	for _, a := range d.GetAssignments() {
		if !c.service.ahead.wants(a) {
			continue
		}
		b := newBranch(c.turn, a)
		ctx, cancel := context.WithCancelCause(ctx)
		b.cancel = cancel
		c.ahead = append(c.ahead, b)
		c.turn.branches.Go(func() { c.run(ctx, b, c.due) })
	}
}

// collect works on the final decision and waits until all of its assignments are done or late. Branches that run ahead with
// the same work go on, the others are cancelled, and what is missing is started. The branches are in the order of the routing.
func (c *crew) collect(ctx context.Context, d *routerv1.RoutingDecision) []*branch {
	c.turn.ledger.routed(d)
	due := c.service.branchesDue(ctx, len(d.GetAssignments()))
	branches := make([]*branch, len(d.GetAssignments()))
	for i, a := range d.GetAssignments() {
		branches[i] = c.findAhead(newBranch(c.turn, a))
	}
	for _, b := range c.ahead {
		if !slices.Contains(branches, b) {
			b.cancel(errNotWanted)
		}
	}
	if c.due.After(due) { // one was expected, and there are more to merge
		cut := time.AfterFunc(time.Until(due), func() {
			for _, b := range c.ahead {
				b.cancel(context.DeadlineExceeded)
			}
		})
		defer cut.Stop()
	}
	c.turn.events.routed(d)
	alone := len(branches) == 1
	var last func()
	for _, b := range branches {
		if b.cancel != nil {
			continue
		}
		if last != nil {
			c.turn.branches.Go(last)
		}
		last = func() {
			b.confirm(b.assignment, alone)
			c.run(ctx, b, due)
		}
	}
	for i, b := range branches {
		if b.cancel != nil {
			b.confirm(d.GetAssignments()[i], alone)
		}
	}
	if last != nil {
		last() // on this goroutine, which would only wait
	}
	c.turn.branches.Wait()
	c.account(ctx, branches)
	return branches
}

// findAhead returns the branch that runs ahead with the same work, or else the branch itself.
func (c *crew) findAhead(b *branch) *branch {
	if i := slices.IndexFunc(c.ahead, b.sameWork); i >= 0 {
		return c.ahead[i]
	}
	return b
}

// run works on one assignment, unless it was answered before the turn was resumed.
func (c *crew) run(ctx context.Context, b *branch, due time.Time) {
	if a := c.turn.journal.answer(b.asked.GetAssignmentId()); a != nil {
		c.turn.ledger.settle(b, a, nil)
		b.resume(a)
		return
	}
	c.service.runBranch(ctx, b, due)
}

// account counts how running ahead went. What it wasted is paid for all the same, but it is not part of the reply, which
// does not depend on whether anything ran ahead: the turn's span has it.
func (c *crew) account(ctx context.Context, branches []*branch) {
	if len(c.ahead) == 0 {
		return
	}
	var wasted int64
	for _, b := range c.ahead {
		confirmed := slices.Contains(branches, b)
		c.service.ahead.count(ctx, confirmed, b.tokens())
		if !confirmed {
			wasted += b.tokens()
		}
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64(telemetry.KeyRunAheadWasted, wasted))
}
