package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/suite"
)

// serveMCP serves tools that read the stores to other agents. It has neither state nor a model, and signs scopes as the gateway does.
func (f *serveFlags) serveMCP(ctx context.Context, env environment) (err error) {
	logger, flush, err := f.telemetry.start(ctx, env, "quartet-"+suite.MCP)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush()) }()
	cfg := suite.Config{Peers: make(map[string]string), DrainTimeout: f.drain, DrainDelay: f.drainDelay, Logger: logger}
	for peer, target := range f.peers {
		cfg.Peers[peer] = *target
	}
	if err := errors.Join(f.carts.apply(&cfg), f.tls.apply(&cfg, suite.MCP, logger)); err != nil {
		return err
	}
	if f.scopes.key == "" {
		return usagef("--scope-key is required: the file with the private key of scopes; 'quartet certs --out DIR' makes it: DIR/scope-key/key.jwk")
	}
	if cfg.ScopeSigner, err = scope.OpenSigner(f.scopes.key, logger); err != nil {
		return err
	}
	closeCallers, err := f.callers.apply(&cfg, *f.insecure, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeCallers()) }()
	if f.tls.on() && !f.callers.asked() {
		return usagef("over TLS, mcp needs --tokens or --jwks, or else nobody could call")
	}
	lis, err := f.tls.listen(ctx, cmp.Or(f.listen, net.JoinHostPort("127.0.0.1", strconv.Itoa(suite.MCPPort))), *f.insecure)
	if err != nil {
		return err
	}
	warnInsecure(logger, *f.insecure, f.callers.asked())
	logger.Info("serving", "service", suite.MCP, "address", lis.Addr().String(), "path", "/mcp/STORE", "tls", f.tls.on(), "version", version())
	return suite.ServeMCP(ctx, cfg, version(), lis)
}
