package engine

import (
	"math"

	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Limits of one promotion and of an inline cart.
const (
	maxListEntries  = 1_000
	maxUnits        = 1_000
	maxTiers        = 50
	maxCartItems    = 200
	maxCartQuantity = 999
)

// Check reports every violation of one promotion as a *fault.Invalid.
func Check(p *promotionv1.Promotion) error {
	var c fault.Checker
	CheckCode(&c, "code", p.GetCode())
	c.Text("title", p.GetTitle(), 1, 200)
	c.Text("description", p.GetDescription(), 0, 2_000)
	checkBenefit(&c, p)
	checkScope(&c, p.GetScope())
	c.Money("minimum_subtotal", p.GetMinimumSubtotal(), false)
	c.Range("minimum_quantity", int64(p.GetMinimumQuantity()), 0, 100_000)
	checkPeriod(&c, p)
	CheckList(&c, "customer_groups", p.GetCustomerGroups(), c.ID)
	c.Range("usage_limit", int64(p.GetUsageLimit()), 0, math.MaxInt32)
	c.Range("usage_limit_per_customer", int64(p.GetUsageLimitPerCustomer()), 0, math.MaxInt32)
	CheckList(&c, "excluded_codes", p.GetExcludedCodes(), func(field, code string) { CheckCode(&c, field, code) })
	if len(p.GetExcludedCodes()) <= maxListEntries && ContainsCode(p.GetExcludedCodes(), p.GetCode()) {
		c.Addf("excluded_codes", "must not name the promotion itself")
	}
	checkOneCurrency(&c, p)
	return c.Err()
}

// CheckCode requires a code of 2 to 40 characters.
func CheckCode(c *fault.Checker, field, code string) {
	if !validCode(code) {
		c.Addf(field, "must be 2 to 40 characters of A-Z a-z 0-9 _ -")
	}
}

func validCode(code string) bool {
	if len(code) < 2 || len(code) > 40 {
		return false
	}
	for i := range len(code) {
		switch b := code[i]; {
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '_', b == '-':
		default:
			return false
		}
	}
	return true
}

func checkBenefit(c *fault.Checker, p *promotionv1.Promotion) {
	switch benefit := p.GetBenefit().(type) {
	case nil:
		c.Addf("benefit", "is required: one of percent_off, amount_off, buy_x_get_y, free_shipping, tiered, bundle")
	case *promotionv1.Promotion_PercentOff:
		c.Range("percent_off.basis_points", int64(benefit.PercentOff.GetBasisPoints()), 1, fullShare)
		c.Money("percent_off.maximum_saving", benefit.PercentOff.GetMaximumSaving(), false)
	case *promotionv1.Promotion_AmountOff:
		c.Money("amount_off.amount", benefit.AmountOff.GetAmount(), true)
		if m := benefit.AmountOff.GetAmount(); m != nil && m.GetAmountMinor() == 0 {
			c.Addf("amount_off.amount.amount_minor", "must be above zero")
		}
	case *promotionv1.Promotion_BuyXGetY:
		c.Range("buy_x_get_y.buy_quantity", int64(benefit.BuyXGetY.GetBuyQuantity()), 1, maxUnits)
		c.Range("buy_x_get_y.get_quantity", int64(benefit.BuyXGetY.GetGetQuantity()), 1, maxUnits)
	case *promotionv1.Promotion_FreeShipping:
		c.Money("free_shipping.fee", benefit.FreeShipping.GetFee(), false)
		c.Money("free_shipping.free_from", benefit.FreeShipping.GetFreeFrom(), false)
		if m := benefit.FreeShipping.GetFreeFrom(); m != nil && m.GetAmountMinor() == 0 {
			c.Addf("free_shipping.free_from.amount_minor", "must be above zero")
		}
	case *promotionv1.Promotion_Tiered:
		checkTiers(c, benefit.Tiered.GetTiers())
	case *promotionv1.Promotion_Bundle:
		checkBundle(c, benefit.Bundle)
	}
}

func checkTiers(c *fault.Checker, tiers []*promotionv1.Tier) {
	if len(tiers) == 0 || len(tiers) > maxTiers {
		c.Addf("tiered.tiers", "has %d entries, must have 1 to %d", len(tiers), maxTiers)
		return
	}
	for i, t := range tiers {
		field := fault.At("tiered.tiers", i)
		c.Money(field+".subtotal", t.GetSubtotal(), true)
		c.Range(field+".basis_points", int64(t.GetBasisPoints()), 1, fullShare)
		if i > 0 && t.GetSubtotal().GetAmountMinor() <= tiers[i-1].GetSubtotal().GetAmountMinor() {
			c.Addf(field+".subtotal.amount_minor", "must be above the subtotal of the tier before")
		}
	}
}

func checkBundle(c *fault.Checker, b *promotionv1.Bundle) {
	const field = "bundle.product_ids"
	if !CheckList(c, field, b.GetProductIds(), c.ID) {
		return
	}
	seen := make(map[string]bool, len(b.GetProductIds()))
	for i, id := range b.GetProductIds() {
		if seen[id] {
			c.Addf(fault.At(field, i), "is named twice")
		}
		seen[id] = true
	}
	if len(seen) < 2 {
		c.Addf(field, "must name 2 products or more")
	}
	c.Money("bundle.price", b.GetPrice(), true)
}

func checkScope(c *fault.Checker, s *promotionv1.Scope) {
	name := func(field, value string) { c.Text(field, value, 1, 200) }
	CheckList(c, "scope.product_ids", s.GetProductIds(), c.ID)
	CheckList(c, "scope.categories", s.GetCategories(), name)
	CheckList(c, "scope.brands", s.GetBrands(), name)
	CheckList(c, "scope.exclude_product_ids", s.GetExcludeProductIds(), c.ID)
}

// CheckList checks each value of a list, which has at most 1,000 entries. If there are more, it looks at none and returns false.
func CheckList(c *fault.Checker, field string, values []string, check func(field, value string)) bool {
	if !c.Count(field, len(values), maxListEntries) {
		return false
	}
	for i, v := range values {
		check(fault.At(field, i), v)
	}
	return true
}

func checkPeriod(c *fault.Checker, p *promotionv1.Promotion) {
	CheckTime(c, "start_time", p.GetStartTime())
	CheckTime(c, "end_time", p.GetEndTime())
	start, end := p.GetStartTime(), p.GetEndTime()
	if start.CheckValid() == nil && end.CheckValid() == nil && !end.AsTime().After(start.AsTime()) {
		c.Addf("end_time", "must be after start_time")
	}
}

// CheckTime accepts nil or a valid timestamp.
func CheckTime(c *fault.Checker, field string, t *timestamppb.Timestamp) {
	if t != nil && t.CheckValid() != nil {
		c.Addf(field, "must be a valid timestamp")
	}
}

func checkOneCurrency(c *fault.Checker, p *promotionv1.Promotion) {
	all := amounts(p)
	for i, a := range all {
		if first := all[0]; i > 0 && a.money.GetCurrencyCode() != first.money.GetCurrencyCode() {
			c.Addf(a.field+".currency_code", "must be the same as in %s", first.field)
		}
	}
}

// CheckCart checks a cart that a caller gave. Identifiers and the subtotal are not used, so not checked.
func CheckCart(c *fault.Checker, cart *cartv1.Cart) {
	if !c.Count("cart.items", len(cart.GetItems()), maxCartItems) {
		return
	}
	var code string
	for i, item := range cart.GetItems() {
		field := fault.At("cart.items", i)
		c.ID(field+".product_id", item.GetProductId())
		c.Range(field+".quantity", int64(item.GetQuantity()), 1, maxCartQuantity)
		c.Money(field+".unit_price", item.GetUnitPrice(), item.GetAvailable())
		switch got := item.GetUnitPrice().GetCurrencyCode(); {
		case code == "":
			code = got
		case got != "" && got != code:
			c.Addf(field+".unit_price.currency_code", "must be that of the items before")
		}
	}
}
