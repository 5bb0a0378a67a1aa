package wrap

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Replayer is a model that answers from a recording. It is safe for concurrent use; the order of calls decides which answer
// each gets.
type Replayer struct {
	mu        sync.Mutex
	exchanges []Exchange
	next      int
	diverged  *DivergenceError
}

// DivergenceError reports the first difference between a request and the recorded one. Its text repeats parts of both, so it
// does not belong in logs.
type DivergenceError struct {
	// Call is the number of the call, from 0.
	Call int
	// Where the requests differ: "messages[2].text", "tools[0].name", or "calls" for a call beyond the recording.
	Where string
	// Recorded and Got are the recorded and the current value. Long texts are cut around the first difference.
	Recorded, Got string
}

// Error implements error.
func (e *DivergenceError) Error() string {
	return fmt.Sprintf("wrap: replay: call %d differs at %s: recorded %q, got %q", e.Call, e.Where, e.Recorded, e.Got)
}

// Replay returns a model that answers the first call with the first exchange, the second with the second, and so on: the
// same chunks and the recorded error. A request that differs from the recorded one gets a [*DivergenceError], and so does
// every call after it. The caller must not change the exchanges afterwards.
func Replay(exchanges []Exchange) *Replayer {
	return &Replayer{exchanges: slices.Clone(exchanges)}
}

// Remaining returns how many exchanges have not been played yet.
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

// take returns the next exchange if the request equals the recorded one.
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
	where, recorded, got := firstDifference(&r.exchanges[r.next].Request, req)
	if where == "" {
		return nil
	}
	recorded, got = around(recorded, got)
	return &DivergenceError{Call: r.next, Where: where, Recorded: recorded, Got: got}
}

// excerptBytes limits what is shown of a text on each side of the first difference.
const excerptBytes = 80

// firstDifference returns where two requests first differ, and both values; an empty place if they are equal. It compares the
// conversation first, because that is where runs diverge.
func firstDifference(a, b *agentloop.Request) (where, inA, inB string) {
	for i := range max(len(a.Messages), len(b.Messages)) {
		place := fmt.Sprintf("messages[%d]", i)
		if i >= len(a.Messages) || i >= len(b.Messages) {
			return place, describe(a.Messages, i), describe(b.Messages, i)
		}
		x, y := a.Messages[i], b.Messages[i]
		switch {
		case x.Role != y.Role:
			return place + ".role", string(x.Role), string(y.Role)
		case x.Text != y.Text:
			return place + ".text", x.Text, y.Text
		case x.ToolCallID != y.ToolCallID:
			return place + ".tool_call_id", x.ToolCallID, y.ToolCallID
		case !slices.Equal(x.ToolCalls, y.ToolCalls):
			return place + ".tool_calls", encode(x.ToolCalls), encode(y.ToolCalls)
		case x.ProviderData != y.ProviderData:
			return place + ".provider_data", x.ProviderData, y.ProviderData
		}
	}
	for i := range max(len(a.Tools), len(b.Tools)) {
		place := fmt.Sprintf("tools[%d]", i)
		if i >= len(a.Tools) || i >= len(b.Tools) || a.Tools[i].Name != b.Tools[i].Name {
			return place + ".name", nameOf(a.Tools, i), nameOf(b.Tools, i)
		}
		if x, y := encode(a.Tools[i]), encode(b.Tools[i]); x != y {
			return place, x, y
		}
	}
	x, y := *a, *b
	x.Messages, x.Tools, y.Messages, y.Tools = nil, nil, nil, nil
	if inA, inB = encode(x), encode(y); inA != inB {
		return "settings", inA, inB
	}
	return "", "", ""
}

func describe(messages []agentloop.Message, i int) string {
	if i >= len(messages) {
		return "nothing"
	}
	return string(messages[i].Role) + ": " + messages[i].Text
}

func nameOf(tools []agentloop.ToolSpec, i int) string {
	if i >= len(tools) {
		return "nothing"
	}
	return tools[i].Name
}

// encode returns a value as JSON, which is equal for equal values even if one has been through a file.
func encode[T any](v T) string {
	raw, err := json.Marshal(v)
	if err != nil { // a schema that is not JSON
		return fmt.Sprintf("%+v", v)
	}
	return string(raw)
}

// around cuts two texts around their first difference.
func around(a, b string) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return excerpt(a, at), excerpt(b, at)
}

func excerpt(s string, at int) string {
	from, to := max(0, at-excerptBytes), min(len(s), at+excerptBytes)
	cut := strings.ToValidUTF8(s[from:to], "")
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(s) {
		cut += "…"
	}
	return cut
}
