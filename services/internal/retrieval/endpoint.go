package retrieval

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// legTime bounds what a search waits for an endpoint. Then it goes on without.
	legTime = time.Second
	// legRest is how long an endpoint that has failed is not asked, so that not every search waits for it.
	legRest = 5 * time.Second
)

// Endpoint keeps requests from waiting for a server that does not answer. It is safe for concurrent use.
type Endpoint struct {
	leg     string
	timeout time.Duration
	logger  *slog.Logger
	breaker *gobreaker.CircuitBreaker[struct{}]
}

// NewEndpoint returns a guard of the server that does what leg names in a search. The logger gets a line for each failure.
func NewEndpoint(leg string, logger *slog.Logger) *Endpoint {
	return NewEndpointWithTimeout(leg, legTime, logger)
}

// NewEndpointWithTimeout is NewEndpoint with another time that is waited for an answer.
func NewEndpointWithTimeout(leg string, timeout time.Duration, logger *slog.Logger) *Endpoint {
	return &Endpoint{leg: leg, timeout: timeout, logger: logger, breaker: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     legRest,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures > 0 },
		IsExcluded:  func(err error) bool { return errors.Is(err, errCallerLeft) },
	})}
}

// errCallerLeft marks the error of a call whose caller has left, which says nothing of the server.
var errCallerLeft = errors.New("the caller has left")

// Ask calls fn within the endpoint's timeout, and reports whether it succeeded. It does not call it for a while after a failure.
func (e *Endpoint) Ask(ctx context.Context, fn func(ctx context.Context) error) bool {
	_, err := e.breaker.Execute(func() (struct{}, error) {
		within, cancel := context.WithTimeout(ctx, e.timeout)
		defer cancel()
		err := fn(within)
		switch {
		case err != nil && ctx.Err() != nil:
			err = errCallerLeft
		case err != nil:
			e.logger.Warn("an endpoint failed; requests go on without it", "leg", e.leg, "error", err, "rests", legRest)
		}
		return struct{}{}, err
	})
	return err == nil
}
