package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/codes"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// openBudget starts a fixture whose store has a budget of the day, and whose specialists use 1,000 tokens for an answer. As real ones do, they
// refuse a share of one token, which pays for no call.
func openBudget(t *testing.T, b *gatewayv1.DayBudget) *fixture {
	h := newFixture(t, miniredis.RunT(t))
	h.config.StoreModels = []string{"small"}
	for name, s := range h.specialists {
		s.answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
			if req.GetBudget().GetMaxTokens() == 1 {
				return refuseShare(req, stream)
			}
			return sayAnswer(stream, &specialistv1.Answer{Text: name + " answers.", Confidence: 0.9, Usage: usageOf(1000), Cost: usd(5)})
		}
	}
	h.start()
	h.putBudget(b)
	return h
}

func refuseShare(*specialistv1.AnswerRequest, answerStream) error {
	return &fault.Exhausted{Reason: commonv1.ErrorReason_ERROR_REASON_BUDGET_EXHAUSTED, What: "budget of the assignment", RetryAfter: fault.NoRetry}
}

func (h *fixture) putBudget(b *gatewayv1.DayBudget) {
	h.t.Helper()
	_, err := h.stores.PutStore(h.t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "demo", Name: "Demo", CurrencyCode: "EUR", TimeZone: "Europe/Berlin", DefaultLocale: "en", DayBudget: b,
		TurnBudget: &commonv1.Budget{MaxTokens: 4000},
	}})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) dayBudget() *gatewayv1.GetDayBudgetResponse {
	h.t.Helper()
	got, err := gatewayv1.NewUsageServiceClient(h.dial("gateway")).GetDayBudget(h.t.Context(), &gatewayv1.GetDayBudgetRequest{StoreId: "demo"})
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

func TestTurnsCountInTheBudgetOfTheDay(t *testing.T) {
	h := openBudget(t, &gatewayv1.DayBudget{Max: &commonv1.Budget{MaxTokens: 10_000, MaxCost: usd(1000)}})
	h.ask("search: a | support: b")
	got := h.dayBudget()
	if got.GetUsedTokens() != 2000 || got.GetReservedTokens() != 0 || got.GetUsedCost().GetAmountMicros() != 10 {
		t.Errorf("after a turn: %v", got)
	}
	h.specialists["search"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return errors.New("down") }
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: c"}); err == nil {
		t.Fatal("the turn has not failed")
	}
	// What a failed turn has used is not known, so all of its share counts: the turn's 4,000 tokens.
	if got := h.dayBudget(); got.GetUsedTokens() != 6000 || got.GetReservedTokens() != 0 {
		t.Errorf("after a failed turn: %v", got)
	}
}

func TestWhereTheBudgetOfTheDayIsUsedUpNobodyIsAsked(t *testing.T) {
	h := openBudget(t, &gatewayv1.DayBudget{Max: &commonv1.Budget{MaxTokens: 1200}})
	if reply := h.ask("search: a"); reply.GetBudgetStep() != 0 || reply.GetText() != "search answers." {
		t.Fatalf("the first turn: %v", reply)
	}
	events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: shoes", ThreadId: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	text, reply := textOf(events)
	if reply.GetBudgetStep() != gatewayv1.BudgetStep_BUDGET_STEP_STOP || !reply.GetHandoff().GetRecommended() ||
		!strings.Contains(reply.GetText(), "search: shoes") || text != reply.GetText() || reply.GetUnrecorded() {
		t.Errorf("the text is %q, the reply %v", text, reply)
	}
	if calls, _ := h.specialists["search"].calls(); len(calls) != 1 {
		t.Errorf("search was asked %d times", len(calls))
	}
	turn, err := h.client.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()})
	if err != nil || turn.GetMessage() != "search: shoes" {
		t.Errorf("the recorded turn is %v, error %v", turn, err)
	}
}

func TestAShareThatPaysForNoCallIsNoError(t *testing.T) {
	h := openBudget(t, &gatewayv1.DayBudget{Max: &commonv1.Budget{MaxTokens: 3000}})
	h.specialists["search"].answer, h.specialists["support"].answer = refuseShare, refuseShare
	if reply := h.ask("search: a | support: b"); reply.GetBudgetStep() != gatewayv1.BudgetStep_BUDGET_STEP_STOP || reply.GetUnrecorded() {
		t.Errorf("the reply is %v", reply)
	}
	h.putBudget(&gatewayv1.DayBudget{Max: &commonv1.Budget{MaxTokens: 1_000_000}}) // the turn's own budget is too small: a mistake in the settings
	_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: a"})
	wantStatus(t, err, codes.Unavailable, "NOTHING_ANSWERED")
}

func TestATomorrowHasItsOwnBudget(t *testing.T) {
	h := openBudget(t, nil)
	now := time.Date(2026, 11, 23, 22, 59, 0, 0, time.UTC) // 23:59 in Berlin
	h.service.cfg.Now = func() time.Time { return now }
	h.putBudget(&gatewayv1.DayBudget{Max: &commonv1.Budget{MaxTokens: 1200}})
	h.ask("search: a")
	if reply := h.ask("search: b"); reply.GetBudgetStep() != gatewayv1.BudgetStep_BUDGET_STEP_STOP {
		t.Errorf("the second turn of the day: %v", reply)
	}
	now = now.Add(2 * time.Minute)
	if reply := h.ask("search: c"); reply.GetBudgetStep() != 0 {
		t.Errorf("the first turn of the next day: %v", reply)
	}
	if got := h.dayBudget(); got.GetDay() != "2026-11-24" || got.GetUsedTokens() != 1000 {
		t.Errorf("the next day has %v", got)
	}
}

func TestTurnsSaveBeforeTheBudgetOfTheDayIsUsedUp(t *testing.T) {
	const twoParts = "search: a | support: b"
	for _, c := range []struct {
		step            gatewayv1.BudgetStep
		search, support int64 // tokens that they may use
		model           string
	}{
		{gatewayv1.BudgetStep_BUDGET_STEP_CHEAPER_MODEL, 1600, 1600, "small"},
		{gatewayv1.BudgetStep_BUDGET_STEP_FEWER_SPECIALISTS, 4000, 1, ""},
		{gatewayv1.BudgetStep_BUDGET_STEP_PARTIAL_ANSWER, 800, 800, ""},
	} {
		t.Run(c.step.String(), func(t *testing.T) {
			b := &gatewayv1.DayBudget{Max: &commonv1.Budget{MaxTokens: 100_000}, Saving: c.step, SavingPercent: 1}
			if c.model != "" {
				b.CheaperModel = c.model
			}
			h := openBudget(t, b)
			if reply := h.ask(twoParts); reply.GetBudgetStep() != 0 {
				t.Errorf("the first turn takes step %v", reply.GetBudgetStep())
			}
			if reply := h.ask(twoParts); reply.GetBudgetStep() != c.step {
				t.Errorf("the second turn takes step %v", reply.GetBudgetStep())
			}
			for name, want := range map[string]int64{"search": c.search, "support": c.support} {
				calls, _ := h.specialists[name].calls()
				if got := calls[1]; got.GetBudget().GetMaxTokens() != want || got.GetPrompt().GetModel() != c.model {
					t.Errorf("%s may use %v with model %q, want %d tokens", name, got.GetBudget(), got.GetPrompt().GetModel(), want)
				}
			}
		})
	}
}

func TestBadBudgetsOfADayAreRefused(t *testing.T) {
	h := openBudget(t, nil)
	tokens := &commonv1.Budget{MaxTokens: 1000}
	for want, b := range map[string]*gatewayv1.DayBudget{
		"store.day_budget.max: must have":                   {},
		"store.day_budget.saving: must be":                  {Max: tokens, Saving: gatewayv1.BudgetStep_BUDGET_STEP_STOP},
		"store.day_budget.saving_percent":                   {Max: tokens, SavingPercent: 101},
		"store.day_budget.cheaper_model: is required":       {Max: tokens, Saving: gatewayv1.BudgetStep_BUDGET_STEP_CHEAPER_MODEL},
		`store.day_budget.cheaper_model: is "tiny", must`:   {Max: tokens, Saving: gatewayv1.BudgetStep_BUDGET_STEP_CHEAPER_MODEL, CheaperModel: "tiny"},
		"store.day_budget.max.max_tokens: is -1":            {Max: &commonv1.Budget{MaxTokens: -1}},
		"store.day_budget.max.max_cost.currency_code: must": {Max: &commonv1.Budget{MaxCost: &commonv1.Cost{AmountMicros: 1}}},
	} {
		_, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{StoreId: "s", Name: "S", CurrencyCode: "EUR", DayBudget: b}})
		wantStatus(t, err, codes.InvalidArgument, "INVALID_FIELD")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
