package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// errNoPrice is the answer where money is bounded and the model's price is not known: nothing could be reserved.
var errNoPrice = errors.New("wrap: a budget of money wants the model's price")

// How a call is estimated. Providers report what it really took; the estimate only has to be high enough to hold calls
// back that would go beyond the budget. English is near four bytes a token, other languages and JSON are denser.
const (
	bytesPerToken    = 3
	tokensPerMessage = 8 // what a provider puts around each
)

// Spend is what calls take: tokens, and money if the price is known.
type Spend struct {
	// Tokens, input and output together.
	Tokens int64
	// CostMicros is money in millionths of a currency unit. All prices of a budget must be in one currency.
	CostMicros int64
}

// String implements fmt.Stringer.
func (s Spend) String() string { return fmt.Sprintf("%d tokens, %d micros", s.Tokens, s.CostMicros) }

func (s Spend) plus(t Spend) Spend {
	return Spend{Tokens: s.Tokens + t.Tokens, CostMicros: s.CostMicros + t.CostMicros}
}

// spendOf returns what a usage comes to; a nil price costs nothing here.
func spendOf(u agentloop.Usage, price *agentloop.Price) Spend {
	s := Spend{Tokens: u.InputTokens + u.OutputTokens}
	if price != nil {
		s.CostMicros = price.Of(u).Micros
	}
	return s
}

// Budget is what calls of models may spend together. It is safe for concurrent use and must not be copied. The zero value
// bounds nothing and counts.
type Budget struct {
	mu       sync.Mutex
	limit    Spend
	used     Spend
	reserved Spend
}

// NewBudget returns a budget of tokens, money or both. Zero: not bounded. Below zero: there is nothing to spend.
func NewBudget(limit Spend) *Budget { return &Budget{limit: limit} }

// Used returns what the calls took that have ended.
func (b *Budget) Used() Spend {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// reserve sets aside what a call may take, or returns an error if there is not so much.
func (b *Budget) reserve(s Spend) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.used.plus(b.reserved)
	if then := taken.plus(s); exceeds(then.Tokens, b.limit.Tokens) || exceeds(then.CostMicros, b.limit.CostMicros) {
		return fmt.Errorf("%w: the call may take %v, and of %v there are taken %v", agentloop.ErrBudget, s, b.limit, taken)
	}
	b.reserved = b.reserved.plus(s)
	return nil
}

// exceeds reports whether a sum is above its limit, if there is one.
func exceeds(sum, limit int64) bool { return limit != 0 && sum > limit }

// settle gives a reservation back and counts what was used in its place.
func (b *Budget) settle(reserved, used Spend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = Spend{Tokens: b.reserved.Tokens - reserved.Tokens, CostMicros: b.reserved.CostMicros - reserved.CostMicros}
	b.used = b.used.plus(used)
}

// Limit returns a model that makes calls only as far as the budget goes. Before each call it reserves what the call may
// take, its input and MaxOutputTokens (zero: [agentloop.DefaultMaxOutputTokens]), so that calls side by side can not go
// beyond the budget together; afterwards the reservation makes way for the reported usage. The input is estimated, so a
// report may exceed a reservation by some, and the next call is held back for it. An answer without a report, as one that
// broke off, counts by its size; a call that failed before its first chunk costs nothing.
//
// A call for which not enough is left fails at once with an error that wraps [agentloop.ErrBudget], also if calls under way
// may still give some back. It is neither retried nor the request's fault; a run that meets it ends without an answer, so
// that nothing more is spent.
//
// The price is m's, or the dearest one's if m is a chain. Nil: money is not counted, and a budget that bounds money refuses every call. The budget must not be nil.
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

func (m *meter) used() agentloop.Usage {
	switch {
	case m.usage != nil:
		return *m.usage
	case !m.heard:
		return agentloop.Usage{}
	}
	return agentloop.Usage{InputTokens: m.input, OutputTokens: tokens(m.bytes)}
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
