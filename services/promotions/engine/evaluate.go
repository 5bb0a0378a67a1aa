// Package engine computes what a store's promotions are worth to a cart: which apply, what they save alone and together, what
// is missing, and the cheapest purchase that makes one apply. It computes with integers in minor units only.
//
// It holds no state and must not import Redis, a model or a service. It reads the catalog only to find the cheapest purchase.
package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Buyer is what promotions need to know about the customer. The zero value is a guest.
type Buyer struct {
	SignedIn bool
	ID       string // empty when the caller did not say who has signed in
	Groups   []string
	Applied  []string       // codes that are applied to the cart
	Used     map[string]Use // by upper-case code; a missing code was never used
}

// hasApplied reports whether a promotion's code is on the cart already.
func (w Buyer) hasApplied(p *promotionv1.Promotion) bool { return ContainsCode(w.Applied, p.GetCode()) }

// Use is how often a promotion was used: by all customers, and by this customer.
type Use struct {
	All, Own int64
}

// Basket is the part of a cart that promotions can apply to. It caches intermediate results, so it is not safe for concurrent
// use.
type Basket struct {
	currency string
	lines    []line                             // by price, the cheapest first
	counting map[*promotionv1.Promotion][]*line // results of qualifying
}

// NewBasket returns the basket of a cart. It leaves out items that are not available, and items in another currency than the
// cart.
func NewBasket(cart *cartv1.Cart) Basket {
	b := Basket{currency: cart.GetSubtotal().GetCurrencyCode(), counting: make(map[*promotionv1.Promotion][]*line)}
	for _, item := range cart.GetItems() {
		price := item.GetUnitPrice()
		if !item.GetAvailable() || price == nil || price.GetAmountMinor() < 0 || item.GetQuantity() < 1 {
			continue
		}
		if b.currency == "" {
			b.currency = price.GetCurrencyCode()
		}
		if price.GetCurrencyCode() == b.currency {
			b.lines = append(b.lines, newLine(item))
		}
	}
	// A fixed order, so that the order of a cart's items changes no amount.
	slices.SortFunc(b.lines, func(x, y line) int {
		return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.productID, y.productID), cmp.Compare(x.quantity, y.quantity))
	})
	for i := range b.lines {
		b.lines[i].at = i
	}
	return b
}

// Empty reports whether the basket has no items.
func (b Basket) Empty() bool { return len(b.lines) == 0 }

// Subtotal returns the sum of the basket's items; nil when it is empty.
func (b Basket) Subtotal() *commonv1.Money {
	if len(b.lines) == 0 {
		return nil
	}
	var sum int64
	for i := range b.lines {
		sum = add(sum, b.lines[i].total())
	}
	return b.money(sum)
}

func (b Basket) money(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: b.currency}
}

// Outcome is what a store's promotions are worth to a cart.
type Outcome struct {
	Evaluations []*promotionv1.Evaluation // eligible ones first, the largest saving first, then by code
	BestCode    string                    // of the best promotion that is not applied yet; "" when there is none
	Combination *promotionv1.Combination  // the best combination, regardless of applied codes; nil when no code is worth entering
}

// Evaluate returns the verdict of every promotion on a basket, the best code and the best combination.
func Evaluate(promotions []*promotionv1.Promotion, b Basket, who Buyer, now time.Time) Outcome {
	evaluations := make([]*promotionv1.Evaluation, len(promotions))
	for i, p := range promotions {
		evaluations[i] = verdict(p, b, who, now)
	}
	o := Outcome{Evaluations: evaluations, Combination: combine(evaluations, b)}
	refuseConflicts(evaluations, who)
	slices.SortFunc(evaluations, func(x, y *promotionv1.Evaluation) int {
		if x.GetEligible() != y.GetEligible() {
			if x.GetEligible() {
				return -1
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(y.GetSaving().GetAmountMinor(), x.GetSaving().GetAmountMinor()),
			CompareCodes(x.GetPromotion(), y.GetPromotion()))
	})
	next := bestOf(evaluations, func(e *promotionv1.Evaluation) bool { return !who.hasApplied(e.GetPromotion()) })
	o.BestCode = next.GetPromotion().GetCode()
	return o
}

// bestOf returns the promotion with the largest saving above zero of those that pass, or else free shipping. Ties go to the
// earlier end, then to the code. Nil: none is worth choosing.
func bestOf(evaluations []*promotionv1.Evaluation, pass func(*promotionv1.Evaluation) bool) *promotionv1.Evaluation {
	var best *promotionv1.Evaluation
	for _, e := range evaluations {
		if WorthChoosing(e) && pass(e) && (best == nil || compareValue(e, best) < 0) {
			best = e
		}
	}
	return best
}

// WorthChoosing reports whether entering the code gives the shopper anything.
func WorthChoosing(e *promotionv1.Evaluation) bool {
	return e.GetEligible() && (e.GetSaving().GetAmountMinor() > 0 || e.GetPromotion().GetFreeShipping() != nil)
}

func compareValue(x, y *promotionv1.Evaluation) int {
	return cmp.Or(
		cmp.Compare(y.GetSaving().GetAmountMinor(), x.GetSaving().GetAmountMinor()),
		endOf(x.GetPromotion()).Compare(endOf(y.GetPromotion())),
		CompareCodes(x.GetPromotion(), y.GetPromotion()))
}

// CompareCodes orders promotions by code, ignoring case.
func CompareCodes(x, y *promotionv1.Promotion) int {
	return cmp.Compare(strings.ToUpper(x.GetCode()), strings.ToUpper(y.GetCode()))
}

// endOf returns when a promotion ends. A promotion without an end ends after all others: timestamps stop at the year 9999.
func endOf(p *promotionv1.Promotion) time.Time {
	if p.GetEndTime() == nil {
		return time.Date(10_000, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return p.GetEndTime().AsTime()
}

// usedUp reports whether a promotion has reached one of its limits.
func usedUp(p *promotionv1.Promotion, who Buyer) bool {
	used := who.Used[strings.ToUpper(p.GetCode())]
	return p.GetUsageLimit() > 0 && used.All >= int64(p.GetUsageLimit()) || UsedUpByCustomer(p, who)
}

// UsedUpByCustomer reports whether the customer has used a promotion as often as one customer may.
func UsedUpByCustomer(p *promotionv1.Promotion, who Buyer) bool {
	limit := int64(p.GetUsageLimitPerCustomer())
	return limit > 0 && who.Used[strings.ToUpper(p.GetCode())].Own >= limit
}

// verdict evaluates one promotion by itself. Of several reasons against it, it gives the one that the shopper can change least:
// dates, then the customer, then usage limits, then the cart.
func verdict(p *promotionv1.Promotion, b Basket, who Buyer, now time.Time) *promotionv1.Evaluation {
	e := &promotionv1.Evaluation{Promotion: p}
	if reason := refusal(p, b, who, now); reason != promotionv1.RefusalReason_REFUSAL_REASON_UNSPECIFIED {
		e.RefusalReason = reason
	} else {
		assess(e, b)
	}
	e.Explanation = explain(e, who)
	return e
}

// refusal returns the reason against a promotion that does not depend on the qualifying items, or UNSPECIFIED.
func refusal(p *promotionv1.Promotion, b Basket, who Buyer, now time.Time) promotionv1.RefusalReason {
	switch {
	case p.GetEndTime() != nil && !now.Before(p.GetEndTime().AsTime()):
		return promotionv1.RefusalReason_REFUSAL_REASON_EXPIRED
	case p.GetStartTime() != nil && now.Before(p.GetStartTime().AsTime()):
		return promotionv1.RefusalReason_REFUSAL_REASON_NOT_STARTED
	case len(p.GetCustomerGroups()) > 0 && !who.SignedIn, p.GetUsageLimitPerCustomer() > 0 && who.ID == "":
		return promotionv1.RefusalReason_REFUSAL_REASON_SIGN_IN_NEEDED
	case len(p.GetCustomerGroups()) > 0 && !overlap(p.GetCustomerGroups(), who.Groups):
		return promotionv1.RefusalReason_REFUSAL_REASON_CUSTOMER_NOT_ELIGIBLE
	case usedUp(p, who):
		return promotionv1.RefusalReason_REFUSAL_REASON_USED_UP
	case len(b.lines) == 0:
		return promotionv1.RefusalReason_REFUSAL_REASON_EMPTY_CART
	case inOtherCurrency(p, b.currency):
		return promotionv1.RefusalReason_REFUSAL_REASON_CURRENCY
	}
	return promotionv1.RefusalReason_REFUSAL_REASON_UNSPECIFIED
}

// assess compares the qualifying items with the promotion's requirements, and sets the saving or what is missing.
func assess(e *promotionv1.Evaluation, b Basket) {
	p := e.GetPromotion()
	lines := qualifying(p, b)
	if len(lines) == 0 {
		e.RefusalReason = promotionv1.RefusalReason_REFUSAL_REASON_WRONG_ITEMS
		return
	}
	sum, units := totals(lines)
	leastSum, leastUnits := requirements(p)
	if sum < leastSum {
		e.RefusalReason = promotionv1.RefusalReason_REFUSAL_REASON_MINIMUM_NOT_MET
		e.MissingAmount = b.money(leastSum - sum)
		return
	}
	missing := max(leastUnits-units, missingParts(p.GetBundle(), lines))
	if missing > 0 {
		e.RefusalReason = promotionv1.RefusalReason_REFUSAL_REASON_QUANTITY_NOT_MET
		e.MissingQuantity = int32(min(missing, math.MaxInt32))
		return
	}
	if from := p.GetFreeShipping().GetFreeFrom(); from != nil && b.Subtotal().GetAmountMinor() >= from.GetAmountMinor() {
		e.RefusalReason = promotionv1.RefusalReason_REFUSAL_REASON_DELIVERY_FREE
		return
	}
	e.Eligible = true
	e.Saving = b.money(saving(p, lines, sum))
}

// requirements returns the minimum sum and the minimum number of qualifying units, including those of the benefit: the first
// tier, or one full group of buy and get.
func requirements(p *promotionv1.Promotion) (sum, units int64) {
	sum = p.GetMinimumSubtotal().GetAmountMinor()
	units = int64(p.GetMinimumQuantity())
	if tiers := p.GetTiered().GetTiers(); len(tiers) > 0 {
		first := tiers[0].GetSubtotal().GetAmountMinor()
		for _, t := range tiers[1:] {
			first = min(first, t.GetSubtotal().GetAmountMinor())
		}
		sum = max(sum, first)
	}
	if x := p.GetBuyXGetY(); x != nil {
		units = max(units, int64(x.GetBuyQuantity())+int64(x.GetGetQuantity()))
	}
	return sum, units
}

// amounts returns every amount that a promotion names, with its field path.
func amounts(p *promotionv1.Promotion) []namedAmount {
	var all []namedAmount
	add := func(field string, m *commonv1.Money) {
		if m != nil {
			all = append(all, namedAmount{field, m})
		}
	}
	add("minimum_subtotal", p.GetMinimumSubtotal())
	add("percent_off.maximum_saving", p.GetPercentOff().GetMaximumSaving())
	add("amount_off.amount", p.GetAmountOff().GetAmount())
	add("free_shipping.fee", p.GetFreeShipping().GetFee())
	add("free_shipping.free_from", p.GetFreeShipping().GetFreeFrom())
	add("bundle.price", p.GetBundle().GetPrice())
	for i, t := range p.GetTiered().GetTiers() {
		add(fault.At("tiered.tiers", i)+".subtotal", t.GetSubtotal())
	}
	return all
}

type namedAmount struct {
	field string
	money *commonv1.Money
}

func inOtherCurrency(p *promotionv1.Promotion, currency string) bool {
	return slices.ContainsFunc(amounts(p), func(a namedAmount) bool { return a.money.GetCurrencyCode() != currency })
}

func overlap(x, y []string) bool {
	return slices.ContainsFunc(x, func(s string) bool { return slices.Contains(y, s) })
}

// CompareDistance orders refused promotions by what is missing: an amount first, then units, then anything else.
func CompareDistance(x, y *promotionv1.Evaluation) int {
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
		CompareCodes(x.GetPromotion(), y.GetPromotion()))
}
