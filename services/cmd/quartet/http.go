package main

import (
	"context"
	"net"

	flag "github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/quartet-commerce/quartet/services/internal/httpapi"
	"github.com/quartet-commerce/quartet/services/suite"
)

// httpFlags say where the gateway's JSON API is served.
type httpFlags struct {
	address string
	origins []string
}

func addHTTPFlags(fs *flag.FlagSet) *httpFlags {
	f := &httpFlags{}
	fs.StringVar(&f.address, "http-listen", "", "gateway: further `address` that serves JSON over HTTP and server-sent events (examples/web), such as 127.0.0.1:7380 (default none)")
	fs.Func("http-cors-origin", "gateway: web `origin` whose pages may call --http-listen, such as https://shop.example; may be repeated (default none)",
		func(s string) error { f.origins = append(f.origins, s); return httpapi.CheckOrigin(s) })
	return f
}

// open opens the listener. It returns nil if the API is not asked for.
func (f *httpFlags) open(ctx context.Context, tls *tlsFlags, insecure bool) (net.Listener, error) {
	switch {
	case f.address == "" && len(f.origins) > 0:
		return nil, usagef("--http-cors-origin needs --http-listen")
	case f.address == "":
		return nil, nil
	}
	return tls.listen(ctx, f.address, insecure)
}

// serve serves the gateway by grpc, which listens on cfg.Network, too, and the API on lis, which may be nil.
func (f *httpFlags) serve(ctx context.Context, cfg suite.Config, lis net.Listener, grpc func(context.Context) error) error {
	if lis == nil {
		return grpc(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return grpc(ctx) })
	group.Go(func() error { return suite.ServeHTTP(ctx, cfg, f.origins, lis) })
	return group.Wait()
}
