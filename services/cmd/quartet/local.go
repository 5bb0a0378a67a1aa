package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/suite"
)

// local is all six services in this process.
type local struct {
	cfg     suite.Config
	notes   []string // what the banner says of it
	stop    context.CancelFunc
	group   *errgroup.Group
	closers []func() error // run last to first
}

// localConfig says how the services are set up.
type localConfig struct {
	models    *modelFlags
	legs      *legFlags  // nil: none
	index     *indexFlag // nil: embedded
	mcp       *mcpServers
	gateway   gateway.Settings
	redis     string
	seal      *sealFlags // nil: plaintext
	logger    *slog.Logger
	listeners map[string][]net.Listener
	demo      bool
	scopeKey  string              // file; "": a key of this process
	tune      func(*suite.Config) // changes what the flags do not say; may be nil
	record    *recordFlags        // nil: no turn is kept
	callers   *callerFlags        // nil: nobody is asked for credentials
	insecure  bool                // other machines may connect
	telemetry bool                // is set up already
	http      *httpFlags          // where the JSON API is served
	web       net.Listener        // nil: it is not
	gates     []*gate             // of the listeners, opened when the demo stores are there
}

// openLocal starts everything and loads the demo stores. The caller closes what it returns.
func openLocal(ctx context.Context, c localConfig, env environment) (l *local, err error) {
	l = &local{cfg: suite.Config{Network: rpc.NewNetwork(), Gateway: c.gateway, Logger: c.logger}}
	// The services outlive the signal that ends the command: servers drain first, then state and telemetry go.
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if !c.telemetry {
		_, flush, err := setUpTelemetry(ctx, env, telemetry.Config{ServiceName: "quartet", Sample: c.record != nil && c.record.wanted(), Logger: c.logger})
		if err != nil {
			return l, err
		}
		l.closers = append(l.closers, flush)
	}
	if err := l.openModels(ctx, c, env); err != nil {
		return l, err
	}
	if err := checkBudget(l.cfg); err != nil {
		return l, err
	}
	if err := l.openData(ctx, c, env); err != nil {
		return l, err
	}
	if err := scopePair(&l.cfg, c.scopeKey); err != nil {
		return l, err
	}
	if c.tune != nil {
		c.tune(&l.cfg)
	}
	if err := l.openRecording(c); err != nil {
		return l, err
	}
	if c.callers != nil {
		var own auth.Authenticator
		l.cfg.Token, own = ownToken() // to load the demo stores
		closeCallers, err := c.callers.apply(&l.cfg, c.insecure, c.logger, own)
		if err != nil {
			return l, err
		}
		l.closers = append(l.closers, closeCallers)
		l.notes = append(l.notes, c.callers.describe(len(l.cfg.TLS) > 0))
	}
	six, err := suite.NewAll(l.cfg, c.listeners)
	if err != nil {
		return l, err
	}
	l.group = &errgroup.Group{}
	l.group.Go(func() error { return c.http.serve(ctx, l.cfg, c.web, six.Serve) })
	if c.demo {
		if err := l.loadDemo(ctx, env); err != nil {
			return l, err
		}
	}
	for _, g := range c.gates {
		g.open()
	}
	return l, nil
}

// openData opens the state, the search index and what else tools read.
func (l *local) openData(ctx context.Context, c localConfig, env environment) error {
	encrypted := ""
	if c.seal != nil {
		if err := c.seal.apply(&l.cfg); err != nil {
			return err
		}
		encrypted = c.seal.describe()
	}
	closeState, err := openState(ctx, &l.cfg, c.redis, state.Open)
	if err != nil {
		return err
	}
	l.closers = append(l.closers, closeState)
	if c.redis == "" {
		l.notes = append(l.notes, "state embedded (forgets on exit; --redis keeps it)"+encrypted)
	} else {
		l.notes = append(l.notes, "state in Redis"+encrypted)
	}
	if c.legs != nil {
		closeLegs, err := c.legs.open(&l.cfg, env)
		if err != nil {
			return err
		}
		l.closers = append(l.closers, closeLegs)
		closeRouting, err := c.legs.openRouting(&l.cfg, env)
		if err != nil {
			return err
		}
		l.closers = append(l.closers, func() error { closeRouting(); return nil })
		l.notes = append(l.notes, "search by "+c.legs.describe())
	}
	if c.index != nil {
		closeIndex, err := c.index.open(&l.cfg, env)
		if err != nil {
			return err
		}
		l.closers = append(l.closers, closeIndex)
		l.notes = append(l.notes, c.index.describe())
	}
	closeTools, err := c.mcp.open(ctx, &l.cfg, "", env)
	if err != nil {
		return err
	}
	l.closers = append(l.closers, closeTools)
	return nil
}

// openRecording has turns kept, if the flags say so.
func (l *local) openRecording(c localConfig) error {
	if c.record == nil {
		return nil
	}
	if c.record.wanted() && c.record.dir == "" && c.redis == "" {
		return usagef("--record needs --record-dir or --redis: the embedded server forgets on exit")
	}
	if err := c.record.apply(&l.cfg); err != nil {
		return err
	}
	if stop := c.record.stop; stop != nil {
		l.closers = append(l.closers, func() error { stop(); return nil })
	}
	return nil
}

// openModels takes the configured models, or starts the offline one.
func (l *local) openModels(ctx context.Context, c localConfig, env environment) error {
	if c.models.real(env) {
		if err := c.models.models(&l.cfg, env); err != nil {
			return err
		}
		l.notes = append(l.notes, "model "+c.models.describe(env))
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	wait, err := startOffline(ctx, &l.cfg, c.logger)
	if err != nil {
		cancel()
		return err
	}
	l.closers = append(l.closers, func() error { cancel(); return wait() })
	l.notes = append(l.notes, offlineNote)
	offlineModels := map[string]*model.Traced{offline.Model: l.cfg.Model, offline.ModelFast: l.cfg.FastModel}
	named := c.models.named(l.cfg, env)
	l.cfg.NamedModel = func(name string) (*model.Traced, error) {
		if m := offlineModels[name]; m != nil {
			return m, nil
		}
		return named(name)
	}
	return nil
}

// loadDemo loads the demo stores through the services' own RPCs.
func (l *local) loadDemo(ctx context.Context, env environment) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	clients, closeClients, err := dialData(ctx, l.cfg, env)
	if err != nil {
		return err
	}
	defer closeClients()
	return loadDemo(ctx, clients, l.cfg.Time())
}

// close drains the services and releases what they used. It may be called once, at any stage of opening.
func (l *local) close() error {
	l.stop()
	var err error
	if l.group != nil {
		err = l.group.Wait()
	}
	for i := len(l.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, l.closers[i]())
	}
	return errors.Join(err, l.cfg.Network.Close())
}

// listen opens the TCP listeners of 'quartet up' and returns their addresses in the order of suite.Roles.
func (c *localConfig) listen(ctx context.Context, tls *tlsFlags, host string, port int, insecure bool) ([]string, error) {
	c.listeners = make(map[string][]net.Listener)
	var addresses []string
	for _, role := range suite.Roles() {
		p := 0
		if port != 0 {
			p = port + suite.Port(role) - suite.Port(suite.Gateway)
		}
		lis, err := tls.listen(ctx, net.JoinHostPort(host, strconv.Itoa(p)), insecure)
		if err != nil {
			for _, ls := range c.listeners {
				err = errors.Join(err, ls[0].Close())
			}
			return nil, err
		}
		c.listeners[role] = []net.Listener{c.hold(lis)}
		addresses = append(addresses, lis.Addr().String())
	}
	return addresses, nil
}

// hold returns a listener that lets nobody in before the services have their data.
func (c *localConfig) hold(lis net.Listener) net.Listener {
	g := newGate(lis)
	c.gates = append(c.gates, g)
	return g
}

// flushTimeout bounds the export of the last spans when a command ends.
const flushTimeout = 3 * time.Second

// startOffline serves the offline model on a free port of the loopback interface until ctx ends, and makes it the
// suite's model. The returned function waits for its end.
func startOffline(ctx context.Context, cfg *suite.Config, logger *slog.Logger) (wait func() error, err error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("offline model: %w", err)
	}
	server, err := offline.New(offline.Config{Logger: logger})
	if err != nil {
		return nil, errors.Join(err, lis.Close())
	}
	url := "http://" + lis.Addr().String() + "/v1"
	var fastErr error
	cfg.Model, err = model.New(model.Config{URL: url, Name: offline.Model})
	cfg.FastModel, fastErr = model.New(model.Config{URL: url, Name: offline.ModelFast})
	if err := errors.Join(err, fastErr); err != nil {
		return nil, errors.Join(err, lis.Close())
	}
	cfg.RulesOnly = true
	done := make(chan error, 1)
	go func() { done <- offline.Serve(ctx, lis, server) }()
	return func() error { return <-done }, nil
}

// openRedis connects to the Redis at a URL.
type openRedis func(ctx context.Context, url string) (redis.UniversalClient, error)

// openState connects to Redis, or starts the embedded server when url is empty. The returned function closes both.
func openState(ctx context.Context, cfg *suite.Config, url string, open openRedis) (closeState func() error, err error) {
	state.LogTo(cfg.Logger)
	closeServer := func() error { return nil }
	if url == "" {
		server, err := state.Embedded()
		if err != nil {
			return nil, err
		}
		url, closeServer = server.URL(), server.Close
	}
	client, err := open(ctx, url)
	if err != nil {
		return nil, errors.Join(err, closeServer())
	}
	if err := state.CheckSchema(ctx, client); err != nil {
		return nil, errors.Join(err, client.Close(), closeServer())
	}
	cfg.Redis = client
	return func() error { return errors.Join(client.Close(), closeServer()) }, nil
}

// loadDemo loads the demo stores, with the dates of their data around now.
func loadDemo(ctx context.Context, clients load.Clients, now time.Time) error {
	sets, err := demo.Load(now)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if err := load.Demo(ctx, clients, set); err != nil {
			return fmt.Errorf("load demo store %s: %w", set.Store.GetStoreId(), err)
		}
	}
	return nil
}

// dialData connects to the gateway, which forwards to the owners of data.
func dialData(ctx context.Context, cfg suite.Config, env environment) (load.Clients, func(), error) {
	conn, err := dial(ctx, suite.Gateway, cfg, env)
	if err != nil {
		return load.Clients{}, nil, err
	}
	return load.Clients{
		Stores: gatewayv1.NewStoreServiceClient(conn), Catalog: catalogv1.NewCatalogServiceClient(conn), Carts: cartv1.NewCartServiceClient(conn),
		Promotions: promotionv1.NewPromotionServiceClient(conn), Orders: orderv1.NewOrderServiceClient(conn), Policies: policyv1.NewPolicyServiceClient(conn),
	}, func() { _ = conn.Close() }, nil // a client connection has nothing to lose
}

// offlineNote says what answers, and what another model would change.
const offlineNote = "model offline (rules, not a language model; a real one understands any wording and translates: set OPENAI_API_KEY, or " +
	"ANTHROPIC_API_KEY with --model claude-..., GEMINI_API_KEY with --model gemini-..., or --model-url URL --model NAME)"
