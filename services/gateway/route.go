package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

const (
	// router is the audience of the scope that goes to the router.
	router = "router"
	// catchAll is the specialist that gets what no other one is found for.
	catchAll = "support"
	// maxRouteTime bounds routing, but to at most a third of the time left.
	maxRouteTime = 10 * time.Second
	// specialistsUnknown is the reason with which a router refuses a version of specialists that it does not know.
	specialistsUnknown = "SPECIALISTS_UNKNOWN"
)

// route returns the final decision: the journal's if the turn is resumed, or else the router's. If the router fails, its
// provisional decision counts if there was one, or else the gateway runs the router's classifier itself.
//
// Provisional is called with the provisional decision as soon as it comes, sanitized like the final one.
func (s *Service) route(
	ctx context.Context, t *turn, provisional func(*routerv1.RoutingDecision),
) (*routerv1.RoutingDecision, error) {
	if d := t.lease.Journal.Decision(); d != nil {
		return d, nil
	}
	if err := fanout.Enough(ctx, fanout.MinTurn, "begin a turn"); err != nil {
		return nil, err
	}
	specialists, notes := s.registry.Describe(ctx, t.scope.StoreID)
	if s.cfg.Tape != nil {
		s.cfg.Tape.Specialists(ctx, specialists)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("describe specialists: %w", err)
	}
	if len(notes) == len(specialists) { // nothing is known of any
		return nil, &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "specialists",
			Err: errors.New(strings.Join(notes, "; ")),
		}
	}
	decision, err := s.askRouter(ctx, t, specialists, provisional)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("route: %w", ctx.Err())
	case err == nil && len(decision.GetAssignments()) == 0:
		err = errors.New("the router decided on nothing")
	}
	if len(decision.GetAssignments()) == 0 {
		decision = s.classify(t, specialists)
	}
	if err != nil {
		why := "router failed: " + rpc.Status(err).Message()
		s.cfg.Logger.WarnContext(ctx, "router failed", "store", t.scope.StoreID, "turn", t.scope.TurnID, "error", err)
		decision.Source = routerv1.DecisionSource_DECISION_SOURCE_FALLBACK
		decision.Notes = append(decision.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_ROUTER_FAILED, why))
	}
	decision.Stage = routerv1.DecisionStage_DECISION_STAGE_FINAL
	for _, missing := range notes {
		decision.Notes = append(decision.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_SPECIALIST_MISSING, missing))
	}
	t.output.Decision(decision)
	sanitize(decision, specialists, t.req.GetMessage())
	t.lease.Journal.KeepDecision(decision)
	return decision, nil
}

// askRouter returns the final decision or, with an error, the provisional one, if that came.
//
// The descriptions of specialists are large and seldom change, so they are sent only to a router that does not know them yet.
func (s *Service) askRouter(
	ctx context.Context, t *turn, specialists []*specialistv1.Specialist, provisional func(*routerv1.RoutingDecision),
) (*routerv1.RoutingDecision, error) {
	due := time.Now().Add(fanout.Share(ctx, maxRouteTime, 3))
	req := &routerv1.RouteRequest{
		Message: t.req.GetMessage(), Keywords: t.store.GetRoutingKeywords(),
		SpecialistsVersion: s.registry.Version(t.scope.StoreID, specialists),
		SignedIn:           t.scope.CustomerID != "",
		Date:               inTimeZone(t.began, t.store).Format(time.DateOnly), TimeZone: t.store.GetTimeZone(),
	}
	req.Prompt = t.prompts[router]
	if th := t.lease.Thread; th != nil {
		req.History, req.PendingQuestion, req.ShownProducts = th.Messages, th.Pending, th.Shown
		if th.Summarized > 0 {
			req.Summary = th.Summary
		}
	}
	sanitized := func(d *routerv1.RoutingDecision) {
		t.output.Decision(d)
		sanitize(d, specialists, t.req.GetMessage())
		provisional(d)
	}
	if req.GetSpecialistsVersion() != "" {
		decision, err := s.routeOnce(ctx, t, due, req, sanitized)
		if rpc.Reason(rpc.Status(err)) != specialistsUnknown {
			return decision, err
		}
	}
	req.Specialists = specialists
	return s.routeOnce(ctx, t, due, req, sanitized)
}

// routeOnce asks the router once, and returns what askRouter does. The provisional decision is a copy.
func (s *Service) routeOnce(
	ctx context.Context, t *turn, due time.Time, req *routerv1.RouteRequest, provisional func(*routerv1.RoutingDecision),
) (*routerv1.RoutingDecision, error) {
	ctx, cancel := context.WithDeadline(ctx, due)
	release := cancel
	defer func() { release() }()
	ctx, err := s.cfg.Signer.Outgoing(ctx, t.scope.Narrow(router, nil)) // it reads nothing, so it need not know the shopper
	if err != nil {
		return nil, fmt.Errorf("route: %w", err)
	}
	stream, err := s.cfg.Router.Route(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("route: %w", err)
	}
	var decision *routerv1.RoutingDecision
	told := false
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
				release = func() { fanout.Drain(&t.drains, stream, cancel) }
				return decision, nil
			}
			if !told && isProvisional(decision) {
				provisional(proto.CloneOf(decision)) // if the router fails, route sanitizes the original
				told = true
			}
		}
	}
}

// classify returns the decision of the router's classifier, which needs no model and no router, on what the specialists published.
// What it gives to a specialist that is not available goes to the catch-all, as with the router.
func (s *Service) classify(t *turn, specialists []*specialistv1.Specialist) *routerv1.RoutingDecision {
	in := classifier.Input{Message: t.req.GetMessage()}
	if th := t.lease.Thread; th != nil {
		in.Question, in.History = th.Pending, classifier.ShoppersTexts(th.Messages)
	}
	found := s.classifiers.of(s.registry.Version(t.scope.StoreID, specialists), specialists).
		WithKeywords(t.store.GetRoutingKeywords()).Classify(in)
	decision := &routerv1.RoutingDecision{Certainty: found.Confidence}
	for _, from := range found.Assignments {
		a := &routerv1.Assignment{
			Specialist: from.Specialist, SubQuery: from.SubQuery, Reason: from.Reason, Confidence: from.Confidence,
			Certain: from.Confidence >= classifier.Threshold,
		}
		i := slices.IndexFunc(specialists, func(o *specialistv1.Specialist) bool { return o.GetName() == a.GetSpecialist() })
		if stand := catchAllOf(specialists); !specialists[i].GetAvailable() && stand != a.GetSpecialist() {
			a.RemappedFrom, a.Specialist = a.GetSpecialist(), stand
			a.Reason = strings.TrimSuffix(a.GetRemappedFrom()+" is not available: "+specialists[i].GetUnavailableReason(), ": ")
		}
		decision.Assignments = append(decision.Assignments, a)
	}
	return decision
}

// maxClassifiers bounds the classifiers that are kept, of 3 MB each. Versions also differ in which specialists a store has.
const maxClassifiers = 8

// classifiers keeps classifiers by the version of their specialists: stores with the same ones share a classifier, which takes tens of
// milliseconds to make. The zero value is ready to use.
type classifiers struct {
	mu    sync.Mutex
	known map[string]func() *classifier.Classifier // the first call makes it
}

// of returns the classifier of specialists, whose version may be unknown: "".
func (c *classifiers) of(version string, specialists []*specialistv1.Specialist) *classifier.Classifier {
	if version == "" {
		return classifier.New(specialists)
	}
	c.mu.Lock()
	get := c.known[version]
	if get == nil {
		if c.known == nil || len(c.known) >= maxClassifiers {
			c.known = make(map[string]func() *classifier.Classifier)
		}
		get = sync.OnceValue(func() *classifier.Classifier { return classifier.New(specialists) })
		c.known[version] = get
	}
	c.mu.Unlock()
	return get() // no other store waits for it
}

// isProvisional reports whether a decision is one to speculate on.
func isProvisional(d *routerv1.RoutingDecision) bool {
	return d.GetStage() == routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL && len(d.GetAssignments()) > 0
}

// sanitize makes a decision usable, whatever the router is: there is an assignment, and each has a unique id, a sub-query, and a
// specialist that was offered.
func sanitize(d *routerv1.RoutingDecision, offered []*specialistv1.Specialist, message string) {
	if len(d.GetAssignments()) == 0 {
		d.Assignments = []*routerv1.Assignment{{
			Specialist: catchAllOf(offered), Reason: "nothing was decided, so the whole message goes here",
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
			stand := catchAllOf(offered)
			d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_UNKNOWN_SPECIALIST,
				fmt.Sprintf("router named unknown specialist %q; sent to %s", a.GetSpecialist(), stand)))
			a.Specialist = stand
		}
	}
}

func note(kind routerv1.DecisionNoteKind, text string) *routerv1.DecisionNote {
	return &routerv1.DecisionNote{Kind: kind, Text: text}
}

// catchAllOf returns the name of the specialist that gets what no other one is found for: support if it is there, or else the
// first that is available, or else the first.
func catchAllOf(offered []*specialistv1.Specialist) string {
	best := offered[0].GetName()
	for i := len(offered) - 1; i >= 0; i-- {
		if offered[i].GetAvailable() {
			best = offered[i].GetName()
		}
	}
	for _, o := range offered {
		if o.GetName() == catchAll {
			best = catchAll
		}
	}
	return best
}
