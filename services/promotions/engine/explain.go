package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// explain describes a verdict in one sentence for a shopper.
func explain(e *promotionv1.Evaluation, who Buyer) string {
	code := e.GetPromotion().GetCode()
	if e.GetRefusalReason() == promotionv1.RefusalReason_REFUSAL_REASON_USED_UP && UsedUpByCustomer(e.GetPromotion(), who) {
		return fmt.Sprintf("%s does not apply: the customer has used it already.", code)
	}
	if !e.GetEligible() {
		return fmt.Sprintf("%s does not apply: %s.", code, refusalText(e))
	}
	sentence := fmt.Sprintf("%s applies: %s", code, Offer(e.GetPromotion()))
	if e.GetPromotion().GetFreeShipping() != nil && e.GetSaving().GetAmountMinor() == 0 {
		return sentence + "."
	}
	return fmt.Sprintf("%s, which saves %s on this cart.", sentence, money.Text(e.GetSaving()))
}

// refusalText returns why a promotion does not apply, in words that follow a colon.
func refusalText(e *promotionv1.Evaluation) string {
	p := e.GetPromotion()
	items := scopeText(p.GetScope())
	switch e.GetRefusalReason() {
	case promotionv1.RefusalReason_REFUSAL_REASON_EXPIRED:
		return "it ended on " + Day(LastDay(p))
	case promotionv1.RefusalReason_REFUSAL_REASON_NOT_STARTED:
		return "it starts on " + Day(p.GetStartTime().AsTime())
	case promotionv1.RefusalReason_REFUSAL_REASON_MINIMUM_NOT_MET:
		return fmt.Sprintf("add %s of %s", money.Text(e.GetMissingAmount()), items)
	case promotionv1.RefusalReason_REFUSAL_REASON_QUANTITY_NOT_MET:
		if p.GetBundle() != nil {
			return fmt.Sprintf("add %s of the set", text.Count(int(e.GetMissingQuantity()), "more product"))
		}
		return fmt.Sprintf("add %s of %s", text.Count(int(e.GetMissingQuantity()), "more unit"), items)
	case promotionv1.RefusalReason_REFUSAL_REASON_WRONG_ITEMS:
		if p.GetBundle() != nil {
			return "the cart has nothing of the set"
		}
		if namesNothing(p.GetScope()) {
			return "the items in the cart are excluded from it"
		}
		return fmt.Sprintf("it is for %s, and the cart has none", items)
	case promotionv1.RefusalReason_REFUSAL_REASON_CUSTOMER_NOT_ELIGIBLE:
		return "it is for certain customers only"
	case promotionv1.RefusalReason_REFUSAL_REASON_SIGN_IN_NEEDED:
		if len(p.GetCustomerGroups()) == 0 {
			return "each customer may use it only so often, and the shopper is not signed in"
		}
		return "it is for certain customers, and the shopper is not signed in"
	case promotionv1.RefusalReason_REFUSAL_REASON_CURRENCY:
		return "its amounts are in another currency than the cart"
	case promotionv1.RefusalReason_REFUSAL_REASON_EMPTY_CART:
		return "the cart is empty"
	case promotionv1.RefusalReason_REFUSAL_REASON_NOT_COMBINABLE:
		return "it cannot be combined with " + strings.Join(e.GetConflictingCodes(), " and ")
	case promotionv1.RefusalReason_REFUSAL_REASON_USED_UP:
		return "it was used as often as it may be"
	case promotionv1.RefusalReason_REFUSAL_REASON_DELIVERY_FREE:
		return "delivery of this cart is free without it"
	}
	return "it cannot be used on this cart"
}

// Offer describes the benefit and the conditions of a promotion.
func Offer(p *promotionv1.Promotion) string {
	words := benefitText(p, scopeText(p.GetScope()))
	var conditions []string
	if m := p.GetMinimumSubtotal(); m.GetAmountMinor() > 0 {
		conditions = append(conditions, "from "+money.Text(m))
	}
	if n := p.GetMinimumQuantity(); n > 1 {
		conditions = append(conditions, "from "+text.Count(int(n), "unit"))
	}
	if len(p.GetScope().GetExcludeProductIds()) > 0 {
		conditions = append(conditions, "some products excluded")
	}
	if len(p.GetCustomerGroups()) > 0 {
		conditions = append(conditions, "for certain customers only")
	}
	if len(conditions) > 0 {
		words += " (" + strings.Join(conditions, ", ") + ")"
	}
	return words
}

func benefitText(p *promotionv1.Promotion, items string) string {
	switch benefit := p.GetBenefit().(type) {
	case *promotionv1.Promotion_PercentOff:
		words := fmt.Sprintf("%s off %s", percentText(benefit.PercentOff.GetBasisPoints()), items)
		if limit := benefit.PercentOff.GetMaximumSaving(); limit != nil {
			words += ", at most " + money.Text(limit)
		}
		return words
	case *promotionv1.Promotion_AmountOff:
		return fmt.Sprintf("%s off %s", money.Text(benefit.AmountOff.GetAmount()), items)
	case *promotionv1.Promotion_BuyXGetY:
		x := benefit.BuyXGetY
		return fmt.Sprintf("buy %d of %s, get %d free", x.GetBuyQuantity(), items, x.GetGetQuantity())
	case *promotionv1.Promotion_FreeShipping:
		if namesNothing(p.GetScope()) {
			return "free shipping"
		}
		return "free shipping with " + items
	case *promotionv1.Promotion_Tiered:
		words := make([]string, len(benefit.Tiered.GetTiers()))
		for i, t := range benefit.Tiered.GetTiers() {
			words[i] = fmt.Sprintf("%s off %s from %s", percentText(t.GetBasisPoints()), items, money.Text(t.GetSubtotal()))
			items = "them"
		}
		return strings.Join(words, ", ")
	case *promotionv1.Promotion_Bundle:
		set := benefit.Bundle
		return fmt.Sprintf("a set of %d products for %s", len(set.GetProductIds()), money.Text(set.GetPrice()))
	}
	return "an offer"
}

// scopeText names the items that qualify.
func scopeText(s *promotionv1.Scope) string {
	if namesNothing(s) {
		return "any items"
	}
	words := append([]string(nil), s.GetCategories()...)
	for _, brand := range s.GetBrands() {
		words = append(words, brand+" products")
	}
	if len(s.GetProductIds()) > 0 {
		words = append(words, "selected products")
	}
	return strings.Join(words, " or ")
}

// percentText formats 1250 basis points as "12.5%".
func percentText(basisPoints int32) string {
	return strconv.FormatFloat(float64(basisPoints)/100, 'f', -1, 64) + "%"
}

// LastDay returns the last instant at which a promotion applies. A promotion that ends at midnight ends on the day before.
func LastDay(p *promotionv1.Promotion) time.Time {
	return p.GetEndTime().AsTime().Add(-time.Nanosecond)
}

// Day formats a date in UTC, such as "3 March 2026".
func Day(t time.Time) string { return t.UTC().Format("2 January 2006") }
