package router

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Defaults of Config.
const (
	// DefaultModelTimeout bounds the model's part of a decision, the correction round included.
	DefaultModelTimeout = 5 * time.Second
	// DefaultCertainThreshold is the certainty from which on the rules decide alone.
	DefaultCertainThreshold = 0.9
)

// Config configures a Service. The zero value routes by rules alone.
type Config struct {
	// Model makes the decisions that the rules are not certain of. Nil: there is none, and the rules' word is final.
	Model agentloop.Model
	// ModelTimeout bounds one decision's work with the model. A caller's earlier deadline shortens it, so that the rules'
	// answer is still in time. Zero: DefaultModelTimeout.
	ModelTimeout time.Duration
	// AlwaysAskModel asks the model also where the rules are certain. It has no effect without a model.
	AlwaysAskModel bool
	// CertainThreshold is the certainty, above 0 to 1, from which on the rules decide alone.
	// Zero: DefaultCertainThreshold.
	CertainThreshold float64
	// Price turns the model's usage into cost. Nil: the cost is unknown.
	Price *agentloop.Price
	// MeterProvider makes the metric of decisions. Nil: the global one.
	MeterProvider metric.MeterProvider
	// Logger gets one debug line for each decision and a warning for each model failure, never a shopper's words.
	// Nil: nothing is logged.
	Logger *slog.Logger
}

// Validate reports the first value that makes no sense.
func (c Config) Validate() error {
	if c.ModelTimeout < 0 {
		return fmt.Errorf("router: ModelTimeout is %v, must not be negative", c.ModelTimeout)
	}
	if !(c.CertainThreshold >= 0 && c.CertainThreshold <= 1) {
		return fmt.Errorf("router: CertainThreshold is %v, must be from 0 to 1", c.CertainThreshold)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.ModelTimeout == 0 {
		c.ModelTimeout = DefaultModelTimeout
	}
	if c.CertainThreshold == 0 {
		c.CertainThreshold = DefaultCertainThreshold
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Service implements RouterService. It is safe for concurrent use and starts no goroutines.
type Service struct {
	routerv1.UnsafeRouterServiceServer
	cfg       Config
	offers    offers
	lexicons  lexicons
	decisions metric.Int64Counter
}

var _ routerv1.RouterServiceServer = (*Service)(nil)

// New returns a Service, or an error if the Config does not validate.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	decisions, err := newCounter(cfg.MeterProvider)
	if err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, decisions: decisions}, nil
}

// Register registers RouterService.
func (s *Service) Register(r grpc.ServiceRegistrar) { routerv1.RegisterRouterServiceServer(r, s) }

// Route implements RouterService: it sends the rules' decision as provisional while a model is asked, and one final
// decision. Errors: *fault.Invalid for a bad request, *fault.Precondition for a version of specialists that is not known,
// *fault.Unavailable if no specialist is available, and those of the stream and its context.
func (s *Service) Route(req *routerv1.RouteRequest, stream grpc.ServerStreamingServer[routerv1.RouteResponse]) error {
	if err := check(req); err != nil {
		return err
	}
	specialists, err := s.offered(req)
	if err != nil {
		return err
	}
	t := s.newTurn(req, specialists)
	decision, err := t.decide(stream.Context(), func(provisional *routerv1.RoutingDecision) error {
		return send(stream, provisional)
	})
	if err != nil {
		return err
	}
	err = send(stream, decision) // before what nobody waits for
	s.count(stream.Context(), decision, t.provisional)
	s.log(stream.Context(), decision)
	return err
}

func send(stream grpc.ServerStreamingServer[routerv1.RouteResponse], d *routerv1.RoutingDecision) error {
	if err := stream.Send(&routerv1.RouteResponse{Decision: d}); err != nil {
		return fmt.Errorf("send routing decision: %w", err)
	}
	return nil
}

func (s *Service) log(ctx context.Context, d *routerv1.RoutingDecision) {
	s.cfg.Logger.DebugContext(ctx, "routed",
		slog.String("source", d.GetSource().String()),
		slog.Int("assignments", len(d.GetAssignments())),
		slog.Float64("certainty", d.GetCertainty()),
		slog.Duration("duration", d.GetDuration().AsDuration()))
}
