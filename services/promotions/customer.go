package promotions

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// customerServer serves CustomerService for the uses of promotions.
type customerServer struct {
	customerv1.UnsafeCustomerServiceServer
	repository repository
}

var _ customerv1.CustomerServiceServer = (*customerServer)(nil)

// ExportCustomer implements CustomerService.
func (s *customerServer) ExportCustomer(
	req *customerv1.ExportCustomerRequest, stream grpc.ServerStreamingServer[customerv1.ExportCustomerResponse],
) error {
	if err := fault.CheckCustomer(req); err != nil {
		return err
	}
	return s.repository.usedBy(stream.Context(), req.GetStoreId(), req.GetCustomerId(), func(code string, orders []string) error {
		return stream.Send(&customerv1.ExportCustomerResponse{Record: &customerv1.ExportCustomerResponse_UsedPromotion{
			UsedPromotion: &customerv1.UsedPromotion{Code: code, OrderIds: orders}}})
	})
}

// EraseCustomer implements CustomerService.
func (s *customerServer) EraseCustomer(ctx context.Context, req *customerv1.EraseCustomerRequest) (*customerv1.EraseCustomerResponse, error) {
	if err := fault.CheckCustomer(req); err != nil {
		return nil, err
	}
	resp := &customerv1.EraseCustomerResponse{}
	err := s.repository.usedBy(ctx, req.GetStoreId(), req.GetCustomerId(), func(code string, orders []string) error {
		n, err := s.repository.forget(ctx, req.GetStoreId(), req.GetCustomerId(), code, orders)
		resp.PromotionUseCount += n
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// orderField begins the fields of orders.
const orderField = "order:"

// forgetScript makes the use of a promotion in order ARGV[1] that of a guest if it is customer ARGV[2]'s. It still counts, once.
const forgetScript = `
if redis.call('HGET', KEYS[1], 'order:' .. ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'order:' .. ARGV[1], '')
return 1`

// usedBy calls visit for each promotion that names a customer, with the orders in which the customer used it. There may be none, if
// they were released.
func (r repository) usedBy(ctx context.Context, storeID, customerID string, visit func(code string, orders []string) error) error {
	codes, err := r.redis.HKeys(ctx, key(storeID)).Result()
	if err != nil {
		return state.Error("read promotions", err)
	}
	for _, code := range codes {
		named, err := r.redis.HExists(ctx, usageKey(storeID, code), ownField+customerID).Result()
		if err != nil {
			return state.Error("read uses of promotions", err)
		}
		if !named {
			continue
		}
		orders, err := r.ordersOf(ctx, storeID, customerID, code)
		if err != nil {
			return state.Error("read uses of promotions", err)
		}
		if err := visit(code, orders); err != nil {
			return err
		}
	}
	return nil
}

// ordersOf returns the orders in which a customer used a promotion. It reads the uses in parts, so that it holds nobody up.
func (r repository) ordersOf(ctx context.Context, storeID, customerID, code string) ([]string, error) {
	var orders []string
	scan := r.redis.HScan(ctx, usageKey(storeID, code), 0, orderField+"*", 1_000).Iterator()
	for scan.Next(ctx) {
		field := scan.Val()
		if scan.Next(ctx) && scan.Val() == customerID {
			orders = append(orders, strings.TrimPrefix(field, orderField))
		}
	}
	return orders, scan.Err()
}

// forget takes a customer's name off the uses of a promotion, and returns how many there were.
func (r repository) forget(ctx context.Context, storeID, customerID, code string, orders []string) (int64, error) {
	pipe := r.redis.Pipeline()
	done := make([]*redis.Cmd, len(orders))
	for i, order := range orders {
		done[i] = pipe.Eval(ctx, forgetScript, []string{usageKey(storeID, code)}, order, customerID)
	}
	pipe.HDel(ctx, usageKey(storeID, code), ownField+customerID) // last: a repeated call finds what is left
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, state.Error("forget a customer", err)
	}
	var n int64
	for _, d := range done {
		one, _ := d.Int64() // Exec has returned the error
		n += one
	}
	return n, nil
}
