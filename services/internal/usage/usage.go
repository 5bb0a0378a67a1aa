// Package usage converts and adds what model calls use and cost.
//
// It must not import a service.
package usage

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Of converts the usage of a run.
func Of(u agentloop.Usage) *commonv1.Usage {
	return &commonv1.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens,
		ReasoningOutputTokens: u.ReasoningTokens, ModelCalls: int32(u.ModelCalls), Estimated: u.Estimated,
	}
}

// bytesPerToken is the rule of thumb by which the input of a call is estimated.
const bytesPerToken = 4

// OfInput estimates the usage of a call that was given up before the provider told it: its input, of so many bytes.
func OfInput(bytes int) agentloop.Usage {
	return agentloop.Usage{InputTokens: int64(bytes+bytesPerToken-1) / bytesPerToken, Estimated: true}
}

// Calls converts the model calls of a run.
func Calls(r *agentloop.Result) []*commonv1.ModelCall {
	var calls []*commonv1.ModelCall
	for _, step := range r.Steps {
		if step.Usage.ModelCalls > 0 {
			calls = append(calls, &commonv1.ModelCall{Usage: Of(step.Usage), Duration: durationpb.New(step.Duration)})
		}
	}
	return calls
}

// CostText is a cost as logs and people have it, such as "0.0015 USD". Nil is "unknown".
func CostText(c *commonv1.Cost) string {
	if c == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.4f %s", float64(c.GetAmountMicros())/1e6, c.GetCurrencyCode())
}

// CostOf converts the cost of a run. Nil: it is unknown.
func CostOf(c *agentloop.Cost) *commonv1.Cost {
	if c == nil {
		return nil
	}
	return &commonv1.Cost{AmountMicros: c.Micros, CurrencyCode: c.Currency}
}

// Plus adds usages. Of two, one may be nil, or both.
func Plus(a, b *commonv1.Usage) *commonv1.Usage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &commonv1.Usage{
		InputTokens: a.GetInputTokens() + b.GetInputTokens(), OutputTokens: a.GetOutputTokens() + b.GetOutputTokens(),
		CachedInputTokens:     a.GetCachedInputTokens() + b.GetCachedInputTokens(),
		ReasoningOutputTokens: a.GetReasoningOutputTokens() + b.GetReasoningOutputTokens(),
		ModelCalls:            a.GetModelCalls() + b.GetModelCalls(), Estimated: a.GetEstimated() || b.GetEstimated(),
	}
}

// Sum is the usage and the cost of several pieces of work. The zero value is of none.
type Sum struct {
	used     *commonv1.Usage
	micros   int64
	currency string
	unknown  bool
}

// Add adds a piece of work. Its cost may be nil only if no model was called for it: else the cost of the sum is unknown.
func (s *Sum) Add(used *commonv1.Usage, c *commonv1.Cost) {
	s.used = Plus(s.used, used)
	switch {
	case c == nil && used.GetModelCalls() == 0:
	case c == nil, s.currency != "" && s.currency != c.GetCurrencyCode():
		s.unknown = true
	default:
		s.micros, s.currency = s.micros+c.GetAmountMicros(), c.GetCurrencyCode()
	}
}

// Unknown makes the cost of the sum unknown, whatever is added.
func (s *Sum) Unknown() { s.unknown = true }

// Usage returns the usage of the sum. Nil: nobody told any.
func (s *Sum) Usage() *commonv1.Usage { return s.used }

// Cost returns the cost of the sum. Nil: it is unknown.
func (s *Sum) Cost() *commonv1.Cost {
	if s.unknown || s.currency == "" {
		return nil
	}
	return &commonv1.Cost{AmountMicros: s.micros, CurrencyCode: s.currency}
}
