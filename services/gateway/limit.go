package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// meanTurns is about the number of recent turns that the mean duration is of.
	meanTurns = 16
	// minRetry and maxRetry bound the time that a refused caller is asked to wait.
	minRetry = fault.DefaultRetryAfter
	maxRetry = 30 * time.Second
)

// Values of telemetry.KeyLimit.
const (
	limitProcess = "process"
	limitStore   = "store"
)

// limiter bounds the turns in flight, so that admitted turns keep their speed. It refuses further turns at once, before they cost
// anything. It is safe for concurrent use.
type limiter struct {
	max, maxPerStore int
	inFlight         metric.Int64UpDownCounter
	refused          metric.Int64Counter

	mu     sync.Mutex
	turns  int
	stores map[string]int // turns by store, without zeros
	mean   time.Duration  // of recent turns
}

func newLimiter(maxTurns, maxPerStore int, meter metric.Meter) (*limiter, error) {
	l := &limiter{max: maxTurns, maxPerStore: maxPerStore, stores: map[string]int{}}
	var err error
	l.inFlight, err = meter.Int64UpDownCounter(telemetry.MetricTurnsInFlight, metric.WithUnit("{turn}"),
		metric.WithDescription("Turns in flight."))
	if err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	l.refused, err = meter.Int64Counter(telemetry.MetricTurnsRefused, metric.WithUnit("{turn}"),
		metric.WithDescription("Turns that a limit of turns in flight refused."))
	if err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	return l, nil
}

// enter admits a turn, or refuses it with a *fault.Exhausted. The caller must call leave once, at the turn's end.
func (l *limiter) enter(storeID string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.turns >= l.max:
		return nil, l.refuse(limitProcess, "turns in flight")
	case l.stores[storeID] >= l.maxPerStore:
		return nil, l.refuse(limitStore, "turns in flight of this store")
	}
	l.turns++
	l.stores[storeID]++
	l.inFlight.Add(context.Background(), 1)
	begun := time.Now()
	return func() { l.leave(storeID, time.Since(begun)) }, nil
}

func (l *limiter) leave(storeID string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns--
	if l.stores[storeID]--; l.stores[storeID] == 0 {
		delete(l.stores, storeID) // callers may name any store, so only turns in flight may take memory
	}
	if l.mean == 0 {
		l.mean = took
	}
	l.mean += (took - l.mean) / meanTurns
	l.inFlight.Add(context.Background(), -1)
}

// refuse returns the error of a refused turn. The caller is asked to wait for the mean duration of recent turns: by then, the
// turns in flight should have ended. l.mu is held.
func (l *limiter) refuse(limit, what string) error {
	l.refused.Add(context.Background(), 1, metric.WithAttributes(attribute.String(telemetry.KeyLimit, limit)))
	return &fault.Exhausted{
		Reason: commonv1.ErrorReason_ERROR_REASON_TOO_MANY_TURNS, What: what,
		RetryAfter: min(max(l.mean, minRetry), maxRetry),
	}
}
