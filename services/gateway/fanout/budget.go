package fanout

import (
	"slices"
	"sync"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

const (
	// mergePart is the part of a turn's budget, one in so many, that is kept for a merge if there are several assignments.
	mergePart = 5
	// routerPart is the part that is kept for the router until its usage is known.
	routerPart = 10
)

// Budget divides a turn's budget before any of it is spent, so that specialists that work at the same time cannot exceed it
// together. Each assignment gets the same share of
//
//	the budget - what is spent - the shares given out - a fifth for the merge, if there are several assignments
//
// A specialist keeps to its share by itself. Once it is done, its usage counts in place of its share; an unknown usage counts as
// the whole share. Until the routing is final, a tenth is kept for the router, and one share for assignments that the final
// routing may add. The merge may use whatever is left.
//
// A nil Budget bounds nothing. A Budget is safe for concurrent use.
type Budget struct {
	total    wrap.Spend // zero in a field: not bounded
	currency string

	mu      sync.Mutex
	router  wrap.Spend             // kept for the router or, once the routing is final, spent by it
	single  bool                   // only the first assignment has a share
	first   string                 // that assignment
	size    wrap.Spend             // of a share
	shared  map[string]bool        // assignments that have a share
	entries map[*branch]wrap.Spend // a branch's share or, once the branch is done, its usage
}

// NewBudget returns the budget of one turn, or nil if b bounds nothing.
func NewBudget(b *commonv1.Budget) *Budget {
	total := wrap.Spend{Tokens: b.GetMaxTokens(), CostMicros: b.GetMaxCost().GetAmountMicros()}
	if total == (wrap.Spend{}) {
		return nil
	}
	return &Budget{
		total: total, currency: b.GetMaxCost().GetCurrencyCode(), size: total, router: divided(total, routerPart),
		shared: map[string]bool{}, entries: map[*branch]wrap.Spend{},
	}
}

// OnlyFirst keeps the budget for the first assignment of the routing: others are refused by their specialists. Call it before the budget
// is used.
func (b *Budget) OnlyFirst() { b.single = true }

// plan sets the size of the shares of a decision's assignments, before they start. Assignments of a provisional decision that
// have started keep their shares.
func (b *Budget) plan(d *routerv1.RoutingDecision) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	shares := 0
	for _, a := range d.GetAssignments() {
		if !b.shared[a.GetAssignmentId()] {
			shares++
		}
	}
	if d.GetStage() == routerv1.DecisionStage_DECISION_STAGE_FINAL {
		used := d.GetUsage()
		if used == nil && RouterUsageKnown(d) {
			used = &commonv1.Usage{}
		}
		b.router = b.spentOf(used, d.GetCost(), b.router)
	} else {
		shares++
	}
	left := b.left()
	if b.single {
		b.first, b.size = d.GetAssignments()[0].GetAssignmentId(), left
		return
	}
	if len(d.GetAssignments()) > 1 {
		left = minus(left, divided(b.total, mergePart))
	}
	b.size = divided(left, int64(max(shares, 1)))
}

// share sets aside the share of an assignment and returns it, or what is left of it, for the specialist's request. A share is never zero, which would
// stand for no bound: one token or micro is too little for any call, so the specialist makes none.
func (b *Budget) share(of *branch, assignmentID string) *commonv1.Budget {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	size, again := b.entries[of]
	if again { // the assignment was passed on
		size = minus(size, b.spentOf(of.first.GetUsage(), of.first.GetCost(), size))
	} else {
		left := b.left() // bounds the share of an assignment that was not planned for
		size = wrap.Spend{Tokens: min(b.size.Tokens, left.Tokens), CostMicros: min(b.size.CostMicros, left.CostMicros)}
		size = wrap.Spend{Tokens: max(size.Tokens, 0), CostMicros: max(size.CostMicros, 0)}
		if b.single && assignmentID != b.first {
			size = wrap.Spend{}
		}
		b.shared[assignmentID], b.entries[of] = true, size
	}
	share := &commonv1.Budget{}
	if b.total.Tokens > 0 {
		share.MaxTokens = max(size.Tokens, 1)
	}
	if b.total.CostMicros > 0 {
		share.MaxCost = &commonv1.Cost{AmountMicros: max(size.CostMicros, 1), CurrencyCode: b.currency}
	}
	return share
}

// settle counts the usage of a branch in place of its share, once the branch has ended with an answer or an error. A branch
// without a share, whose answer comes from the journal, is counted too.
func (b *Budget) settle(of *branch, answer *specialistv1.Answer, err error) {
	if b == nil {
		return
	}
	used, complete := usageOf(answer, of.spent, err)
	if !complete {
		used = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[of] = b.spentOf(used, answer.GetCost(), b.entries[of])
}

// Rest returns what is neither spent nor set aside, which the merge may use, and the currency of its costs. In the result, a
// field that is zero is not bounded; below zero, nothing is left. The Budget must not be nil.
func (b *Budget) Rest() (rest wrap.Spend, currency string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.left()
	if b.total.Tokens > 0 {
		rest.Tokens = orNothing(left.Tokens)
	}
	if b.total.CostMicros > 0 {
		rest.CostMicros = orNothing(left.CostMicros)
	}
	return rest, b.currency
}

// Spent returns what was spent, with the usage and cost of a merge, which are nil if there was none. What is set aside counts as spent: call it when
// all work has ended. An unknown cost of a merge counts as all that was left. The Budget must not be nil.
func (b *Budget) Spent(merge *commonv1.Usage, cost *commonv1.Cost) wrap.Spend {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.left()
	spent := minus(b.total, left)
	if merge.GetModelCalls() == 0 {
		return spent
	}
	spent.Tokens += merge.GetInputTokens() + merge.GetOutputTokens()
	if cost != nil && cost.GetCurrencyCode() == b.currency {
		spent.CostMicros += cost.GetAmountMicros()
	} else {
		spent.CostMicros += max(left.CostMicros, 0)
	}
	return spent
}

// orNothing returns n, or -1 for nothing: zero stands for no bound.
func orNothing(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// left is what is neither spent nor set aside. Its fields are meaningless where the budget is not bounded. b.mu is held.
func (b *Budget) left() wrap.Spend {
	left := minus(b.total, b.router)
	for _, spend := range b.entries {
		left = minus(left, spend)
	}
	return left
}

// spentOf returns what a usage amounts to. Unknown usage counts as all that was set aside for it.
func (b *Budget) spentOf(u *commonv1.Usage, c *commonv1.Cost, aside wrap.Spend) wrap.Spend {
	switch {
	case u == nil:
		return aside
	case c != nil && c.GetCurrencyCode() == b.currency:
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

// divided returns one of so many parts of a, rounded down, and zero for a negative field.
func divided(a wrap.Spend, by int64) wrap.Spend {
	return wrap.Spend{Tokens: max(a.Tokens, 0) / by, CostMicros: max(a.CostMicros, 0) / by}
}

// RouterUsageKnown reports whether a decision says what it used. A decision without usage says that no model was asked, unless
// the router failed.
func RouterUsageKnown(d *routerv1.RoutingDecision) bool {
	return d.GetUsage() != nil || !slices.ContainsFunc(d.GetNotes(), func(n *routerv1.DecisionNote) bool {
		return n.GetKind() == routerv1.DecisionNoteKind_DECISION_NOTE_KIND_ROUTER_FAILED
	})
}
