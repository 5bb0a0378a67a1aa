package suite

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/httpapi"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// ServeHTTP serves the gateway's JSON API on lis until ctx ends, then drains. The gateway must serve on cfg.Network. The pages of
// origins may call. ServeHTTP owns the listener.
func ServeHTTP(ctx context.Context, cfg Config, origins []string, lis net.Listener) (err error) {
	const margin = time.Second // the gateway reports its own lateness
	conn, err := rpc.Dial("inproc:///"+Gateway, rpc.DialConfig{
		Network: cfg.Network, DefaultDeadline: cmp.Or(cfg.Gateway.TurnTimeout, rpc.DefaultDeadline) + margin,
	})
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var certificates *tls.Config
	if c := cfg.TLS[Gateway]; c != nil {
		certificates = c.HTTP()
	}
	server, err := httpapi.New(httpapi.Config{
		Conn: conn, Origins: origins, TLS: certificates, Logger: cfg.Logger,
		DrainDelay: cfg.DrainDelay, DrainTimeout: cmp.Or(cfg.DrainTimeout, rpc.DefaultDrainTimeout),
	})
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	return server.Serve(ctx, lis)
}
