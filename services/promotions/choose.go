package promotions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
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
	Code   string   `json:"code" jsonschema:"code of the promotion, as list_active_promotions gave it"`
	Reason string   `json:"reason" jsonschema:"why this one, in one sentence for the shopper"`
	Also   []string `json:"also,omitempty" jsonschema:"the other codes of best_combination, when the shopper is to enter several; else leave it out"`
}

type chooseResult struct {
	Code   string   `json:"code"`
	Also   []string `json:"also,omitempty"`
	Title  string   `json:"title"`
	Saving string   `json:"saving,omitempty"`
	Reason string   `json:"reason,omitempty"`
	Note   string   `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r chooseResult) Summary() string { return strings.TrimSpace(r.Code + " " + r.Saving) }

func (c *chooser) choose(ctx context.Context, in chooseArgs) (chooseResult, error) {
	o, err := c.offers.Get(ctx)
	if err != nil {
		return chooseResult{}, err
	}
	p, err := o.picks(in)
	if err != nil {
		return chooseResult{}, err
	}
	c.record(p)
	r := chooseResult{Code: p.GetCode(), Also: p.GetAlsoCodes(), Title: p.GetTitle(), Saving: money.Text(p.GetSaving()), Reason: p.GetReason()}
	if p.GetSaving().GetAmountMinor() == 0 {
		r.Saving = "" // free shipping whose fee is not known
	}
	if len(r.Also) == 0 && o.best != r.Code {
		r.Note = fmt.Sprintf("%s saves more on this cart.", o.best)
	}
	return r, nil
}

// picks checks a choice of one code, or of several that may be used together.
func (o offers) picks(in chooseArgs) (*specialistv1.PromotionChoice, error) {
	first, err := o.pick(in.Code)
	if err != nil {
		return nil, err
	}
	p := &specialistv1.PromotionChoice{
		Code: first.GetPromotion().GetCode(), Title: first.GetPromotion().GetTitle(), Saving: first.GetSaving(),
		Reason: strings.TrimSpace(in.Reason),
	}
	set := []*candidate{newCandidate(first, o.basket)}
	for _, code := range in.Also {
		e, err := o.pick(code)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(set, func(c *candidate) bool { return c.promotion == e.GetPromotion() }) {
			continue // named twice
		}
		for _, c := range set {
			if !combinable(c.promotion, e.GetPromotion()) {
				return nil, fmt.Errorf("%s does not apply: it can not be combined with %s. %s",
					e.GetPromotion().GetCode(), c.promotion.GetCode(), o.advice())
			}
		}
		set = append(set, newCandidate(e, o.basket))
		p.AlsoCodes = append(p.AlsoCodes, e.GetPromotion().GetCode())
	}
	p.Saving = o.basket.money(worthOf(set, o.basket).saving)
	return p, nil
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
	return nil, fmt.Errorf("%s %s", why, o.advice())
}

// advice says what can be chosen.
func (o offers) advice() string {
	switch codes := o.together.GetCodes(); {
	case o.best == "":
		return "No promotion is worth choosing now: choose none, and tell the shopper what is missing."
	case len(codes) > 1:
		return fmt.Sprintf("The best code for this cart is %s, the best combination %s.", o.best, strings.Join(codes, " with "))
	}
	return fmt.Sprintf("The best code for this cart is %s.", o.best)
}

func (c *chooser) record(p *specialistv1.PromotionChoice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn.SetPromotion(p)
	if c.action != nil {
		c.action.Code, c.action.AlsoCodes = p.GetCode(), p.GetAlsoCodes()
		return
	}
	c.action = &specialistv1.ApplyPromotion{Code: p.GetCode(), AlsoCodes: p.GetAlsoCodes()}
	c.turn.AddActions(&specialistv1.SuggestedAction{
		Action: &specialistv1.SuggestedAction_ApplyPromotion{ApplyPromotion: c.action},
	})
}
