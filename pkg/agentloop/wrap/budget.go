package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// ErrBudget says that a call was not made because the budget might not cover it. It is neither retried nor the request's
// fault.
var ErrBudget = errors.New("wrap: token budget used up")

// How a call is estimated. Providers report what it really took; the estimate only has to be high enough to hold calls
// back that would go beyond the budget. English is near four bytes a token, other languages and JSON are denser.
const (
	bytesPerToken    = 3
	tokensPerMessage = 8 // what a provider puts around each
)

// Budget is a number of tokens, input and output together, that calls of models share. It is safe for concurrent use and
// must not be copied. The zero value is an empty budget: no call is made on it.
type Budget struct {
	mu       sync.Mutex
	limit    int64
	used     int64
	reserved int64
}

// NewBudget returns a budget of so many tokens.
func NewBudget(tokens int64) *Budget { return &Budget{limit: tokens} }

// Used returns the tokens of the calls that have ended.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Left returns the tokens that are neither used nor reserved by calls under way, at least 0.
func (b *Budget) Left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.left())
}

func (b *Budget) left() int64 { return b.limit - b.used - b.reserved }

// reserve sets tokens aside, or returns an error if there are not so many.
func (b *Budget) reserve(tokens int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.left(); tokens > left {
		return fmt.Errorf("%w: the call may take %d tokens, %d of %d are left", ErrBudget, tokens, max(0, left), b.limit)
	}
	b.reserved += tokens
	return nil
}

// settle gives a reservation back and counts what was used in its place.
func (b *Budget) settle(reserved, used int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= reserved
	b.used += used
}

// Limit returns a model that makes calls only as far as the budget goes. Before each call it reserves what the call may
// take, its input and MaxOutputTokens (zero: [agentloop.DefaultMaxOutputTokens]), so that calls side by side can not go
// beyond the budget together; afterwards the reservation makes way for the reported usage. The input is estimated, so a
// report may exceed a reservation by some, and the next call is held back for it. An answer without a report, as one that
// broke off, counts by its size; a call that failed before its first chunk costs nothing. A call for which not enough is
// left is answered with [ErrBudget] at once, also if calls under way may still give some back. The budget must not be nil.
func Limit(m agentloop.Model, b *Budget) agentloop.Model { return &limited{next: m, budget: b} }

type limited struct {
	next   agentloop.Model
	budget *Budget
}

// Generate implements [agentloop.Model].
func (l *limited) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		output := int64(req.MaxOutputTokens)
		if output <= 0 {
			output = agentloop.DefaultMaxOutputTokens
		}
		m := meter{input: inputTokens(req)}
		reserved := m.input + output
		if err := l.budget.reserve(reserved); err != nil {
			yield(agentloop.Chunk{}, err)
			return
		}
		defer func() { l.budget.settle(reserved, m.used()) }()
		for c, err := range l.next.Generate(ctx, req) {
			if err == nil {
				m.count(c)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// meter counts one answer.
type meter struct {
	input int64 // tokens, estimated
	bytes int
	heard bool
	usage *agentloop.Usage
}

func (m *meter) count(c agentloop.Chunk) {
	m.heard = true
	m.bytes += len(c.Text) + len(c.Reasoning)
	for _, d := range c.ToolCalls {
		m.bytes += len(d.Name) + len(d.Arguments)
	}
	if c.Usage != nil {
		m.usage = c.Usage
	}
}

func (m *meter) used() int64 {
	switch {
	case m.usage != nil:
		return m.usage.InputTokens + m.usage.OutputTokens
	case !m.heard:
		return 0
	}
	return m.input + tokens(m.bytes)
}

// inputTokens estimates what a request takes.
func inputTokens(req *agentloop.Request) int64 {
	n := 0
	for _, m := range req.Messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	if req.Output != nil {
		n += len(req.Output.Name) + len(req.Output.Schema)
	}
	return tokens(n) + int64(len(req.Messages)+len(req.Tools))*tokensPerMessage
}

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }
