package support

import (
	"fmt"
	"strings"
	"time"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/support/orders"
)

// statusText are the statuses of an order, as facts for a model to word. Package wording has them in other languages.
var statusText = map[orderv1.OrderStatus]string{
	orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT:  "waiting for payment",
	orderv1.OrderStatus_ORDER_STATUS_PROCESSING:       "being prepared",
	orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED:   "partly on its way",
	orderv1.OrderStatus_ORDER_STATUS_SHIPPED:          "on its way",
	orderv1.OrderStatus_ORDER_STATUS_DELIVERED:        "delivered",
	orderv1.OrderStatus_ORDER_STATUS_CANCELLED:        "cancelled",
	orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED: "return in progress",
	orderv1.OrderStatus_ORDER_STATUS_RETURNED:         "returned and refunded",
}

// nextStep says what happens next with an order, or what the shopper can do.
func nextStep(f orders.WithActions, now time.Time) string {
	o := f.Order
	switch o.GetStatus() {
	case orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT:
		return "The payment is still missing. The order is prepared once it has been paid. Nothing was charged."
	case orderv1.OrderStatus_ORDER_STATUS_PROCESSING:
		return "Nothing to do: the order is being prepared, and tracking follows when it has left."
	case orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED:
		return arrival(o, now) + " The rest has not left yet."
	case orderv1.OrderStatus_ORDER_STATUS_SHIPPED:
		return arrival(o, now)
	case orderv1.OrderStatus_ORDER_STATUS_DELIVERED:
		return afterDelivery(f.Actions)
	case orderv1.OrderStatus_ORDER_STATUS_CANCELLED:
		if orders.Unpaid(o) {
			return "Nothing more happens with this order: it was cancelled before it was paid. Nothing was charged."
		}
		return "Nothing more happens with this order: it was cancelled before it was shipped."
	case orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED:
		return "The refund follows once the return has arrived and was checked."
	case orderv1.OrderStatus_ORDER_STATUS_RETURNED:
		to := ""
		if f.ReturnRefund != "" {
			to = " to: " + f.ReturnRefund
		}
		return "Nothing to do: the return has arrived and was refunded" + to + "."
	}
	return "There is no more news of this order."
}

// arrival says when the current parcel should come.
func arrival(o *orderv1.Order, now time.Time) string {
	parcel := currentParcel(o)
	var when string
	switch due := parcel.GetEstimatedDeliveryTime(); {
	case parcel.GetDeliveryTime() != nil:
		return fmt.Sprintf("A parcel was delivered on %s.", dayText(parcel.GetDeliveryTime().AsTime()))
	case due == nil:
		when = "The parcel is on its way."
	case now.After(orders.EndOfDay(due.AsTime())):
		when = fmt.Sprintf("The parcel was expected by %s and is late.", dayText(due.AsTime()))
	default:
		when = fmt.Sprintf("The parcel should arrive by %s.", dayText(due.AsTime()))
	}
	if parcel.GetTrackingUrl() != "" && parcel.GetDeliveryTime() == nil {
		when += " It can be followed on the tracking page."
	}
	return when
}

func afterDelivery(actions *orderv1.OrderActions) string {
	const arrived = "The order has arrived."
	for _, a := range actions.GetAllowed() {
		switch {
		case a.GetKind() != orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN:
		case a.GetDeadline() == nil:
			return arrived + " A return can be asked for" + conditionText(a) + "."
		default:
			return fmt.Sprintf("%s A return can be asked for until %s%s.", arrived, dayText(a.GetDeadline().AsTime()), conditionText(a))
		}
	}
	for _, r := range actions.GetRefused() {
		late := r.GetReason() == orderv1.RefusalReason_REFUSAL_REASON_TOO_LATE
		if late && r.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN {
			return fmt.Sprintf(arrived+" The time to ask for a return ended on %s.", dayText(r.GetDeadline().AsTime()))
		}
	}
	return arrived
}

// dayText is a date in UTC, such as "3 March 2026".
func dayText(t time.Time) string { return t.UTC().Format("2 January 2006") }

// actionClauses are the actions as a sentence says that they can or cannot be done.
var actionClauses = map[orderv1.OrderActionKind]string{
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL:         "the order %s be cancelled",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS:   "items that have not left %s be cancelled",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ITEMS:   "items %s be changed to other variants of the same products",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS: "the address %s be changed",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_PAYMENT: "the payment %s be changed",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN:         "items %s be returned",
	orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE:       "items %s be exchanged for other variants",
}

// refusals are the reasons as a sentence names them.
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

// conditionText is the condition of an action as a clause ends with it. The store's documents always hold for goods that come back.
func conditionText(a *orderv1.AllowedAction) string {
	switch {
	case a.GetCondition() != "":
		return "; condition: " + a.GetCondition()
	case comesBack(a.GetKind()):
		return "; subject to the store's return rules"
	}
	return ""
}

// allowedText says that an action is possible, and on what terms.
func allowedText(o *orderv1.Order, a *orderv1.AllowedAction) string {
	words := fmt.Sprintf(actionClauses[a.GetKind()], "can")
	if d := a.GetDeadline(); d != nil {
		words += ", until " + dayText(d.AsTime())
	}
	if n := len(a.GetItems()); n > 0 && n < len(o.GetItems()) {
		words += "; only: " + strings.Join(titles(o, a.GetItems()), ", ")
	}
	words += conditionText(a)
	if len(a.GetReasons()) > 0 {
		words += "; a reason is needed: " + strings.Join(a.GetReasons(), " or ")
	}
	if len(a.GetRefundMethods()) > 0 {
		words += "; refunded to: " + strings.Join(a.GetRefundMethods(), " or ")
	}
	if orders.Unpaid(o) && (a.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL || a.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS) {
		words += "; nothing was charged, so there is nothing to refund"
	}
	return words
}

// refusedText says that an action is not possible, and why.
func refusedText(o *orderv1.Order, r *orderv1.RefusedAction) string {
	why, spoken := refusals[r.GetReason()]
	if !spoken {
		why = "no rule of the store allows it for an order that is " + statusText[o.GetStatus()]
	}
	if d := r.GetDeadline(); d != nil {
		why += dayText(d.AsTime())
	}
	return fmt.Sprintf(actionClauses[r.GetKind()], "cannot") + ": " + why
}
