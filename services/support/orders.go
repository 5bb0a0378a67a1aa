package support

import (
	"context"
	"slices"
	"strings"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	defaultOrders   = 20
	maxOrders       = 100
	maxOrdersABatch = 1_000
)

// orderServer implements OrderService.
type orderServer struct {
	orderv1.UnsafeOrderServiceServer
	book *orderBook
}

var _ orderv1.OrderServiceServer = (*orderServer)(nil)

// UpsertOrders writes the good orders of each message and reports the bad ones.
func (s *orderServer) UpsertOrders(stream orderv1.OrderService_UpsertOrdersServer) error {
	rep, err := bulk.Upsert[*orderv1.UpsertOrdersRequest, *orderv1.Order]{
		Field:    "orders",
		MaxItems: maxOrdersABatch,
		Items:    (*orderv1.UpsertOrdersRequest).GetOrders,
		ID:       (*orderv1.Order).GetOrderId,
		Check:    checkOrder,
		Put:      s.book.store.put,
	}.Run(stream.Context(), stream.Recv)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&orderv1.UpsertOrdersResponse{UpsertedCount: rep.Upserted, Errors: rep.Errors, ErrorCount: rep.ErrorCount})
}

// GetOrder returns one order of one customer.
func (s *orderServer) GetOrder(ctx context.Context, req *orderv1.GetOrderRequest) (*orderv1.GetOrderResponse, error) {
	id := normalOrderID(req.GetOrderId())
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("customer_id", req.GetCustomerId())
	c.ID("order_id", id)
	if err := c.Err(); err != nil {
		return nil, err
	}
	f, err := s.book.get(ctx, req.GetStoreId(), req.GetCustomerId(), id)
	if err != nil {
		return nil, err
	}
	return &orderv1.GetOrderResponse{Order: f.order, Actions: f.actions}, nil
}

// GetGuestOrder returns one order to somebody who is not signed in.
func (s *orderServer) GetGuestOrder(ctx context.Context, req *orderv1.GetGuestOrderRequest) (*orderv1.GetGuestOrderResponse, error) {
	id, p := normalOrderID(req.GetOrderId()), proofOf(req.GetEmail(), req.GetPostalCode())
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("order_id", id)
	c.Text("email", req.GetEmail(), 0, maxProof)
	c.Text("postal_code", req.GetPostalCode(), 0, maxProof)
	if p.empty() {
		c.Addf("proof", "is required: email or postal_code")
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	f, err := s.book.guest(ctx, req.GetStoreId(), id, p)
	if err != nil {
		return nil, err
	}
	return &orderv1.GetGuestOrderResponse{Order: f.order, Actions: f.actions}, nil
}

// ListOrders returns a customer's orders, the newest first.
func (s *orderServer) ListOrders(ctx context.Context, req *orderv1.ListOrdersRequest) (*orderv1.ListOrdersResponse, error) {
	limit := req.GetLimit()
	if limit == 0 {
		limit = defaultOrders
	}
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("customer_id", req.GetCustomerId())
	c.Range("limit", int64(limit), 1, maxOrders)
	if err := c.Err(); err != nil {
		return nil, err
	}
	orders, total, err := s.book.list(ctx, req.GetStoreId(), req.GetCustomerId(), int(limit))
	if err != nil {
		return nil, err
	}
	return &orderv1.ListOrdersResponse{Orders: orders, TotalCount: int32(total)}, nil
}

// normalOrderID is the form under which an order is kept: shoppers write "order # qt-10021" for QT-10021.
func normalOrderID(id string) string {
	fields := strings.Fields(strings.ToUpper(strings.ReplaceAll(id, "#", " ")))
	for len(fields) > 1 && slices.Contains(orderWords, strings.TrimRight(fields[0], ".:")) {
		fields = fields[1:]
	}
	return strings.Join(fields, "")
}

// orderWords may stand before an order's id.
var orderWords = []string{"ORDER", "NUMBER", "NO", "NR"}

func orderNotFound(id string) error {
	return &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_ORDER_NOT_FOUND, Resource: "order", Name: id}
}
