package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// errNoModels is the error of an empty chain.
var errNoModels = errors.New("wrap: Fallback has no models")

// Fallback returns a model that asks the first model, and the next one whenever one fails before its first chunk. It stops
// at the context's errors and at [endpoint.ErrBadRequest], because the next model would refuse the request too. If all fail,
// the error wraps all of theirs and is retryable if one of them is.
func Fallback(models ...agentloop.Model) agentloop.Model {
	return &chain{models: slices.Clone(models)}
}

type chain struct{ models []agentloop.Model }

// Generate implements [agentloop.Model].
func (f *chain) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		var failed []error
		for _, m := range f.models {
			started, err := attempt(m.Generate(ctx, req), yield)
			if started {
				return
			}
			failed = append(failed, err)
			if isContextError(ctx, err) || errors.Is(err, endpoint.ErrBadRequest) {
				break
			}
		}
		switch len(failed) {
		case 0:
			yield(agentloop.Chunk{}, errNoModels)
		case 1:
			yield(agentloop.Chunk{}, failed[0])
		default:
			yield(agentloop.Chunk{}, &chainError{errs: failed})
		}
	}
}

// chainError holds the errors of several models, in the order in which they were asked.
type chainError struct{ errs []error }

// Error implements error.
func (e *chainError) Error() string {
	return fmt.Sprintf("%d models failed: %v", len(e.errs), errors.Join(e.errs...))
}

// Unwrap gives errors.Is and errors.As the errors of all models.
func (e *chainError) Unwrap() []error { return e.errs }

// RetryHint implements [RetryHinter]: a retry may succeed if it may with one of the models, after the shortest wait.
func (e *chainError) RetryHint() (after time.Duration, retry bool) {
	for _, err := range e.errs {
		wait, again := Retryable(err)
		if again && (!retry || wait < after) {
			after, retry = wait, true
		}
	}
	return after, retry
}
