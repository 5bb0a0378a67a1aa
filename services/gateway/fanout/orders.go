package fanout

import (
	"context"
	"slices"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// maxOpenOrders is how many of a shopper's orders, the newest, are searched for those that are not delivered.
const maxOpenOrders = 20

// closedOrders are the statuses of orders of which nothing is to come.
var closedOrders = []orderv1.OrderStatus{
	orderv1.OrderStatus_ORDER_STATUS_DELIVERED, orderv1.OrderStatus_ORDER_STATUS_CANCELLED,
	orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED, orderv1.OrderStatus_ORDER_STATUS_RETURNED,
}

// OpenOrders reads the orders of the signed-in shopper that are not delivered yet. It returns none for a guest, for a store without
// orders, and if they cannot be read within MaxCartTime or a tenth of the time left.
func (r *Run) OpenOrders(ctx context.Context) []*orderv1.Order {
	sc := r.turn.Scope
	if r.fanout.cfg.Orders == nil || sc.CustomerID == "" {
		return nil
	}
	reading, cancel := context.WithTimeout(ctx, Share(r.ctx, MaxCartTime, 10))
	defer cancel()
	reading, err := r.fanout.cfg.Signer.Outgoing(reading, sc.Narrow(audience, []scope.Read{scope.ReadOrders}))
	if err != nil {
		r.fanout.cfg.Logger.ErrorContext(ctx, "open orders not read", "store", sc.StoreID, "turn", sc.TurnID, "error", err)
		return nil
	}
	resp, err := r.fanout.cfg.Orders.ListOrders(reading, &orderv1.ListOrdersRequest{
		StoreId: sc.StoreID, CustomerId: sc.CustomerID, Limit: maxOpenOrders,
	})
	if err != nil {
		r.fanout.cfg.Logger.DebugContext(ctx, "open orders not read", "store", sc.StoreID, "turn", sc.TurnID, "error", err)
		return nil
	}
	return slices.DeleteFunc(resp.GetOrders(), func(o *orderv1.Order) bool { return slices.Contains(closedOrders, o.GetStatus()) })
}
