package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// errNoModels is the answer of an empty chain.
var errNoModels = errors.New("wrap: Fallback has no models")

// Fallback returns a model that asks the first model, and the next one whenever one fails before its first chunk. It stops
// at the context's errors, and at errors that say that the request itself is at fault ([BadRequester]), which the next
// model would refuse too. When all fail, the error holds theirs all and asks for a retry if one of them does.
func Fallback(models ...agentloop.Model) agentloop.Model {
	return &chain{models: slices.Clone(models)}
}

type chain struct{ models []agentloop.Model }

// Generate implements [agentloop.Model].
func (f *chain) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		var failed []error
		for _, m := range f.models {
			begun, err := attempt(m.Generate(ctx, req), yield)
			if begun {
				return
			}
			failed = append(failed, err)
			if contextError(ctx, err) || badRequest(err) {
				break
			}
		}
		yield(agentloop.Chunk{}, joined(failed))
	}
}

// failures are the errors of several models, in the order in which they were asked.
type failures struct{ errs []error }

func joined(errs []error) error {
	switch len(errs) {
	case 0:
		return errNoModels
	case 1:
		return errs[0]
	}
	return &failures{errs: errs}
}

// Error implements error.
func (f *failures) Error() string {
	return fmt.Sprintf("%d models failed: %v", len(f.errs), errors.Join(f.errs...))
}

// Unwrap gives errors.Is and errors.As the errors of all models.
func (f *failures) Unwrap() []error { return f.errs }

// RetryHint implements [RetryHinter]: another try may succeed if it may with one of the models, after the shortest wait.
func (f *failures) RetryHint() (after time.Duration, retry bool) {
	for _, err := range f.errs {
		wait, again := Retryable(err)
		if again && (!retry || wait < after) {
			after, retry = wait, true
		}
	}
	return after, retry
}

// BadRequest implements [BadRequester]: the last model, at which the chain ended, speaks for all.
func (f *failures) BadRequest() bool { return badRequest(f.errs[len(f.errs)-1]) }
