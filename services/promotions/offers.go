package promotions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/carts"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// soon is how far ahead a promotion may start to be shown.
const soon = 30 * 24 * time.Hour

// offers are a store's promotions as they stand for one shopper.
type offers struct {
	outcome
	basket  basket
	hasCart bool
	noCart  bool // the store has none
	now     time.Time
	asked   string // what the shopper wrote
	way     *promotionv1.QualifyingWay
}

// offersFor evaluates the store's promotions for the turn's shopper, on the cart that the assignment came with, else on
// the one that it reads. Its errors are fit for a model.
func (s *server) offersFor(ctx context.Context, t *specialist.Turn) (offers, error) {
	o := offers{now: s.now(), asked: t.SubQuery + " " + t.Message}
	cart, err := s.cartOf(ctx, t)
	if o.noCart = carts.None(err); err != nil && !o.noCart {
		return o, s.forModel(ctx, err, "the cart can not be read now; say so, and name no saving")
	}
	o.hasCart = cart != nil
	promotions, err := s.store.list(ctx, t.Scope.StoreID)
	if err != nil {
		return o, s.forModel(ctx, err, "the promotions can not be read now; say so, and name no promotion")
	}
	who := buyer{signedIn: t.Scope.CustomerID != "", id: t.Scope.CustomerID, groups: t.Scope.CustomerGroups}
	if who.used, err = s.store.used(ctx, t.Scope.StoreID, who.id, promotions); err != nil {
		return o, s.forModel(ctx, err, "the promotions can not be read now; say so, and name no promotion")
	}
	o.basket = newBasket(cart)
	o.outcome = evaluate(promotions, o.basket, who, o.now)
	if o.hasCart && o.together == nil {
		o.way = s.cheapestWay(ctx, t.Scope.StoreID, o.evaluations, situation{cart, who, o.now})
	}
	return o, nil
}

// cartOf returns the turn's cart; nil if there is none.
func (s *server) cartOf(ctx context.Context, t *specialist.Turn) (*cartv1.Cart, error) {
	switch {
	case t.Cart != nil || s.cart == nil:
		return t.Cart, nil
	case t.Scope.CartID != "":
		return carts.Read(ctx, s.cart, t.Scope.StoreID, t.Scope.CartID)
	}
	if none, err := carts.Lacking(ctx, s.cart, t.Scope.StoreID); err == nil && none {
		return nil, carts.NoCart(t.Scope.StoreID)
	}
	return nil, nil // what can not be told is not lacking
}

// forModel logs the cause and returns words for the model, which must not see how the house is built.
func (s *server) forModel(ctx context.Context, cause error, words string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.logger.WarnContext(ctx, "promotion tool failed", slog.Any("error", cause))
	return errors.New(words)
}

// worthShowing leaves out what this shopper can not use, unless they name its code: expired promotions, which are
// counted, those that are used up, those of groups that they are not in, and those that are far off. Eligible ones come
// first, then those that are nearest to applying.
func (o offers) worthShowing() (shown []*promotionv1.Evaluation, expired int) {
	for _, e := range o.evaluations {
		if named(o.asked, e.GetPromotion().GetCode()) {
			shown = append(shown, e)
			continue
		}
		switch e.GetRefusalReason() {
		case promotionv1.RefusalReason_REFUSAL_REASON_EXPIRED:
			expired++
			continue
		case promotionv1.RefusalReason_REFUSAL_REASON_CUSTOMER_NOT_ELIGIBLE, promotionv1.RefusalReason_REFUSAL_REASON_USED_UP:
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

// named reports whether a text names a code, in any case, as a word of its own.
func named(text, code string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
	return containsCode(words, code)
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
	case o.noCart:
		return "This store's carts can not be seen here, so no saving can be computed; these are the offers of the store."
	case !o.hasCart:
		return "There is no cart yet, so no saving can be computed; these are the offers of the store."
	case len(o.basket.lines) == 0:
		return strings.TrimSpace("The cart is empty, so no promotion applies yet; these are the offers of the store. " + wayWords(o.way))
	case o.best != "":
		return ""
	case o.way != nil:
		return "No promotion applies to this cart yet. " + wayWords(o.way)
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

// wayWords says in a sentence what to buy so that a promotion applies. Empty for nil.
func wayWords(way *promotionv1.QualifyingWay) string {
	if way == nil {
		return ""
	}
	items := make([]string, len(way.GetItems()))
	for i, item := range way.GetItems() {
		items[i] = fmt.Sprintf("%d x %s", item.GetQuantity(), item.GetTitle())
	}
	gain := "it saves " + money.Text(way.GetSaving())
	if way.GetSaving().GetAmountMinor() == 0 {
		gain = "it applies"
	}
	return fmt.Sprintf("The cheapest way to qualify is %s: with %s for %s more in the cart, %s.",
		way.GetCode(), strings.Join(items, " and "), money.Text(way.GetCost()), gain)
}
