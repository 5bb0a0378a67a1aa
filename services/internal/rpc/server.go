// Package rpc is how Quartet's services speak gRPC: it builds servers and clients with their interceptors, and has the one
// table from Go errors to statuses.
//
// It carries deadlines, scope and traces between processes, so that a handler only checks its request, calls its domain and
// returns plain errors. An in-memory [Network] stands in for TCP; everything else stays the same.
// The package must not import a service.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// DefaultDeadline bounds a call without a deadline.
	DefaultDeadline = 60 * time.Second
	// DefaultDrainTimeout is how long running calls may finish once a server stops.
	DefaultDrainTimeout = 30 * time.Second
	// DefaultMaxMessageBytes is the largest message that servers and clients receive.
	DefaultMaxMessageBytes = 16 << 20
	// DefaultMaxStreams is how many calls one connection may have open: twice the turns that a gateway admits.
	DefaultMaxStreams = 2048
	// DefaultMaxHeaderBytes is the largest metadata of a call, which has credentials, a scope and a trace.
	DefaultMaxHeaderBytes = 32 << 10
	// DefaultIdleTimeout is how long a call waits for its client.
	DefaultIdleTimeout = 30 * time.Second
	// DefaultMaxConnectionIdle is when a connection without calls is closed.
	DefaultMaxConnectionIdle = 5 * time.Minute
	// DefaultMaxConnectionAge is when a server asks a client to reconnect, which makes it look for new replicas.
	DefaultMaxConnectionAge = 10 * time.Minute

	// window and connWindow bound the unread bytes of a stream and of a connection. Fixed windows save the pings with which gRPC
	// would measure the line; messages are small.
	window     = 64 << 10
	connWindow = 1 << 20

	// handshakeTimeout bounds the beginning of a connection.
	handshakeTimeout = 10 * time.Second
	// pingAfter and pingTimeout find clients that have gone without a word.
	pingAfter   = 2 * time.Minute
	pingTimeout = 20 * time.Second

	// minClientPing is the shortest interval between keepalive pings that a server accepts.
	minClientPing = 10 * time.Second
)

// ServerConfig says how a server behaves. Its zero value serves loopback and in-memory listeners.
type ServerConfig struct {
	// Name is the role of the service, such as "search". It is the attribute quartet.service of the server's spans, and the
	// audience of the scopes that calls to a specialist or a router need.
	Name string
	// Logger receives a line per call: at debug level, or at warn and error levels for calls that fail. Nil discards them.
	Logger *slog.Logger
	// Credentials are the server's TLS credentials. Nil means plaintext. In-memory listeners are plaintext anyway.
	Credentials credentials.TransportCredentials
	// Authenticator finds out who calls, by the tokens of calls. Nil: a server with TLS Credentials takes only calls with a scope,
	// and any other server takes every caller as local, with all rights.
	Authenticator auth.Authenticator
	// Scopes verifies the signed scopes of calls. Nil refuses calls that carry one.
	Scopes *scope.Verifier
	// Limiter bounds the calls of each caller. Nil: no limit.
	Limiter *auth.Limiter
	// Reflection says whether the server tells its services and messages to anybody who connects.
	Reflection bool
	// Peers say which callers may call what, by the role of their certificate. Nil: all may. Requires Credentials.
	Peers *mtls.Rules
	// DefaultDeadline bounds calls that arrive without a deadline. Zero means DefaultDeadline.
	DefaultDeadline time.Duration
	// DrainDelay is how long the server goes on taking calls after its health turned to NOT_SERVING,
	// so that balancers notice first. Zero means none.
	DrainDelay time.Duration
	// DrainTimeout is how long running calls may finish before they are cancelled. Zero means DefaultDrainTimeout.
	DrainTimeout time.Duration
	// MaxMessageBytes is the largest message to receive of any method. gRPC refuses a larger one when its length arrives. Zero
	// means DefaultMaxMessageBytes.
	MaxMessageBytes int
	// MaxRequestBytes is the largest request of one method, by full name such as "/quartet.gateway.v1.GatewayService/Ask". A
	// larger one is refused before it is decoded. A method that is not listed takes MaxMessageBytes. May be nil.
	MaxRequestBytes map[string]int
	// MaxStreams is how many calls one connection may have open. Further ones wait in the client. Zero means DefaultMaxStreams.
	MaxStreams int
	// MaxHeaderBytes is the largest metadata of a call. Zero means DefaultMaxHeaderBytes.
	MaxHeaderBytes int
	// IdleTimeout is how long a call waits for its client: for a message to arrive in whole, or for the client to take what
	// fills its window. Zero means DefaultIdleTimeout.
	IdleTimeout time.Duration
	// MaxConnectionIdle is when a connection without calls is closed. Zero means DefaultMaxConnectionIdle.
	MaxConnectionIdle time.Duration
	// MaxConnectionAge is when clients are asked to reconnect. Zero means DefaultMaxConnectionAge.
	MaxConnectionAge time.Duration
	// MaxConnectionAgeGrace is how long calls may run on after that. Zero means twice the default deadline.
	MaxConnectionAgeGrace time.Duration
}

func (c ServerConfig) withDefaults() ServerConfig {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.DefaultDeadline = orDefault(c.DefaultDeadline, DefaultDeadline)
	c.DrainTimeout = orDefault(c.DrainTimeout, DefaultDrainTimeout)
	c.MaxMessageBytes = orDefault(c.MaxMessageBytes, DefaultMaxMessageBytes)
	c.MaxStreams = orDefault(c.MaxStreams, DefaultMaxStreams)
	c.MaxHeaderBytes = orDefault(c.MaxHeaderBytes, DefaultMaxHeaderBytes)
	c.IdleTimeout = orDefault(c.IdleTimeout, DefaultIdleTimeout)
	c.MaxConnectionIdle = orDefault(c.MaxConnectionIdle, DefaultMaxConnectionIdle)
	c.MaxConnectionAge = orDefault(c.MaxConnectionAge, DefaultMaxConnectionAge)
	c.MaxConnectionAgeGrace = orDefault(c.MaxConnectionAgeGrace, 2*c.DefaultDeadline)
	return c
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Server is a gRPC server with health, tracing, Quartet's interceptors and, if asked for, reflection.
// Register services on it, then call Serve once.
type Server struct {
	cfg      ServerConfig
	log      *slog.Logger
	grpc     *grpc.Server
	probed   *grpc.Server // serves health listeners
	health   *health.Server
	refusals refusalCounter
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer returns a server without services.
func NewServer(cfg ServerConfig) *Server {
	cfg = cfg.withDefaults()
	s := &Server{
		cfg:      cfg,
		log:      slog.New(telemetry.LogHandler(cfg.Logger.Handler())),
		health:   health.NewServer(),
		refusals: newRefusalCounter(),
	}
	s.grpc = grpc.NewServer(append(transportOptions(cfg),
		grpc.ForceServerCodecV2(newRequestCodec()),
		grpc.InTapHandle(s.tap),
		grpc.UnaryInterceptor(s.unary()),
		grpc.StreamInterceptor(s.stream()),
	)...)
	s.probed = s.newHealthServer()
	s.SetReady(true)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	if cfg.Reflection {
		reflection.Register(s.grpc)
	}
	return s
}

func transportOptions(cfg ServerConfig) []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(cfg.MaxMessageBytes),
		grpc.MaxConcurrentStreams(uint32(cfg.MaxStreams)),
		grpc.MaxHeaderListSize(uint32(cfg.MaxHeaderBytes)),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(connWindow),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle:     cfg.MaxConnectionIdle,
			MaxConnectionAge:      cfg.MaxConnectionAge,
			MaxConnectionAgeGrace: cfg.MaxConnectionAgeGrace,
			Time:                  pingAfter,
			Timeout:               pingTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minClientPing, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
		grpc.StatsHandler(otelgrpc.NewServerHandler(
			otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
			otelgrpc.WithSpanAttributes(attribute.String(telemetry.KeyService, cfg.Name)),
		)),
	}
	if cfg.Credentials != nil {
		opts = append(opts, grpc.Creds(serverCredentials{cfg.Credentials}))
	}
	return opts
}

// RegisterService adds a service and reports it as SERVING. Call it before Serve.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.grpc.RegisterService(s.limitRequests(desc), impl)
	s.health.SetServingStatus(desc.ServiceName, healthv1.HealthCheckResponse_SERVING)
}

// Readiness is the name under which grpc.health.v1 tells whether the server can do its work. Other names, such as "", tell that
// it serves: a server that is not ready goes on serving, and is not to be restarted.
const Readiness = "readiness"

// SetReady says whether the server can do its work. It is ready at first.
func (s *Server) SetReady(ready bool) {
	status := healthv1.HealthCheckResponse_NOT_SERVING
	if ready {
		status = healthv1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus(Readiness, status)
}

// Serve serves all listeners until ctx ends or one of them fails, then drains: health turns to NOT_SERVING, DrainDelay
// passes, running calls get DrainTimeout to finish, and what is left is cancelled. It closes the listeners. On those of
// ListenHealth it serves health alone.
//
// Serve returns nil after a clean stop, and else the first listener's error. It refuses to serve plaintext to other
// machines, unless Listen was told to allow that. No goroutine of the server outlives it, so a handler that ignores
// its context holds it up. Call it once.
func (s *Server) Serve(ctx context.Context, lis ...net.Listener) error {
	if err := s.check(lis); err != nil {
		for _, l := range lis {
			l.Close()
		}
		return err
	}
	results := make(chan error, len(lis))
	for _, l := range lis {
		go func() { results <- s.serve(l) }()
	}
	var first error
	pending := len(lis)
	select {
	case <-ctx.Done():
		s.health.Shutdown()
		wait(s.cfg.DrainDelay)
	case first = <-results:
		pending--
		s.health.Shutdown()
	}
	s.drain()
	s.probed.Stop() // last, so that probes see NOT_SERVING while calls end
	for range pending {
		if err := <-results; first == nil {
			first = err
		}
	}
	return first
}

func (s *Server) serve(l net.Listener) error {
	server := s.grpc
	if _, ok := l.(healthListener); ok {
		server = s.probed
	}
	err := server.Serve(l)
	if err == nil || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("serve on %s: %w", l.Addr(), err)
}

// drain lets running calls finish, and cancels what is left after the drain timeout.
func (s *Server) drain() {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	timer := time.NewTimer(s.cfg.DrainTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		s.log.Warn("cancelling calls that outlived the drain timeout", slog.Duration("drain_timeout", s.cfg.DrainTimeout))
		s.grpc.Stop()
		<-stopped
	}
}

// wait blocks for d. It is used where the context is already over and d is the bound.
func wait(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}
