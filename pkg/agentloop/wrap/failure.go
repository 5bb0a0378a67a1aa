package wrap

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// RetryHinter is an error that knows whether to try again. Errors of adapters implement it; anything that they wrap or
// that wraps them is found with errors.As.
type RetryHinter interface {
	error
	// RetryHint reports whether another try may succeed, and how long to wait before it. Zero: the failure does not say.
	RetryHint() (after time.Duration, retry bool)
}

// BadRequester is an error that knows whether the request itself was at fault, so that another model would refuse it too.
type BadRequester interface {
	error
	// BadRequest reports whether the request was at fault.
	BadRequest() bool
}

// Retryable is how [Retry] judges an error unless told otherwise: by its [RetryHinter] if it has one. Without one, failures
// of the network and answers that broke off may be tried again, all others not.
func Retryable(err error) (wait time.Duration, retry bool) {
	var hint RetryHinter
	if errors.As(err, &hint) {
		return hint.RetryHint()
	}
	var network net.Error
	return 0, errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

// badRequest reports whether an error says that the request was at fault.
func badRequest(err error) bool {
	var bad BadRequester
	return errors.As(err, &bad) && bad.BadRequest()
}

// contextError reports whether a call failed because its context ended.
func contextError(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// attempt yields an answer, and reports whether anything of it went out, an error after the first chunk included. If
// nothing did, it returns the error. A chunk that only names the model waits for one that says something: providers send it
// before they know whether they can answer.
func attempt(chunks iter.Seq2[agentloop.Chunk, error], yield func(agentloop.Chunk, error) bool) (begun bool, err error) {
	var first agentloop.Chunk
	for c, err := range chunks {
		switch {
		case err != nil && !begun:
			return false, err
		case err == nil && !begun && saysNothing(c):
			if c.Model != "" {
				first.Model = c.Model
			}
			continue
		case !begun && c.Model == "":
			c.Model = first.Model
		}
		begun = true
		if !yield(c, err) || err != nil {
			return true, nil
		}
	}
	if !begun && first.Model != "" {
		yield(first, nil)
	}
	return true, nil
}

// saysNothing reports whether a chunk holds nothing of an answer.
func saysNothing(c agentloop.Chunk) bool {
	return c.Text == "" && c.Reasoning == "" && len(c.ToolCalls) == 0 && c.FinishReason == "" && c.Usage == nil && c.ProviderData == ""
}
