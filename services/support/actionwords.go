package support

import (
	"fmt"
	"strings"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
)

// actionClauses are the actions as a sentence says that they can or can not be done.
var actionClauses = map[orderv1.OrderActionKind]string{
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL:         "the order %s be cancelled",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS:   "items that have not left %s be cancelled",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ITEMS:   "items %s be changed to other variants of the same products",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS: "the address %s be changed",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_PAYMENT: "the payment %s be changed",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN:         "items %s be returned",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE:       "items %s be exchanged for other variants of the same products",
}

// refusals are the reasons as a sentence names them. What a store does not offer at all is spoken of only when it is asked for.
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

// actionWords says what a shopper may ask for and what not, in clauses for a model.
func actionWords(f found) (possible, not []string) {
	for _, a := range f.actions.GetAllowed() {
		possible = append(possible, allowedWords(f.order, a))
	}
	for _, r := range f.actions.GetRefused() {
		if _, spoken := refusals[r.GetReason()]; spoken {
			not = append(not, refusedWords(f.order, r))
		}
	}
	return possible, not
}

// allowedWords says that an action is possible, and on what terms.
func allowedWords(o *orderv1.Order, a *orderv1.AllowedAction) string {
	words := fmt.Sprintf(actionClauses[a.GetKind()], "can")
	if d := a.GetDeadline(); d != nil {
		words += ", until " + dayWords(d.AsTime())
	}
	if titles := titlesOf(o, a.GetItems()); titles != "" {
		words += "; only: " + titles
	}
	if len(a.GetReasons()) > 0 {
		words += "; a reason is needed: " + strings.Join(a.GetReasons(), " or ")
	}
	if len(a.GetRefundMethods()) > 0 {
		words += "; money comes back by: " + strings.Join(a.GetRefundMethods(), " or ")
	}
	return words
}

// refusedWords says that an action is not possible, and why.
func refusedWords(o *orderv1.Order, r *orderv1.RefusedAction) string {
	why, spoken := refusals[r.GetReason()]
	if !spoken {
		why = "no rule of the store allows it for an order that is " + statusWords[o.GetStatus()]
	}
	if d := r.GetDeadline(); d != nil {
		why += dayWords(d.AsTime())
	}
	return fmt.Sprintf(actionClauses[r.GetKind()], "can not") + ": " + why
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
