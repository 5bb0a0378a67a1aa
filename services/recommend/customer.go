package recommend

import (
	"context"

	"google.golang.org/grpc"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/recommend/carts"
)

// customerServer serves CustomerService for carts.
type customerServer struct {
	customerv1.UnsafeCustomerServiceServer
	carts *carts.Repository
}

var _ customerv1.CustomerServiceServer = (*customerServer)(nil)

// ExportCustomer implements CustomerService.
func (s *customerServer) ExportCustomer(
	req *customerv1.ExportCustomerRequest, stream grpc.ServerStreamingServer[customerv1.ExportCustomerResponse],
) error {
	if err := fault.CheckCustomer(req); err != nil {
		return err
	}
	cart, err := s.carts.Kept(stream.Context(), req.GetStoreId(), req.GetCustomerId())
	if err != nil || cart == nil {
		return err
	}
	return stream.Send(&customerv1.ExportCustomerResponse{Record: &customerv1.ExportCustomerResponse_Cart{Cart: cart}})
}

// EraseCustomer implements CustomerService.
func (s *customerServer) EraseCustomer(ctx context.Context, req *customerv1.EraseCustomerRequest) (*customerv1.EraseCustomerResponse, error) {
	if err := fault.CheckCustomer(req); err != nil {
		return nil, err
	}
	n, err := s.carts.Erase(ctx, req.GetStoreId(), req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	return &customerv1.EraseCustomerResponse{CartCount: n}, nil
}
