package promotions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// chooser holds the choice of one turn. A model that changes its mind changes the proposed action with it.
type chooser struct {
	turn   *specialist.Turn
	offers *specialist.Once[offers]

	mu     sync.Mutex
	action *specialistv1.ApplyPromotion // nil before the first choice
}

type chooseArgs struct {
	Code   string `json:"code" jsonschema:"code of the promotion, as list_active_promotions gave it"`
	Reason string `json:"reason" jsonschema:"why this one, in one sentence for the shopper"`
}

type chooseResult struct {
	Code   string `json:"code"`
	Title  string `json:"title"`
	Saving string `json:"saving,omitempty"`
	Reason string `json:"reason,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r chooseResult) Summary() string { return strings.TrimSpace(r.Code + " " + r.Saving) }

func (c *chooser) choose(ctx context.Context, in chooseArgs) (chooseResult, error) {
	o, err := c.offers.Get(ctx)
	if err != nil {
		return chooseResult{}, err
	}
	e, err := o.pick(in.Code)
	if err != nil {
		return chooseResult{}, err
	}
	c.record(e, in.Reason)
	l := listed(e)
	r := chooseResult{Code: l.Code, Title: l.Title, Saving: l.Saving, Reason: strings.TrimSpace(in.Reason)}
	if o.best != e.GetPromotion().GetCode() {
		r.Note = fmt.Sprintf("%s saves more on this cart.", o.best)
	}
	return r, nil
}

// pick finds an eligible promotion by its code. Its errors tell the model why not, and what it can choose instead.
func (o offers) pick(code string) (*promotionv1.Evaluation, error) {
	code = strings.Trim(strings.TrimSpace(code), `"'`)
	at := slices.IndexFunc(o.evaluations, func(e *promotionv1.Evaluation) bool {
		return strings.EqualFold(e.GetPromotion().GetCode(), code)
	})
	var why string
	switch {
	case at < 0:
		why = fmt.Sprintf("The store has no promotion with the code %q.", code)
	case !o.evaluations[at].GetEligible():
		why = o.evaluations[at].GetExplanation()
	case !worthChoosing(o.evaluations[at]):
		why = fmt.Sprintf("%s saves nothing on this cart.", o.evaluations[at].GetPromotion().GetCode())
	default:
		return o.evaluations[at], nil
	}
	advice := "No promotion is worth choosing now: choose none, and tell the shopper what is missing."
	if o.best != "" {
		advice = fmt.Sprintf("The best code for this cart is %s.", o.best)
	}
	return nil, fmt.Errorf("%s %s", why, advice)
}

func (c *chooser) record(e *promotionv1.Evaluation, reason string) {
	code := e.GetPromotion().GetCode()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn.SetPromotion(&specialistv1.PromotionChoice{
		Code:   code,
		Title:  e.GetPromotion().GetTitle(),
		Saving: e.GetSaving(),
		Reason: strings.TrimSpace(reason),
	})
	if c.action != nil {
		c.action.Code = code
		return
	}
	c.action = &specialistv1.ApplyPromotion{Code: code}
	c.turn.AddActions(&specialistv1.SuggestedAction{
		Action: &specialistv1.SuggestedAction_ApplyPromotion{ApplyPromotion: c.action},
	})
}
