package wrap

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Replayer is a model that answers from a recording. It is safe for concurrent use, though the order of calls then decides
// which answer each gets.
type Replayer struct {
	mu        sync.Mutex
	exchanges []Exchange
	next      int
	diverged  *DivergenceError
}

// DivergenceError is the first difference between a request and the recorded one. Its words repeat parts of both: it is
// meant for who runs the replay, not for logs.
type DivergenceError struct {
	// Call is the number of the call, from 0.
	Call int
	// Where the requests differ: "messages[2].text", "tools[0].name", "calls" for a call beyond the recording.
	Where string
	// Recorded and Got are what was there, and what is there now. Long texts are cut to what surrounds the first difference.
	Recorded, Got string
}

// Error implements error.
func (e *DivergenceError) Error() string {
	return fmt.Sprintf("wrap: replay: call %d differs at %s: recorded %q, got %q", e.Call, e.Where, e.Recorded, e.Got)
}

// Replay returns a model that answers the first call with the first exchange, the second with the second, and so on: the
// same chunks, and the recorded error. A request that is not the recorded one is answered with a [*DivergenceError], and so
// is every call after it. The exchanges must not be changed afterwards.
func Replay(exchanges []Exchange) *Replayer {
	return &Replayer{exchanges: slices.Clone(exchanges)}
}

// Remaining returns how many exchanges were not played yet. A run that is over and left some has ended earlier than the
// recorded one.
func (r *Replayer) Remaining() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.exchanges) - r.next
}

// Generate implements [agentloop.Model].
func (r *Replayer) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		x, err := r.take(req)
		if err != nil {
			yield(agentloop.Chunk{}, err)
			return
		}
		for _, c := range x.Chunks {
			if err := ctx.Err(); err != nil {
				yield(agentloop.Chunk{}, err)
				return
			}
			if !yield(cloneChunk(c), nil) {
				return
			}
		}
		if x.Error != nil {
			yield(agentloop.Chunk{}, x.Error)
		}
	}
}

// take returns the exchange that is next, if the request is the recorded one.
func (r *Replayer) take(req *agentloop.Request) (Exchange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.diverged == nil {
		r.diverged = r.check(req)
	}
	if r.diverged != nil {
		return Exchange{}, r.diverged
	}
	r.next++
	return r.exchanges[r.next-1], nil
}

func (r *Replayer) check(req *agentloop.Request) *DivergenceError {
	if r.next == len(r.exchanges) {
		return &DivergenceError{
			Call: r.next, Where: "calls", Recorded: fmt.Sprintf("%d calls", r.next), Got: "one more",
		}
	}
	where, recorded, got := differ(&r.exchanges[r.next].Request, req)
	if where == "" {
		return nil
	}
	recorded, got = around(recorded, got)
	return &DivergenceError{Call: r.next, Where: where, Recorded: recorded, Got: got}
}
