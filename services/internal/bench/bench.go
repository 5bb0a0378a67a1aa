// Package bench measures what a turn costs beside the models' own time: the time over the ideal critical path, the processor
// time against a hand-written loop that makes the same calls, and the memory of turns that wait for a model. [Arrivals] asks
// at a given rate instead, here or elsewhere.
//
// The turn that [Run] measures is always the same: two specialists with one tool call each and a merge, six model calls, four of them one after the
// other. A [Fake] model in another process answers them over HTTP. docs/benchmarks.md defines each figure.
//
// The package must not import a service: its caller gives it a [Turn] to run. It reads no flags and no environment.
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
	// Message has two parts, which the router's rules find too. It names a product by its id, so that the tool is a look-up: the
	// cost of a search by words depends on the catalog.
	Message = searchPart + ", and " + policyPart
	// CallsPerTurn is the number of model calls of the turn: routing, two for each of two specialists, merging.
	CallsPerTurn = 6
	// PathCalls is the number of calls on the critical path: routing, the two of a specialist, merging.
	PathCalls = 4

	productID  = "TR-SHOE-005" // of the demo store
	searchPart = "Do you have " + productID + " in size 42"
	policyPart = "what is your return policy?"
)

const (
	// timedTurns is the number of turns, one after the other, whose median time is taken.
	timedTurns = 50
	// warmTurns run before anything is measured: they open connections and build indexes.
	warmTurns = 5
	// rounds is the number of parts of a load. The suite and the baseline alternate and the median counts, so that other work
	// of the machine slows both.
	rounds = 5
)

// Turn runs the turn once and returns an error unless it went as it should.
type Turn func(ctx context.Context) error

// Opener starts a suite with a run-ahead mode and returns its turn. The caller calls closeSuite.
type Opener func(ctx context.Context, runAhead string) (turn Turn, closeSuite func() error, err error)

// Config says what to measure. Model and Open are required.
type Config struct {
	// Model is the remote control of the fake model that the suite asks.
	Model *Remote
	// Open starts the suite.
	Open Opener
	// Latency is the time of each model call where time is measured. With zero the ratios mean nothing.
	Latency time.Duration
	// Turns is the number of turns of each load, at least 1.
	Turns int
	// Concurrency is the number of turns of a load that run at once, at least 1.
	Concurrency int
	// InFlight is the number of turns that wait at once where memory is measured. Zero: memory is not measured.
	InFlight int
	// RunAhead is the run-ahead mode that is compared with none. Empty or "off": none is.
	RunAhead string
	// CPUProfile gets a profile of one more load of the suite alone. Nil: no such load runs.
	CPUProfile io.Writer
	// HeapProfile gets a profile of the heap while InFlight turns wait. Nil: none is made.
	HeapProfile io.Writer
	// Progress is called before each measurement. Nil: not called.
	Progress func(string)
}

// runAheadOff is the run-ahead mode of all figures that do not name another.
const runAheadOff = "off"

// Check says which of the numbers are out of range, also for this process, which needs two connections for each turn in flight.
func (c Config) Check() error {
	switch {
	case c.Turns < 1:
		return fmt.Errorf("turns is %d, must be at least 1", c.Turns)
	case c.Concurrency < 1:
		return fmt.Errorf("concurrency is %d, must be at least 1", c.Concurrency)
	case c.Latency < 0:
		return fmt.Errorf("latency is %v, must not be negative", c.Latency)
	case c.InFlight < 0:
		return fmt.Errorf("in-flight is %d, must not be negative", c.InFlight)
	}
	return checkOpenFiles(c.InFlight, maxOpenFiles())
}

// checkOpenFiles refuses more turns in flight than the open files of a process allow. Zero open files: the limit is not known.
func checkOpenFiles(inFlight int, most uint64) error {
	need := uint64(heldPerTurn*inFlight + spareFiles)
	if inFlight == 0 || most == 0 || most >= need {
		return nil
	}
	return fmt.Errorf("%d turns in flight need %d open files, and a process may have %d: raise the limit (ulimit -n %d) or give a smaller --in-flight",
		inFlight, need, most, need)
}

// Run measures everything and returns the figures. It opens one suite after the other.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
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
			return nil, fmt.Errorf("run-ahead: %w", err)
		}
	}
	return r, nil
}

// measure opens a suite, checks that its turn makes the right calls, and measures it.
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
	if c.InFlight == 0 {
		return nil
	}
	m, err := c.hang(ctx, suite, c.InFlight)
	if err != nil {
		return fmt.Errorf("%d turns in flight: %w", c.InFlight, err)
	}
	r.Memory, r.KiBInFlight = &m, m.Total
	return nil
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

// ahead measures the same with run-ahead.
func (c Config) ahead(ctx context.Context, suite Turn, r *Report) error {
	took, err := c.timed(ctx, suite, "run-ahead "+c.RunAhead+", ")
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
	return newLoop(c.Model.BaseURL(), seen.Requests)
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

// check returns an error unless the reply has the results of the measured turn.
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
