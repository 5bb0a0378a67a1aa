// Package gateway is what a store's backend calls. It admits a shopper's message, asks the router which specialists shall
// answer which part of it, runs those at the same time, makes one reply of what they say, and keeps the conversation.
//
// A turn is a value that passes through stages, in turn.go from top to bottom: admit, route, dispatch, merge, reply,
// record. Results live in slots by assignment; nothing of a turn outlives it but what is recorded, and, until then, what
// its journal holds for one who resumes it.
//
// The package must not import another service: it meets them through the generated clients of router.v1 and
// specialist.v1.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Defaults for the zero values of [Config].
const (
	DefaultThreadTTL    = 30 * 24 * time.Hour
	DefaultTurnTimeout  = 60 * time.Second
	DefaultMergeReserve = 6 * time.Second

	// DefaultLease outlasts the longest pause that a healthy process may make, and is how long a turn stands still after
	// its gateway has died.
	DefaultLease = 15 * time.Second

	DefaultMaxTurns         = 1024
	DefaultMaxTurnsPerStore = 512
)

// instrumentation names the package in traces and metrics.
const instrumentation = "github.com/quartet-commerce/quartet/services/gateway"

// Peer is one specialist.
type Peer struct {
	// Name of the specialist, unique, such as "search". It counts, whatever the specialist calls itself. Required.
	Name string
	// Client reaches it. Required.
	Client specialistv1.SpecialistServiceClient
}

// Config is what the service is made of.
type Config struct {
	// Redis keeps stores, threads and turns. Required. The caller owns it and closes it after the service has stopped.
	Redis redis.UniversalClient
	// Model words one reply from several answers. Nil: they are always joined by code.
	Model agentloop.Model
	// Price of the model's tokens. Nil: the cost of a merge is unknown.
	Price *agentloop.Price
	// FastModel writes the running summaries of threads. Nil: a thread's first message serves as its summary.
	FastModel agentloop.Model
	// FastPrice of the fast model's tokens. Nil: the cost of a summary is unknown.
	FastPrice *agentloop.Price
	// Cart reads the shopper's cart, once per turn. Nil: specialists read it themselves.
	Cart cartv1.CartServiceClient
	// Router splits messages. Required.
	Router routerv1.RouterServiceClient
	// Specialists there are. At least one.
	Specialists []Peer
	// ThreadTTL is how long a thread and its turns are kept after the last message. Zero: DefaultThreadTTL.
	ThreadTTL time.Duration
	// TurnTimeout bounds a turn whose context has no deadline. Zero: DefaultTurnTimeout.
	TurnTimeout time.Duration
	// MergeReserve is the time kept for merging when several specialists are at work, but never more than a quarter of
	// what is left of the turn. A merge is given up when its model says nothing for so long, and after twice as long in any
	// case. Zero: DefaultMergeReserve.
	MergeReserve time.Duration
	// RunAhead says when specialists of a provisional routing start before it is final. Zero: RunAheadAlways.
	RunAhead RunAhead
	// Lease is how long a gateway that is not heard of keeps its turn. Zero: DefaultLease.
	Lease time.Duration
	// MaxTurns bounds the turns in flight in this process; what comes beyond is refused. Zero: DefaultMaxTurns.
	MaxTurns int
	// MaxTurnsPerStore bounds those of one store, so that it leaves room for the others. Zero: DefaultMaxTurnsPerStore.
	MaxTurnsPerStore int
	// Budget bounds the models' work on one turn. Nil: it is not bounded.
	Budget *commonv1.Budget
	// Now dates turns and threads. Nil: time.Now. Deadlines follow the real clock.
	Now func() time.Time
	// MeterProvider makes the metrics of turns. Nil: the global one.
	MeterProvider metric.MeterProvider
	// NewID makes identifiers of turns and threads, which must be unique and hard to guess: a guest's thread is protected
	// by nothing else. Nil: 128 random bits.
	NewID func() string
	// Logger gets what goes wrong, never customer text. Nil: slog.Default().
	Logger *slog.Logger
}

// Validate says what is missing.
func (c Config) Validate() error {
	switch {
	case c.Redis == nil:
		return errors.New("gateway: Redis is required")
	case c.Router == nil:
		return errors.New("gateway: Router is required")
	case len(c.Specialists) == 0:
		return errors.New("gateway: at least one specialist is required")
	case c.ThreadTTL < 0 || c.TurnTimeout < 0 || c.MergeReserve < 0 || c.Lease < 0:
		return errors.New("gateway: a duration in Config is negative")
	case c.MaxTurns < 0 || c.MaxTurnsPerStore < 0:
		return errors.New("gateway: a limit of turns in Config is negative")
	case c.Budget.GetMaxTokens() < 0 || c.Budget.GetMaxCost().GetAmountMicros() < 0:
		return errors.New("gateway: Budget is negative")
	case c.Budget.GetMaxCost() != nil && c.Budget.GetMaxCost().GetCurrencyCode() == "":
		return errors.New("gateway: Budget has money of no currency")
	case !c.RunAhead.valid():
		return fmt.Errorf("gateway: RunAhead is %q, must be %q, %q or %q", c.RunAhead, RunAheadAlways, RunAheadCertain, RunAheadOff)
	}
	seen := make(map[string]bool, len(c.Specialists))
	for _, p := range c.Specialists {
		if p.Name == "" || p.Client == nil || seen[p.Name] {
			return fmt.Errorf("gateway: specialist %q has no name or no client, or is named twice", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

func (c Config) withDefaults() Config {
	setDefault(&c.ThreadTTL, DefaultThreadTTL)
	setDefault(&c.TurnTimeout, DefaultTurnTimeout)
	setDefault(&c.MergeReserve, DefaultMergeReserve)
	setDefault(&c.Lease, DefaultLease)
	setDefault(&c.MaxTurns, DefaultMaxTurns)
	setDefault(&c.MaxTurnsPerStore, DefaultMaxTurnsPerStore)
	setDefault(&c.RunAhead, RunAheadAlways)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = randomID
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Service serves GatewayService and StoreService. It is safe for concurrent use.
type Service struct {
	cfg       Config
	directory *directory
	merger    *merger
	ahead     *ahead // nil: nothing runs ahead
	limiter   *limiter
	summaries *summarizer
	stores    stores
	threads   threads
	tracer    trace.Tracer

	journalLinger time.Duration
}

// New returns a service, or an error that says what the configuration lacks. It starts nothing and makes no call.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if cfg.Model != nil {
		cfg.Model = frugal{cfg.Model, cfg.Price}
	}
	m, err := newMerger(cfg.Model, cfg.Price, cfg.MergeReserve)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	meter := cfg.MeterProvider.Meter(instrumentation)
	ahead, err := newAhead(cfg.RunAhead, meter, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	l, err := newLimiter(cfg.MaxTurns, cfg.MaxTurnsPerStore, meter)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	t := threads{redis: cfg.Redis, ttl: cfg.ThreadTTL, lease: cfg.Lease}
	summaries, err := newSummarizer(cfg, t)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return &Service{
		cfg:       cfg,
		directory: newDirectory(cfg.Specialists),
		merger:    m,
		ahead:     ahead,
		limiter:   l,
		summaries: summaries,
		stores:    newStores(cfg.Redis),
		threads:   t,
		tracer:    otel.Tracer(instrumentation),

		journalLinger: journalLinger,
	}, nil
}

// Close waits for what goes on after the turns, which is the writing of summaries, and gives up what is left of it when ctx
// ends. It is called after the last turn has ended, and before what Config holds is closed.
func (s *Service) Close(ctx context.Context) { s.summaries.close(ctx) }

// Register adds both services to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	gatewayv1.RegisterGatewayServiceServer(r, &server{service: s})
	gatewayv1.RegisterStoreServiceServer(r, &storeServer{stores: s.stores})
}
