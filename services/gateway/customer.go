package gateway

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// customerServer serves CustomerService for threads, and for what the other services keep.
type customerServer struct {
	customerv1.UnsafeCustomerServiceServer
	server *server
}

var _ customerv1.CustomerServiceServer = (*customerServer)(nil)

// ExportCustomer implements CustomerService.
func (s *customerServer) ExportCustomer(
	req *customerv1.ExportCustomerRequest, stream grpc.ServerStreamingServer[customerv1.ExportCustomerResponse],
) error {
	if err := fault.CheckCustomer(req); err != nil {
		return err
	}
	ctx, store := stream.Context(), s.server.service.threads
	if _, err := s.server.service.stores.get(ctx, req.GetStoreId()); err != nil {
		return err
	}
	ids, err := store.CustomerThreads(ctx, req.GetStoreId(), req.GetCustomerId())
	if err != nil {
		return err
	}
	who := threads.Shopper{Customer: req.GetCustomerId()}
	for _, id := range ids {
		t, turns, err := store.Read(ctx, req.GetStoreId(), id, who, s.server.service.cfg.Now())
		switch {
		case isMissing(err):
			continue
		case err != nil:
			return err
		}
		thread := &gatewayv1.GetThreadResponse{Thread: s.server.thread(t, s.server.service.threadTTL(ctx, req.GetStoreId())), Messages: t.Messages, TurnIds: turns}
		err = stream.Send(&customerv1.ExportCustomerResponse{Record: &customerv1.ExportCustomerResponse_Thread{Thread: thread}})
		if err != nil {
			return err
		}
		for _, id := range turns {
			turn, err := store.Turn(ctx, req.GetStoreId(), id, who)
			if isMissing(err) {
				continue
			}
			if err == nil {
				err = stream.Send(&customerv1.ExportCustomerResponse{Record: &customerv1.ExportCustomerResponse_Turn{Turn: turn}})
			}
			if err != nil {
				return err
			}
		}
	}
	for _, other := range s.server.service.cfg.Customers {
		if err := passOn(ctx, other, req, stream); err != nil {
			return err
		}
	}
	return nil
}

// passOn sends what another service exports.
func passOn(
	ctx context.Context, from customerv1.CustomerServiceClient, req *customerv1.ExportCustomerRequest,
	to grpc.ServerStreamingServer[customerv1.ExportCustomerResponse],
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	records, err := from.ExportCustomer(ctx, req)
	for err == nil {
		var record *customerv1.ExportCustomerResponse
		if record, err = records.Recv(); err == nil {
			err = to.Send(record)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func isMissing(err error) bool {
	missing := new(fault.NotFound)
	return errors.As(err, &missing)
}

// EraseCustomer implements CustomerService.
func (s *customerServer) EraseCustomer(ctx context.Context, req *customerv1.EraseCustomerRequest) (*customerv1.EraseCustomerResponse, error) {
	if err := fault.CheckCustomer(req); err != nil {
		return nil, err
	}
	ctx, cancel := s.server.service.withDeadline(ctx)
	defer cancel()
	if _, err := s.server.service.stores.get(ctx, req.GetStoreId()); err != nil {
		return nil, err
	}
	n, err := s.server.service.threads.EraseCustomer(ctx, req.GetStoreId(), req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	sum := &customerv1.EraseCustomerResponse{ThreadCount: n}
	for _, other := range s.server.service.cfg.Customers {
		erased, err := other.EraseCustomer(ctx, req)
		if err != nil {
			return nil, err
		}
		sum.CartCount += erased.GetCartCount()
		sum.PromotionUseCount += erased.GetPromotionUseCount()
		sum.OrderCount += erased.GetOrderCount()
	}
	return sum, nil
}
