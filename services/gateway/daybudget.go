package gateway

import (
	"context"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/gateway/daybudget"
	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/wording"
)

const (
	// turnTokens is what a turn reserves where no turn budget says what it may use: a message of two parts uses about 6,000.
	turnTokens = 20_000
	// turnsOfDay is the part of a day's cost that a turn reserves likewise, one in so many.
	turnsOfDay = 20
	// savingPercent is where turns begin to save unless the store says otherwise.
	savingPercent = 80
	// partialDivisor is what a turn's reservation is divided by with BUDGET_STEP_PARTIAL_ANSWER.
	partialDivisor = 2
	// settleTime is kept after the deadline of a turn for counting what it used.
	settleTime = 10 * time.Second
)

// dayOf returns a store's budget of the day that an instant is in.
func dayOf(store *gatewayv1.Store, now time.Time) daybudget.Day {
	limit := store.GetDayBudget().GetMax()
	return daybudget.Day{
		StoreID: store.GetStoreId(), Date: inTimeZone(now, store).Format(time.DateOnly),
		Max: wrap.Spend{Tokens: limit.GetMaxTokens(), CostMicros: limit.GetMaxCost().GetAmountMicros()},
	}
}

// inTimeZone returns an instant in a store's time zone, or in UTC if this machine does not know the zone.
func inTimeZone(now time.Time, store *gatewayv1.Store) time.Time {
	zone, err := time.LoadLocation(store.GetTimeZone())
	if err != nil {
		zone = time.UTC
	}
	return now.In(zone)
}

// reserveDay takes what a turn may use at most from its store's budget of the day, and bounds the turn by it. It returns false if too
// little is left for a turn.
func (s *Service) reserveDay(ctx context.Context, t *turn) (bool, error) {
	b := t.store.GetDayBudget()
	if b == nil {
		return true, nil
	}
	t.day = dayOf(t.store, t.began)
	own := lower(s.cfg.Budget, t.store.GetTurnBudget())
	want := wrap.Spend{Tokens: own.GetMaxTokens(), CostMicros: own.GetMaxCost().GetAmountMicros()}
	if want.Tokens == 0 {
		want.Tokens = min(turnTokens, max(1, t.day.Max.Tokens))
	}
	currency := b.GetMax().GetMaxCost().GetCurrencyCode()
	if want.CostMicros == 0 || own.GetMaxCost().GetCurrencyCode() != currency {
		want.CostMicros = max(1, t.day.Max.CostMicros/turnsOfDay)
	}
	due, _ := ctx.Deadline()
	percent, divisor := int(b.GetSavingPercent()), 1
	if percent == 0 {
		percent = savingPercent
	}
	if b.GetSaving() == gatewayv1.BudgetStep_BUDGET_STEP_PARTIAL_ANSWER {
		divisor = partialDivisor
	}
	now := time.Now()
	grant, err := t.day.Reserve(ctx, s.cfg.Redis, daybudget.Request{
		TurnID: t.scope.TurnID, Want: want, SavingPercent: percent, SavingDivisor: divisor, Now: now, Until: due.Add(settleTime),
	})
	if err != nil || !grant.OK {
		return false, err
	}
	t.reserved = true
	t.short = t.day.Max.Tokens > 0 && grant.Spend.Tokens < want.Tokens || t.day.Max.CostMicros > 0 && grant.Spend.CostMicros < want.CostMicros
	t.budget = fanout.NewBudget(bounded(own, grant.Spend, currency))
	if !grant.Saving {
		return true, nil
	}
	switch t.step = b.GetSaving(); t.step {
	case gatewayv1.BudgetStep_BUDGET_STEP_FEWER_SPECIALISTS:
		t.budget.OnlyFirst()
	case gatewayv1.BudgetStep_BUDGET_STEP_CHEAPER_MODEL:
		t.prompts = cheaper(t.prompts, s.agents(), b.GetCheaperModel())
	}
	return true, nil
}

// bounded returns a turn's own budget, which may be nil, held to what was granted.
func bounded(own *commonv1.Budget, granted wrap.Spend, currency string) *commonv1.Budget {
	out := &commonv1.Budget{}
	if own != nil {
		out = proto.CloneOf(own)
	}
	if granted.Tokens > 0 {
		out.MaxTokens = granted.Tokens
	}
	if granted.CostMicros > 0 {
		out.MaxCost = &commonv1.Cost{AmountMicros: granted.CostMicros, CurrencyCode: currency}
	}
	return out
}

// cheaper returns prompts with which all agents ask one model.
func cheaper(chosen map[string]*specialistv1.Prompt, agents []string, model string) map[string]*specialistv1.Prompt {
	out := maps.Clone(chosen)
	for _, agent := range agents {
		p := &specialistv1.Prompt{}
		if out[agent] != nil {
			p = proto.CloneOf(out[agent])
		}
		p.Model = model
		out[agent] = p
	}
	return out
}

// settleDay counts what a turn has used that has ended. If that fails, Redis gives back all that the turn has reserved after its deadline.
func (s *Service) settleDay(ctx context.Context, t *turn, reply *gatewayv1.AskResponse) {
	if !t.reserved {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	used := t.budget.Spent(reply.GetMerge().GetUsage(), reply.GetMerge().GetCost())
	if err := t.day.Settle(ctx, s.cfg.Redis, t.scope.TurnID, used); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "turn not counted in the budget of the day", "store", t.scope.StoreID, "turn", t.scope.TurnID,
			"tokens", used.Tokens, "cost_micros", used.CostMicros, "error", err)
	}
}

// outOfBudget is the reply of a turn for which the store's budget of the day has too little left.
func (s *Service) outOfBudget(ctx context.Context, t *turn, emit fanout.Emit) *gatewayv1.AskResponse {
	words := wording.In(t.languageTag())
	const reason = "the store's budget of the day is used up"
	reply := &gatewayv1.AskResponse{
		Text:       t.output.Reply(fmt.Sprintf(words.Unanswered, text.OneLine(t.req.GetMessage())) + " " + words.PersonOffered),
		BudgetStep: gatewayv1.BudgetStep_BUDGET_STEP_STOP, Handoff: &gatewayv1.Handoff{Recommended: true, Reason: reason},
		SuggestedActions: []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{Reason: reason}}}},
	}
	emit.Text(reply.GetText())
	sayHandoff(t, reply, emit)
	s.complete(ctx, t, reply)
	return reply
}

// complete says of which turn a reply is that no agent has a part in.
func (s *Service) complete(ctx context.Context, t *turn, reply *gatewayv1.AskResponse) {
	reply.TurnId, reply.ThreadId, reply.TraceId, reply.RequestId = t.scope.TurnID, t.scope.ThreadID, telemetry.TraceID(ctx), t.req.GetRequestId()
	reply.Usage, reply.CreateTime = &commonv1.Usage{}, timestamppb.New(t.began)
	reply.Duration = durationpb.New(s.cfg.Now().Sub(t.began))
}

// recordAlone records a reply that no agent has a part in, and returns it.
func (s *Service) recordAlone(ctx context.Context, t *turn, reply *gatewayv1.AskResponse) (_ *gatewayv1.AskResponse, err error) {
	ctx, stop := t.lease.KeepAlive(ctx)
	defer func() {
		stop()
		t.lease.Close(ctx, err == nil)
	}()
	if err := s.record(ctx, t, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// checkDayBudget checks a budget, which may be nil.
func (s *Service) checkDayBudget(check *fault.Checker, b *gatewayv1.DayBudget) {
	if b == nil {
		return
	}
	const field = "store.day_budget"
	checkBudget(check, field+".max", b.GetMax())
	if b.GetMax().GetMaxTokens() == 0 && b.GetMax().GetMaxCost().GetAmountMicros() == 0 {
		check.Addf(field+".max", "must have max_tokens or max_cost")
	}
	cheaper := b.GetSaving() == gatewayv1.BudgetStep_BUDGET_STEP_CHEAPER_MODEL
	if _, known := gatewayv1.BudgetStep_name[int32(b.GetSaving())]; !known || b.GetSaving() == gatewayv1.BudgetStep_BUDGET_STEP_STOP {
		check.Addf(field+".saving", "must be CHEAPER_MODEL, FEWER_SPECIALISTS or PARTIAL_ANSWER; where the budget is used up, turns stop by themselves")
	}
	if b.GetSavingPercent() != 0 {
		check.Range(field+".saving_percent", int64(b.GetSavingPercent()), 1, 100)
	}
	if cheaper != (b.GetCheaperModel() != "") {
		check.Addf(field+".cheaper_model", "is required with BUDGET_STEP_CHEAPER_MODEL, and has no effect with others")
	}
	s.checkModel(check, field+".cheaper_model", b.GetCheaperModel())
}

// GetDayBudget implements UsageService.
func (s *usageServer) GetDayBudget(ctx context.Context, req *gatewayv1.GetDayBudgetRequest) (*gatewayv1.GetDayBudgetResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	store, err := s.service.stores.get(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	day := dayOf(store, s.service.cfg.Now())
	used, reserved, err := day.Read(ctx, s.service.cfg.Redis)
	if err != nil {
		return nil, err
	}
	resp := &gatewayv1.GetDayBudgetResponse{Day: day.Date, Budget: store.GetDayBudget(), UsedTokens: used.Tokens, ReservedTokens: reserved.Tokens}
	if c := store.GetDayBudget().GetMax().GetMaxCost(); c != nil {
		resp.UsedCost = &commonv1.Cost{AmountMicros: used.CostMicros, CurrencyCode: c.GetCurrencyCode()}
		resp.ReservedCost = &commonv1.Cost{AmountMicros: reserved.CostMicros, CurrencyCode: c.GetCurrencyCode()}
	}
	return resp, nil
}
