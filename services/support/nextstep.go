package support

import (
	"fmt"
	"time"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
)

// statusWords are the statuses as a shopper reads them.
var statusWords = map[orderv1.OrderStatus]string{
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
func nextStep(f found, now time.Time) string {
	o := f.order
	switch o.GetStatus() {
	case orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT:
		return "The payment is still missing. The order is prepared once it has been paid."
	case orderv1.OrderStatus_ORDER_STATUS_PROCESSING:
		return "Nothing to do: the order is being prepared, and tracking follows when it has left."
	case orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED:
		return arrival(o, now) + " The rest follows in a parcel of its own."
	case orderv1.OrderStatus_ORDER_STATUS_SHIPPED:
		return arrival(o, now)
	case orderv1.OrderStatus_ORDER_STATUS_DELIVERED:
		return afterDelivery(f.actions)
	case orderv1.OrderStatus_ORDER_STATUS_CANCELLED:
		return "Nothing more happens with this order: it was cancelled before it was shipped."
	case orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED:
		return "The refund follows once the return has arrived and was checked."
	case orderv1.OrderStatus_ORDER_STATUS_RETURNED:
		return "Nothing to do: the return has arrived and was refunded."
	}
	return "There is no more news of this order."
}

// arrival says when the current parcel should come.
func arrival(o *orderv1.Order, now time.Time) string {
	parcel := currentParcel(o)
	var when string
	switch due := parcel.GetEstimatedDeliveryTime(); {
	case due == nil || parcel.GetDeliveryTime() != nil:
		when = "The parcel is on its way."
	case now.After(endOfDay(due.AsTime())):
		when = fmt.Sprintf("The parcel was expected by %s and is late.", dayWords(due.AsTime()))
	default:
		when = fmt.Sprintf("The parcel should arrive by %s.", dayWords(due.AsTime()))
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
			return arrived + " A return can be asked for."
		default:
			return fmt.Sprintf(arrived+" A return can be asked for until %s.", dayWords(a.GetDeadline().AsTime()))
		}
	}
	for _, r := range actions.GetRefused() {
		late := r.GetReason() == orderv1.RefusalReason_REFUSAL_REASON_TOO_LATE
		if late && r.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN {
			return fmt.Sprintf(arrived+" The time to ask for a return ended on %s.", dayWords(r.GetDeadline().AsTime()))
		}
	}
	return arrived
}

// endOfDay is the last instant of the day of t, in UTC.
func endOfDay(t time.Time) time.Time {
	return t.UTC().Truncate(24 * time.Hour).Add(24*time.Hour - time.Nanosecond)
}

// dayWords is a date in UTC, such as "3 March 2026".
func dayWords(t time.Time) string { return t.UTC().Format("2 January 2006") }
