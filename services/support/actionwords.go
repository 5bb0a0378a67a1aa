package support

import (
	"strings"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// actionVerbs are the actions as a sentence names them.
var actionVerbs = map[orderv1.OrderActionKind]string{
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL:         "cancel the order",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS:   "cancel items that have not left",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ITEMS:   "change to other variants of the same products",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS: "change the address",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_PAYMENT: "change the payment",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN:         "return items",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE:       "exchange items for other variants of the same products",
}

// refusals are the reasons as a sentence names them. What a store does not offer at all is not spoken of.
var refusals = map[orderv1.RefusalReason]string{
	orderv1.RefusalReason_REFUSAL_REASON_ALREADY_SHIPPED:   "it has left already",
	orderv1.RefusalReason_REFUSAL_REASON_NOT_DELIVERED:     "it has not arrived yet",
	orderv1.RefusalReason_REFUSAL_REASON_ALREADY_CANCELLED: "it was cancelled",
	orderv1.RefusalReason_REFUSAL_REASON_ALREADY_RETURNED:  "it was returned already",
	orderv1.RefusalReason_REFUSAL_REASON_ALREADY_CHANGED:   "its items were changed once already",
	orderv1.RefusalReason_REFUSAL_REASON_TOO_LATE:          "the time for it ended on ",
	orderv1.RefusalReason_REFUSAL_REASON_DEADLINE_UNKNOWN:  "it is not known when the order arrived",
	orderv1.RefusalReason_REFUSAL_REASON_NO_ITEMS:          "none of its items can be",
}

// actionWords says what a shopper may ask for and what not, in sentences for a model.
func actionWords(f found) (possible, not []string) {
	for _, a := range f.actions.GetAllowed() {
		words := actionVerbs[a.GetKind()]
		if d := a.GetDeadline(); d != nil {
			words += ", until " + dayWords(d.AsTime())
		}
		if titles := titlesOf(f.order, a.GetItems()); titles != "" {
			words += "; only: " + titles
		}
		if len(a.GetReasons()) > 0 {
			words += "; the shopper must give a reason: " + strings.Join(a.GetReasons(), " or ")
		}
		if len(a.GetRefundMethods()) > 0 {
			words += "; money comes back by: " + strings.Join(a.GetRefundMethods(), " or ")
		}
		possible = append(possible, words)
	}
	for _, r := range f.actions.GetRefused() {
		why, spoken := refusals[r.GetReason()]
		if !spoken {
			continue
		}
		if d := r.GetDeadline(); d != nil {
			why += dayWords(d.AsTime())
		}
		not = append(not, actionVerbs[r.GetKind()]+": "+why)
	}
	return possible, not
}

// titlesOf names the items of an action that is not for all of the order's. It is "" when it is for all.
func titlesOf(o *orderv1.Order, units []*orderv1.ItemQuantity) string {
	if len(units) == 0 || len(units) == len(o.GetItems()) {
		return ""
	}
	titles := make([]string, 0, min(len(units), maxItemsShown))
	for _, u := range units[:min(len(units), maxItemsShown)] {
		titles = append(titles, o.GetItems()[u.GetItemIndex()].GetTitle())
	}
	return strings.Join(titles, ", ")
}

// propose suggests what the store's rules allow for an order, each once in a turn.
func (t *turnTools) propose(f found) {
	id := f.order.GetOrderId()
	for _, a := range f.actions.GetAllowed() {
		if !t.first(a.GetKind().String() + " " + id) {
			continue
		}
		if a.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN {
			t.turn.AddActions(&specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_StartReturn{
				StartReturn: &specialistv1.StartReturn{OrderId: id, Action: a},
			}})
			continue
		}
		t.turn.AddActions(&specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_ChangeOrder{
			ChangeOrder: &specialistv1.ChangeOrder{OrderId: id, Action: a},
		}})
	}
}
