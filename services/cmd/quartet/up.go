package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/suite"
)

func runUp(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("up", "", "Runs all six services in this process. Each listens on a TCP port of its own, from --port on.", env)
	c := localConfig{models: addModelFlags(fs), legs: addLegFlags(fs).routeFlag(fs), mcp: addMCPServers(fs), index: addIndexFlag(fs), seal: addSealFlags(fs)}
	settings := addGatewayFlags(fs)
	fs.StringVar(&c.redis, "redis", "", "`URL` of Redis, such as redis://localhost:6379/0 (default: an embedded server that forgets on exit)")
	fs.BoolVar(&c.demo, "demo", true, "load the demo stores at start; with --redis the default is false")
	orders, carts, callers, web := orderSystemsFlag(fs), addCartFlags(fs), addCallerFlags(fs), addHTTPFlags(fs)
	further, recorded := furtherFlag(fs), addRecordFlags(fs)
	fs.StringVar(&c.scopeKey, "scope-key", "", "`file` with the private key that signs the scopes of turns, so that 'quartet scope' can make others for trials (default: a key that ends with the process)")
	host := fs.String("host", "127.0.0.1", "`address` to listen on")
	insecure, tls := insecureFlag(fs), addTLSFlags(fs, tlsUsageUp)
	port := fs.Int("port", suite.Port(suite.Gateway), "`port` of the gateway; the other services take the ports after it, as in 'quartet serve'; 0 for free ports")
	telemetry := addTelemetryFlags(fs)
	if rest, err := parse(fs, args, env); err != nil {
		return err
	} else if len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}
	if c.redis != "" && !given(fs, "demo") {
		c.demo = false // a Redis of one's own gets a demo only on request
	}
	telemetry.sample = recorded.wanted()
	logger, flush, err := telemetry.start(ctx, env, "quartet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush()) }()
	c.gateway, c.logger, c.telemetry = *settings, logger, true
	systems, err := readOrderSystems(*orders, env.get)
	if err != nil {
		return err
	}
	var own suite.Config // what only this command sets
	if err := errors.Join(carts.apply(&own), tls.applyAll(&own, c.logger)); err != nil {
		return err
	}
	c.record = recorded
	c.callers, c.insecure, c.http = callers, *insecure, web
	c.tune = func(cfg *suite.Config) {
		cfg.OrderSystems, cfg.Further = systems, further
		cfg.CartTTL, cfg.CartCredentials, cfg.Peers, cfg.TLS = own.CartTTL, own.CartCredentials, own.Peers, own.TLS
	}
	warnInsecure(c.logger, *insecure, c.callers.asked())
	addresses, err := c.listen(ctx, tls, *host, *port, *insecure)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; --port moves all six services", err)
	}
	if err != nil {
		return err
	}
	if c.web, err = web.open(ctx, tls, *insecure); err != nil {
		return err
	}
	if c.web != nil {
		c.web = c.hold(c.web)
	}
	l, err := openLocal(ctx, c, env)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.out, "six services in this process · %s\n", strings.Join(l.notes, " · "))
	for i, role := range suite.Roles() {
		fmt.Fprintf(env.out, "  %-11s %s\n", role, addresses[i])
	}
	if c.web != nil {
		fmt.Fprintf(env.out, "  %-11s %s\n", "http", c.web.Addr())
	}
	fmt.Fprintf(env.out, "try: quartet chat --addr %s%s\n", addresses[0], chatFlags(tls, callers.asked()))
	fmt.Fprintf(env.out, "or: grpcurl %s -d '{\"store_id\":\"demo\",\"customer_id\":\"ava\",\"message\":\"where is my order?\"}' %s quartet.gateway.v1.GatewayService/Ask\n",
		grpcurlFlags(tls, callers.asked(), l.cfg.Reflection), addresses[0])
	failed := make(chan struct{})
	go func() { defer close(failed); _ = l.group.Wait() }() // close returns the error
	select {
	case <-ctx.Done():
	case <-failed:
	}
	err = l.close()
	<-failed
	return err
}

// chatFlags are the flags beside --addr with which 'quartet chat' reaches the gateway.
func chatFlags(tls *tlsFlags, tokens bool) (flags string) {
	if tls.on() {
		flags = " --tls " + filepath.Join(tls.folder, mtls.Client)
	}
	if tokens {
		flags += ` --token "$TOKEN"`
	}
	return flags
}

// grpcurlFlags are the flags with which grpcurl reaches the services from the project's folder.
func grpcurlFlags(tls *tlsFlags, tokens, reflection bool) string {
	flags := "-plaintext"
	if tls.on() {
		flags = "-cacert " + filepath.Join(tls.folder, mtls.Client, mtls.CAFile)
	}
	if tokens {
		flags += ` -H "authorization: Bearer $TOKEN"`
	}
	if !reflection {
		flags += " -import-path proto -proto quartet/gateway/v1/gateway.proto"
	}
	return flags
}
