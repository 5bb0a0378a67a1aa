package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

const (
	// backstop is the specialist that gets what nobody else can be found for.
	backstop = "support"
	// maxRouteTime bounds routing, but never to more than a third of what is left of the turn.
	maxRouteTime = 10 * time.Second
)

// route splits the message. A router that fails costs the split, not the turn: its provisional decision counts if there
// was one, and else the whole message goes to the backstop.
//
// Provisional, unless it is nil, is told the provisional decision as soon as it comes, made fit to act on like the final one.
func (s *Service) route(
	ctx context.Context, t *turn, provisional func(*routerv1.RoutingDecision),
) (*routerv1.RoutingDecision, error) {
	specialists, notes := s.directory.describe(ctx, t.scope.StoreID)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("describe specialists: %w", err)
	}
	if len(specialists) == 0 {
		return nil, &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "specialists",
			Err: errors.New(strings.Join(notes, "; ")),
		}
	}
	decision, err := s.askRouter(ctx, t, specialists, provisional)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("route: %w", ctx.Err())
	case err != nil && decision == nil:
		decision = &routerv1.RoutingDecision{}
	case err == nil && len(decision.GetAssignments()) == 0:
		err = errors.New("the router decided on nothing")
	}
	if err != nil {
		why := "router failed: " + rpc.Status(err).Message()
		s.cfg.Logger.WarnContext(ctx, "router failed", "store", t.scope.StoreID, "turn", t.scope.TurnID, "error", err)
		decision.Source = routerv1.DecisionSource_DECISION_SOURCE_BACKSTOP
		decision.Notes = append(decision.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_ROUTER_FAILED, why))
	}
	decision.Stage = routerv1.DecisionStage_DECISION_STAGE_FINAL
	for _, missing := range notes {
		decision.Notes = append(decision.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_SPECIALIST_MISSING, missing))
	}
	s.sanitize(decision, specialists, t.message)
	return decision, nil
}

// askRouter returns the final decision. Beside an error it returns the provisional one, if that came.
//
// The specialists' own words are large and seldom change, so they are sent only to a router that says that it does not know
// them: a new one, or the other one of two.
func (s *Service) askRouter(
	ctx context.Context, t *turn, specialists []*specialistv1.Specialist, provisional func(*routerv1.RoutingDecision),
) (*routerv1.RoutingDecision, error) {
	due := time.Now().Add(share(ctx, maxRouteTime, 3))
	if provisional != nil {
		told := provisional
		provisional = func(d *routerv1.RoutingDecision) {
			s.sanitize(d, specialists, t.message)
			told(d)
		}
	}
	req := &routerv1.RouteRequest{
		Message: t.message, History: t.history, Keywords: t.store.GetRoutingKeywords(),
		SpecialistsVersion: s.directory.version(t.scope.StoreID, specialists),
	}
	if req.GetSpecialistsVersion() != "" {
		decision, err := s.decisionOf(ctx, t, due, req, provisional)
		if rpc.Reason(rpc.Status(err)) != specialistsUnknown {
			return decision, err
		}
	}
	req.Specialists = specialists
	return s.decisionOf(ctx, t, due, req, provisional)
}

// specialistsUnknown is the reason with which a router refuses a version of specialists that it does not know.
const specialistsUnknown = "SPECIALISTS_UNKNOWN"

// decisionOf asks the router once, and returns what askRouter does. The provisional decision is a copy.
func (s *Service) decisionOf(
	ctx context.Context, t *turn, due time.Time, req *routerv1.RouteRequest, provisional func(*routerv1.RoutingDecision),
) (*routerv1.RoutingDecision, error) {
	ctx, cancel := context.WithDeadline(ctx, due)
	release := cancel
	defer func() { release() }()
	stream, err := s.cfg.Router.Route(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("route: %w", err)
	}
	var decision *routerv1.RoutingDecision
	for {
		resp, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return decision, errors.New("route: the stream ended without a final decision")
		case err != nil:
			return decision, fmt.Errorf("route: %w", err)
		case resp.GetDecision() != nil:
			decision = resp.GetDecision()
			if decision.GetStage() == routerv1.DecisionStage_DECISION_STAGE_FINAL {
				release = func() { letEnd(&t.ends, stream, cancel) }
				return decision, nil
			}
			if provisional != nil && isProvisional(decision) {
				provisional(proto.CloneOf(decision)) // what stands if the router fails is made fit anew
				provisional = nil                    // there is but one
			}
		}
	}
}

// isProvisional reports whether a decision is one to run ahead on. One without assignments is no guess at all.
func isProvisional(d *routerv1.RoutingDecision) bool {
	return d.GetStage() == routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL && len(d.GetAssignments()) > 0
}

// sanitize makes a decision fit to act on, whatever the router is: there is an assignment, each has an identifier of its
// own, a sub-query, and a specialist that was offered.
func (s *Service) sanitize(d *routerv1.RoutingDecision, offered []*specialistv1.Specialist, message string) {
	if len(d.GetAssignments()) == 0 {
		d.Assignments = []*routerv1.Assignment{{
			Specialist: backstopOf(offered), Reason: "nothing was decided, so the whole message goes here",
		}}
	}
	seen := map[string]bool{"": true}
	for i, a := range d.GetAssignments() {
		for n := i + 1; seen[a.GetAssignmentId()]; n++ {
			a.AssignmentId = fmt.Sprintf("gateway-%d", n)
		}
		seen[a.GetAssignmentId()] = true
		if strings.TrimSpace(a.GetSubQuery()) == "" {
			a.SubQuery = message
		}
		if !slices.ContainsFunc(offered, func(o *specialistv1.Specialist) bool { return o.GetName() == a.GetSpecialist() }) {
			stand := backstopOf(offered)
			d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_UNKNOWN_SPECIALIST,
				fmt.Sprintf("router named unknown specialist %q; sent to %s", a.GetSpecialist(), stand)))
			a.Specialist = stand
		}
	}
}

func note(kind routerv1.DecisionNoteKind, text string) *routerv1.DecisionNote {
	return &routerv1.DecisionNote{Kind: kind, Text: text}
}

// backstopOf returns the name of the specialist that gets what nobody else can be found for: support if it is there, else
// the first that is available, else the first.
func backstopOf(offered []*specialistv1.Specialist) string {
	best := offered[0].GetName()
	for i := len(offered) - 1; i >= 0; i-- {
		if offered[i].GetAvailable() {
			best = offered[i].GetName()
		}
	}
	for _, o := range offered {
		if o.GetName() == backstop {
			best = backstop
		}
	}
	return best
}
