package support

import (
	"context"

	"google.golang.org/grpc"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/support/orders"
)

// customerServer serves CustomerService for orders.
type customerServer struct {
	customerv1.UnsafeCustomerServiceServer
	orders *orders.Repository
}

var _ customerv1.CustomerServiceServer = (*customerServer)(nil)

// ExportCustomer implements CustomerService.
func (s *customerServer) ExportCustomer(
	req *customerv1.ExportCustomerRequest, stream grpc.ServerStreamingServer[customerv1.ExportCustomerResponse],
) error {
	if err := fault.CheckCustomer(req); err != nil {
		return err
	}
	return s.orders.Export(stream.Context(), req.GetStoreId(), req.GetCustomerId(), func(o *orderv1.Order) error {
		return stream.Send(&customerv1.ExportCustomerResponse{Record: &customerv1.ExportCustomerResponse_Order{Order: o}})
	})
}

// EraseCustomer implements CustomerService.
func (s *customerServer) EraseCustomer(ctx context.Context, req *customerv1.EraseCustomerRequest) (*customerv1.EraseCustomerResponse, error) {
	if err := fault.CheckCustomer(req); err != nil {
		return nil, err
	}
	n, err := s.orders.Erase(ctx, req.GetStoreId(), req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	return &customerv1.EraseCustomerResponse{OrderCount: n}, nil
}
