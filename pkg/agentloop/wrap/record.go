package wrap

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// Exchange is one model call: the request and what came back. It survives JSON: valid UTF-8 texts byte for byte, schemas in
// their compact form.
type Exchange struct {
	// Request as the model got it.
	Request agentloop.Request `json:"request"`
	// Chunks as they came, up to the one at which the consumer stopped.
	Chunks []agentloop.Chunk `json:"chunks"`
	// Error ended the answer. Nil: none did.
	Error *ExchangeError `json:"error,omitempty"`
}

// ErrorKind is the kind of a recorded error. The empty kind is any other error.
type ErrorKind string

// The kinds of errors.
const (
	// KindCanceled is context.Canceled.
	KindCanceled ErrorKind = "canceled"
	// KindDeadline is context.DeadlineExceeded.
	KindDeadline ErrorKind = "deadline"
	// KindBadRequest is endpoint.ErrBadRequest.
	KindBadRequest ErrorKind = "bad_request"
	// KindBudget is agentloop.ErrBudget.
	KindBudget ErrorKind = "budget"
	// KindRetryable is an error that [Retryable] accepts.
	KindRetryable ErrorKind = "retryable"
)

// kindErrors are the errors that a recorded error of a kind matches.
var kindErrors = map[ErrorKind]error{
	KindCanceled: context.Canceled, KindDeadline: context.DeadlineExceeded, KindBudget: agentloop.ErrBudget,
	KindBadRequest: endpoint.ErrBadRequest,
}

// ExchangeError is a recorded error. When played back, it matches the error of its kind with errors.Is, and it is a
// [RetryHinter].
type ExchangeError struct {
	// Message is the error's text.
	Message string `json:"message"`
	// Kind of the error.
	Kind ErrorKind `json:"kind,omitempty"`
	// RetryAfter is the wait that the error asked for, in nanoseconds. Zero: none.
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
}

func newExchangeError(err error) *ExchangeError {
	e := &ExchangeError{Message: err.Error()}
	for _, kind := range []ErrorKind{KindCanceled, KindDeadline, KindBudget, KindBadRequest} {
		if errors.Is(err, kindErrors[kind]) {
			e.Kind = kind
			return e
		}
	}
	if wait, retry := Retryable(err); retry {
		e.Kind, e.RetryAfter = KindRetryable, wait
	}
	return e
}

// Error implements error.
func (e *ExchangeError) Error() string { return e.Message }

// Unwrap returns the error that e matches, or nil.
func (e *ExchangeError) Unwrap() error { return kindErrors[e.Kind] }

// RetryHint implements [RetryHinter].
func (e *ExchangeError) RetryHint() (after time.Duration, retry bool) {
	return e.RetryAfter, e.Kind == KindRetryable
}

// Record returns a model that does what m does and hands each call to sink when it has ended, even if it failed or the
// consumer stopped early. Sink may keep the exchange, which is a copy; it is called by one goroutine at a time. An exchange
// holds prompts and users' words, so the caller is responsible for where it goes. [Replay] depends on the order of the calls,
// so each run needs its own recorder.
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
