// Package suite wires the six services: which constructor gets which peers, and how they are served, apart or all in one
// process. With cmd and e2e it is the only package that imports the services; none of them imports it.
package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/quartet-commerce/quartet/pkg/agentloop"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
	"github.com/quartet-commerce/quartet/services/router"
	"github.com/quartet-commerce/quartet/services/search"
)

// closeTimeout bounds the background work of a service that has drained.
const closeTimeout = 5 * time.Second

// Config configures all services. Every service gets the same Config and takes what it needs.
type Config struct {
	// Redis holds the state. Required by every role but the router. The caller closes it.
	Redis redis.UniversalClient
	// Sealer encrypts what is kept of customers in Redis. Nil: it is kept in plaintext.
	Sealer *seal.Sealer
	// Model answers shoppers. Required by every role but the router.
	Model *model.Traced
	// Models answer in place of Model, by the role of the specialist. Nil: Model answers for all.
	Models map[string]*model.Traced
	// NamedModel returns a model that a store has chosen, each name the same one. Nil: stores choose none.
	NamedModel func(name string) (*model.Traced, error)
	// FastModel classifies messages and sums up threads. Nil: the router goes by its rules alone, and a thread's first
	// message serves as its summary.
	FastModel *model.Traced
	// RulesOnly lets the router go by its classifier alone, although there is a FastModel: one that follows rules itself, such as
	// the offline model, would only make a decision worse.
	RulesOnly bool
	// Peers are the targets of the services by role, such as "dns:///search:7302". Under Cart there may be a cart service that
	// replaces the recommend service's carts. A role without a target is in this process, and is reached through Network.
	Peers map[string]string
	// Further are the targets of further specialists by name, which the gateway asks beside the four. What they are for, it learns
	// from Describe. They may read no data of the shopper or the store. Nil: none.
	Further map[string]string
	// Tools are further tools of the specialists by role, such as those of a Model Context Protocol server. They work in every store
	// and must change nothing. Nil: none.
	Tools map[string][]agentloop.Tool
	// Network connects the services of one process. Required unless Peers names every role.
	Network *rpc.Network
	// Gateway is how the gateway runs turns. Its TurnTimeout also bounds calls of the other services whose caller set no
	// deadline. The zero value stands for the gateway's defaults.
	Gateway gateway.Settings
	// AlwaysAskModel makes the router ask its model even where its rules are certain.
	AlwaysAskModel bool
	// RouteEmbedder lets the router compare messages with the specialists' examples. Nil: it does not.
	RouteEmbedder router.Embedder
	// DrainTimeout is how long a stopping server waits for running calls. Zero: rpc's default.
	DrainTimeout time.Duration
	// DrainDelay is how long a stopping server goes on serving after it has reported NOT_SERVING, so that its callers
	// notice. Zero: no delay.
	DrainDelay time.Duration
	// CartTTL is how long the recommend service keeps a cart after its last write. Zero: recommend's default.
	CartTTL time.Duration
	// OrderSystems are the order systems of stores, by store, for the support service. Nil: support keeps all orders.
	OrderSystems map[string]orderhttp.Config
	// CaptureContent puts tool arguments and results on spans. They may hold text of customers.
	CaptureContent bool
	// ScopeSigner signs the scopes of turns. Required by the gateway. NewAll makes a key if neither this nor Scopes is set.
	ScopeSigner *scope.Signer
	// Scopes verifies the scopes of turns. Required by every role.
	Scopes *scope.Verifier
	// Authenticator finds out who calls, by the tokens of calls. Nil: see rpc.ServerConfig.
	Authenticator auth.Authenticator
	// CallerRate is how many calls a second each caller may make for each store. Zero or less: no limit. Callers may have a rate of
	// their own.
	CallerRate float64
	// Reflection says whether the servers tell their services and messages to anybody who connects.
	Reflection bool
	// Token is what Dial sends with calls, to prove who calls. Empty: none. Services do not use it.
	Token string
	// TLS are the credentials of the roles of this process, for what they serve and call over TCP. Dial uses those of mtls.Client.
	// A role without any is served, and calls, in plaintext. Calls over Network need none.
	TLS map[string]*mtls.Credentials
	// CartCredentials are the credentials for calls of Peers[Cart], which has no role. Nil: plaintext.
	CartCredentials credentials.TransportCredentials
	// Search says how products are searched. Its Embedder also serves the support service.
	Search search.Settings
	// Tape records turns, or plays one back. Nil: neither.
	Tape bundle.Tape
	// NewID makes the ids of turns and threads. Nil: the gateway's own.
	NewID func() string
	// Logger gets the services' logs. Nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock of the services: which day it is, which promotions run, how old orders are. Deadlines and expiries of keys
	// follow the real clock. Nil: time.Now.
	Now func() time.Time
}

// Time returns what the clock of the services says.
func (c Config) Time() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// Instance is one service, ready to serve.
type Instance struct {
	role    string
	service registrar
	server  *rpc.Server
	dialer  *dialer
}

// New builds the service of a role. Peers are dialled lazily, so the order of starting is free.
func New(role string, cfg Config) (*Instance, error) {
	r, err := roleOf(role)
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	switch {
	case r.needsState && cfg.Redis == nil:
		return nil, fmt.Errorf("%s: Redis is required", role)
	case r.needsState && cfg.Model == nil:
		return nil, fmt.Errorf("%s: Model is required", role)
	case cfg.Scopes == nil:
		return nil, fmt.Errorf("%s: Scopes is required", role)
	}
	for name := range cfg.Models {
		if !slices.Contains(Specialists(), name) {
			return nil, fmt.Errorf("%s: Models has %q, which is no specialist", role, name)
		}
	}
	cfg.Logger = cfg.Logger.With("service", role)
	cfg.tapeModels(role)
	d := &dialer{cfg: cfg, role: role}
	service, err := r.build(cfg, d)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", role, err), d.close())
	}
	serverConfig := rpc.ServerConfig{
		Name: role, Logger: cfg.Logger, DefaultDeadline: cfg.Gateway.TurnTimeout, DrainTimeout: cfg.DrainTimeout, DrainDelay: cfg.DrainDelay,
		Scopes: cfg.Scopes, Authenticator: cfg.Authenticator, Limiter: auth.NewLimiter(cfg.CallerRate), Reflection: cfg.Reflection,
		MaxMessageBytes: r.maxRequest, MaxRequestBytes: requestBytes,
	}
	if tls := cfg.TLS[role]; tls != nil {
		serverConfig.Credentials = tls.Server()
		serverConfig.Peers = &mtls.Rules{TrustDomain: tls.TrustDomain(), Roles: callersOf(r), Only: gatewayOnly}
	}
	server := rpc.NewServer(serverConfig)
	service.Register(server)
	inst := &Instance{role: role, service: service, server: server, dialer: d}
	if role == Gateway {
		if err := forwardData(server, d); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", role, err), inst.close(context.Background()))
		}
	}
	if slices.Contains(Specialists(), role) { // the router and the gateway do their work without a model
		cfg.modelOf(role).WatchKey(func(refused bool) { server.SetReady(!refused) })
	}
	return inst, nil
}

// Serve serves on all listeners until ctx ends, then drains and releases what the service holds. It owns the listeners.
func (i *Instance) Serve(ctx context.Context, listeners ...net.Listener) error {
	background, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	if r, ok := i.service.(interface{ Run(context.Context) }); ok {
		running.Go(func() { r.Run(background) })
	}
	err := i.server.Serve(ctx, listeners...)
	stop()
	running.Wait()
	if err != nil {
		err = fmt.Errorf("%s: %w", i.role, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, i.close(ctx))
}

// close waits until the service has finished its background work or ctx ends, and releases its resources and connections.
func (i *Instance) close(ctx context.Context) error {
	var err error
	switch c := i.service.(type) {
	case interface{ Close(context.Context) }:
		c.Close(ctx)
	case io.Closer:
		err = c.Close()
	}
	return errors.Join(err, i.dialer.close())
}

// Suite is all six services in one process, ready to serve.
type Suite struct {
	instances []*Instance
	listeners [][]net.Listener
}

// NewAll builds all six services, to be served over cfg.Network, which is required, and each on the further listeners for its
// role. Calls may be made at once; they wait until Serve is called. After an error the caller still owns the further listeners.
func NewAll(cfg Config, further map[string][]net.Listener) (*Suite, error) {
	if cfg.Network == nil {
		return nil, errors.New("suite: Network is required")
	}
	if cfg.ScopeSigner == nil && cfg.Scopes == nil {
		var err error
		if cfg.ScopeSigner, cfg.Scopes, err = scope.NewPair(); err != nil {
			return nil, err
		}
	}
	s := &Suite{}
	for _, role := range Roles() {
		inst, err := New(role, cfg)
		if err != nil {
			return nil, errors.Join(err, s.abandon())
		}
		lis, err := cfg.Network.Listen(role)
		if err != nil {
			return nil, errors.Join(err, inst.close(context.Background()), s.abandon())
		}
		s.instances = append(s.instances, inst)
		s.listeners = append(s.listeners, append([]net.Listener{lis}, further[role]...))
	}
	return s, nil
}

// Serve serves until ctx ends or a service fails, then drains all of them. It owns the listeners.
func (s *Suite) Serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, inst := range s.instances {
		group.Go(func() error { return inst.Serve(ctx, s.listeners[i]...) })
	}
	return group.Wait()
}

// abandon closes the services and listeners of a suite that will not be served.
func (s *Suite) abandon() error {
	var err error
	for i, inst := range s.instances {
		err = errors.Join(err, inst.close(context.Background()), s.listeners[i][0].Close())
	}
	return err
}

// registrar is what every service offers.
type registrar interface{ Register(grpc.ServiceRegistrar) }

// dialer makes the connections of one service.
type dialer struct {
	cfg   Config
	role  string // of the service
	conns []*grpc.ClientConn
	err   error
}

// dial returns a connection to a role, for calls with the scope of a turn. It keeps errors in err, so that wiring reads as a list.
func (d *dialer) dial(role string) *grpc.ClientConn { return d.open(role, rpc.DialConfig{}) }

// dialForCallers returns a connection to a role as dial does. Its calls outside a turn are made for the caller that is being
// served, with that caller's token.
func (d *dialer) dialForCallers(role string) *grpc.ClientConn {
	return d.open(role, rpc.DialConfig{ForwardCaller: true})
}

func (d *dialer) open(role string, cfg rpc.DialConfig) *grpc.ClientConn {
	conn, err := dialAs(d.role, role, d.cfg, cfg)
	if err != nil {
		d.err = errors.Join(d.err, err)
		return nil
	}
	d.conns = append(d.conns, conn)
	return conn
}

func (d *dialer) close() error {
	var err error
	for _, c := range d.conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Dial connects to the service of a role, or to Cart, as cfg says where it is. The caller closes the connection.
func Dial(role string, cfg Config) (*grpc.ClientConn, error) {
	return dialAs(mtls.Client, role, cfg, rpc.DialConfig{Token: cfg.Token})
}

// dialAs connects to a role with the certificate of the role self.
func dialAs(self, role string, cfg Config, how rpc.DialConfig) (*grpc.ClientConn, error) {
	how.Idempotent = idempotent
	how.External = role == Cart && cfg.Peers[Cart] != "" // a store's own cart service must not get Quartet's tokens
	if role == Cart && cfg.Peers[Cart] == "" {
		role = Recommend
	}
	target := cmp.Or(cfg.Peers[role], cfg.Further[role])
	if target == "" {
		if cfg.Network == nil {
			return nil, fmt.Errorf("%s: neither Peers nor Network says where it is", role)
		}
		target, how.Network = "inproc:///"+role, cfg.Network
		return rpc.Dial(target, how)
	}
	if tls := cfg.TLS[self]; role == Cart {
		how.Credentials = cfg.CartCredentials
	} else if tls != nil {
		how.Credentials = tls.Client(role)
	}
	return rpc.Dial(target, how)
}
