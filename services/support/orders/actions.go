package orders

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
)

// unshipped are the statuses of orders before any parcel has left.
var unshipped = []orderv1.OrderStatus{
	orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT, orderv1.OrderStatus_ORDER_STATUS_PROCESSING,
}

// Kinds are all kinds of actions, in the order of answers. It must not be modified.
var Kinds = []orderv1.OrderActionKind{
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL,
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS,
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ITEMS,
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS,
	orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_PAYMENT,
	orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN,
	orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE,
}

// needsDelivery reports whether goods come back with an action, so that it is possible only after delivery.
func needsDelivery(kind orderv1.OrderActionKind) bool {
	return kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN || kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE
}

// possible returns the statuses in which an action makes sense. A store's rules cannot allow it in others.
func possible(kind orderv1.OrderActionKind) []orderv1.OrderStatus {
	switch {
	case needsDelivery(kind):
		return []orderv1.OrderStatus{
			orderv1.OrderStatus_ORDER_STATUS_DELIVERED, orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED,
			orderv1.OrderStatus_ORDER_STATUS_RETURNED,
		}
	case kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS:
		return append(slices.Clone(unshipped), orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED)
	}
	return unshipped
}

// statusesOf returns the statuses that a rule applies to.
func statusesOf(rule *orderv1.OrderRule) []orderv1.OrderStatus {
	switch {
	case len(rule.GetStatuses()) > 0:
		return rule.GetStatuses()
	case needsDelivery(rule.GetKind()):
		return []orderv1.OrderStatus{orderv1.OrderStatus_ORDER_STATUS_DELIVERED}
	}
	return possible(rule.GetKind())
}

// rulesOf returns the rules for an order of a store. A store without rules accepts returns of orders with a return deadline.
func rulesOf(settings *orderv1.OrderSettings, o *orderv1.Order) []*orderv1.OrderRule {
	if len(settings.GetRules()) > 0 || o.GetReturnDeadline() == nil {
		return settings.GetRules()
	}
	return []*orderv1.OrderRule{{Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN}}
}

// ActionsFor returns for every kind of action whether the store's rules allow it for an order now, or why not.
func ActionsFor(settings *orderv1.OrderSettings, o *orderv1.Order, now time.Time) *orderv1.OrderActions {
	out := &orderv1.OrderActions{}
	rules := rulesOf(settings, o)
	for _, kind := range Kinds {
		i := slices.IndexFunc(rules, func(r *orderv1.OrderRule) bool {
			return r.GetKind() == kind && slices.Contains(statusesOf(r), o.GetStatus())
		})
		if i < 0 {
			offered := slices.ContainsFunc(rules, func(r *orderv1.OrderRule) bool { return r.GetKind() == kind })
			out.Refused = append(out.Refused, &orderv1.RefusedAction{Kind: kind, Reason: wrongStatus(kind, o.GetStatus(), offered)})
			continue
		}
		if allowed, refused := apply(rules[i], o, now); refused != nil {
			out.Refused = append(out.Refused, refused)
		} else {
			out.Allowed = append(out.Allowed, allowed)
		}
	}
	return out
}

// wrongStatus returns why an action is not possible in a status.
func wrongStatus(kind orderv1.OrderActionKind, status orderv1.OrderStatus, offered bool) orderv1.RefusalReason {
	if !offered || slices.Contains(possible(kind), status) && !returning(status) {
		return orderv1.RefusalReason_REFUSAL_REASON_NOT_OFFERED
	}
	switch {
	case status == orderv1.OrderStatus_ORDER_STATUS_CANCELLED:
		return orderv1.RefusalReason_REFUSAL_REASON_ALREADY_CANCELLED
	case returning(status):
		return orderv1.RefusalReason_REFUSAL_REASON_ALREADY_RETURNED
	case needsDelivery(kind):
		return orderv1.RefusalReason_REFUSAL_REASON_NOT_DELIVERED
	}
	return orderv1.RefusalReason_REFUSAL_REASON_ALREADY_SHIPPED
}

func returning(status orderv1.OrderStatus) bool {
	return status == orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED || status == orderv1.OrderStatus_ORDER_STATUS_RETURNED
}

// apply applies a rule to an order in one of the rule's statuses. One of the results is nil.
func apply(rule *orderv1.OrderRule, o *orderv1.Order, now time.Time) (*orderv1.AllowedAction, *orderv1.RefusedAction) {
	kind := rule.GetKind()
	refuse := func(reason orderv1.RefusalReason) *orderv1.RefusedAction {
		return &orderv1.RefusedAction{Kind: kind, Reason: reason}
	}
	if rule.GetUnlessChanged() && o.GetItemsChanged() {
		return nil, refuse(orderv1.RefusalReason_REFUSAL_REASON_ALREADY_CHANGED)
	}
	deadline, known := deadlineOf(rule, o)
	if !known {
		return nil, refuse(orderv1.RefusalReason_REFUSAL_REASON_DEADLINE_UNKNOWN)
	}
	if deadline != nil && now.After(deadline.AsTime()) {
		late := refuse(orderv1.RefusalReason_REFUSAL_REASON_TOO_LATE)
		late.Deadline = deadline
		return nil, late
	}
	units, reason := unitsFor(rule, o)
	if reason != orderv1.RefusalReason_REFUSAL_REASON_UNSPECIFIED {
		return nil, refuse(reason)
	}
	allowed := &orderv1.AllowedAction{
		Kind: kind, Deadline: deadline, Items: units, Reasons: rule.GetReasons(), RefundMethods: rule.GetRefundMethods(),
		Condition: rule.GetCondition(),
	}
	if Unpaid(o) {
		allowed.RefundMethods = nil // there is nothing to refund
	}
	return allowed, nil
}

// Unpaid reports whether nothing was charged for an order: it waits for the payment, or its history says that it was cancelled
// while it did.
func Unpaid(o *orderv1.Order) bool {
	switch o.GetStatus() {
	case orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT:
		return true
	case orderv1.OrderStatus_ORDER_STATUS_CANCELLED:
		paid := func(h *orderv1.StatusChange) bool {
			return h.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT && h.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_CANCELLED
		}
		first := orderv1.OrderStatus_ORDER_STATUS_UNSPECIFIED
		if len(o.GetHistory()) > 0 {
			first = o.GetHistory()[0].GetStatus()
		}
		return first == orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT && !slices.ContainsFunc(o.GetHistory(), paid)
	}
	return false
}

// deadlineOf returns the last instant at which an action can be asked for; nil: there is none. It is not known of an order
// whose arrival time is unknown.
func deadlineOf(rule *orderv1.OrderRule, o *orderv1.Order) (deadline *timestamppb.Timestamp, known bool) {
	from := o.GetCreateTime()
	if needsDelivery(rule.GetKind()) {
		if own := o.GetReturnDeadline(); own != nil {
			return timestamppb.New(EndOfDay(own.AsTime())), true
		}
		from = arrivalTime(o)
	}
	switch {
	case rule.GetWindow() == nil:
		return nil, true
	case from == nil:
		return nil, false
	}
	window := rule.GetWindow().AsDuration()
	end := from.AsTime().Add(window)
	if window%(24*time.Hour) == 0 {
		end = EndOfDay(end)
	}
	return timestamppb.New(end), true
}

// arrivalTime returns when the last parcel of an order arrived, or else when its history says that it was delivered. Nil: not
// known.
func arrivalTime(o *orderv1.Order) *timestamppb.Timestamp {
	var last *timestamppb.Timestamp
	for _, p := range o.GetFulfilments() {
		if t := p.GetDeliveryTime(); t != nil && (last == nil || t.AsTime().After(last.AsTime())) {
			last = t
		}
	}
	for _, h := range o.GetHistory() {
		if last == nil && h.GetStatus() == orderv1.OrderStatus_ORDER_STATUS_DELIVERED {
			last = h.GetTime()
		}
	}
	return last
}

// unitsFor returns the units of an order that a rule allows an action for, or the reason why there are none.
func unitsFor(rule *orderv1.OrderRule, o *orderv1.Order) ([]*orderv1.ItemQuantity, orderv1.RefusalReason) {
	switch kind := rule.GetKind(); {
	case kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS,
		kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_PAYMENT:
		return nil, orderv1.RefusalReason_REFUSAL_REASON_UNSPECIFIED
	case needsDelivery(kind) && (len(left(o, returned(o))) == 0 || returning(o.GetStatus()) && len(o.GetReturns()) == 0):
		return nil, orderv1.RefusalReason_REFUSAL_REASON_ALREADY_RETURNED
	}
	gone, known := shipped(o)
	switch {
	case needsDelivery(rule.GetKind()):
		gone = returned(o)
	case !known:
		return nil, orderv1.RefusalReason_REFUSAL_REASON_NO_ITEMS
	case len(gone) > 0 && rule.GetKind() != orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS, len(left(o, gone)) == 0:
		return nil, orderv1.RefusalReason_REFUSAL_REASON_ALREADY_SHIPPED
	}
	units := left(o, gone)
	all := len(units)
	units = slices.DeleteFunc(units, func(u *orderv1.ItemQuantity) bool {
		return slices.Contains(rule.GetExcludedProductIds(), o.GetItems()[u.GetItemIndex()].GetProductId())
	})
	// A whole order cannot be cancelled without what is excluded from it.
	whole := rule.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL
	if len(units) == 0 || whole && len(units) < all {
		return nil, orderv1.RefusalReason_REFUSAL_REASON_NO_ITEMS
	}
	return units, orderv1.RefusalReason_REFUSAL_REASON_UNSPECIFIED
}

// left returns the units of an order without the gone ones, which are counted by item.
func left(o *orderv1.Order, gone map[int32]int32) []*orderv1.ItemQuantity {
	var units []*orderv1.ItemQuantity
	for i, item := range o.GetItems() {
		if n := item.GetQuantity() - gone[int32(i)]; n > 0 {
			units = append(units, &orderv1.ItemQuantity{ItemIndex: int32(i), Quantity: n})
		}
	}
	return units
}

// shipped counts the units that have left by item. They are not known when a parcel does not say what is in it. Parcels of
// an order that is partly shipped count as gone, even without a ship time.
func shipped(o *orderv1.Order) (units map[int32]int32, known bool) {
	units = make(map[int32]int32)
	for _, p := range o.GetFulfilments() {
		gone := p.GetShipTime() != nil || p.GetDeliveryTime() != nil ||
			o.GetStatus() == orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED
		if gone && len(p.GetItems()) == 0 {
			return nil, false
		}
		if gone {
			count(units, p.GetItems())
		}
	}
	return units, len(units) > 0 || o.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED
}

// returned counts the units of returns that were not rejected, by item.
func returned(o *orderv1.Order) map[int32]int32 {
	units := make(map[int32]int32)
	for _, r := range o.GetReturns() {
		switch {
		case r.GetStatus() == orderv1.ReturnStatus_RETURN_STATUS_REJECTED:
		case len(r.GetItems()) == 0:
			count(units, left(o, nil))
		default:
			count(units, r.GetItems())
		}
	}
	return units
}

func count(units map[int32]int32, more []*orderv1.ItemQuantity) {
	for _, u := range more {
		units[u.GetItemIndex()] += u.GetQuantity()
	}
}

// EndOfDay returns the last instant of the day of t, in UTC.
func EndOfDay(t time.Time) time.Time {
	return t.UTC().Truncate(24 * time.Hour).Add(24*time.Hour - time.Nanosecond)
}
