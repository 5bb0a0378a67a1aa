package support

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/money"
)

// maxItemsShown is how many items of an order a model is shown.
const maxItemsShown = 20

type orderArgs struct {
	OrderID string `json:"order_id,omitempty" jsonschema:"number of the order as the shopper wrote it; leave out for their latest order"`
}

type orderResult struct {
	Order       *shownOrder `json:"order,omitempty"`
	OtherOrders int         `json:"other_orders"`
	Note        string      `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r orderResult) Summary() string {
	if r.Order == nil {
		return "no order"
	}
	return r.Order.OrderID + ", " + r.Order.Status
}

type shownOrder struct {
	OrderID  string          `json:"order_id"`
	Status   string          `json:"status"`
	NextStep string          `json:"next_step"`
	Placed   string          `json:"placed"`
	Items    []shownItem     `json:"items"`
	Total    string          `json:"total"`
	Tracking *shownTracking  `json:"tracking,omitempty"`
	Earlier  []shownTracking `json:"other_parcels,omitempty"`
}

type shownItem struct {
	Title    string            `json:"title"`
	Quantity int32             `json:"quantity"`
	Options  map[string]string `json:"options,omitempty"`
	Price    string            `json:"price"`
}

type shownTracking struct {
	Carrier           string `json:"carrier,omitempty"`
	TrackingNumber    string `json:"tracking_number,omitempty"`
	URL               string `json:"url,omitempty"`
	EstimatedDelivery string `json:"estimated_delivery,omitempty"`
	Delivered         string `json:"delivered,omitempty"`
}

// lookupOrder finds an order of the turn's customer, and of nobody else whatever the model writes.
func (t *turnTools) lookupOrder(ctx context.Context, in orderArgs) (orderResult, error) {
	s := t.turn.Scope
	if s.CustomerID == "" {
		return orderResult{}, errors.New("nobody is signed in, so no order can be looked up: ask the shopper to sign in to the store")
	}
	count, err := t.desk.orders.count(ctx, s.StoreID, s.CustomerID)
	if err != nil {
		return orderResult{}, t.desk.forModel(ctx, err, "orders can not be looked up now; say so, and name no status")
	}
	order, err := t.findOrder(ctx, in.OrderID)
	if err != nil {
		return orderResult{}, t.desk.forModel(ctx, err, "orders can not be looked up now; say so, and name no status")
	}
	if order == nil {
		t.turn.Found(0)
		return orderResult{OtherOrders: count, Note: missingNote(in.OrderID, count)}, nil
	}
	t.turn.Found(1)
	t.turn.SetOrder(order)
	now := t.desk.now()
	r := orderResult{Order: showOrder(order, now), OtherOrders: max(count-1, 0)}
	if returnable(order, now) {
		t.suggestReturn(order.GetOrderId())
	}
	if n := len(order.GetItems()); n > maxItemsShown {
		r.Note = fmt.Sprintf("The order has %d items; the first %d are listed.", n, maxItemsShown)
	}
	return r, nil
}

// findOrder returns nil without an error when there is no such order. What can not be an id of an order is no order.
func (t *turnTools) findOrder(ctx context.Context, id string) (*orderv1.Order, error) {
	s := t.turn.Scope
	if id = normalOrderID(id); id != "" {
		order, err := t.desk.orders.get(ctx, s.StoreID, s.CustomerID, id)
		var missing *fault.NotFound
		if errors.As(err, &missing) {
			return nil, nil
		}
		return order, err
	}
	orders, err := t.desk.orders.list(ctx, s.StoreID, s.CustomerID, 1)
	if err != nil || len(orders) == 0 {
		return nil, err
	}
	return orders[0], nil
}

func missingNote(asked string, count int) string {
	switch {
	case count == 0:
		return "This customer has no orders at this store."
	case normalOrderID(asked) == "":
		return "The latest order could not be found."
	}
	return fmt.Sprintf("This customer has no order %s. Ask them to check the number, or look up their latest order without one.", normalOrderID(asked))
}

func showOrder(o *orderv1.Order, now time.Time) *shownOrder {
	shown := &shownOrder{
		OrderID:  o.GetOrderId(),
		Status:   statusWords[o.GetStatus()],
		NextStep: nextStep(o, now),
		Placed:   dayWords(o.GetCreateTime().AsTime()),
		Total:    money.Text(o.GetTotal()),
	}
	for _, item := range o.GetItems()[:min(len(o.GetItems()), maxItemsShown)] {
		shown.Items = append(shown.Items, shownItem{
			Title: item.GetTitle(), Quantity: item.GetQuantity(), Options: item.GetOptions(), Price: money.Text(item.GetUnitPrice()),
		})
	}
	current := currentParcel(o)
	for _, p := range o.GetFulfilments() {
		if p == current {
			parcel := showParcel(p)
			shown.Tracking = &parcel
		} else {
			shown.Earlier = append(shown.Earlier, showParcel(p))
		}
	}
	return shown
}

func showParcel(p *orderv1.Fulfilment) shownTracking {
	shown := shownTracking{Carrier: p.GetCarrier(), TrackingNumber: p.GetTrackingNumber(), URL: p.GetTrackingUrl()}
	switch {
	case p.GetDeliveryTime() != nil:
		shown.Delivered = dayWords(p.GetDeliveryTime().AsTime())
	case p.GetEstimatedDeliveryTime() != nil:
		shown.EstimatedDelivery = dayWords(p.GetEstimatedDeliveryTime().AsTime())
	}
	return shown
}

// currentParcel is the one that a shopper waits for: the last that has not arrived, or else the last. Nil without any.
func currentParcel(o *orderv1.Order) *orderv1.Fulfilment {
	var last *orderv1.Fulfilment
	for _, p := range slices.Backward(o.GetFulfilments()) {
		if p.GetDeliveryTime() == nil {
			return p
		}
		if last == nil {
			last = p
		}
	}
	return last
}
