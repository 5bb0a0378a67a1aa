package specialist

import (
	"fmt"
	"slices"
	"strings"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/mention"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// foundOrder is an order that a tool has found, with its possible actions.
type foundOrder struct {
	order   *orderv1.Order
	actions *orderv1.OrderActions
}

// setOrders gives an answer the orders that its text names, by their ids or items, or else the last one found; and the actions but
// those for another order. It needs the lock.
func (f *Findings) setOrders(a *specialistv1.Answer) {
	named := f.namedOrders(a.GetText())
	for i, o := range named {
		if i == len(named)-1 {
			a.Order, a.OrderActions = o.order, o.actions
			break
		}
		a.OtherOrders, a.OtherOrderActions = append(a.OtherOrders, o.order), append(a.OtherOrderActions, o.actions)
	}
	for _, s := range f.actions {
		id := s.GetStartReturn().GetOrderId() + s.GetChangeOrder().GetOrderId() // an action is one of the two
		if id == "" || slices.ContainsFunc(named, func(o foundOrder) bool { return o.order.GetOrderId() == id }) {
			a.SuggestedActions = append(a.SuggestedActions, s)
		}
	}
}

// namedOrders returns the orders that a text names, or else the last one found.
func (f *Findings) namedOrders(answer string) []foundOrder {
	if len(f.orders) < 2 {
		return f.orders
	}
	var items []mention.Product
	var of []int // the order of each item
	for i, o := range f.orders {
		for _, item := range o.order.GetItems() {
			items, of = append(items, mention.Product{ID: item.GetProductId(), Title: item.GetTitle()}), append(of, i)
		}
	}
	byItem := make(map[int]bool)
	for _, m := range mention.Products(answer, items) {
		byItem[of[m.Product]] = true
	}
	var named []foundOrder
	for i, o := range f.orders {
		if byItem[i] || mention.Index(answer, o.order.GetOrderId()) >= 0 {
			named = append(named, o)
		}
	}
	if len(named) == 0 {
		return f.orders[len(f.orders)-1:]
	}
	return named
}

// handOff completes the summary for the person who takes over: with the shopper's words if the model has written none, and with
// the orders that it leaves out. It needs the lock.
func (f *Findings) handOff(h *specialistv1.HandOff, asked string) *specialistv1.SuggestedAction {
	summary := h.GetSummary()
	if summary == "" {
		summary = "The shopper wrote: \"" + text.Cut(text.OneLine(asked), 500) + "\""
	}
	for _, o := range f.orders {
		if id := o.order.GetOrderId(); !strings.Contains(summary, id) {
			summary += fmt.Sprintf(" Order %s: %s.", id, statusText(o.order.GetStatus(), "en"))
		}
	}
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_HandOff{
		HandOff: &specialistv1.HandOff{Reason: h.GetReason(), Summary: summary},
	}}
}
