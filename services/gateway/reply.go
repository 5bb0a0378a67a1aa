package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// leastConfidence is what a reply needs to do without a human.
const leastConfidence = 0.4

// reply puts everything together that a backend gets.
func (s *Service) reply(
	ctx context.Context, t *turn, d *routerv1.RoutingDecision, branches []*branch, m merged,
) *gatewayv1.AskResponse {
	r := &gatewayv1.AskResponse{
		Text:        m.text,
		TurnId:      t.scope.TurnID,
		ThreadId:    t.scope.ThreadID,
		TraceId:     telemetry.TraceID(ctx),
		Routing:     d,
		MergeMethod: m.method,
		Confidence:  confidence(branches),
		CreateTime:  timestamppb.New(t.begun),
		RequestId:   t.requestID,
	}
	bill := tally{usage: &commonv1.Usage{}}
	bill.addRouter(d)
	for _, b := range branches {
		r.Results = append(r.Results, b.result())
		bill.addBranch(b)
		if b.err == nil {
			collect(r, b.answer)
		}
	}
	if m.merge != nil {
		bill.addMerge(m.merge)
	}
	r.Usage, r.Cost = bill.usage, bill.cost()
	r.Handoff = handoff(r, branches)
	r.Duration = durationpb.New(s.cfg.Now().Sub(t.begun))
	return r
}

// collect adds what an answer carries beside its text, each thing once.
func collect(r *gatewayv1.AskResponse, a *specialistv1.Answer) {
	for _, p := range a.GetProducts() {
		same := func(q *specialistv1.ProductChoice) bool { return q.GetProductId() == p.GetProductId() }
		if !slices.ContainsFunc(r.Products, same) {
			r.Products = append(r.Products, p)
		}
	}
	if r.Promotion == nil {
		r.Promotion = a.GetPromotion()
	}
	if o := a.GetOrder(); o != nil {
		same := func(q *orderv1.Order) bool { return q.GetOrderId() == o.GetOrderId() }
		if !slices.ContainsFunc(r.Orders, same) {
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
	for _, x := range a.GetSuggestedActions() {
		if !slices.ContainsFunc(r.SuggestedActions, func(y *specialistv1.SuggestedAction) bool { return proto.Equal(x, y) }) {
			r.SuggestedActions = append(r.SuggestedActions, x)
		}
	}
}

// confidence is 0.7 x the lowest + 0.3 x the mean of the branches' confidences; a branch that failed counts 0. So one bad
// part pulls the whole down, and more bad parts pull it further.
func confidence(branches []*branch) float64 {
	lowest, sum := 1.0, 0.0
	for _, b := range branches {
		c := min(max(b.answer.GetConfidence(), 0), 1)
		lowest, sum = min(lowest, c), sum+c
	}
	return 0.7*lowest + 0.3*sum/float64(len(branches))
}

// handoff recommends a human when a part is missing, when a specialist asks for one, or when the reply is doubtful.
func handoff(r *gatewayv1.AskResponse, branches []*branch) *gatewayv1.Handoff {
	var reasons []string
	for _, b := range branches {
		if b.err != nil {
			reasons = append(reasons, fmt.Sprintf("%s could not answer assignment %s",
				b.assignment.GetSpecialist(), b.assignment.GetAssignmentId()))
		}
	}
	for _, a := range r.GetSuggestedActions() {
		if h := a.GetHandOff(); h != nil {
			reasons = append(reasons, strings.TrimSuffix("a specialist suggests it: "+h.GetReason(), ": "))
		}
	}
	if r.GetConfidence() < leastConfidence {
		reasons = append(reasons, fmt.Sprintf("confidence is %.2f, below %.2f", r.GetConfidence(), leastConfidence))
	}
	return &gatewayv1.Handoff{Recommended: len(reasons) > 0, Reason: strings.Join(reasons, "; ")}
}
