package fanout

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// RunAhead says which branches start before the routing is final.
type RunAhead string

// The modes of run-ahead. Replies are the same in all of them; what differs is how soon they come, and how many tokens are
// spent on branches that the final routing does not confirm.
const (
	// RunAheadAlways starts a branch for every provisional assignment with a confidence of at least two thirds.
	RunAheadAlways RunAhead = "always"
	// RunAheadCertain starts branches for the assignments that the router says it is certain of.
	RunAheadCertain RunAhead = "certain"
	// RunAheadOff starts no branch before the routing is final.
	RunAheadOff RunAhead = "off"
)

// Valid reports whether r is one of the modes.
func (r RunAhead) Valid() bool {
	return r == RunAheadAlways || r == RunAheadCertain || r == RunAheadOff
}

const (
	// minConfidence is the confidence from which a provisional assignment may start: it pays if wrong less than one time in three.
	minConfidence = 2.0 / 3
	// maxWaste is the share of the tokens of speculative branches that may be wasted. Above it, speculation pauses.
	maxWaste = 0.3
	// wasteWindow is the number of recent branches that the share is computed from.
	wasteWindow = 100
	// wasteSample is the smallest number of branches that the share is computed from.
	wasteSample = 40
	// probeInterval is the number of turns of which one still speculates during a pause, to find out whether speculation pays
	// again.
	probeInterval = 10
)

// Values of telemetry.KeyRunAheadOutcome.
const (
	outcomeConfirmed = "confirmed"
	outcomeCanceled  = "canceled"
)

// speculation decides which branches start before the routing is final, and counts their outcomes. It is safe for concurrent
// use.
type speculation struct {
	certainOnly bool
	log         *slog.Logger
	limiter     wasteLimiter
	branches    metric.Int64Counter
	wasted      metric.Int64Counter
	active      metric.Int64Gauge
}

// newSpeculation returns nil for RunAheadOff.
func newSpeculation(mode RunAhead, meter metric.Meter, log *slog.Logger) (*speculation, error) {
	if mode == RunAheadOff {
		return nil, nil
	}
	s := &speculation{certainOnly: mode == RunAheadCertain, log: log}
	var err error
	if s.branches, err = meter.Int64Counter(telemetry.MetricRunAheadBranches, metric.WithUnit("{branch}"),
		metric.WithDescription("Specialists started before the routing was final, by whether it confirmed them.")); err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	if s.wasted, err = meter.Int64Counter(telemetry.MetricRunAheadWasted, metric.WithUnit("{token}"),
		metric.WithDescription("Tokens known to have been spent on specialists that the final routing did not confirm.")); err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	if s.active, err = meter.Int64Gauge(telemetry.MetricRunAheadActive, metric.WithUnit("1"),
		metric.WithDescription("1 while turns run ahead, 0 while most turns do not because too much was wasted.")); err != nil {
		return nil, fmt.Errorf("make gauge: %w", err)
	}
	s.active.Record(context.Background(), 1)
	return s, nil
}

// wants reports whether a provisional assignment may start.
func (s *speculation) wants(a *routerv1.Assignment) bool {
	return a.GetCertain() || !s.certainOnly && a.GetConfidence() >= minConfidence
}

// count counts a speculative branch that has ended, and the tokens that it is known to have spent.
func (s *speculation) count(ctx context.Context, confirmed bool, tokens int64) {
	outcome := outcomeConfirmed
	if !confirmed {
		outcome = outcomeCanceled
		s.wasted.Add(ctx, tokens)
	}
	s.branches.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyRunAheadOutcome, outcome)))
	paused, changed := s.limiter.add(speculated{confirmed: confirmed, tokens: tokens})
	switch {
	case changed && paused:
		s.active.Record(ctx, 0)
		s.log.WarnContext(ctx, "run-ahead pauses: too many tokens were wasted", "max_waste", maxWaste)
	case changed:
		s.active.Record(ctx, 1)
		s.log.InfoContext(ctx, "run-ahead resumes")
	}
}

// speculated is the outcome of a speculative branch.
type speculated struct {
	confirmed bool
	tokens    int64 // 0: unknown
}

// wasteLimiter pauses speculation that wastes too much. The zero value allows it. It is safe for concurrent use.
type wasteLimiter struct {
	mu     sync.Mutex
	recent []speculated // at most wasteWindow, oldest first
	paused bool
	turns  int // since the pause began
}

// allow reports whether one more turn may speculate.
func (l *wasteLimiter) allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.paused {
		return true
	}
	l.turns++
	return l.turns%probeInterval == 0
}

// add adds a branch, and reports whether speculation pauses now, and whether that has changed.
func (l *wasteLimiter) add(b speculated) (paused, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent = append(l.recent, b)
	if len(l.recent) > wasteWindow {
		l.recent = slices.Delete(l.recent, 0, 1)
	}
	if len(l.recent) < wasteSample {
		return l.paused, false
	}
	before := l.paused
	if l.paused = waste(l.recent) > maxWaste; l.paused {
		l.recent = nil // the next sample is judged on its own
		if !before {
			l.turns = 0
		}
	}
	return l.paused, l.paused != before
}

// waste is the share of tokens that was spent on branches that were not confirmed. A branch with unknown tokens, because it was
// cancelled before its first model call ended, counts as the mean of the others. If all are unknown, waste is the share of
// branches.
func waste(branches []speculated) float64 {
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
