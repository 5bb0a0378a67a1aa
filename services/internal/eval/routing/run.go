package routing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// Router is RouterService as its server implements it.
type Router interface {
	Route(*routerv1.RouteRequest, grpc.ServerStreamingServer[routerv1.RouteResponse]) error
}

// Config configures Run.
type Config struct {
	// Router is measured. Required.
	Router Router
	// Specialists are those that the router chooses from, as Describe returns them. Required.
	Specialists []*specialistv1.Specialist
	// Parallel is how many messages are routed at a time. Zero: one.
	Parallel int
	// Progress is called after each decision with their number, never concurrently. Nil: no calls.
	Progress func(decided int)
}

// Validate returns an error for the first missing or invalid value.
func (c Config) Validate() error {
	switch {
	case c.Router == nil:
		return errors.New("routing: Router is required")
	case len(c.Specialists) == 0:
		return errors.New("routing: Specialists is empty")
	case c.Parallel < 0:
		return fmt.Errorf("routing: Parallel is %d, must not be negative", c.Parallel)
	}
	return nil
}

// Outcome is a router's decision on a message.
type Outcome struct {
	Message
	// Got names the decided specialists: sorted, each once.
	Got []string
	// SubQueries are what the specialists were asked.
	SubQueries []string
	// Certainty of the decision, 0 to 1.
	Certainty float64
	// Source of the decision.
	Source routerv1.DecisionSource
	// Notes of the decision.
	Notes []string
	// Duration of the decision as the router measured it.
	Duration time.Duration
}

// Run routes the messages and returns the decisions in the order of the messages. It returns early when the router fails
// on a message or ctx ends. A model's failure is not a failure of the router.
func Run(ctx context.Context, cfg Config, messages []Message) ([]Outcome, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(messages))
	var mu sync.Mutex
	decided := 0
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(max(1, cfg.Parallel))
	for i, m := range messages {
		group.Go(func() error {
			if err := running.Err(); err != nil {
				return err
			}
			d, err := decide(running, cfg, m)
			if err != nil {
				return fmt.Errorf("line %d, id %q: route: %w", m.Line, m.ID, err)
			}
			outcomes[i] = outcome(m, d)
			mu.Lock()
			defer mu.Unlock()
			decided++
			if cfg.Progress != nil {
				cfg.Progress(decided)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		// If ctx has ended, no message is to blame.
		return nil, fmt.Errorf("%d of %d messages were routed: %w", decided, len(messages), cmp.Or(ctx.Err(), err))
	}
	return outcomes, nil
}

// decide returns the final decision on one message.
func decide(ctx context.Context, cfg Config, m Message) (*routerv1.RoutingDecision, error) {
	c := &call{ctx: ctx}
	req := &routerv1.RouteRequest{Message: m.Text, History: m.History, Specialists: cfg.Specialists}
	if err := cfg.Router.Route(req, c); err != nil {
		return nil, err
	}
	if c.last.GetStage() != routerv1.DecisionStage_DECISION_STAGE_FINAL {
		return nil, errors.New("the router sent no final decision")
	}
	return c.last, nil
}

func outcome(m Message, d *routerv1.RoutingDecision) Outcome {
	o := Outcome{
		Message: m, Got: []string{}, Certainty: d.GetCertainty(), Source: d.GetSource(), Notes: []string{},
		Duration: d.GetDuration().AsDuration(),
	}
	for _, n := range d.GetNotes() {
		o.Notes = append(o.Notes, n.GetText())
	}
	for _, a := range d.GetAssignments() {
		o.Got = append(o.Got, a.GetSpecialist())
		o.SubQueries = append(o.SubQueries, a.GetSubQuery())
	}
	slices.Sort(o.Got)
	o.Got = slices.Compact(o.Got)
	return o
}

// call is the server side of a Route call without a connection. It has what Route uses of a stream, and keeps the last
// decision.
type call struct {
	grpc.ServerStream // nil
	ctx               context.Context
	last              *routerv1.RoutingDecision
}

// Context returns the caller's context.
func (c *call) Context() context.Context { return c.ctx }

// Send implements grpc.ServerStreamingServer.
func (c *call) Send(r *routerv1.RouteResponse) error {
	c.last = r.GetDecision()
	return nil
}
