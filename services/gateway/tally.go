package gateway

import (
	"slices"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// tally sums what the model calls of a turn used and cost.
type tally struct {
	usage    *commonv1.Usage
	micros   int64
	currency string
	unknown  bool // the price of something is not known, so the sum is not either
}

// add adds a piece of work. Its cost may be nil only if no model was called for it.
func (t *tally) add(u *commonv1.Usage, c *commonv1.Cost) {
	t.usage.InputTokens += u.GetInputTokens()
	t.usage.OutputTokens += u.GetOutputTokens()
	t.usage.CachedInputTokens += u.GetCachedInputTokens()
	t.usage.ReasoningOutputTokens += u.GetReasoningOutputTokens()
	t.usage.ModelCalls += u.GetModelCalls()
	t.usage.Estimated = t.usage.Estimated || u.GetEstimated()
	switch {
	case c == nil && u.GetModelCalls() == 0:
	case c == nil, t.currency != "" && t.currency != c.GetCurrencyCode():
		t.unknown = true
	default:
		t.micros, t.currency = t.micros+c.GetAmountMicros(), c.GetCurrencyCode()
	}
}

// addMerge adds the model call of a merge.
func (t *tally) addMerge(r *agentloop.Result) {
	var cost *commonv1.Cost
	if r.Cost != nil {
		cost = &commonv1.Cost{AmountMicros: r.Cost.Micros, CurrencyCode: r.Cost.Currency}
	}
	t.add(&commonv1.Usage{
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CachedInputTokens: r.Usage.CachedInputTokens,
		ReasoningOutputTokens: r.Usage.ReasoningTokens, ModelCalls: int32(r.Usage.ModelCalls), Estimated: r.Usage.Estimated,
	}, cost)
}

// addRouter adds what a decision took. Of a router that failed nobody knows.
func (t *tally) addRouter(d *routerv1.RoutingDecision) {
	t.add(d.GetUsage(), d.GetCost())
	t.unknown = t.unknown || !routerTold(d)
}

// routerTold reports whether a decision says what it took. One without usage says that no model was asked, unless the
// gateway had to make do without the router.
func routerTold(d *routerv1.RoutingDecision) bool {
	return d.GetUsage() != nil || !slices.ContainsFunc(d.GetNotes(), func(n *routerv1.DecisionNote) bool {
		return n.GetKind() == routerv1.DecisionNoteKind_DECISION_NOTE_KIND_ROUTER_FAILED
	})
}

// addBranch adds what a branch took. Of one that failed, the cost is unknown if it asked models, or may have.
func (t *tally) addBranch(b *branch) {
	used, all := taken(b.answer, b.spent, b.err)
	t.add(used, b.answer.GetCost())
	t.unknown = t.unknown || !all
}

// taken is what the model calls of an assignment took as far as that was told, and whether it is all: a specialist that was
// cut off may have been in the midst of a call. The outcome is an answer, or an error and what was told before.
func taken(answer *specialistv1.Answer, told *commonv1.Usage, err error) (used *commonv1.Usage, all bool) {
	if err == nil {
		return answer.GetUsage(), true
	}
	switch rpc.Reason(rpc.Status(err)) {
	case "DEADLINE", "CANCELED", "PEER_UNAVAILABLE":
		return told, false
	}
	return told, told != nil
}

// cost is the sum, or nil if it is not known.
func (t *tally) cost() *commonv1.Cost {
	if t.unknown || t.currency == "" {
		return nil
	}
	return &commonv1.Cost{AmountMicros: t.micros, CurrencyCode: t.currency}
}
