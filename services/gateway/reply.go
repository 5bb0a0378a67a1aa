package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/gateway/merge"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// defaultHandoffConfidence is the confidence below which a reply recommends a human, unless the store has its own.
const defaultHandoffConfidence = 0.4

// reply composes what the backend gets.
func (s *Service) reply(
	ctx context.Context, t *turn, run *fanout.Run, d *routerv1.RoutingDecision, results []fanout.Result, m merge.Result,
) *gatewayv1.AskResponse {
	r := &gatewayv1.AskResponse{
		Text:        m.Text,
		TurnId:      t.scope.TurnID,
		ThreadId:    t.scope.ThreadID,
		TraceId:     telemetry.TraceID(ctx),
		Routing:     d,
		MergeMethod: m.Method,
		Confidence:  confidence(results),
		CreateTime:  timestamppb.New(t.began),
		RequestId:   t.req.GetRequestId(),
	}
	used := usage{sum: &commonv1.Usage{}}
	used.addRouter(d)
	for _, result := range results {
		r.Results = append(r.Results, result.Proto())
		used.addResult(result)
		if result.Err == nil {
			collect(r, result.Answer)
		}
	}
	if m.Model != nil {
		used.addMerge(m.Model)
	}
	places := nameProducts(r)
	r.Promotion = choosePromotion(r.GetText(), results)
	suggestActions(ctx, r, results, places, run)
	r.Usage, r.Cost = used.sum, used.cost()
	r.Handoff = handoff(r, results, cmp.Or(t.store.GetHandoffConfidence(), defaultHandoffConfidence))
	r.Duration = durationpb.New(s.cfg.Now().Sub(t.began))
	return r
}

// collect adds the products, orders and passages of an answer, each once. Of two choices of a product, one of a variant counts; of two
// questions, the first.
func collect(r *gatewayv1.AskResponse, a *specialistv1.Answer) {
	if r.ClarifyingQuestion == nil {
		r.ClarifyingQuestion = a.GetClarifyingQuestion()
	}
	for _, p := range a.GetProducts() {
		same := func(q *specialistv1.ProductChoice) bool { return q.GetProductId() == p.GetProductId() }
		switch i := slices.IndexFunc(r.Products, same); {
		case i < 0:
			r.Products = append(r.Products, p)
		case r.Products[i].GetVariantId() == "" && p.GetVariantId() != "":
			r.Products[i] = p
		}
	}
	for _, o := range append(slices.Clone(a.GetOtherOrders()), a.GetOrder()) {
		same := func(q *orderv1.Order) bool { return q.GetOrderId() == o.GetOrderId() }
		if o != nil && !slices.ContainsFunc(r.Orders, same) {
			r.Orders = append(r.Orders, o)
		}
	}
	for _, p := range a.GetPassages() {
		same := func(q *policyv1.Passage) bool {
			return q.GetPolicyId() == p.GetPolicyId() && q.GetSection() == p.GetSection() && q.GetText() == p.GetText()
		}
		if !slices.ContainsFunc(r.Passages, same) {
			r.Passages = append(r.Passages, p)
		}
	}
}

// confidence is the lowest confidence of the results; a failed one counts 0. A reply is only as good as its worst part.
func confidence(results []fanout.Result) float64 {
	lowest := 1.0
	for _, b := range results {
		lowest = min(lowest, max(b.Answer.GetConfidence(), 0))
	}
	return lowest
}

// handoff recommends a human if a part is missing, a specialist suggests it, or the confidence is below the store's limit.
func handoff(r *gatewayv1.AskResponse, results []fanout.Result, below float64) *gatewayv1.Handoff {
	var reasons []string
	var summary string
	for _, b := range results {
		if b.Err != nil {
			reasons = append(reasons, fmt.Sprintf("%s could not answer assignment %s",
				b.Assignment.GetSpecialist(), b.Assignment.GetAssignmentId()))
		}
	}
	for _, a := range r.GetSuggestedActions() {
		if h := a.GetHandOff(); h != nil {
			reasons = append(reasons, strings.TrimSuffix("a specialist suggests it: "+h.GetReason(), ": "))
			summary = h.GetSummary()
		}
	}
	if r.GetConfidence() < below {
		reasons = append(reasons, fmt.Sprintf("confidence is %.2f, below %.2f", r.GetConfidence(), below))
	}
	return &gatewayv1.Handoff{Recommended: len(reasons) > 0, Reason: strings.Join(reasons, "; "), Summary: summary}
}

// usage sums what the model calls of a turn used and cost.
type usage struct {
	sum      *commonv1.Usage
	micros   int64
	currency string
	unknown  bool // the cost of something is unknown, so the sum is too
}

// add adds a piece of work. Its cost may be nil only if no model was called for it.
func (u *usage) add(used *commonv1.Usage, c *commonv1.Cost) {
	u.sum.InputTokens += used.GetInputTokens()
	u.sum.OutputTokens += used.GetOutputTokens()
	u.sum.CachedInputTokens += used.GetCachedInputTokens()
	u.sum.ReasoningOutputTokens += used.GetReasoningOutputTokens()
	u.sum.ModelCalls += used.GetModelCalls()
	u.sum.Estimated = u.sum.Estimated || used.GetEstimated()
	switch {
	case c == nil && used.GetModelCalls() == 0:
	case c == nil, u.currency != "" && u.currency != c.GetCurrencyCode():
		u.unknown = true
	default:
		u.micros, u.currency = u.micros+c.GetAmountMicros(), c.GetCurrencyCode()
	}
}

// addRouter adds what a decision used. What a router that failed used is unknown.
func (u *usage) addRouter(d *routerv1.RoutingDecision) {
	u.add(d.GetUsage(), d.GetCost())
	u.unknown = u.unknown || !fanout.RouterUsageKnown(d)
}

// addResult adds what an assignment used. The cost of a failed one is unknown if it called a model, or may have.
func (u *usage) addResult(r fanout.Result) {
	used, complete := r.Usage()
	u.add(used, r.Answer.GetCost())
	u.unknown = u.unknown || !complete
}

// addMerge adds the model calls of a merge.
func (u *usage) addMerge(r *agentloop.Result) {
	var cost *commonv1.Cost
	if r.Cost != nil {
		cost = &commonv1.Cost{AmountMicros: r.Cost.Micros, CurrencyCode: r.Cost.Currency}
	}
	u.add(&commonv1.Usage{
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CachedInputTokens: r.Usage.CachedInputTokens,
		ReasoningOutputTokens: r.Usage.ReasoningTokens, ModelCalls: int32(r.Usage.ModelCalls), Estimated: r.Usage.Estimated,
	}, cost)
}

// cost is the sum, or nil if it is unknown.
func (u *usage) cost() *commonv1.Cost {
	if u.unknown || u.currency == "" {
		return nil
	}
	return &commonv1.Cost{AmountMicros: u.micros, CurrencyCode: u.currency}
}
