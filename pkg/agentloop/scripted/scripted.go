// Package scripted is a language model for tests: it plays a script and keeps the requests that it gets.
//
//	model := scripted.New(
//		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "weather", Arguments: `{"city":"Oslo"}`}}},
//		scripted.Step{Text: "It rains."},
//	)
//
// A script can do whatever real models do: small chunks, delays, errors at once or half way, broken chunks, and hanging. If the
// order of calls is unknown, use [Func], which computes each answer. Delays use timers, so testing/synctest makes them instant
// and exact.
//
// Check requests at once with [Step.Check], whose error fails the call, or afterwards with [Model.Requests]. A call beyond the
// end of the script fails; [Model.Remaining] tells whether the script was too long.
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

// Name is the name of the model in answers of steps that set none.
const Name = "scripted"

// Step is one answer of the model. The zero Step is an empty answer.
type Step struct {
	// Reasoning comes first.
	Reasoning string
	// Text comes next.
	Text string
	// ToolCalls come after the text, one chunk each. An empty ID is sent as it is, and the loop replaces it.
	ToolCalls []agentloop.ToolCall
	// FinishReason ends the answer. Empty: FinishToolCalls if there are ToolCalls, else FinishStop.
	FinishReason agentloop.FinishReason
	// Usage is reported with the finish reason. Nil: none, as with some providers.
	Usage *agentloop.Usage
	// Model is the model's name in the answer. Empty: [Name].
	Model string

	// Chunks replace all of the above if not nil.
	Chunks []agentloop.Chunk
	// Err ends the sequence after the chunks, instead of the finish reason. Nil: no error.
	Err error
	// Hang waits after the chunks until the context ends, instead of the finish reason, as a stalled provider does.
	Hang bool

	// Delay is the wait before the first chunk.
	Delay time.Duration
	// ChunkSize cuts Text and Reasoning into chunks of this many characters. Zero: one chunk each.
	ChunkSize int
	// ChunkDelay is the wait before each further chunk.
	ChunkDelay time.Duration

	// Check inspects a copy of the request before the answer. Its error becomes the model's, with the number of the call. Nil:
	// no check.
	Check func(req *agentloop.Request) error
}

// Model plays its steps, one per call, in the order of the calls. It implements [agentloop.Model] and is safe for concurrent
// use.
type Model struct {
	mu       sync.Mutex
	steps    []Step
	requests []*agentloop.Request
}

// New returns a model that plays the steps. A call beyond the last step fails.
func New(steps ...Step) *Model { return &Model{steps: slices.Clone(steps)} }

// Requests returns copies of the requests so far, in order, including those that failed.
func (m *Model) Requests() []*agentloop.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	copies := make([]*agentloop.Request, len(m.requests))
	for i, req := range m.requests {
		copies[i] = req.Clone()
	}
	return copies
}

// Remaining returns how many steps have not been played yet.
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

// next keeps a request and returns the step that answers it and the number of the call, from 1.
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

// Func is a model that computes each answer from a copy of the request. The function must be safe for concurrent use if the
// model is used concurrently.
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

// play sends the answer until the context ends or the consumer stops.
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

// wait returns after d, or with the context's error once the context is done.
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
