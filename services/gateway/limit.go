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
	// turnWeight is how far one turn moves the mean duration: the last sixteen or so make it.
	turnWeight = 16
	// leastRetry and mostRetry bound what a refused caller is asked to wait.
	leastRetry = fault.DefaultRetryAfter
	mostRetry  = 30 * time.Second
)

// Values of telemetry.KeyLimit.
const (
	limitProcess = "process"
	limitStore   = "store"
)

// limiter bounds the turns in flight, so that those which are admitted keep their speed. What comes beyond the bound is
// refused before anything is asked for it; it does not wait, since callers know better what to do meanwhile. It is safe for
// concurrent use.
type limiter struct {
	most, mostPerStore int
	inFlight           metric.Int64UpDownCounter
	refused            metric.Int64Counter

	mu     sync.Mutex
	turns  int
	stores map[string]int // turns by store, of those that have any
	mean   time.Duration  // that the last turns took
}

func newLimiter(most, mostPerStore int, meter metric.Meter) (*limiter, error) {
	l := &limiter{most: most, mostPerStore: mostPerStore, stores: map[string]int{}}
	var err error
	l.inFlight, err = meter.Int64UpDownCounter(telemetry.MetricTurnsInFlight, metric.WithUnit("{turn}"),
		metric.WithDescription("Turns that are being worked on."))
	if err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	l.refused, err = meter.Int64Counter(telemetry.MetricTurnsRefused, metric.WithUnit("{turn}"),
		metric.WithDescription("Turns that a limit of turns in flight kept out."))
	if err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	return l, nil
}

// enter counts a turn in, or refuses it with a *fault.Exhausted. Whoever was let in must call leave once, at the turn's end.
func (l *limiter) enter(storeID string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.turns >= l.most:
		return nil, l.refuse(limitProcess, "turns in flight")
	case l.stores[storeID] >= l.mostPerStore:
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
		delete(l.stores, storeID) // whatever callers name, only what is in flight takes room
	}
	if l.mean == 0 {
		l.mean = took
	}
	l.mean += (took - l.mean) / turnWeight
	l.inFlight.Add(context.Background(), -1)
}

// refuse makes the error of a turn that is kept out. The caller is asked to wait for as long as a turn takes at present: by
// then those that are in the way now should have ended. l.mu is held.
func (l *limiter) refuse(limit, what string) error {
	l.refused.Add(context.Background(), 1, metric.WithAttributes(attribute.String(telemetry.KeyLimit, limit)))
	return &fault.Exhausted{
		Reason: commonv1.ErrorReason_ERROR_REASON_TOO_MANY_TURNS, What: what,
		RetryAfter: min(max(l.mean, leastRetry), mostRetry),
	}
}
