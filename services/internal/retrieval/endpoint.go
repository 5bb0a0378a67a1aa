package retrieval

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// legTime bounds what a search waits for an endpoint. Then it goes on without.
	legTime = time.Second
	// legRest is how long an endpoint that has failed is not asked, so that not every search waits for it.
	legRest = 5 * time.Second
)

// Endpoint keeps searches from waiting for a server that does not answer. It is safe for concurrent use and must not be
// copied.
type Endpoint struct {
	// Leg is what the server does in a search, for the log. Required.
	Leg string
	// Logger gets a line for each failure. Required.
	Logger *slog.Logger

	rests atomic.Int64 // until then, Unix nanoseconds
}

// Ask calls fn within the time that a search has for it, and reports whether it went well. It does not call it for a while
// after a failure.
func (e *Endpoint) Ask(ctx context.Context, fn func(ctx context.Context) error) bool {
	if time.Now().UnixNano() < e.rests.Load() {
		return false
	}
	within, cancel := context.WithTimeout(ctx, legTime)
	defer cancel()
	err := fn(within)
	if err != nil && ctx.Err() == nil { // not when the caller has left
		e.rests.Store(time.Now().Add(legRest).UnixNano())
		e.Logger.Warn("a leg of the search failed; searches go on without it", "leg", e.Leg, "error", err, "rests", legRest)
	}
	return err == nil
}
