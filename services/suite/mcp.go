package suite

import (
	"cmp"
	"context"
	"errors"
	"net"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/httpapi"
	"github.com/quartet-commerce/quartet/services/internal/mcpserver"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// MCP is the name of the server that offers the stores' tools to other agents. It is not a role: it speaks no gRPC.
const MCP = "mcp"

// MCPPort is the port that it listens on unless told otherwise.
const MCPPort = 7320

// ServeMCP serves the stores' tools over the Model Context Protocol on lis until ctx ends, then drains. It owns the listener.
func ServeMCP(ctx context.Context, cfg Config, version string, lis net.Listener) (err error) {
	switch {
	case cfg.ScopeSigner == nil:
		return errors.Join(errors.New("mcp: ScopeSigner is required"), lis.Close())
	case cfg.TLS[MCP] != nil && cfg.Authenticator == nil:
		return errors.Join(errors.New("mcp: over TLS an Authenticator is required, or else nobody could call"), lis.Close())
	}
	d := &dialer{cfg: cfg, role: MCP}
	defer func() { err = errors.Join(err, d.close()) }()
	support := d.dial(Support)
	handler := mcpserver.New(mcpserver.Config{
		Catalog: catalogv1.NewCatalogServiceClient(d.dial(Search)), Carts: cartv1.NewCartServiceClient(d.dial(Cart)),
		Promotions: promotionv1.NewPromotionServiceClient(d.dial(Promotions)), Orders: orderv1.NewOrderServiceClient(support),
		Policies: policyv1.NewPolicyServiceClient(support),
		Signer:   cfg.ScopeSigner, Audience: MCP, Authenticator: cfg.Authenticator, Limiter: auth.NewLimiter(cfg.CallerRate), Version: version,
		Logger: cfg.Logger, Now: cfg.Now,
	})
	if d.err != nil {
		return errors.Join(d.err, lis.Close())
	}
	server := httpapi.Config{
		Logger: cfg.Logger, DrainDelay: cfg.DrainDelay, DrainTimeout: cmp.Or(cfg.DrainTimeout, rpc.DefaultDrainTimeout),
	}
	if tls := cfg.TLS[MCP]; tls != nil {
		server.TLS = tls.HTTP()
	}
	return httpapi.NewFor(handler, server).Serve(ctx, lis)
}

// callersOf returns the roles that may call a role with a certificate: those that dial it, and the server of agents' tools, which
// can only read what its scopes allow.
func callersOf(r role) []string {
	switch r.name {
	case Search, Recommend, Promotions, Support:
		return append([]string{MCP}, r.callers...)
	}
	return r.callers
}
