package promotions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

const (
	maxListed = 20                  // promotions that a model is shown
	soon      = 30 * 24 * time.Hour // how far ahead a promotion may start to be shown
)

// tools makes the tools of one turn.
func (s *server) tools(t *specialist.Turn) []agentloop.Tool {
	read := specialist.NewOnce(func(ctx context.Context) (offers, error) { return s.offersFor(ctx, t) })
	c := &chooser{turn: t, offers: read}
	return []agentloop.Tool{
		agentloop.NewTool("list_active_promotions",
			"Lists the store's current promotions, discounts and codes, with what each saves on the shopper's cart now, or what is "+
				"missing for it to apply. Call it first for any question about offers, codes, discounts or saving money.",
			listTool(t, read)),
		agentloop.NewTool("choose_promotion",
			"Proposes one promotion to the shopper. Call it after list_active_promotions, once, with the single most valuable "+
				"eligible code (best_code), or with the eligible code that the shopper asked for. It does not apply the code.",
			c.choose),
	}
}

type listArgs struct{}

type listResult struct {
	Promotions   []listedPromotion `json:"promotions"`
	BestCode     string            `json:"best_code,omitempty"`
	CartSubtotal string            `json:"cart_subtotal,omitempty"`
	Total        int               `json:"total,omitempty"`
	ExpiredCount int               `json:"expired_count,omitempty"`
	Note         string            `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r listResult) Summary() string {
	eligible := 0
	for _, p := range r.Promotions {
		if p.Eligible {
			eligible++
		}
	}
	return countWords(int64(len(r.Promotions)), "promotion") + fmt.Sprintf(", %d apply", eligible)
}

type listedPromotion struct {
	Code        string `json:"code"`
	Title       string `json:"title"`
	Offer       string `json:"offer"`
	Terms       string `json:"terms,omitempty"`
	Eligible    bool   `json:"eligible"`
	Saving      string `json:"saving,omitempty"`
	Explanation string `json:"explanation"`
	Missing     string `json:"missing,omitempty"`
	Starts      string `json:"starts,omitempty"`
	Ends        string `json:"ends,omitempty"`
	Combinable  bool   `json:"combinable,omitempty"`
}

func listTool(t *specialist.Turn, read *specialist.Once[offers]) func(context.Context, listArgs) (listResult, error) {
	return func(ctx context.Context, _ listArgs) (listResult, error) {
		o, err := read.Get(ctx)
		if err != nil {
			return listResult{}, err
		}
		shown, expired := o.worthShowing()
		t.Found(len(shown))
		r := listResult{
			Promotions:   make([]listedPromotion, 0, min(len(shown), maxListed)),
			BestCode:     o.best,
			CartSubtotal: money.Text(o.basket.subtotal()),
			ExpiredCount: expired,
			Note:         o.note(shown),
		}
		if len(shown) > maxListed {
			r.Total = len(shown)
			shown = shown[:maxListed]
		}
		for _, e := range shown {
			r.Promotions = append(r.Promotions, listed(e))
		}
		return r, nil
	}
}

func listed(e *promotionv1.Evaluation) listedPromotion {
	p := e.GetPromotion()
	l := listedPromotion{
		Code:        p.GetCode(),
		Title:       p.GetTitle(),
		Offer:       offerWords(p),
		Terms:       p.GetDescription(),
		Eligible:    e.GetEligible(),
		Saving:      money.Text(e.GetSaving()),
		Explanation: e.GetExplanation(),
		Missing:     money.Text(e.GetMissingAmount()),
		Combinable:  p.GetStackable(),
	}
	if p.GetFreeShipping() != nil && e.GetSaving().GetAmountMinor() == 0 {
		l.Saving = "" // the fee is not known: "0.00 EUR" would say that it saves nothing
	}
	if n := e.GetMissingQuantity(); n > 0 {
		l.Missing = countWords(int64(n), "unit")
	}
	if e.GetRefusalReason() == promotionv1.RefusalReason_REFUSAL_REASON_NOT_STARTED {
		l.Starts = dayWords(p.GetStartTime().AsTime())
	}
	if p.GetEndTime() != nil {
		l.Ends = dayWords(lastDay(p))
	}
	return l
}

// offers are a store's promotions as they stand for one shopper.
type offers struct {
	evaluations []*promotionv1.Evaluation
	best        string
	basket      basket
	hasCart     bool
	now         time.Time
}

// offersFor evaluates the store's promotions for the turn's shopper, on the cart that the assignment came with, else on
// the one that it reads. Its errors are fit for a model.
func (s *server) offersFor(ctx context.Context, t *specialist.Turn) (offers, error) {
	cart := t.Cart
	o := offers{hasCart: cart != nil || t.Scope.CartID != "" && s.cart != nil, now: s.now()}
	if o.hasCart && cart == nil {
		var err error
		if cart, err = s.fetchCart(ctx, t.Scope.StoreID, t.Scope.CartID); err != nil {
			return o, s.forModel(ctx, err, "the cart can not be read now; say so, and name no saving")
		}
	}
	promotions, err := s.store.list(ctx, t.Scope.StoreID)
	if err != nil {
		return o, s.forModel(ctx, err, "the promotions can not be read now; say so, and name no promotion")
	}
	o.basket = newBasket(cart)
	who := buyer{signedIn: t.Scope.CustomerID != "", groups: t.Scope.CustomerGroups}
	o.evaluations, o.best = evaluate(promotions, o.basket, who, o.now)
	return o, nil
}

// forModel logs the cause and returns words for the model, which must not see how the house is built.
func (s *server) forModel(ctx context.Context, cause error, words string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.logger.WarnContext(ctx, "promotion tool failed", slog.Any("error", cause))
	return errors.New(words)
}

// worthShowing leaves out what this shopper can not use: expired promotions, which are counted, those of groups that
// they are not in, and those that are far off. Eligible ones come first, then those that are nearest to applying.
func (o offers) worthShowing() (shown []*promotionv1.Evaluation, expired int) {
	for _, e := range o.evaluations {
		switch e.GetRefusalReason() {
		case promotionv1.RefusalReason_REFUSAL_REASON_EXPIRED:
			expired++
			continue
		case promotionv1.RefusalReason_REFUSAL_REASON_CUSTOMER_NOT_ELIGIBLE:
			continue
		case promotionv1.RefusalReason_REFUSAL_REASON_NOT_STARTED:
			if e.GetPromotion().GetStartTime().AsTime().After(o.now.Add(soon)) {
				continue
			}
		}
		shown = append(shown, e)
	}
	slices.SortStableFunc(shown, func(x, y *promotionv1.Evaluation) int {
		if x.GetEligible() || y.GetEligible() {
			return 0 // eligible ones are in front, in order
		}
		return compareDistance(x, y)
	})
	return shown, expired
}

// compareDistance puts the cheaper way to qualify first: a missing amount, then missing units, then the rest.
func compareDistance(x, y *promotionv1.Evaluation) int {
	kind := func(e *promotionv1.Evaluation) int {
		switch e.GetRefusalReason() {
		case promotionv1.RefusalReason_REFUSAL_REASON_MINIMUM_NOT_MET:
			return 0
		case promotionv1.RefusalReason_REFUSAL_REASON_QUANTITY_NOT_MET:
			return 1
		}
		return 2
	}
	return cmp.Or(
		cmp.Compare(kind(x), kind(y)),
		cmp.Compare(x.GetMissingAmount().GetAmountMinor(), y.GetMissingAmount().GetAmountMinor()),
		cmp.Compare(x.GetMissingQuantity(), y.GetMissingQuantity()),
		compareCodes(x.GetPromotion(), y.GetPromotion()))
}

// note says in a sentence or two what the list alone does not: that nothing applies, and what would.
func (o offers) note(shown []*promotionv1.Evaluation) string {
	switch {
	case len(shown) == 0:
		return "There are no promotions at the moment."
	case !o.hasCart:
		return "There is no cart yet, so no saving can be computed; these are the offers of the store."
	case len(o.basket.items) == 0:
		return "The cart is empty, so no promotion applies yet; these are the offers of the store."
	case o.best != "":
		return ""
	}
	nearest := shown[0]
	switch {
	case nearest.GetEligible():
		return "No promotion saves anything on this cart."
	case nearest.GetMissingAmount() != nil, nearest.GetMissingQuantity() > 0:
		return "No promotion applies to this cart yet. The nearest: " + nearest.GetExplanation()
	}
	return "No promotion applies to this cart."
}
