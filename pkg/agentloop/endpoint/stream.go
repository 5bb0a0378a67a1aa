package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// errStopped says that the consumer wants no more.
var errStopped = errors.New("consumer stopped")

// Emit hands on a chunk; an empty one is dropped. An error means that the consumer wants no more: stop and return it.
type Emit func(agentloop.Chunk) error

// Stream is the body of a Model's Generate. It calls run and yields what run emits and, last, its error, with the provider's
// name in front and the cause when ctx was done.
func Stream(ctx context.Context, provider string, run func(Emit) error) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		err := run(func(c agentloop.Chunk) error {
			if c.Text == "" && c.Reasoning == "" && len(c.ToolCalls) == 0 && c.Model == "" && c.FinishReason == "" && c.Usage == nil && c.ProviderData == "" {
				return nil
			}
			if !yield(c, nil) {
				return errStopped
			}
			return nil
		})
		if err == nil || errors.Is(err, errStopped) {
			return
		}
		if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		yield(agentloop.Chunk{}, fmt.Errorf("%s: %w", provider, err))
	}
}

// Ending is what is known of how an answer ends.
type Ending struct {
	// Finish reason that the provider gave. Empty: none yet.
	Finish agentloop.FinishReason
	// Usage that was reported. Nil: none yet.
	Usage *agentloop.Usage
	// Text is true when some text was emitted.
	Text bool
	// Calls is the number of tool calls, or pieces of them, that were emitted.
	Calls int
	// Done is true when the provider said that the answer is complete, if only by other means than a finish reason.
	Done bool
}

// Last returns the last chunk of an answer whose stream ended with err, or the error if the answer broke off.
func (e *Ending) Last(err error) (agentloop.Chunk, error) {
	last := agentloop.Chunk{FinishReason: e.Finish, Usage: e.Usage}
	var status *StatusError
	switch {
	case errors.As(err, &status):
		return agentloop.Chunk{}, err
	case e.Finish != "":
		return last, nil // whatever came after it, the answer is complete
	case err != nil:
		return agentloop.Chunk{}, err
	case e.Done:
		return last, nil
	case e.Text && e.Calls == 0:
		last.FinishReason = agentloop.FinishLength // it may be cut
		return last, nil
	}
	return agentloop.Chunk{}, fmt.Errorf("the stream ended without an answer: %w", io.ErrUnexpectedEOF)
}

// drainTime bounds the wait for the end of a stream whose answer is whole.
const drainTime = 100 * time.Millisecond

// Drain lets read go on to the end of a stream whose answer is whole, because a connection that was not read to its end cannot
// be used again. It calls cancel after a moment.
func Drain(cancel context.CancelFunc, read func()) {
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	read()
}
