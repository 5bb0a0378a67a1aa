// Package scripted is a language model for tests: it plays a script and keeps what it was asked.
//
//	model := scripted.New(
//		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "weather", Arguments: `{"city":"Oslo"}`}}},
//		scripted.Step{Text: "It rains."},
//	)
//
// A script can hold whatever real models do: answers in small pieces, delays, errors at once or half way, broken chunks, and
// silence without end. [Func] answers by a function where the order of calls is not known. Time is waited for with timers, so
// that testing/synctest makes delays free and exact.
//
// What the model was sent is checked on the spot by [Step.Check], whose error fails the call, or afterwards by
// [Model.Requests]. A script that was too short fails the call beyond its end; [Model.Remaining] says whether it was too long.
//
// The package must not import anything beyond the standard library and agentloop.
package scripted

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Name is how scripted models name themselves where a step does not say otherwise.
const Name = "scripted"

// Step is one answer of the model. The zero Step is an answer of nothing.
type Step struct {
	// Reasoning comes first.
	Reasoning string
	// Text comes next.
	Text string
	// ToolCalls come after the text, a chunk each. An empty ID is sent as it is: the loop makes one up.
	ToolCalls []agentloop.ToolCall
	// FinishReason ends the answer. Empty: tool_calls if there are ToolCalls, else stop.
	FinishReason agentloop.FinishReason
	// Usage is reported with the finish reason. Nil: none is, as some providers do.
	Usage *agentloop.Usage
	// Model is the name that the answer gives. Empty: [Name].
	Model string

	// Chunks, when set, are sent as they are in place of all of the above.
	Chunks []agentloop.Chunk
	// Err ends the sequence after what was to be sent, in place of the finish reason.
	Err error
	// Hang waits after what was to be sent until the context ends, in place of the finish reason, as a provider that fell
	// silent does.
	Hang bool

	// Delay is waited before the first chunk.
	Delay time.Duration
	// ChunkSize cuts Text and Reasoning into chunks of so many characters. Zero: one chunk each.
	ChunkSize int
	// ChunkDelay is waited before each further chunk.
	ChunkDelay time.Duration

	// Check looks at the request before the answer. Its error becomes the model's, with the number of the call. The request
	// is a copy. Nil: no check.
	Check func(req *agentloop.Request) error
}

// Model plays its steps, one for each call, in the order in which the calls are made. It implements [agentloop.Model] and
// is safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	steps    []Step
	requests []*agentloop.Request
}

// New returns a model that plays the steps. A call beyond the last one is answered with an error that says so.
func New(steps ...Step) *Model { return &Model{steps: slices.Clone(steps)} }

// Requests returns copies of the requests so far, in the order in which they came, those that failed included.
func (m *Model) Requests() []*agentloop.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	copies := make([]*agentloop.Request, len(m.requests))
	for i, req := range m.requests {
		copies[i] = req.Clone()
	}
	return copies
}

// Remaining returns how many steps were not played yet: a test that means to use up its script checks that it is 0.
func (m *Model) Remaining() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, len(m.steps)-len(m.requests))
}

// Generate implements [agentloop.Model].
func (m *Model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		step, call, err := m.next(req)
		if err == nil {
			err = step.check(req)
		}
		if err != nil {
			yield(agentloop.Chunk{}, fmt.Errorf("scripted: call %d: %w", call, err))
			return
		}
		step.play(ctx, yield)
	}
}

// next notes a request and returns the step that answers it, and its number from 1.
func (m *Model) next(req *agentloop.Request) (step Step, call int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req.Clone())
	call = len(m.requests)
	if call > len(m.steps) {
		return Step{}, call, fmt.Errorf("the script has %d steps", len(m.steps))
	}
	return m.steps[call-1], call, nil
}

// Func is a model that makes up each answer from the request. The function gets a copy, and must be safe for concurrent
// use if the model is used so.
type Func func(req *agentloop.Request) Step

// Generate implements [agentloop.Model].
func (f Func) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		step := f(req.Clone())
		if err := step.check(req); err != nil {
			yield(agentloop.Chunk{}, fmt.Errorf("scripted: %w", err))
			return
		}
		step.play(ctx, yield)
	}
}

func (s Step) check(req *agentloop.Request) error {
	if s.Check == nil {
		return nil
	}
	return s.Check(req.Clone())
}

// play sends the answer, as far as the context and the consumer let it.
func (s Step) play(ctx context.Context, yield func(agentloop.Chunk, error) bool) {
	if err := wait(ctx, s.Delay); err != nil {
		yield(agentloop.Chunk{}, err)
		return
	}
	for i, c := range s.chunks() {
		if i > 0 {
			if err := wait(ctx, s.ChunkDelay); err != nil {
				yield(agentloop.Chunk{}, err)
				return
			}
		}
		if !yield(c, nil) {
			return
		}
	}
	err := s.Err
	if s.Hang {
		<-ctx.Done()
		err = ctx.Err()
	}
	if err != nil {
		yield(agentloop.Chunk{}, err)
	}
}

// chunks returns the answer in pieces.
func (s Step) chunks() []agentloop.Chunk {
	if s.Chunks != nil {
		return s.Chunks
	}
	name := s.Model
	if name == "" {
		name = Name
	}
	var chunks []agentloop.Chunk
	for piece := range pieces(s.Reasoning, s.ChunkSize) {
		chunks = append(chunks, agentloop.Chunk{Reasoning: piece, Model: name})
	}
	for piece := range pieces(s.Text, s.ChunkSize) {
		chunks = append(chunks, agentloop.Chunk{Text: piece, Model: name})
	}
	for i, c := range s.ToolCalls {
		d := agentloop.ToolCallDelta{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments, ProviderData: c.ProviderData}
		chunks = append(chunks, agentloop.Chunk{ToolCalls: []agentloop.ToolCallDelta{d}, Model: name})
	}
	if s.Err != nil || s.Hang {
		return chunks
	}
	finish := s.FinishReason
	switch {
	case finish != "":
	case len(s.ToolCalls) > 0:
		finish = agentloop.FinishToolCalls
	default:
		finish = agentloop.FinishStop
	}
	return append(chunks, agentloop.Chunk{FinishReason: finish, Usage: s.Usage, Model: name})
}

// pieces cuts a text into pieces of size characters; all of it at once when size is 0.
func pieces(text string, size int) iter.Seq[string] {
	return func(yield func(string) bool) {
		runes := []rune(text)
		if size <= 0 {
			size = len(runes)
		}
		for len(runes) > 0 {
			n := min(size, len(runes))
			if !yield(string(runes[:n])) {
				return
			}
			runes = runes[n:]
		}
	}
}

// wait returns after d, or at once with the context's error when it is done.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
