// Package orderstest makes orders for tests of the support service.
package orderstest

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
)

// Noon is the current time in tests.
var Noon = time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)

// DaysFromNow returns a time n days after Noon.
func DaysFromNow(n int) *timestamppb.Timestamp { return timestamppb.New(Noon.AddDate(0, 0, n)) }

// EUR returns an amount in euro cents.
func EUR(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

// Order returns a valid order that was placed some days before Noon, changed by the options.
func Order(id, customer string, daysAgo int, options ...func(*orderv1.Order)) *orderv1.Order {
	o := &orderv1.Order{
		OrderId: id, CustomerId: customer, Status: orderv1.OrderStatus_ORDER_STATUS_PROCESSING, CreateTime: DaysFromNow(-daysAgo),
		Items: []*orderv1.OrderItem{{
			ProductId: "boots", Title: "Nimbolt Walker", Quantity: 1, UnitPrice: EUR(14900), Options: map[string]string{"size": "42"},
		}},
		Subtotal: EUR(14900), Total: EUR(14900),
	}
	for _, option := range options {
		option(o)
	}
	return o
}

// In sets the status and the parcels of an order.
func In(status orderv1.OrderStatus, parcels ...*orderv1.Fulfilment) func(*orderv1.Order) {
	return func(o *orderv1.Order) { o.Status, o.Fulfilments = status, parcels }
}

// ReturnUntil sets the return deadline of an order.
func ReturnUntil(t *timestamppb.Timestamp) func(*orderv1.Order) {
	return func(o *orderv1.Order) { o.ReturnDeadline = t }
}

// KindName returns the name of an action without its prefix, such as "CANCEL".
func KindName(k orderv1.OrderActionKind) string {
	return strings.TrimPrefix(k.String(), "ORDER_ACTION_KIND_")
}

// Refused returns the reasons of refused actions by kind, both without prefix.
func Refused(a *orderv1.OrderActions) map[string]string {
	out := make(map[string]string)
	for _, r := range a.GetRefused() {
		out[KindName(r.GetKind())] = strings.TrimPrefix(r.GetReason().String(), "REFUSAL_REASON_")
	}
	return out
}

// Units returns units of items: item, quantity, item, quantity ...
func Units(of ...int32) []*orderv1.ItemQuantity {
	var out []*orderv1.ItemQuantity
	for i := 0; i < len(of); i += 2 {
		out = append(out, &orderv1.ItemQuantity{ItemIndex: of[i], Quantity: of[i+1]})
	}
	return out
}

// TwoItems makes an order one of three boots and one pair of socks.
func TwoItems(o *orderv1.Order) {
	o.Items[0].Quantity = 3
	o.Items = append(o.Items, &orderv1.OrderItem{ProductId: "socks", Title: "Rib socks", Quantity: 1, UnitPrice: EUR(900)})
}

// Days returns a duration of n days.
func Days(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * 24 * time.Hour) }
