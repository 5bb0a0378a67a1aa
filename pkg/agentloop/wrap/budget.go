package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// errNoPrice refuses calls if money is limited and the price is unknown, because nothing can be reserved.
var errNoPrice = errors.New("wrap: a budget of money requires the model's price")

// The estimate of a call. It must be high enough to hold back calls that would exceed the budget; the provider reports what
// the call really used. English has about four bytes per token, other languages and JSON have fewer.
const (
	bytesPerToken    = 3
	tokensPerMessage = 8 // that a provider adds to each
)

// Spend is an amount of tokens and money.
type Spend struct {
	// Tokens is the sum of input and output tokens.
	Tokens int64
	// CostMicros is in millionths of a currency unit. All prices of a budget must be in one currency.
	CostMicros int64
}

// String implements fmt.Stringer.
func (s Spend) String() string { return fmt.Sprintf("%d tokens, %d micros", s.Tokens, s.CostMicros) }

func (s Spend) plus(t Spend) Spend {
	return Spend{Tokens: s.Tokens + t.Tokens, CostMicros: s.CostMicros + t.CostMicros}
}

// spendOf returns the spend of a usage. Without a price the cost is zero.
func spendOf(u agentloop.Usage, price *agentloop.Price) Spend {
	s := Spend{Tokens: u.InputTokens + u.OutputTokens}
	if price != nil {
		s.CostMicros = price.Of(u).Micros
	}
	return s
}

// Budget limits what model calls spend together. It is safe for concurrent use and must not be copied. The zero value counts
// and has no limit.
type Budget struct {
	mu       sync.Mutex
	limit    Spend
	used     Spend
	reserved Spend
}

// NewBudget returns a budget of tokens, money or both. A zero field has no limit; a negative one leaves nothing to spend.
func NewBudget(limit Spend) *Budget { return &Budget{limit: limit} }

// Used returns what the finished calls used.
func (b *Budget) Used() Spend {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// reserve sets aside what a call may use, or returns an error if not enough is left.
func (b *Budget) reserve(s Spend) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.used.plus(b.reserved)
	if then := taken.plus(s); exceeds(then.Tokens, b.limit.Tokens) || exceeds(then.CostMicros, b.limit.CostMicros) {
		return fmt.Errorf("%w: the call may use %v, and %v of %v are used or reserved", agentloop.ErrBudget, s, taken, b.limit)
	}
	b.reserved = b.reserved.plus(s)
	return nil
}

// exceeds reports whether a sum is above its limit. Zero is no limit.
func exceeds(sum, limit int64) bool { return limit != 0 && sum > limit }

// settle replaces a reservation by what was used.
func (b *Budget) settle(reserved, used Spend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = Spend{Tokens: b.reserved.Tokens - reserved.Tokens, CostMicros: b.reserved.CostMicros - reserved.CostMicros}
	b.used = b.used.plus(used)
}

// Limit returns a model that makes calls only within a budget. Before each call it reserves what the call may use: its
// estimated input and MaxOutputTokens (zero: [agentloop.DefaultMaxOutputTokens]). So concurrent calls cannot exceed the budget
// together. Afterwards the reported usage replaces the reservation. A report may exceed the estimate by a little, which the
// next call then pays for. An answer without a report counts by its size; a call that fails before its first chunk costs
// nothing.
//
// If too little is left, the call fails at once with an error that wraps [agentloop.ErrBudget], even if calls under way may
// give some back. The error is neither retryable nor a bad request, so a run that meets it ends without an answer and spends
// nothing more.
//
// Price is m's, or the highest one if m is a chain. Nil: money is not counted, and a budget that limits money refuses every
// call. The budget must not be nil.
func Limit(m agentloop.Model, b *Budget, price *agentloop.Price) agentloop.Model {
	return &limited{next: m, budget: b, price: price}
}

type limited struct {
	next   agentloop.Model
	budget *Budget
	price  *agentloop.Price
}

// Generate implements [agentloop.Model].
func (l *limited) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		output := int64(req.MaxOutputTokens)
		if output <= 0 {
			output = agentloop.DefaultMaxOutputTokens
		}
		m := meter{input: inputTokens(req)}
		reserved := spendOf(agentloop.Usage{InputTokens: m.input, OutputTokens: output}, l.price)
		if err := l.reserve(reserved); err != nil {
			yield(agentloop.Chunk{}, err)
			return
		}
		defer func() { l.budget.settle(reserved, spendOf(m.used(), l.price)) }()
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

func (l *limited) reserve(s Spend) error {
	if l.price == nil && l.budget.limit.CostMicros != 0 {
		return errNoPrice
	}
	return l.budget.reserve(s)
}

// meter counts the usage of one call.
type meter struct {
	input    int64 // tokens, estimated
	bytes    int
	received bool
	usage    *agentloop.Usage
}

func (m *meter) count(c agentloop.Chunk) {
	m.received = true
	m.bytes += len(c.Text) + len(c.Reasoning)
	for _, d := range c.ToolCalls {
		m.bytes += len(d.Name) + len(d.Arguments)
	}
	if c.Usage != nil {
		m.usage = c.Usage
	}
}

func (m *meter) used() agentloop.Usage {
	switch {
	case m.usage != nil:
		return *m.usage
	case !m.received:
		return agentloop.Usage{}
	}
	return agentloop.Usage{InputTokens: m.input, OutputTokens: tokens(m.bytes)}
}

// inputTokens estimates the input tokens of a request.
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
