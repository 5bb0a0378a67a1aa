package support

import (
	"context"
	"time"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
)

// orderSource is where the orders of a store are. An order that does not exist, that is another customer's, or whose guest
// knows something else, is the same *fault.NotFound. Orders come without what proves that they are one's own.
type orderSource interface {
	get(ctx context.Context, storeID, customerID, id string) (*orderv1.Order, error)
	// list returns up to limit orders of a customer, the newest first, and how many there are.
	list(ctx context.Context, storeID, customerID string, limit int) (orders []*orderv1.Order, total int, err error)
	guest(ctx context.Context, storeID, id string, p proof) (*orderv1.Order, error)
}

// orderBook finds orders wherever their store keeps them, and says what can be done with them. It is safe for concurrent
// use.
type orderBook struct {
	store    orderStore
	own      map[string]orderSource // order systems of stores, by store
	attempts attempts
	now      func() time.Time
}

// found is an order and what its customer may ask for.
type found struct {
	order   *orderv1.Order
	actions *orderv1.OrderActions
}

// open returns where a store's orders are, with what it says of them. The error is a *fault.Precondition for a store
// without an order system.
func (b *orderBook) open(ctx context.Context, storeID string) (orderSource, *orderv1.OrderSettings, error) {
	settings, err := b.store.settings(ctx, storeID)
	switch {
	case err != nil:
		return nil, nil, err
	case settings.GetNoOrderSystem():
		return nil, nil, noOrderSystem(storeID)
	}
	if own, ok := b.own[storeID]; ok {
		return own, settings, nil
	}
	return b.store, settings, nil
}

// get returns an order of a customer, by an id in normal form.
func (b *orderBook) get(ctx context.Context, storeID, customerID, id string) (found, error) {
	source, settings, err := b.open(ctx, storeID)
	if err != nil {
		return found{}, err
	}
	order, err := source.get(ctx, storeID, customerID, id)
	if err != nil {
		return found{}, err
	}
	return found{order, actionsOf(settings, order, b.now())}, nil
}

// list returns up to limit orders of a customer, the newest first, and how many there are.
func (b *orderBook) list(ctx context.Context, storeID, customerID string, limit int) ([]*orderv1.Order, int, error) {
	source, _, err := b.open(ctx, storeID)
	if err != nil {
		return nil, 0, err
	}
	return source.list(ctx, storeID, customerID, limit)
}

// latest returns a customer's latest order, and how many there are. An order of nil: there is none.
func (b *orderBook) latest(ctx context.Context, storeID, customerID string) (found, int, error) {
	source, settings, err := b.open(ctx, storeID)
	if err != nil {
		return found{}, 0, err
	}
	orders, total, err := source.list(ctx, storeID, customerID, 1)
	if err != nil || len(orders) == 0 {
		return found{}, total, err
	}
	return found{orders[0], actionsOf(settings, orders[0], b.now())}, total, nil
}

// guest returns an order to somebody who is not signed in. Wrong attempts are counted, also those at orders that do not
// exist, and end in a *fault.Exhausted.
func (b *orderBook) guest(ctx context.Context, storeID, id string, p proof) (found, error) {
	source, settings, err := b.open(ctx, storeID)
	if err != nil {
		return found{}, err
	}
	if err := b.attempts.begin(ctx, storeID, id, p); err != nil {
		return found{}, err
	}
	order, err := source.guest(ctx, storeID, id, p)
	if err != nil {
		return found{}, err
	}
	if err := b.attempts.succeeded(ctx, storeID, id, p); err != nil {
		return found{}, err
	}
	return found{order, actionsOf(settings, order, b.now())}, nil
}
