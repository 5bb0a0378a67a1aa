package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// serveFlags configure one service. All roles take the same flags, so that one ConfigMap fits all pods.
type serveFlags struct {
	models     *modelFlags
	legs       *legFlags
	mcp        *mcpServers
	index      *indexFlag
	gateway    *gateway.Settings
	redis      string
	listen     string
	insecure   *bool
	rulesOnly  bool
	capture    bool
	drain      time.Duration
	drainDelay time.Duration
	peers      map[string]*string
	telemetry  *telemetryFlags
	orders     *string
	carts      *cartFlags
	tls        *tlsFlags
	health     string
	http       *httpFlags
	further    map[string]string
	seal       *sealFlags
	callers    *callerFlags
	scopes     *scopeFlags
	record     *recordFlags
}

func addServeFlags(fs *flag.FlagSet) *serveFlags {
	f := &serveFlags{
		models: addModelFlags(fs), legs: addLegFlags(fs).routeFlag(fs), mcp: addMCPServers(fs), index: addIndexFlag(fs), gateway: addGatewayFlags(fs), peers: make(map[string]*string),
		insecure: insecureFlag(fs), telemetry: addTelemetryFlags(fs), orders: orderSystemsFlag(fs),
		carts: addCartFlags(fs), tls: addTLSFlags(fs, tlsUsage), callers: addCallerFlags(fs), seal: addSealFlags(fs),
		scopes: addScopeFlags(fs), http: addHTTPFlags(fs), further: furtherFlag(fs), record: addRecordFlags(fs),
	}
	fs.StringVar(&f.redis, "redis", "redis://127.0.0.1:6379/0", "`URL` of Redis: redis://, rediss://, redis+sentinel:// or redis+cluster://; the router needs none, but to record turns there")
	fs.StringVar(&f.listen, "listen", "", "`address` to listen on (default 127.0.0.1 and the role's port)")
	fs.StringVar(&f.health, "health-listen", "", "further `address` that serves nothing but grpc.health.v1, in plaintext, for probes that cannot do TLS (default none)")
	fs.BoolVar(&f.rulesOnly, "rules-only", false, "router: never ask a model")
	fs.BoolVar(&f.capture, "capture-content", false, "put tool arguments and results on spans; they may hold text of customers")
	fs.DurationVar(&f.drain, "drain-timeout", 20*time.Second, "how long a stopping server waits for running calls to end")
	fs.DurationVar(&f.drainDelay, "drain-delay", 0, "how long a stopping server still accepts calls after it reports NOT_SERVING")
	for _, role := range suite.Roles() {
		if role == suite.Gateway {
			continue
		}
		def := fmt.Sprintf("127.0.0.1:%d", suite.Port(role))
		f.peers[role] = fs.String(role+"-addr", def, "`target` of the "+role+" service, such as dns:///"+role+":"+strconv.Itoa(suite.Port(role)))
	}
	return f
}

func runServe(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("serve", "ROLE", "Runs one service until it is told to stop. The roles are: "+strings.Join(suite.Roles(), ", ")+
		",\nand mcp, which offers tools that read a store to other agents, at /mcp/STORE (docs/extend.md).", env)
	f := addServeFlags(fs)
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if len(rest) == 1 && rest[0] == suite.MCP {
		return f.serveMCP(ctx, env)
	}
	if len(rest) != 1 || suite.Port(rest[0]) == 0 {
		return usagef("give one role of: %s; or %s; got %q", strings.Join(suite.Roles(), ", "), suite.MCP, rest)
	}
	role := rest[0]
	f.telemetry.sample = f.record.wanted()
	logger, flush, err := f.telemetry.start(ctx, env, "quartet-"+role)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush()) }()
	cfg, closeState, err := f.config(ctx, role, env, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeState()) }()
	if role == suite.Router {
		closeRouting, err := f.legs.openRouting(&cfg, env)
		if err != nil {
			return err
		}
		defer closeRouting()
	}
	if f.listen == "" {
		f.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(suite.Port(role)))
	}
	listeners, err := f.open(ctx)
	if err != nil {
		return err
	}
	var web net.Listener
	if role == suite.Gateway {
		if web, err = f.http.open(ctx, f.tls, *f.insecure); err != nil {
			return errors.Join(err, closeAll(listeners))
		}
	}
	if web != nil {
		cfg.Network = rpc.NewNetwork()
		inside, err := cfg.Network.Listen(suite.Gateway)
		if err != nil {
			return errors.Join(err, closeAll(append(listeners, web)))
		}
		listeners = append(listeners, inside)
	}
	closeCallers, err := f.callers.apply(&cfg, *f.insecure, logger)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	defer func() { err = errors.Join(err, closeCallers()) }()
	inst, err := suite.New(role, cfg)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	warnInsecure(logger, *f.insecure, f.callers.asked())
	logger.Info("serving", "service", role, "address", listeners[0].Addr().String(), "tls", f.tls.on(), "version", version())
	if web != nil {
		logger.Info("serving JSON over HTTP", "address", web.Addr().String())
	}
	return f.http.serve(ctx, cfg, web, func(ctx context.Context) error { return inst.Serve(ctx, listeners...) })
}

// open opens the listeners: for calls, and for probes if wanted.
func (f *serveFlags) open(ctx context.Context) ([]net.Listener, error) {
	lis, err := f.tls.listen(ctx, f.listen, *f.insecure)
	if err != nil || f.health == "" {
		return []net.Listener{lis}, err
	}
	health, err := rpc.ListenHealth(f.health)
	if err != nil {
		return nil, errors.Join(err, lis.Close())
	}
	return []net.Listener{lis, health}, nil
}

func closeAll(listeners []net.Listener) (err error) {
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// config is the suite's configuration as the flags say.
func (f *serveFlags) config(ctx context.Context, role string, env environment, logger *slog.Logger) (suite.Config, func() error, error) {
	cfg := suite.Config{
		Peers: make(map[string]string), Further: f.further, Gateway: *f.gateway, DrainTimeout: f.drain, DrainDelay: f.drainDelay,
		CaptureContent: f.capture, RulesOnly: f.rulesOnly, Logger: logger,
	}
	for peer, target := range f.peers {
		cfg.Peers[peer] = *target
	}
	nothing := func() error { return nil }
	if err := errors.Join(f.carts.apply(&cfg), f.tls.apply(&cfg, role, logger)); err != nil {
		return cfg, nothing, err
	}
	if role != suite.Router || !f.rulesOnly {
		if err := f.models.models(&cfg, env); err != nil {
			return cfg, nothing, err
		}
		if err := checkBudget(cfg); err != nil {
			return cfg, nothing, err
		}
	}
	if err := f.scopes.apply(&cfg, role, logger); err != nil { // before Redis is asked: flags first
		return cfg, nothing, err
	}
	if err := f.record.check(); err != nil {
		return cfg, nothing, err
	}
	if role == suite.Router && !f.record.wanted() {
		return cfg, nothing, nil
	}
	if role == suite.Support {
		var err error
		if cfg.OrderSystems, err = readOrderSystems(*f.orders, env.get); err != nil {
			return cfg, nothing, err
		}
	}
	if err := f.seal.apply(&cfg); err != nil {
		return cfg, nothing, err
	}
	if role == suite.Router && f.record.dir != "" {
		return cfg, nothing, f.record.apply(&cfg)
	}
	whenUp := func(ctx context.Context, url string) (redis.UniversalClient, error) {
		return state.OpenWhenUp(ctx, url, logger)
	}
	closeState, err := openState(ctx, &cfg, f.redis, whenUp)
	if err != nil {
		return cfg, nothing, err
	}
	if err := f.record.apply(&cfg); err != nil {
		return cfg, nothing, errors.Join(err, closeState())
	}
	closeTools, err := f.mcp.open(ctx, &cfg, role, env)
	if err != nil {
		return cfg, nothing, errors.Join(err, closeState())
	}
	closeRedis := closeState
	closeState = func() error { return errors.Join(closeTools(), closeRedis()) }
	if role == suite.Support {
		closeEmbedder, err := f.legs.openEmbedder(&cfg, env)
		if err != nil {
			return cfg, nothing, errors.Join(err, closeState())
		}
		return cfg, func() error { closeEmbedder(); return closeState() }, nil
	}
	if role != suite.Search {
		return cfg, closeState, nil
	}
	closeLegs, err := f.legs.open(&cfg, env)
	if err != nil {
		return cfg, nothing, errors.Join(err, closeState())
	}
	closeIndex, err := f.index.open(&cfg, env)
	if err != nil {
		return cfg, nothing, errors.Join(err, closeLegs(), closeState())
	}
	logger.Info("search goes by "+f.legs.describe(), "index", f.index.describe())
	return cfg, func() error { return errors.Join(closeIndex(), closeLegs(), closeState()) }, nil
}
