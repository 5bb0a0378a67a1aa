package orders

import (
	"context"
	"errors"
	"fmt"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
)

// remoteStore reads the orders of a store with an order system of its own. Its answers are checked like uploads: an order must
// be complete and belong to the customer who asked.
type remoteStore struct{ client *orderhttp.Client }

// remoteStores returns the order systems of the stores that have one, by store.
func remoteStores(systems map[string]orderhttp.Config) (map[string]source, error) {
	out := make(map[string]source, len(systems))
	for storeID, cfg := range systems {
		if !fault.ValidID(storeID) {
			return nil, fmt.Errorf("support: order system of store %q: not the id of a store", storeID)
		}
		client, err := orderhttp.New(cfg)
		if err != nil {
			return nil, fmt.Errorf("support: store %q: %w", storeID, err)
		}
		out[storeID] = remoteStore{client}
	}
	return out, nil
}

func (r remoteStore) get(ctx context.Context, storeID, customerID, id string) (*orderv1.Order, error) {
	order, err := r.client.Get(ctx, storeID, customerID, id)
	if err == nil {
		err = foreign(order, id)
	}
	if err == nil && order.GetCustomerId() != customerID {
		err = orderhttp.ErrNotFound
	}
	return checked(order, id, err)
}

func (r remoteStore) guest(ctx context.Context, storeID, id string, p Proof) (*orderv1.Order, error) {
	order, err := r.client.Guest(ctx, storeID, id, p.email, p.postalCode)
	if err == nil {
		err = foreign(order, id)
	}
	// The order system has compared. What it returns of the proof must agree with what was asked.
	if err == nil && (order.GetEmail() != "" || order.GetPostalCode() != "") && !p.of(order) {
		err = orderhttp.ErrNotFound
	}
	return checked(order, id, err)
}

func (r remoteStore) list(ctx context.Context, storeID, customerID, token string, limit int) (Page, error) {
	var c fault.Checker
	c.Text("page_token", token, 0, orderhttp.MaxPageToken)
	if err := c.Err(); err != nil {
		return Page{}, err
	}
	listed, err := r.client.List(ctx, storeID, customerID, token, limit)
	if errors.Is(err, orderhttp.ErrNotFound) {
		pagetoken.Refuse(&c)
		return Page{}, c.Err()
	}
	if err != nil {
		return Page{}, err
	}
	orders := listed.GetOrders()
	for i, o := range orders {
		err := foreign(o, NormalID(o.GetOrderId()))
		switch {
		case err != nil:
			return Page{}, err
		case o.GetCustomerId() != customerID:
			return Page{}, badAnswer(errors.New("it lists an order of another customer"))
		case i > 0 && o.GetCreateTime().AsTime().After(orders[i-1].GetCreateTime().AsTime()):
			return Page{}, badAnswer(errors.New("its list does not begin with the newest order"))
		}
		orders[i] = withoutProof(o)
	}
	return Page{Orders: orders, Total: int(listed.GetTotalCount()), Next: listed.GetNextPageToken()}, nil
}

// foreign reports what is wrong with an order of an order system that should have the id.
func foreign(o *orderv1.Order, id string) error {
	if err := Check(o); err != nil {
		return badAnswer(err)
	}
	if NormalID(o.GetOrderId()) != id {
		return badAnswer(errors.New("it returned another order than the requested one"))
	}
	return nil
}

// checked returns the result of a lookup of one order. A missing order has the same error as in Redis.
func checked(o *orderv1.Order, id string, err error) (*orderv1.Order, error) {
	switch {
	case errors.Is(err, orderhttp.ErrNotFound):
		return nil, notFound(id)
	case err != nil:
		return nil, err
	}
	return withoutProof(o), nil
}

func badAnswer(cause error) error {
	return &fault.Unavailable{
		Reason: commonv1.ErrorReason_ERROR_REASON_ORDER_SYSTEM_UNAVAILABLE, What: "order system of the store",
		Err: fmt.Errorf("its answer is invalid: %w", cause),
	}
}
