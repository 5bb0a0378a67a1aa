package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/suite"
)

// house is all six services in this process.
type house struct {
	cfg     suite.Config
	notes   []string // what the banner says of it
	stop    context.CancelFunc
	group   *errgroup.Group
	closers []func() error // run last to first
}

// houseConfig says how a house is set up.
type houseConfig struct {
	models    *modelFlags
	legs      *legFlags  // nil: none
	index     *indexFlag // nil: embedded
	turns     suite.Turns
	redis     string
	logger    *slog.Logger
	listeners map[string][]net.Listener
	demo      bool
	tune      func(*suite.Config) // changes what the flags do not say; may be nil
}

// openHouse starts everything and fills in the demo stores. The caller closes the house also after an error of its own.
func openHouse(ctx context.Context, hc houseConfig, env environment) (h *house, err error) {
	h = &house{cfg: suite.Config{Network: rpc.NewNetwork(), Turns: hc.turns, Logger: hc.logger}}
	// The house outlives the signal that ends the command: servers drain first, then state and telemetry go.
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	flush, err := startTelemetry(ctx, env, "quartet", hc.logger)
	if err != nil {
		return h, err
	}
	h.closers = append(h.closers, flush)
	if err := h.openModels(ctx, hc, env); err != nil {
		return h, err
	}
	if err := checkBudget(h.cfg); err != nil {
		return h, err
	}
	closeState, err := openState(ctx, &h.cfg, hc.redis)
	if err != nil {
		return h, err
	}
	h.closers = append(h.closers, closeState)
	if hc.redis == "" {
		h.notes = append(h.notes, "state embedded (forgets on exit; --redis keeps it)")
	} else {
		h.notes = append(h.notes, "state in Redis")
	}
	if hc.legs != nil {
		closeLegs, err := hc.legs.open(&h.cfg, env)
		if err != nil {
			return h, err
		}
		h.closers = append(h.closers, closeLegs)
		h.notes = append(h.notes, "search by "+hc.legs.describe())
	}
	if hc.index != nil {
		closeIndex, err := hc.index.open(&h.cfg, env)
		if err != nil {
			return h, err
		}
		h.closers = append(h.closers, closeIndex)
		h.notes = append(h.notes, hc.index.describe())
	}
	if hc.tune != nil {
		hc.tune(&h.cfg)
	}
	six, err := suite.NewAll(h.cfg, hc.listeners)
	if err != nil {
		return h, err
	}
	h.group = &errgroup.Group{}
	h.group.Go(func() error { return six.Serve(ctx) })
	if hc.demo {
		return h, h.loadDemo(ctx)
	}
	return h, nil
}

// openModels takes the configured models, or starts the offline one.
func (h *house) openModels(ctx context.Context, hc houseConfig, env environment) error {
	if hc.models.real(env) {
		if err := hc.models.models(&h.cfg, env); err != nil {
			return err
		}
		h.notes = append(h.notes, "model "+hc.models.describe(env))
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	wait, err := startOffline(ctx, &h.cfg, hc.logger)
	if err != nil {
		cancel()
		return err
	}
	h.closers = append(h.closers, func() error { cancel(); return wait() })
	h.notes = append(h.notes, "model offline (rules, not a language model; set OPENAI_API_KEY or --model-url)")
	return nil
}

// loadDemo loads the demo stores through the services' own RPCs.
func (h *house) loadDemo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	clients, closeClients, err := dialData(h.cfg)
	if err != nil {
		return err
	}
	defer closeClients()
	return loadDemo(ctx, clients)
}

// close drains the services and releases what they used. It may be called once, at any stage of opening.
func (h *house) close() error {
	h.stop()
	var err error
	if h.group != nil {
		err = h.group.Wait()
	}
	for i := len(h.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, h.closers[i]())
	}
	return errors.Join(err, h.cfg.Network.Close())
}

func runUp(ctx context.Context, args []string, env environment) error {
	fs := newFlags("up", "", "Runs all six services in this process: the gateway and the data services on TCP, one port each from --port on.", env)
	hc := houseConfig{models: addModelFlags(fs), legs: addLegFlags(fs), index: addIndexFlag(fs)}
	turns := addTurnFlags(fs)
	fs.StringVar(&hc.redis, "redis", "", "`URL` of Redis, such as redis://localhost:6379/0 (default: an embedded server that forgets on exit)")
	fs.BoolVar(&hc.demo, "demo", true, "load the demo stores at start; with --redis only if given")
	orders, carts := orderSystemsFlag(fs), addCartFlags(fs)
	host := fs.String("host", "127.0.0.1", "`address` to listen on")
	insecure := insecureFlag(fs)
	port := fs.Int("port", suite.Port(suite.Gateway), "`port` of the gateway; the data services take the ports after it, as in 'quartet serve'")
	level := logLevel(fs, slog.LevelInfo)
	if rest, err := parse(fs, args, env); err != nil {
		return err
	} else if len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}
	if hc.redis != "" && !given(fs, "demo") {
		hc.demo = false // nobody expects a demo in a Redis of their own
	}
	hc.turns, hc.logger = *turns, newLogger(env, *level)
	systems, err := readOrderSystems(*orders, env.get)
	if err != nil {
		return err
	}
	hc.tune = func(cfg *suite.Config) {
		cfg.OrderSystems = systems
		carts.apply(cfg)
	}
	addresses, err := hc.listen(*host, *port, *insecure)
	if err != nil {
		return err
	}
	h, err := openHouse(ctx, hc, env)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.out, "six services in this process · %s\n", strings.Join(h.notes, " · "))
	for i, role := range suite.Roles() {
		fmt.Fprintf(env.out, "  %-11s %s\n", role, addresses[i])
	}
	fmt.Fprintf(env.out, "try: grpcurl -plaintext -d '{\"store_id\":\"demo\",\"customer_id\":\"ava\",\"message\":\"where is my order?\"}' %s quartet.gateway.v1.GatewayService/Ask\n", addresses[0])
	failed := make(chan struct{})
	go func() { defer close(failed); _ = h.group.Wait() }() // close returns the error
	select {
	case <-ctx.Done():
	case <-failed:
	}
	err = h.close()
	<-failed
	return err
}

// listen opens the TCP listeners of 'quartet up' and returns their addresses in the order of suite.Roles.
func (hc *houseConfig) listen(host string, port int, insecure bool) ([]string, error) {
	hc.listeners = make(map[string][]net.Listener)
	var addresses []string
	for _, role := range suite.Roles() {
		p := 0
		if port != 0 {
			p = port + suite.Port(role) - suite.Port(suite.Gateway)
		}
		lis, err := rpc.Listen(net.JoinHostPort(host, strconv.Itoa(p)), insecure)
		if err != nil {
			for _, ls := range hc.listeners {
				err = errors.Join(err, ls[0].Close())
			}
			return nil, err
		}
		hc.listeners[role] = []net.Listener{lis}
		addresses = append(addresses, lis.Addr().String())
	}
	return addresses, nil
}

func insecureFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("insecure", false, "allow listening beyond the loopback interface although calls are neither encrypted nor authenticated")
}
