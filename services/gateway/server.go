package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/gateway/merge"
	"github.com/quartet-commerce/quartet/services/gateway/prompts"
	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/gateway/webhook"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
)

// instrumentation names the package in traces and metrics.
const instrumentation = "github.com/quartet-commerce/quartet/services/gateway"

// Service serves GatewayService, TurnService and StoreService. It is safe for concurrent use.
type Service struct {
	cfg         Config
	limiter     *limiter
	stores      stores
	threads     *threads.Store
	summaries   *threads.Summarizer
	registry    *registry.Registry
	classifiers classifiers
	fanout      *fanout.Fanout
	merger      *merge.Merger
	prompts     *prompts.Store
	webhooks    *webhook.Sender // nil: stores have none
	tracer      trace.Tracer
	metrics     *metrics
}

// New returns a service, or an error that says what is missing in the configuration. It starts nothing and makes no call.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	meter := cfg.MeterProvider.Meter(instrumentation)
	limiter, err1 := newLimiter(cfg.MaxTurns, cfg.MaxTurnsPerStore, meter)
	store := threads.New(threads.Config{Redis: cfg.Redis, Sealer: cfg.Sealer, TTL: cfg.ThreadTTL, Lease: cfg.Lease, Logger: cfg.Logger})
	summaries, err2 := threads.NewSummarizer(threads.SummaryConfig{
		Model: cfg.FastModel, Price: cfg.FastPrice, Meter: meter, Logger: cfg.Logger,
	}, store)
	specialists := registry.New(cfg.Specialists, cfg.Signer, cfg.Logger)
	fan, err3 := newFanout(cfg, specialists)
	counts, err4 := newMetrics(meter)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	s := &Service{
		cfg: cfg, limiter: limiter, stores: newStores(cfg.Redis), threads: store, summaries: summaries,
		registry: specialists, fanout: fan, tracer: otel.Tracer(instrumentation), metrics: counts,
		merger:  merge.New(merge.Config{Model: cfg.Model, Price: cfg.Price, NamedModel: cfg.NamedModel, Reserve: cfg.MergeReserve, Logger: cfg.Logger}),
		prompts: prompts.New(cfg.Redis),
	}
	if len(cfg.WebhookSecrets) > 0 {
		if s.webhooks, err1 = s.newWebhooks(meter); err1 != nil {
			return nil, fmt.Errorf("gateway: %w", err1)
		}
	}
	return s, nil
}

func newFanout(cfg Config, specialists *registry.Registry) (*fanout.Fanout, error) {
	return fanout.New(fanout.Config{
		Registry: specialists, CatchAll: catchAll, Signer: cfg.Signer, Cart: cfg.Cart, Orders: cfg.Orders, MergeReserve: cfg.MergeReserve, RunAhead: cfg.RunAhead,
		Tracer: otel.Tracer(instrumentation), Meter: cfg.MeterProvider.Meter(instrumentation), Logger: cfg.Logger,
	})
}

// Run sends webhooks until ctx ends.
func (s *Service) Run(ctx context.Context) {
	if s.webhooks != nil {
		s.webhooks.Run(ctx)
	}
}

// Close waits for the summaries that are being written after their turns, and gives up those that are left when ctx ends. Call
// it after the last turn has ended, and before what Config holds is closed.
func (s *Service) Close(ctx context.Context) { s.summaries.Close(ctx) }

// Register adds the services to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	gatewayv1.RegisterGatewayServiceServer(r, &server{service: s})
	turns := &turnServer{threads: s.threads, stores: s.stores, now: s.cfg.Now, ttl: s.cfg.ThreadTTL}
	gatewayv1.RegisterTurnServiceServer(r, turns)
	gatewayv1.RegisterUsageServiceServer(r, &usageServer{turns: turns, service: s})
	customerv1.RegisterCustomerServiceServer(r, &customerServer{server: &server{service: s}})
	gatewayv1.RegisterAgentServiceServer(r, &agentServer{threads: s.threads})
	gatewayv1.RegisterStoreServiceServer(r, &storeServer{stores: s.stores, service: s})
	gatewayv1.RegisterPromptServiceServer(r, &promptServer{service: s})
}

// server serves GatewayService.
type server struct {
	gatewayv1.UnsafeGatewayServiceServer
	service *Service
}

var _ gatewayv1.GatewayServiceServer = (*server)(nil)

// Ask implements GatewayService.
func (s *server) Ask(ctx context.Context, req *gatewayv1.AskRequest) (*gatewayv1.AskResponse, error) {
	return s.service.turn(ctx, req, nil)
}

// AskStream implements GatewayService.
func (s *server) AskStream(
	req *gatewayv1.AskStreamRequest, stream grpc.ServerStreamingServer[gatewayv1.AskStreamResponse],
) error {
	ctx, cancel := s.service.withDeadline(stream.Context())
	defer cancel()
	events := newEvents(ctx, stream.Send)
	defer events.end() // also when the turn panics
	reply, err := s.service.turn(events.ctx, req.GetAsk(), events.emit)
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
	who, err := shopperOf(ctx, req, auth.RightThreads, "turn_id", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	turn, err := s.service.threads.Turn(ctx, req.GetStoreId(), req.GetTurnId(), who)
	if err != nil {
		return nil, err
	}
	return &gatewayv1.GetTurnResponse{Turn: turn.GetReply(), Message: turn.GetMessage(), Feedback: turn.GetFeedback()}, nil
}

// ListThreads implements GatewayService.
func (s *server) ListThreads(ctx context.Context, req *gatewayv1.ListThreadsRequest) (*gatewayv1.ListThreadsResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	check.ID("customer_id", req.GetCustomerId())
	check.Range("limit", int64(req.GetLimit()), 0, 100)
	after := pagetoken.Read(&check, req.GetPageToken(), pagetoken.ParseCursor)
	if err := check.Err(); err != nil {
		return nil, err
	}
	limit := int(req.GetLimit())
	if limit == 0 {
		limit = 20
	}
	found, next, err := s.service.threads.List(ctx, req.GetStoreId(), req.GetCustomerId(), after, limit, s.service.cfg.Now())
	if err != nil {
		return nil, err
	}
	resp, ttl := &gatewayv1.ListThreadsResponse{NextPageToken: next.Token()}, s.service.threadTTL(ctx, req.GetStoreId())
	for _, t := range found {
		resp.Threads = append(resp.Threads, s.thread(t, ttl))
	}
	return resp, nil
}

// GetThread implements GatewayService.
func (s *server) GetThread(ctx context.Context, req *gatewayv1.GetThreadRequest) (*gatewayv1.GetThreadResponse, error) {
	who, err := shopperOf(ctx, req, auth.RightThreads, "thread_id", req.GetThreadId())
	if err != nil {
		return nil, err
	}
	t, turns, err := s.service.threads.Read(ctx, req.GetStoreId(), req.GetThreadId(), who, s.service.cfg.Now())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.GetThreadResponse{Thread: s.thread(t, s.service.threadTTL(ctx, req.GetStoreId())), Messages: t.Messages, TurnIds: turns}, nil
}

// DeleteThread implements GatewayService.
func (s *server) DeleteThread(ctx context.Context, req *gatewayv1.DeleteThreadRequest) (*gatewayv1.DeleteThreadResponse, error) {
	who, err := shopperOf(ctx, req, auth.RightErase, "thread_id", req.GetThreadId())
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.service.withDeadline(ctx)
	defer cancel()
	deleted, err := s.service.threads.Delete(ctx, req.GetStoreId(), req.GetThreadId(), who)
	if err != nil {
		return nil, err
	}
	return &gatewayv1.DeleteThreadResponse{Deleted: deleted}, nil
}

// threadTTL is how long a store's threads are kept.
func (s *Service) threadTTL(ctx context.Context, storeID string) time.Duration {
	store, err := s.stores.cached(ctx, storeID)
	if err != nil || store.GetThreadTtl() == nil {
		return s.cfg.ThreadTTL
	}
	return min(store.GetThreadTtl().AsDuration(), s.cfg.ThreadTTL)
}

// thread returns a thread as the contract has it.
func (s *server) thread(t *threads.Thread, ttl time.Duration) *gatewayv1.Thread {
	return &gatewayv1.Thread{
		ThreadId: t.ID, CustomerId: t.Customer, Title: t.Title, Summary: t.Summary,
		CreateTime: timestamppb.New(t.Created), UpdateTime: timestamppb.New(t.Updated), AssistantMuted: t.Muted,
		ExpireTime: timestamppb.New(t.Updated.Add(ttl)),
	}
}

// ofShopper is a request for something that belongs to a shopper.
type ofShopper interface {
	GetStoreId() string
	GetCustomerId() string
	GetCartId() string
}

// shopperOf checks a request for the thing with the id in field, and returns for whom the thing is looked up: for all, if the
// caller has the right any and the request names nobody. A request that names a shopper is narrowed to that shopper, also for
// callers with the right: they need not compare owners themselves. Whether the caller may act for the shopper is checked before
// the handlers, by the rules of services/internal/auth.
func shopperOf(ctx context.Context, req ofShopper, any auth.Right, field, id string) (threads.Shopper, error) {
	var check fault.Checker
	who := checkShopper(ctx, &check, req, any, field, id)
	return who, check.Err()
}

// checkShopper is shopperOf for a request that has more to check.
func checkShopper(ctx context.Context, check *fault.Checker, req ofShopper, any auth.Right, field, id string) threads.Shopper {
	check.ID("store_id", req.GetStoreId())
	check.ID(field, id)
	check.OptionalID("customer_id", req.GetCustomerId())
	check.OptionalID("cart_id", req.GetCartId())
	may := auth.FromContext(ctx).May(req.GetStoreId(), any)
	return threads.Shopper{
		Customer: req.GetCustomerId(), Cart: req.GetCartId(), AnyGuest: may,
		All: may && req.GetCustomerId() == "" && req.GetCartId() == "",
	}
}
