package wrap

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Exchange is one call of a model: what was asked and what came back. It marshals to JSON and back: texts to the
// byte as long as they are valid UTF-8, as those of providers are, and schemas in their compact form.
type Exchange struct {
	// Request as the model got it.
	Request agentloop.Request `json:"request"`
	// Chunks as they came, up to the one at which the consumer stopped.
	Chunks []agentloop.Chunk `json:"chunks"`
	// Error ended the answer. Nil: none did.
	Error *ExchangeError `json:"error,omitempty"`
}

// ErrorKind is what callers ask an error for.
type ErrorKind string

// The kinds of errors. The empty kind is any other error.
const (
	// KindCanceled is context.Canceled.
	KindCanceled ErrorKind = "canceled"
	// KindDeadline is context.DeadlineExceeded.
	KindDeadline ErrorKind = "deadline"
	// KindBadRequest is an error whose [BadRequester] says that the request was at fault.
	KindBadRequest ErrorKind = "bad_request"
	// KindBudget is agentloop.ErrBudget.
	KindBudget ErrorKind = "budget"
	// KindRetryable is an error that [Retryable] would have tried again.
	KindRetryable ErrorKind = "retryable"
)

// ExchangeError is an error as it is recorded: its words, and what wrappers ask it for. When played back it answers
// errors.Is for the context's errors and agentloop.ErrBudget, and is a [RetryHinter] and a [BadRequester].
type ExchangeError struct {
	// Message is the error's own words.
	Message string `json:"message"`
	// Kind says what sort of error it was.
	Kind ErrorKind `json:"kind,omitempty"`
	// RetryAfter is the wait that the error asked for, in nanoseconds. Zero: it did not.
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
}

func newExchangeError(err error) *ExchangeError {
	e := &ExchangeError{Message: err.Error()}
	wait, retry := Retryable(err)
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind = KindCanceled
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = KindDeadline
	case errors.Is(err, agentloop.ErrBudget):
		e.Kind = KindBudget
	case badRequest(err):
		e.Kind = KindBadRequest
	case retry:
		e.Kind, e.RetryAfter = KindRetryable, wait
	}
	return e
}

// Error implements error.
func (e *ExchangeError) Error() string { return e.Message }

// Is makes the recorded error match the context's error, or agentloop.ErrBudget, that it was.
func (e *ExchangeError) Is(target error) bool {
	switch e.Kind {
	case KindCanceled:
		return target == context.Canceled
	case KindDeadline:
		return target == context.DeadlineExceeded
	case KindBudget:
		return target == agentloop.ErrBudget
	}
	return false
}

// RetryHint implements [RetryHinter].
func (e *ExchangeError) RetryHint() (after time.Duration, retry bool) {
	return e.RetryAfter, e.Kind == KindRetryable
}

// BadRequest implements [BadRequester].
func (e *ExchangeError) BadRequest() bool { return e.Kind == KindBadRequest }

// Record returns a model that does what m does and hands each call to sink when it has ended, also when it failed or the
// consumer stopped early. The exchange is a copy that the sink may keep. It holds prompts and users' words: who records
// answers for where they go. Sink is called by one goroutine at a time. [Replay] goes by the order of the calls, so each run
// wants a recorder of its own.
func Record(m agentloop.Model, sink func(Exchange)) agentloop.Model {
	return &recorder{next: m, sink: sink}
}

type recorder struct {
	next agentloop.Model
	mu   sync.Mutex
	sink func(Exchange)
}

// Generate implements [agentloop.Model].
func (r *recorder) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		x := Exchange{Request: *req.Clone()}
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.sink(x)
		}()
		for c, err := range r.next.Generate(ctx, req) {
			if err != nil {
				x.Error = newExchangeError(err)
			} else {
				x.Chunks = append(x.Chunks, cloneChunk(c))
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

func cloneChunk(c agentloop.Chunk) agentloop.Chunk {
	c.ToolCalls = slices.Clone(c.ToolCalls)
	if c.Usage != nil {
		c.Usage = new(*c.Usage)
	}
	return c
}
