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
	"unicode/utf8"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/promotions/engine"
)

// maxLeadTime is how far ahead a promotion may start to be shown.
const maxLeadTime = 30 * 24 * time.Hour

// offers are a store's promotions as they stand for one shopper.
type offers struct {
	engine.Outcome
	promotions []*promotionv1.Promotion
	who        engine.Buyer
	cart       *cartv1.Cart // nil if there is none
	basket     engine.Basket
	hasCart    bool
	noCart     bool // the store has none
	now        time.Time
	asked      string // what the shopper wrote
	purchase   *promotionv1.QualifyingPurchase
}

// offersFor evaluates the store's promotions for the turn's shopper, on the cart that the assignment came with, else on
// the one that it reads. Its errors are fit for a model.
func (s *server) offersFor(ctx context.Context, t *specialist.Turn) (offers, error) {
	o := offers{now: s.now(), asked: t.SubQuery + " " + t.Message}
	cart, err := s.cartOf(ctx, t)
	if o.noCart = cartclient.None(err); err != nil && !o.noCart {
		return o, s.forModel(ctx, err, "the cart cannot be read now; say so, and name no saving")
	}
	if o.promotions, err = s.repository.list(ctx, t.Scope.StoreID); err != nil {
		return o, s.forModel(ctx, err, "the promotions cannot be read now; say so, and name no promotion")
	}
	o.who = engine.Buyer{SignedIn: t.Scope.CustomerID != "", ID: t.Scope.CustomerID, Groups: t.Scope.CustomerGroups}
	if o.who.Used, err = s.repository.used(ctx, t.Scope.StoreID, o.who.ID, o.promotions); err != nil {
		return o, s.forModel(ctx, err, "the promotions cannot be read now; say so, and name no promotion")
	}
	return s.evaluated(ctx, t, o, cart), nil
}

// evaluated returns the offers as they stand for a cart, which is nil if there is none.
func (s *server) evaluated(ctx context.Context, t *specialist.Turn, o offers, cart *cartv1.Cart) offers {
	o.cart, o.hasCart, o.basket, o.purchase = cart, cart != nil, engine.NewBasket(cart), nil
	o.Outcome = engine.Evaluate(o.promotions, o.basket, o.who, o.now)
	if o.hasCart && o.Combination == nil {
		o.purchase = s.cheapestPurchase(ctx, t.Scope.StoreID, o.Evaluations, engine.Situation{Cart: cart, Buyer: o.who, Now: o.now})
	}
	return o
}

// withCodes says what the cart costs with codes, of which each is entered if it applies beside those before it.
func (o offers) withCodes(codes []string) *codesResult {
	r := &codesResult{Entered: []string{}}
	outcome, who := o.Outcome, o.who
	for _, code := range codes {
		code = cleanCode(code)
		at := slices.IndexFunc(outcome.Evaluations, func(e *promotionv1.Evaluation) bool {
			return strings.EqualFold(e.GetPromotion().GetCode(), code)
		})
		switch {
		case at < 0:
			r.Refused = append(r.Refused, fmt.Sprintf("The store has no promotion with the code %q.", code))
		case !outcome.Evaluations[at].GetEligible():
			r.Refused = append(r.Refused, outcome.Evaluations[at].GetExplanation())
		default:
			r.Entered = append(r.Entered, outcome.Evaluations[at].GetPromotion().GetCode())
			who.Applied = r.Entered
			outcome = engine.Evaluate(o.promotions, o.basket, who, o.now)
		}
	}
	total := outcome.Total(o.basket, r.Entered)
	r.Total = money.Text(total)
	if total != nil {
		r.Saving = money.Text(&commonv1.Money{AmountMinor: o.basket.Subtotal().GetAmountMinor() - total.GetAmountMinor(), CurrencyCode: total.GetCurrencyCode()})
	}
	return r
}

// cleanCode returns a code without what models put around it.
func cleanCode(code string) string { return strings.Trim(strings.TrimSpace(code), `"'`) }

// cartOf returns the turn's cart; nil if there is none.
func (s *server) cartOf(ctx context.Context, t *specialist.Turn) (*cartv1.Cart, error) {
	switch {
	case !t.Scope.Allows(scope.ReadCarts):
		return nil, nil
	case t.Cart != nil || s.cart == nil:
		return t.Cart, nil
	case t.Scope.CartID != "":
		return cartclient.Read(ctx, s.cart, t.Scope.StoreID, t.Scope.CartID)
	}
	if none, err := cartclient.Lacking(ctx, s.cart, t.Scope.StoreID); err == nil && none {
		return nil, cartclient.NoCart(t.Scope.StoreID)
	}
	return nil, nil // what cannot be told is not lacking
}

// forModel logs the cause and returns an error text for the model, which must not see internals.
func (s *server) forModel(ctx context.Context, cause error, words string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.logger.WarnContext(ctx, "promotion tool failed", slog.Any("error", cause))
	return errors.New(words)
}

// listed leaves out what this shopper cannot use, unless its code is named: expired promotions, which are counted, promotions that
// others have used up, promotions for other customer groups, and promotions that start later than maxLeadTime. Promotions whose code is
// named come first, then those that the query is about, then eligible ones, then those that are nearest to applying.
func (o offers) listed(query string, codes []string) (shown []*promotionv1.Evaluation, expired int) {
	isNamed := func(e *promotionv1.Evaluation) bool {
		return named(o.asked, e.GetPromotion().GetCode()) || engine.ContainsCode(codes, e.GetPromotion().GetCode())
	}
	for _, e := range o.Evaluations {
		if isNamed(e) {
			shown = append(shown, e)
			continue
		}
		switch e.GetRefusalReason() {
		case promotionv1.RefusalReason_REFUSAL_REASON_EXPIRED:
			expired++
			continue
		case promotionv1.RefusalReason_REFUSAL_REASON_CUSTOMER_NOT_ELIGIBLE:
			continue
		case promotionv1.RefusalReason_REFUSAL_REASON_USED_UP:
			if !engine.UsedUpByCustomer(e.GetPromotion(), o.who) {
				continue
			}
		case promotionv1.RefusalReason_REFUSAL_REASON_NOT_STARTED:
			if e.GetPromotion().GetStartTime().AsTime().After(o.now.Add(maxLeadTime)) {
				continue
			}
		}
		shown = append(shown, e)
	}
	slices.SortStableFunc(shown, func(x, y *promotionv1.Evaluation) int {
		if x.GetEligible() || y.GetEligible() {
			return 0 // eligible ones are in front, in order
		}
		return engine.CompareDistance(x, y)
	})
	about := stemsOf(query)
	rank := func(e *promotionv1.Evaluation) int {
		switch {
		case isNamed(e):
			return 0
		case len(about) > 0 && about.shares(stemsOf(aboutText(e.GetPromotion()))):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(shown, func(x, y *promotionv1.Evaluation) int { return cmp.Compare(rank(x), rank(y)) })
	return shown, expired
}

// stems are the stems of a text's words of three letters or more.
type stems map[string]bool

func stemsOf(s string) stems {
	out := make(stems)
	for _, w := range text.Words(s) {
		if utf8.RuneCountInString(w.Text) >= 3 {
			out[text.Stem("en", text.Fold(w.Text))] = true
		}
	}
	return out
}

func (s stems) shares(other stems) bool {
	for stem := range s {
		if other[stem] {
			return true
		}
	}
	return false
}

// aboutText is what a promotion is about: the names of its items, its title and its terms.
func aboutText(p *promotionv1.Promotion) string {
	scope := p.GetScope()
	return strings.Join(slices.Concat(scope.GetCategories(), scope.GetBrands(), scope.GetProductIds(), []string{p.GetTitle(), p.GetDescription()}), " ")
}

// named reports whether a text names a code, in any case, as a word of its own.
func named(text, code string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
	return engine.ContainsCode(words, code)
}

// note says in a sentence or two what the list alone does not: that nothing applies, and what would.
func (o offers) note(shown []*promotionv1.Evaluation) string {
	switch {
	case len(shown) == 0:
		return "There are no promotions at the moment."
	case o.noCart:
		return "This store's carts cannot be seen here, so no saving can be computed; these are the offers of the store."
	case !o.hasCart:
		return "There is no cart yet, so no saving can be computed; these are the offers of the store."
	case o.basket.Empty():
		return strings.TrimSpace("The cart is empty, so no promotion applies yet; these are the offers of the store. " + purchaseSentence(o.purchase))
	case o.BestCode != "":
		return ""
	case o.purchase != nil:
		return "No promotion applies to this cart yet. " + purchaseSentence(o.purchase)
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

// purchaseSentence says in a sentence what to buy so that a promotion applies. Empty for nil.
func purchaseSentence(purchase *promotionv1.QualifyingPurchase) string {
	if purchase == nil {
		return ""
	}
	items := make([]string, len(purchase.GetItems()))
	for i, item := range purchase.GetItems() {
		items[i] = fmt.Sprintf("%d x %s", item.GetQuantity(), item.GetTitle())
	}
	gain := "it saves " + money.Text(purchase.GetSaving())
	if purchase.GetSaving().GetAmountMinor() == 0 {
		gain = "it applies"
	}
	return fmt.Sprintf("The cheapest way to qualify is %s: with %s for %s more in the cart, %s.",
		purchase.GetCode(), strings.Join(items, " and "), money.Text(purchase.GetCost()), gain)
}

// choices are what an answer may propose for today's cart: the codes that are worth it, the best combination, and what the shopper's
// codes come to together.
func (o offers) choices(asked []string) []*specialistv1.PromotionChoice {
	var all []*specialistv1.PromotionChoice
	add := func(codes ...string) {
		var set []*promotionv1.Evaluation
		for _, e := range o.Evaluations {
			if slices.Contains(codes, e.GetPromotion().GetCode()) && engine.WorthChoosing(e) {
				set = append(set, e)
			}
		}
		slices.SortStableFunc(set, func(x, y *promotionv1.Evaluation) int {
			return cmp.Compare(slices.Index(codes, x.GetPromotion().GetCode()), slices.Index(codes, y.GetPromotion().GetCode()))
		})
		if len(set) == 0 {
			return
		}
		p := &specialistv1.PromotionChoice{
			Code: set[0].GetPromotion().GetCode(), Title: set[0].GetPromotion().GetTitle(), Saving: engine.CombinedSaving(set, o.basket),
		}
		for _, e := range set[1:] {
			p.AlsoCodes = append(p.AlsoCodes, e.GetPromotion().GetCode())
		}
		all = append(all, p)
	}
	for _, e := range o.Evaluations {
		if e.GetEligible() {
			add(e.GetPromotion().GetCode())
		}
	}
	add(o.Combination.GetCodes()...)
	if len(asked) > 1 && o.hasCart {
		add(o.withCodes(asked).Entered...)
	}
	return all
}
