package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// certainEnough is the confidence from which RunAheadCertain starts an assignment: the router's rules are trusted to
// decide alone from there on.
const certainEnough = 0.75

const (
	// wasteCap is the share of what branches that ran ahead have spent from which on running ahead rests: more is too much
	// to pay for being sooner.
	wasteCap = 0.3
	// wasteWindow is how many of the last branches the share is of.
	wasteWindow = 100
	// wasteSample is the fewest branches that anything is concluded from.
	wasteSample = 40
	// restTurns is of how many turns one still runs ahead while the others rest, to see whether it pays again.
	restTurns = 10
)

// Values of telemetry.KeyRunAheadOutcome.
const (
	outcomeConfirmed = "confirmed"
	outcomeCanceled  = "canceled"
)

// ahead decides what runs ahead and counts how that goes. It is safe for concurrent use.
type ahead struct {
	least    float64 // confidence of an assignment
	log      *slog.Logger
	guard    guard
	branches metric.Int64Counter
	wasted   metric.Int64Counter
	active   metric.Int64Gauge
}

// newAhead returns nil if nothing shall run ahead.
func newAhead(mode RunAhead, meter metric.Meter, log *slog.Logger) (*ahead, error) {
	a := &ahead{log: log}
	switch mode {
	case RunAheadOff:
		return nil, nil
	case RunAheadCertain:
		a.least = certainEnough
	}
	var err error
	if a.branches, err = meter.Int64Counter(telemetry.MetricRunAheadBranches, metric.WithUnit("{branch}"),
		metric.WithDescription("Specialists started before the routing was final, by whether it confirmed them.")); err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	if a.wasted, err = meter.Int64Counter(telemetry.MetricRunAheadWasted, metric.WithUnit("{token}"),
		metric.WithDescription("Tokens known to have been spent on specialists that the final routing did not confirm.")); err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	if a.active, err = meter.Int64Gauge(telemetry.MetricRunAheadActive, metric.WithUnit("1"),
		metric.WithDescription("1 while turns run ahead, 0 while most of them rest because too much was wasted.")); err != nil {
		return nil, fmt.Errorf("make gauge: %w", err)
	}
	a.active.Record(context.Background(), 1)
	return a, nil
}

// allowed reports whether a turn may run ahead. It is asked once per turn that could.
func (a *ahead) allowed() bool { return a.guard.allowed() }

// wants reports whether a provisional assignment is sure enough.
func (a *ahead) wants(s *routerv1.Assignment) bool { return s.GetConfidence() >= a.least }

// count counts a branch that ran ahead, and the tokens that are known to have been spent on it.
func (a *ahead) count(ctx context.Context, confirmed bool, tokens int64) {
	outcome := outcomeConfirmed
	if !confirmed {
		outcome = outcomeCanceled
		a.wasted.Add(ctx, tokens)
	}
	a.branches.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyRunAheadOutcome, outcome)))
	resting, changed := a.guard.add(ranAhead{confirmed: confirmed, tokens: tokens})
	switch {
	case changed && resting:
		a.active.Record(ctx, 0)
		a.log.WarnContext(ctx, "running ahead rests: too much of it was wasted", "cap", wasteCap)
	case changed:
		a.active.Record(ctx, 1)
		a.log.InfoContext(ctx, "running ahead again")
	}
}

// ranAhead is how a branch that ran ahead went.
type ranAhead struct {
	confirmed bool
	tokens    int64 // 0: not known
}

// guard stops running ahead where it wastes too much. The zero value allows it. It is safe for concurrent use.
type guard struct {
	mu      sync.Mutex
	last    []ranAhead // at most wasteWindow; the oldest is at next once they are that many
	next    int
	resting bool
	turns   int // since it rests
}

// allowed reports whether one more turn may run ahead.
func (g *guard) allowed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.resting {
		return true
	}
	g.turns++
	return g.turns%restTurns == 0
}

// add adds a branch and reports whether the guard rests now, and whether that is new.
func (g *guard) add(r ranAhead) (resting, changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.last) < wasteWindow {
		g.last = append(g.last, r)
	} else {
		g.last[g.next] = r
		g.next = (g.next + 1) % wasteWindow
	}
	if len(g.last) < wasteSample {
		return g.resting, false
	}
	before := g.resting
	if g.resting = waste(g.last) > wasteCap; g.resting {
		g.last, g.next = g.last[:0], 0 // what comes next is judged by itself
		if !before {
			g.turns = 0
		}
	}
	return g.resting, g.resting != before
}

// waste is the share of what the branches spent that was spent on those that were not confirmed. A branch of which nothing
// is known, because it was cancelled before its first model call had ended, counts like the mean of the others; if nothing is
// known of any, it is the share of branches.
func waste(branches []ranAhead) float64 {
	var known, sum float64
	for _, b := range branches {
		if b.tokens > 0 {
			known, sum = known+1, sum+float64(b.tokens)
		}
	}
	mean := 1.0
	if known > 0 {
		mean = sum / known
	}
	var all, wasted float64
	for _, b := range branches {
		weight := float64(b.tokens)
		if b.tokens <= 0 {
			weight = mean
		}
		all += weight
		if !b.confirmed {
			wasted += weight
		}
	}
	return wasted / all
}
