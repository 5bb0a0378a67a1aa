package gateway

import (
	"context"
	"iter"
	"sync"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

const (
	// mergePart of a turn's budget, one in so many, is kept for the merge when there is something to merge.
	mergePart = 5
	// routerPart is kept for the router while its work goes on and what it takes is not known.
	routerPart = 10
)

// ledger divides a turn's budget before anybody spends of it, so that those who work at the same time can not go beyond it
// together. Each assignment gets the same share of
//
//	the budget - what is spent - the shares given out - a fifth for the merge, if there is more than one
//
// A specialist keeps to its share by itself. Once it is done, what it took counts in place of its share; a share counts in
// full if it is not known what was taken. While the routing is not final, a tenth is kept for the router, and one share for
// what the final routing may add. The merge may take whatever is left in the end.
//
// A nil ledger bounds nothing. It is safe for concurrent use.
type ledger struct {
	total    wrap.Spend // zero in a field: not bounded
	currency string

	mu      sync.Mutex
	router  wrap.Spend             // kept for it or, once the routing is final, spent by it
	size    wrap.Spend             // of a share
	begun   map[string]bool        // assignments that have one
	entries map[*branch]wrap.Spend // a branch's share or, once it is done, what it took
}

// newLedger returns the ledger of a budget, which may be nil, as is the ledger if the budget bounds nothing.
func newLedger(b *commonv1.Budget) *ledger {
	total := wrap.Spend{Tokens: b.GetMaxTokens(), CostMicros: b.GetMaxCost().GetAmountMicros()}
	if total == (wrap.Spend{}) {
		return nil
	}
	return &ledger{
		total: total, currency: b.GetMaxCost().GetCurrencyCode(), size: total, router: divided(total, routerPart),
		begun: map[string]bool{}, entries: map[*branch]wrap.Spend{},
	}
}

// routed plans for the assignments of a decision, before they begin. Those that a provisional decision began keep their
// shares.
func (l *ledger) routed(d *routerv1.RoutingDecision) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	shares := 0
	for _, a := range d.GetAssignments() {
		if !l.begun[a.GetAssignmentId()] {
			shares++
		}
	}
	if d.GetStage() == routerv1.DecisionStage_DECISION_STAGE_FINAL {
		used := d.GetUsage()
		if used == nil && routerTold(d) {
			used = &commonv1.Usage{}
		}
		l.router = l.spentOf(used, d.GetCost(), l.router)
	} else {
		shares++
	}
	left := l.left()
	if len(d.GetAssignments()) > 1 {
		left = minus(left, divided(l.total, mergePart))
	}
	l.size = divided(left, int64(max(shares, 1)))
}

// share sets aside what an assignment may take, and returns it as the specialist is told. A share is never empty, which
// would stand for no bound: one token or micro is too little for any call, so the specialist makes none.
func (l *ledger) share(b *branch, assignmentID string) *commonv1.Budget {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.left() // of which an assignment that nobody planned for takes no more than there is
	size := wrap.Spend{
		Tokens: max(min(l.size.Tokens, left.Tokens), 0), CostMicros: max(min(l.size.CostMicros, left.CostMicros), 0),
	}
	l.begun[assignmentID], l.entries[b] = true, size
	share := &commonv1.Budget{}
	if l.total.Tokens > 0 {
		share.MaxTokens = max(size.Tokens, 1)
	}
	if l.total.CostMicros > 0 {
		share.MaxCost = &commonv1.Cost{AmountMicros: max(size.CostMicros, 1), CurrencyCode: l.currency}
	}
	return share
}

// settle counts what a branch took in place of its share, once it has ended with an answer or an error. One that has no
// share, since it was answered before the turn was resumed, is counted too.
func (l *ledger) settle(b *branch, answer *specialistv1.Answer, err error) {
	if l == nil {
		return
	}
	used, all := taken(answer, b.spent, err)
	if !all {
		used = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[b] = l.spentOf(used, answer.GetCost(), l.entries[b])
}

// rest is what the merge may take: all that nobody has spent or may still spend. Below zero: nothing.
func (l *ledger) rest() wrap.Spend {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, rest := l.left(), wrap.Spend{}
	if l.total.Tokens > 0 {
		rest.Tokens = orNothing(left.Tokens)
	}
	if l.total.CostMicros > 0 {
		rest.CostMicros = orNothing(left.CostMicros)
	}
	return rest
}

// orNothing is n, or what stands for nothing where zero stands for no bound.
func orNothing(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// left is what is neither spent nor set aside, and means nothing where the budget is not bounded. l.mu is held.
func (l *ledger) left() wrap.Spend {
	left := minus(l.total, l.router)
	for _, spend := range l.entries {
		left = minus(left, spend)
	}
	return left
}

// spentOf is what a usage comes to. What is not known counts as all that was set aside for it.
func (l *ledger) spentOf(u *commonv1.Usage, c *commonv1.Cost, aside wrap.Spend) wrap.Spend {
	switch {
	case u == nil:
		return aside
	case c != nil && c.GetCurrencyCode() == l.currency:
		aside.CostMicros = c.GetAmountMicros()
	case u.GetModelCalls() == 0:
		aside.CostMicros = 0
	}
	aside.Tokens = u.GetInputTokens() + u.GetOutputTokens()
	return aside
}

func minus(a, b wrap.Spend) wrap.Spend {
	return wrap.Spend{Tokens: a.Tokens - b.Tokens, CostMicros: a.CostMicros - b.CostMicros}
}

// divided is a part of a, rounded down; nothing of what is below zero.
func divided(a wrap.Spend, by int64) wrap.Spend {
	return wrap.Spend{Tokens: max(a.Tokens, 0) / by, CostMicros: max(a.CostMicros, 0) / by}
}

// mergeBudgetKey is where a context has the *mergeBudget of a merge.
type mergeBudgetKey struct{}

// mergeBudget is what a merge may take, and how long each of its answers may be, in tokens: half of it, so that the other
// half pays for what the model reads.
type mergeBudget struct {
	budget *wrap.Budget
	output int
}

// withMergeBudget returns a context in which the merge model keeps to what is left of the turn's budget. Money is bounded
// only where the price of the model is known in the budget's currency.
func (s *Service) withMergeBudget(ctx context.Context, t *turn) context.Context {
	if t.ledger == nil {
		return ctx
	}
	rest, output := t.ledger.rest(), int64(agentloop.DefaultMaxOutputTokens)
	if rest.Tokens > 0 {
		output = min(output, rest.Tokens/2)
	}
	price := s.cfg.Price
	if price == nil || price.Currency != t.ledger.currency {
		rest.CostMicros = 0
	}
	if rest.CostMicros > 0 && price.OutputMicros > 0 {
		output = min(output, int64(float64(rest.CostMicros)/2*1e6/float64(price.OutputMicros)))
	}
	return context.WithValue(ctx, mergeBudgetKey{}, &mergeBudget{wrap.NewBudget(rest), int(max(output, 1))})
}

// frugal is a model that keeps to the budget in its context, if there is one: it refuses a call that might go beyond it.
type frugal struct {
	agentloop.Model
	price *agentloop.Price
}

// Generate implements agentloop.Model.
func (f frugal) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	b, ok := ctx.Value(mergeBudgetKey{}).(*mergeBudget)
	if !ok {
		return f.Model.Generate(ctx, req)
	}
	short := *req
	if short.MaxOutputTokens == 0 || short.MaxOutputTokens > b.output {
		short.MaxOutputTokens = b.output
	}
	return wrap.Limit(f.Model, b.budget, f.price).Generate(ctx, &short)
}
