package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

// usageServer serves UsageService from the recorded turns: what was counted beside them could differ from them after a crash.
type usageServer struct {
	gatewayv1.UnsafeUsageServiceServer
	turns   *turnServer
	service *Service
}

var _ gatewayv1.UsageServiceServer = (*usageServer)(nil)

// QueryUsage implements UsageService.
func (s *usageServer) QueryUsage(ctx context.Context, req *gatewayv1.QueryUsageRequest) (*gatewayv1.QueryUsageResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	checkTimes(&check, "", req.GetStartTime(), req.GetEndTime())
	split := make(map[gatewayv1.UsageGroup]bool)
	for i, g := range req.GetGroups() {
		if _, known := gatewayv1.UsageGroup_name[int32(g)]; !known || g == gatewayv1.UsageGroup_USAGE_GROUP_UNSPECIFIED || split[g] {
			check.Addf(fault.At("groups", i), "must be a group, each at most once")
		}
		split[g] = true
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	sums := make(map[group]*gatewayv1.UsageSum)
	last := make(map[group]string) // the turn that was counted last
	err := s.each(ctx, req.GetStoreId(), req, func(t *gatewayv1.Turn) bool {
		for _, part := range usedBy(t.GetReply()) {
			key := groupOf(part, split)
			sum := sums[key]
			if sum == nil {
				sum = &gatewayv1.UsageSum{Day: key.day, Agent: key.agent, Model: key.model, PromptVersion: key.prompt, ThreadId: key.thread, TurnId: key.turn}
				sums[key] = sum
			}
			if last[key] != part.GetTurnId() {
				last[key] = part.GetTurnId()
				countTurn(sum, t)
			}
			addTo(sum, part)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	resp := &gatewayv1.QueryUsageResponse{}
	for _, key := range slices.SortedFunc(maps.Keys(sums), group.compare) {
		resp.Sums = append(resp.Sums, sums[key])
	}
	return resp, nil
}

// StreamUsage implements UsageService.
func (s *usageServer) StreamUsage(
	req *gatewayv1.StreamUsageRequest, stream grpc.ServerStreamingServer[gatewayv1.StreamUsageResponse],
) error {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	checkTimes(&check, "", req.GetStartTime(), req.GetEndTime())
	if err := check.Err(); err != nil {
		return err
	}
	var sendErr error
	err := s.each(stream.Context(), req.GetStoreId(), req, func(t *gatewayv1.Turn) bool {
		for _, part := range usedBy(t.GetReply()) {
			if sendErr == nil {
				sendErr = stream.Send(part)
			}
		}
		return sendErr == nil
	})
	return cmp.Or(err, sendErr)
}

// ListUnansweredQuestions implements UsageService.
func (s *usageServer) ListUnansweredQuestions(
	ctx context.Context, req *gatewayv1.ListUnansweredQuestionsRequest,
) (*gatewayv1.ListUnansweredQuestionsResponse, error) {
	const maxTurnIDs = 5
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	checkTimes(&check, "", req.GetStartTime(), req.GetEndTime())
	check.Range("limit", int64(req.GetLimit()), 0, 100)
	if err := check.Err(); err != nil {
		return nil, err
	}
	byWords := make(map[string]*gatewayv1.UnansweredQuestion)
	var all []*gatewayv1.UnansweredQuestion // in the order of the newest
	err := s.each(ctx, req.GetStoreId(), req, func(t *gatewayv1.Turn) bool {
		for _, r := range t.GetReply().GetResults() {
			e := r.GetAnswer().GetEvidence()
			if r.GetFailure() == nil && (e.GetEmpty() == 0 || e.GetFound()+e.GetNear() > 0) {
				continue
			}
			q := &gatewayv1.UnansweredQuestion{
				Question: r.GetAssignment().GetSubQuery(), Specialist: r.GetAssignment().GetSpecialist(), FailureCode: r.GetFailure().GetCode(),
			}
			key := q.GetSpecialist() + "\n" + q.GetFailureCode() + "\n" + wordsOf(q.GetQuestion())
			if byWords[key] == nil {
				byWords[key] = q
				all = append(all, q)
			}
			q = byWords[key]
			if q.Count++; len(q.GetTurnIds()) < maxTurnIDs {
				q.TurnIds = append(q.TurnIds, t.GetReply().GetTurnId())
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b *gatewayv1.UnansweredQuestion) int { return cmp.Compare(b.GetCount(), a.GetCount()) })
	limit := int(cmp.Or(req.GetLimit(), 20))
	return &gatewayv1.ListUnansweredQuestionsResponse{Questions: all[:min(limit, len(all))]}, nil
}

// each calls visit for the turns of a time, the newest first, until it returns false.
func (s *usageServer) each(ctx context.Context, storeID string, times between, visit func(*gatewayv1.Turn) bool) error {
	_, err := s.turns.read(ctx, storeID, times, pagetoken.Cursor{}, func(t *gatewayv1.Turn, _ pagetoken.Cursor) bool { return visit(t) })
	return err
}

// usedBy returns what the parts of a turn used that called a model.
func usedBy(reply *gatewayv1.AskResponse) []*gatewayv1.StreamUsageResponse {
	var parts []*gatewayv1.StreamUsageResponse
	add := func(agent, model, prompt string, used *commonv1.Usage, cost *commonv1.Cost, calls []*commonv1.ModelCall) {
		if used.GetModelCalls() > 0 {
			parts = append(parts, &gatewayv1.StreamUsageResponse{
				TurnId: reply.GetTurnId(), ThreadId: reply.GetThreadId(), CreateTime: reply.GetCreateTime(),
				Agent: agent, Model: model, PromptVersion: prompt, Usage: used, Cost: cost, ModelCalls: calls,
			})
		}
	}
	d, m := reply.GetRouting(), reply.GetMerge()
	add(router, d.GetModel(), d.GetPromptVersion(), d.GetUsage(), d.GetCost(), d.GetModelCalls())
	for _, r := range reply.GetResults() {
		a := r.GetAnswer()
		add(r.GetAssignment().GetSpecialist(), a.GetModel(), a.GetPromptVersion(), a.GetUsage(), a.GetCost(), a.GetModelCalls())
	}
	add(agentMerge, m.GetModel(), m.GetPromptVersion(), m.GetUsage(), m.GetCost(), m.GetModelCalls())
	return parts
}

// group is what a sum is of; fields that sums are not split by are empty.
type group struct{ day, agent, model, prompt, thread, turn string }

func groupOf(part *gatewayv1.StreamUsageResponse, split map[gatewayv1.UsageGroup]bool) (g group) {
	if split[gatewayv1.UsageGroup_USAGE_GROUP_DAY] {
		g.day = part.GetCreateTime().AsTime().Format("2006-01-02")
	}
	if split[gatewayv1.UsageGroup_USAGE_GROUP_AGENT] {
		g.agent = part.GetAgent()
	}
	if split[gatewayv1.UsageGroup_USAGE_GROUP_MODEL] {
		g.model = part.GetModel()
	}
	if split[gatewayv1.UsageGroup_USAGE_GROUP_PROMPT_VERSION] {
		g.prompt = part.GetPromptVersion()
	}
	if split[gatewayv1.UsageGroup_USAGE_GROUP_THREAD] {
		g.thread = part.GetThreadId()
	}
	if split[gatewayv1.UsageGroup_USAGE_GROUP_TURN] {
		g.turn = part.GetTurnId()
	}
	return g
}

func (g group) compare(o group) int {
	return cmp.Or(cmp.Compare(g.day, o.day), cmp.Compare(g.agent, o.agent), cmp.Compare(g.model, o.model), cmp.Compare(g.prompt, o.prompt),
		cmp.Compare(g.thread, o.thread), cmp.Compare(g.turn, o.turn))
}

// countTurn counts a turn in a sum that has a part of it.
func countTurn(sum *gatewayv1.UsageSum, t *gatewayv1.Turn) {
	sum.Turns++
	if t.GetReply().GetHandoff().GetRecommended() {
		sum.Handoffs++
	}
	if slices.ContainsFunc(t.GetReply().GetClaims(), unsupported) {
		sum.UnsupportedClaimTurns++
	}
	switch t.GetFeedback().GetRating() {
	case gatewayv1.Rating_RATING_HELPFUL:
		sum.GoodRatings++
	case gatewayv1.Rating_RATING_NOT_HELPFUL:
		sum.BadRatings++
	}
}

// addTo adds a part to a sum.
func addTo(sum *gatewayv1.UsageSum, part *gatewayv1.StreamUsageResponse) {
	sum.Usage = usage.Plus(sum.GetUsage(), part.GetUsage())
	if part.GetCost() == nil {
		sum.UnpricedModelCalls += int64(part.GetUsage().GetModelCalls())
		return
	}
	same := func(c *commonv1.Cost) bool { return c.GetCurrencyCode() == part.GetCost().GetCurrencyCode() }
	i := slices.IndexFunc(sum.GetCosts(), same)
	if i < 0 {
		i = len(sum.GetCosts())
		sum.Costs = append(sum.Costs, &commonv1.Cost{CurrencyCode: part.GetCost().GetCurrencyCode()})
	}
	sum.Costs[i].AmountMicros += part.GetCost().GetAmountMicros()
}

// wordsOf returns the stems of a question's words in alphabetical order, each once, without those that say little.
func wordsOf(question string) string {
	language := cmp.Or(text.Language(question), "en")
	var stems []string
	for _, w := range text.Words(question) {
		if !text.IsStopWord(language, w.Text) {
			stems = append(stems, text.Stem(language, w.Text))
		}
	}
	slices.Sort(stems)
	return strings.Join(slices.Compact(stems), " ")
}
