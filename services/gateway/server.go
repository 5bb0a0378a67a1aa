package gateway

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// server serves GatewayService.
type server struct {
	gatewayv1.UnsafeGatewayServiceServer
	service *Service
}

var _ gatewayv1.GatewayServiceServer = (*server)(nil)

// Ask implements GatewayService.
func (s *server) Ask(ctx context.Context, req *gatewayv1.AskRequest) (*gatewayv1.AskResponse, error) {
	ctx, cancel := s.service.bounded(ctx)
	defer cancel()
	return s.service.ask(ctx, req, nil)
}

// AskStream implements GatewayService.
func (s *server) AskStream(
	req *gatewayv1.AskStreamRequest, stream grpc.ServerStreamingServer[gatewayv1.AskStreamResponse],
) error {
	ctx, cancel := s.service.bounded(stream.Context())
	defer cancel()
	events := newEvents(ctx, stream.Send)
	reply, err := s.service.ask(events.ctx, req.GetAsk(), events)
	if err == nil {
		events.emit(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_Answer{Answer: reply}})
	}
	if sendErr := events.close(); err == nil {
		err = sendErr
	}
	return err
}

// GetTurn implements GatewayService.
func (s *server) GetTurn(ctx context.Context, req *gatewayv1.GetTurnRequest) (*gatewayv1.GetTurnResponse, error) {
	if err := checkIDs("turn_id", req.GetStoreId(), req.GetTurnId()); err != nil {
		return nil, err
	}
	turn, err := s.service.threads.turn(ctx, req.GetStoreId(), req.GetTurnId())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.GetTurnResponse{Turn: turn}, nil
}

// ListThreads implements GatewayService.
func (s *server) ListThreads(ctx context.Context, req *gatewayv1.ListThreadsRequest) (*gatewayv1.ListThreadsResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	check.ID("customer_id", req.GetCustomerId())
	check.Range("limit", int64(req.GetLimit()), 0, 100)
	if err := check.Err(); err != nil {
		return nil, err
	}
	limit := int(req.GetLimit())
	if limit == 0 {
		limit = 20
	}
	found, err := s.service.threads.list(ctx, req.GetStoreId(), req.GetCustomerId(), limit, s.service.cfg.Now())
	if err != nil {
		return nil, err
	}
	resp := &gatewayv1.ListThreadsResponse{}
	for _, t := range found {
		resp.Threads = append(resp.Threads, s.thread(t))
	}
	return resp, nil
}

// GetThread implements GatewayService.
func (s *server) GetThread(ctx context.Context, req *gatewayv1.GetThreadRequest) (*gatewayv1.GetThreadResponse, error) {
	if err := checkIDs("thread_id", req.GetStoreId(), req.GetThreadId()); err != nil {
		return nil, err
	}
	t, err := s.service.threads.load(ctx, req.GetStoreId(), req.GetThreadId(), maxMessages)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, threadNotFound(req.GetThreadId())
	}
	turns, err := s.service.threads.turnIDs(ctx, req.GetStoreId(), req.GetThreadId(), s.service.cfg.Now())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.GetThreadResponse{Thread: s.thread(t), Messages: t.messages, TurnIds: turns}, nil
}

// DeleteThread implements GatewayService.
func (s *server) DeleteThread(ctx context.Context, req *gatewayv1.DeleteThreadRequest) (*gatewayv1.DeleteThreadResponse, error) {
	if err := checkIDs("thread_id", req.GetStoreId(), req.GetThreadId()); err != nil {
		return nil, err
	}
	ctx, cancel := s.service.bounded(ctx)
	defer cancel()
	deleted, err := s.service.threads.delete(ctx, req.GetStoreId(), req.GetThreadId())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.DeleteThreadResponse{Deleted: deleted}, nil
}

// thread is a kept thread as the contract has it.
func (s *server) thread(t *thread) *gatewayv1.Thread {
	return &gatewayv1.Thread{
		ThreadId: t.id, CustomerId: t.customer, Title: t.title, Summary: t.summary,
		CreateTime: timestamppb.New(t.created), UpdateTime: timestamppb.New(t.updated),
		ExpireTime: timestamppb.New(t.updated.Add(s.service.cfg.ThreadTTL)),
	}
}

// checkIDs checks a request that names one thing of one store.
func checkIDs(field, storeID, id string) error {
	var check fault.Checker
	check.ID("store_id", storeID)
	check.ID(field, id)
	return check.Err()
}

func threadNotFound(id string) error {
	return &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_THREAD_NOT_FOUND, Resource: "thread", Name: id}
}
