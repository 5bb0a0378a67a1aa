package gateway

import (
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
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

// cost is the sum, or nil if it is not known.
func (t *tally) cost() *commonv1.Cost {
	if t.unknown || t.currency == "" {
		return nil
	}
	return &commonv1.Cost{AmountMicros: t.micros, CurrencyCode: t.currency}
}
