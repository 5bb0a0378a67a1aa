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

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/gateway/merge"
	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/internal/confidence"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/internal/usage"
	"github.com/quartet-commerce/quartet/services/internal/voice"
)

// maxDropped bounds the dropped claims of a merge.
const maxDropped = 10

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
		Confidence:  confidenceOf(results),
		CreateTime:  timestamppb.New(t.began),
		RequestId:   t.req.GetRequestId(),
		BudgetStep:  t.step,
		Claims:      m.Claims.Proto(),
		Merge: &gatewayv1.Merge{
			StartTime: timestamppb.New(m.Began), Duration: durationpb.New(m.Took), DroppedClaims: m.Lost[:min(len(m.Lost), maxDropped)].Proto(),
		},
	}
	t.output.Dropped(r.GetMerge().GetDroppedClaims())
	var used usage.Sum
	used.Add(d.GetUsage(), d.GetCost())
	if !fanout.RouterUsageKnown(d) {
		used.Unknown()
	}
	for _, result := range results {
		r.Results = append(r.Results, result.Proto())
		spent, complete := result.Usage()
		used.Add(spent, result.Answer.GetCost())
		if !complete {
			used.Unknown()
		}
		if result.Err == nil {
			collect(r, result.Answer)
		}
	}
	if m.Model != nil {
		r.Merge.PromptVersion = prompt.OrBuiltIn(t.prompts[agentMerge], merge.BuiltIn()).GetVersion()
		r.Merge.Model, r.Merge.Usage, r.Merge.Cost = m.Model.Model, usage.Of(m.Model.Usage), usage.CostOf(m.Model.Cost)
		r.Merge.ModelCalls = usage.Calls(m.Model)
		used.Add(r.GetMerge().GetUsage(), r.GetMerge().GetCost())
	}
	places := nameProducts(r)
	nameOrders(r)
	r.Promotion = choosePromotion(r.GetText(), results)
	suggestActions(ctx, r, results, places, run)
	r.Usage, r.Cost = cmp.Or(used.Usage(), &commonv1.Usage{}), used.Cost()
	r.Handoff = handoff(r, results, cmp.Or(t.store.GetHandoffConfidence(), confidence.HandoffBelow))
	r.Duration = durationpb.New(s.cfg.Now().Sub(t.began))
	return r
}

// collect adds the products, orders and passages of an answer, each once, of its orders first the one that was asked for. Of two choices of a product, one of a variant counts; of two
// questions or comparisons, the first.
func collect(r *gatewayv1.AskResponse, a *specialistv1.Answer) {
	if r.Comparison == nil {
		r.Comparison = a.GetComparison()
	}
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
	for _, o := range append([]*orderv1.Order{a.GetOrder()}, a.GetOtherOrders()...) {
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

// confidenceOf is the confidence in the answers of the results; a failed result counts 0.
func confidenceOf(results []fanout.Result) float64 {
	all := make([]float64, len(results))
	for i, r := range results {
		all[i] = r.Answer.GetConfidence()
	}
	return confidence.OfReply(all...)
}

// sayHandoff ends a reply that hands the shopper over with the store's words for that, if it has any.
func sayHandoff(t *turn, r *gatewayv1.AskResponse, emit fanout.Emit) {
	handsOver := func(a *specialistv1.SuggestedAction) bool { return a.GetHandOff() != nil }
	words := output.Visible(voice.In(t.store.GetVoice().GetHandoffTexts(), cmp.Or(t.languageTag(), t.store.GetDefaultLocale())))
	if words == "" || !slices.ContainsFunc(r.GetSuggestedActions(), handsOver) || strings.Contains(r.GetText(), words) {
		return
	}
	r.Text += "\n\n" + words
	emit.Text("\n\n" + words)
}

// smallTalkWords is how many words a greeting or thanks has at most.
const smallTalkWords = 4

// isSmallTalk reports whether a few words that ask nothing were answered without looking anything up or claiming anything: there is no
// evidence then for any confidence, and no person is needed.
func isSmallTalk(b fanout.Result) bool {
	query := b.Assignment.GetSubQuery()
	return b.Err == nil && merge.IsCourtesy(b.Answer) && !strings.ContainsAny(query, "?？") && len(strings.Fields(query)) <= smallTalkWords
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
	isLow := func(b fanout.Result) bool {
		isQuestion := b.Answer.GetClarifyingQuestion() != nil // it has no evidence yet
		return b.Err != nil || b.Answer.GetConfidence() < below && !isSmallTalk(b) && !isQuestion
	}
	if r.GetConfidence() < below && slices.ContainsFunc(results, isLow) {
		reasons = append(reasons, fmt.Sprintf("confidence is %.2f, below %.2f", r.GetConfidence(), below))
	}
	return &gatewayv1.Handoff{Recommended: len(reasons) > 0, Reason: strings.Join(reasons, "; "), Summary: summary}
}
