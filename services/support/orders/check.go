package orders

import (
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Limits of one order.
const (
	maxOrderItems    = 1_000
	maxFulfilments   = 100
	maxStatusChanges = 100
	maxOptions       = 50
	maxOrderQuantity = 1_000_000
	maxReturns       = 100
)

// Check reports every violation of one order as a *fault.Invalid. It does not add the order up: fees and taxes
// differ between stores, so the amounts of the order system count.
func Check(o *orderv1.Order) error {
	var c fault.Checker
	c.ID("order_id", o.GetOrderId())
	c.ID("customer_id", o.GetCustomerId())
	checkStatus(&c, "status", o.GetStatus())
	if o.GetCreateTime() == nil {
		c.Addf("create_time", "is required")
	}
	checkTime(&c, "create_time", o.GetCreateTime())
	checkTime(&c, "return_deadline", o.GetReturnDeadline())
	c.Text("payment_kind", o.GetPaymentKind(), 0, 100)
	c.Text("email", o.GetEmail(), 0, MaxProof)
	c.Text("postal_code", o.GetPostalCode(), 0, MaxProof)
	checkItems(&c, o.GetItems())
	checkAmounts(&c, o)
	checkFulfilments(&c, o)
	checkReturns(&c, o)
	if !c.Count("history", len(o.GetHistory()), maxStatusChanges) {
		return c.Err()
	}
	for i, h := range o.GetHistory() {
		checkStatus(&c, fault.At("history", i)+".status", h.GetStatus())
		checkTime(&c, fault.At("history", i)+".time", h.GetTime())
	}
	return c.Err()
}

func checkStatus(c *fault.Checker, field string, status orderv1.OrderStatus) {
	if _, known := orderv1.OrderStatus_name[int32(status)]; !known || status == orderv1.OrderStatus_ORDER_STATUS_UNSPECIFIED {
		c.Addf(field, "must be a status of an order")
	}
}

func checkItems(c *fault.Checker, items []*orderv1.OrderItem) {
	if n := len(items); n < 1 || n > maxOrderItems {
		c.Addf("items", "has %d entries, must have 1 to %d", n, maxOrderItems)
		return
	}
	for i, item := range items {
		field := fault.At("items", i)
		c.ID(field+".product_id", item.GetProductId())
		c.OptionalID(field+".variant_id", item.GetVariantId())
		c.Text(field+".title", item.GetTitle(), 1, 500)
		c.Range(field+".quantity", int64(item.GetQuantity()), 1, maxOrderQuantity)
		c.Count(field+".options", len(item.GetOptions()), maxOptions)
	}
}

// checkAmounts checks every amount, and that all are in one currency and the discount is not more than there is to pay.
func checkAmounts(c *fault.Checker, o *orderv1.Order) {
	currency := o.GetTotal().GetCurrencyCode()
	check := func(field string, m *commonv1.Money, required bool) {
		c.Money(field, m, required)
		if m != nil && currency != "" && m.GetCurrencyCode() != currency {
			c.Addf(field+".currency_code", "must be that of total")
		}
	}
	check("total", o.GetTotal(), true)
	check("subtotal", o.GetSubtotal(), true)
	check("discount", o.GetDiscount(), false)
	check("shipping", o.GetShipping(), false)
	for i, item := range o.GetItems()[:min(len(o.GetItems()), maxOrderItems)] {
		check(fault.At("items", i)+".unit_price", item.GetUnitPrice(), true)
	}
	if o.GetDiscount().GetAmountMinor()-o.GetShipping().GetAmountMinor() > o.GetSubtotal().GetAmountMinor() {
		c.Addf("discount.amount_minor", "must be at most subtotal and shipping together")
	}
}

func checkFulfilments(c *fault.Checker, o *orderv1.Order) {
	parcels := o.GetFulfilments()
	if !c.Count("fulfilments", len(parcels), maxFulfilments) {
		return
	}
	for i, p := range parcels {
		field := fault.At("fulfilments", i)
		c.Text(field+".carrier", p.GetCarrier(), 0, 100)
		c.Text(field+".tracking_number", p.GetTrackingNumber(), 0, 100)
		c.URL(field+".tracking_url", p.GetTrackingUrl())
		checkTime(c, field+".ship_time", p.GetShipTime())
		checkTime(c, field+".estimated_delivery_time", p.GetEstimatedDeliveryTime())
		checkTime(c, field+".delivery_time", p.GetDeliveryTime())
		checkUnits(c, field+".items", p.GetItems(), o)
	}
}

func checkReturns(c *fault.Checker, o *orderv1.Order) {
	if !c.Count("returns", len(o.GetReturns()), maxReturns) {
		return
	}
	for i, r := range o.GetReturns() {
		field := fault.At("returns", i)
		c.OptionalID(field+".return_id", r.GetReturnId())
		if _, known := orderv1.ReturnStatus_name[int32(r.GetStatus())]; !known || r.GetStatus() == orderv1.ReturnStatus_RETURN_STATUS_UNSPECIFIED {
			c.Addf(field+".status", "must be a status of a return")
		}
		checkTime(c, field+".request_time", r.GetRequestTime())
		checkUnits(c, field+".items", r.GetItems(), o)
		c.Money(field+".refund", r.GetRefund(), false)
		if m := r.GetRefund(); m != nil && m.GetCurrencyCode() != o.GetTotal().GetCurrencyCode() {
			c.Addf(field+".refund.currency_code", "must be that of total")
		}
	}
}

// checkUnits accepts units of items that the order has, and not more of one than it has.
func checkUnits(c *fault.Checker, field string, units []*orderv1.ItemQuantity, o *orderv1.Order) {
	if !c.Count(field, len(units), maxOrderItems) {
		return
	}
	for i, u := range units {
		at := u.GetItemIndex()
		if at < 0 || int(at) >= len(o.GetItems()) {
			c.Addf(fault.At(field, i)+".item_index", "is %d, must be the position of an item", at)
			continue
		}
		c.Range(fault.At(field, i)+".quantity", int64(u.GetQuantity()), 1, int64(o.GetItems()[at].GetQuantity()))
	}
}

func checkTime(c *fault.Checker, field string, t *timestamppb.Timestamp) {
	if t != nil && t.CheckValid() != nil {
		c.Addf(field, "must be a valid timestamp")
	}
}

// Limits of a store's settings.
const (
	maxRules    = 20
	maxLabels   = 20
	maxLabel    = 200 // characters
	maxExcluded = 1_000
	// maxCondition is in characters.
	maxCondition = 300
)

// CheckSettings reports every violation of a store's settings. It refuses rules that no order could meet, and a second rule
// for the same orders, since it could not be told which of the two counts.
func CheckSettings(c *fault.Checker, settings *orderv1.OrderSettings) {
	if !c.Count("settings.rules", len(settings.GetRules()), maxRules) {
		return
	}
	type covered struct {
		kind   orderv1.OrderActionKind
		status orderv1.OrderStatus
	}
	seen := make(map[covered]bool)
	for i, rule := range settings.GetRules() {
		field := fault.At("settings.rules", i)
		if !slices.Contains(Kinds, rule.GetKind()) {
			c.Addf(field+".kind", "must be a kind of action")
			continue
		}
		checkRule(c, field, rule)
		for _, status := range statusesOf(rule) {
			if !slices.Contains(possible(rule.GetKind()), status) {
				c.Addf(field+".statuses", "%s is not possible for an order of %s", rule.GetKind(), status)
			}
			if at := (covered{rule.GetKind(), status}); seen[at] {
				c.Addf(field+".statuses", "%s of an order of %s has a rule before", rule.GetKind(), status)
			} else {
				seen[at] = true
			}
		}
	}
}

func checkRule(c *fault.Checker, field string, rule *orderv1.OrderRule) {
	if w := rule.GetWindow(); w != nil && (w.CheckValid() != nil || w.AsDuration() <= 0) {
		c.Addf(field+".window", "must be more than nothing, or absent")
	}
	for name, labels := range map[string][]string{"reasons": rule.GetReasons(), "refund_methods": rule.GetRefundMethods()} {
		if !c.Count(field+"."+name, len(labels), maxLabels) {
			continue
		}
		for i, label := range labels {
			c.Text(fault.At(field+"."+name, i), label, 1, maxLabel)
		}
	}
	c.Text(field+".condition", rule.GetCondition(), 0, maxCondition)
	if !c.Count(field+".excluded_product_ids", len(rule.GetExcludedProductIds()), maxExcluded) {
		return
	}
	for i, id := range rule.GetExcludedProductIds() {
		c.ID(fault.At(field+".excluded_product_ids", i), id)
	}
}
