// Package bench measures what a turn costs beside the models' own time: the time over the ideal critical path, the
// processor time against a hand-written loop that makes the same calls, and the memory of turns that wait for a model.
//
// The turn is always the same one: two specialists with one tool call each and a merge, six model calls, four of them one
// after the other. A [Fake] model answers them over HTTP from another process, so that what a process spends is what the
// turn costs. docs/benchmarks.md says what each figure means.
//
// The package must not import a service: who measures gives it a [Turn] to run.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

const (
	// Message of the turn, of two parts that the router's rules find too. It asks for a product by its id, so that the tools are
	// look-ups: what a search of words costs depends on the catalog and is none of the turn's.
	Message = searchPart + ", and " + policyPart
	// CallsPerTurn is how many model calls the turn makes: routing, two for each of two specialists, merging.
	CallsPerTurn = 6
	// PathCalls are those on the critical path: routing, the two of a specialist, merging.
	PathCalls = 4

	productID  = "TR-SHOE-005" // of the demo store
	searchPart = "Do you have " + productID + " in size 42"
	policyPart = "what is your return policy?"
)

const (
	// timedTurns is how many turns a median is taken of, one after the other.
	timedTurns = 50
	// warmTurns come before anything is measured: connections, descriptions, indexes.
	warmTurns = 5
	// rounds is how many parts a load is cut into. The suite and the baseline take turns, and the median counts, so that what
	// else the machine does meets both.
	rounds = 5
	// smallCrowd is the smaller number of turns in flight.
	smallCrowd = 1000
)

// Turn runs the turn once and returns an error unless it went as it should.
type Turn func(ctx context.Context) error

// Opener starts a suite that runs ahead as the mode says and returns its turn. The caller calls closeSuite.
type Opener func(ctx context.Context, runAhead string) (turn Turn, closeSuite func() error, err error)

// Config says what is measured. Model and Open are required.
type Config struct {
	// Model is the remote control of the fake model that the suite asks.
	Model *Remote
	// Open starts the suite.
	Open Opener
	// Latency of each model call where time is measured. Zero is allowed, and makes the ratios meaningless.
	Latency time.Duration
	// Turns of each load. At least one.
	Turns int
	// Concurrency is how many turns of a load run at once. At least one.
	Concurrency int
	// InFlight is how many turns hang at once where memory is measured, and 1,000 before, if it is more. Zero: it is not
	// measured.
	InFlight int
	// RunAhead is the mode that is measured against none. Empty: no other is measured.
	RunAhead string
	// NoStream asks the baseline's model for whole answers.
	NoStream bool
	// CPUProfile gets a profile of one more load of the suite alone. Nil: none is run.
	CPUProfile io.Writer
	// HeapProfile gets a profile of the heap while InFlight turns hang. Nil: none is made.
	HeapProfile io.Writer
	// Progress is told what is about to be measured. Nil: nobody is.
	Progress func(string)
}

// runAheadOff is the mode that all figures are of, but those that say otherwise.
const runAheadOff = "off"

// Validate names what can not be measured.
func (c Config) Validate() error {
	switch {
	case c.Model == nil || c.Open == nil:
		return errors.New("bench: Model and Open are required")
	case c.Turns < 1 || c.Concurrency < 1:
		return errors.New("bench: Turns and Concurrency must be at least 1")
	case c.Latency < 0 || c.InFlight < 0:
		return errors.New("bench: Latency and InFlight must not be negative")
	}
	return nil
}

// Run measures everything and returns the figures. It opens one suite after the other.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	r := newReport(cfg)
	if err := cfg.measure(ctx, runAheadOff, r, cfg.baseline); err != nil {
		return nil, err
	}
	if cfg.RunAhead != "" && cfg.RunAhead != runAheadOff {
		if err := cfg.measure(ctx, cfg.RunAhead, r, cfg.ahead); err != nil {
			return nil, fmt.Errorf("running ahead: %w", err)
		}
	}
	return r, nil
}

// measure opens a suite, makes sure that its turn is the one that is meant, and measures it.
func (c Config) measure(ctx context.Context, mode string, r *Report, figures func(context.Context, Turn, *Report) error) (err error) {
	turn, closeSuite, err := c.Open(ctx, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite()) }()
	if err := c.warm(ctx, turn); err != nil {
		return err
	}
	return figures(ctx, turn, r)
}

// warm runs a few turns and makes sure that each takes as many model calls as it should.
func (c Config) warm(ctx context.Context, turn Turn) error {
	if err := c.Model.Set(ctx, Behaviour{}); err != nil {
		return err
	}
	for range warmTurns {
		if err := turn(ctx); err != nil {
			return err
		}
	}
	seen, err := c.Model.Seen(ctx)
	if err == nil && seen.Calls != warmTurns*CallsPerTurn {
		err = fmt.Errorf("%d turns made %d model calls, want %d each", warmTurns, seen.Calls, CallsPerTurn)
	}
	return err
}

// baseline measures the suite and the hand-written loop.
func (c Config) baseline(ctx context.Context, suite Turn, r *Report) error {
	if err := c.compare(ctx, suite, r); err != nil {
		return err
	}
	if err := c.profile(ctx, suite); err != nil {
		return err
	}
	return c.crowds(ctx, suite, r)
}

// compare measures time and processor time of the suite and of the hand-written loop.
func (c Config) compare(ctx context.Context, suite Turn, r *Report) error {
	l, err := c.handWritten(ctx, suite)
	if err != nil {
		return fmt.Errorf("hand-written loop: %w", err)
	}
	defer l.close()
	if err := c.warm(ctx, l.turn); err != nil {
		return fmt.Errorf("hand-written loop: %w", err)
	}
	suiteTime, err := c.timed(ctx, suite, "")
	if err != nil {
		return err
	}
	loopTime, err := c.timed(ctx, l.turn, "hand-written loop, ")
	if err != nil {
		return err
	}
	r.times(suiteTime, loopTime)
	loads, err := c.loads(ctx, suite, l.turn)
	if err != nil {
		return err
	}
	r.loads(loads[0], loads[1])
	return nil
}

// ahead measures what running ahead changes.
func (c Config) ahead(ctx context.Context, suite Turn, r *Report) error {
	took, err := c.timed(ctx, suite, "running ahead ("+c.RunAhead+"), ")
	if err != nil {
		return err
	}
	loads, err := c.loads(ctx, suite)
	if err != nil {
		return err
	}
	r.ahead(took, loads[0])
	return nil
}

// handWritten returns the baseline, which makes the very calls that the suite makes. The caller closes it.
func (c Config) handWritten(ctx context.Context, suite Turn) (*loop, error) {
	if err := c.Model.Set(ctx, Behaviour{Record: true}); err != nil {
		return nil, err
	}
	if err := suite(ctx); err != nil {
		return nil, err
	}
	seen, err := c.Model.Seen(ctx)
	if err != nil {
		return nil, err
	}
	return newLoop(c.Model.BaseURL(), seen.Requests, c.NoStream)
}

// Asker returns the turn that asks a gateway's store, which must have the demo store's products and policies.
func Asker(gateway gatewayv1.GatewayServiceClient, store string, newID func() string) Turn {
	return func(ctx context.Context) error {
		reply, err := gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: store, Message: Message, RequestId: newID()})
		if err != nil {
			return err
		}
		return check(reply)
	}
}

// check returns an error unless the reply is that of the turn that is meant.
func check(reply *gatewayv1.AskResponse) error {
	if n := len(reply.GetResults()); n != 2 {
		return fmt.Errorf("the turn had %d assignments, want 2", n)
	}
	for _, r := range reply.GetResults() {
		if f := r.GetFailure(); f != nil {
			return fmt.Errorf("%s failed: %s", r.GetAssignment().GetSpecialist(), f.GetMessage())
		}
		calls := r.GetAnswer().GetToolCalls()
		if len(calls) != 1 || calls[0].GetError() != "" {
			return fmt.Errorf("%s made %d tool calls, want one that succeeds: %v", r.GetAssignment().GetSpecialist(), len(calls), calls)
		}
	}
	if m := reply.GetMergeMethod(); m != gatewayv1.MergeMethod_MERGE_METHOD_MODEL || strings.TrimSpace(reply.GetText()) == "" {
		return fmt.Errorf("the answers were merged by %v, want the model", m)
	}
	return nil
}
