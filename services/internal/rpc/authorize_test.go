package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// catalog is a CatalogService that counts its calls and tells who made the last one.
type catalog struct {
	catalogv1.UnimplementedCatalogServiceServer
	calls  atomic.Int32
	caller atomic.Pointer[auth.Caller]
	next   catalogv1.CatalogServiceClient // is called, too, if not nil
}

func (c *catalog) GetProduct(ctx context.Context, req *catalogv1.GetProductRequest) (*catalogv1.GetProductResponse, error) {
	c.calls.Add(1)
	caller := auth.FromContext(ctx)
	c.caller.Store(&caller)
	if c.next != nil {
		return c.next.GetProduct(ctx, req)
	}
	return &catalogv1.GetProductResponse{}, nil
}

func (c *catalog) UpsertProducts(stream grpc.ClientStreamingServer[catalogv1.UpsertProductsRequest, catalogv1.UpsertProductsResponse]) error {
	n := int32(0)
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&catalogv1.UpsertProductsResponse{UpsertedCount: n})
		}
		if err != nil {
			return err
		}
		c.calls.Add(1)
		n++
	}
}

// known accepts the tokens that it has.
type known map[string]auth.Caller

func (k known) Authenticate(_ context.Context, token string) (auth.Caller, error) {
	if c, ok := k[token]; ok {
		return c, nil
	}
	return auth.Caller{}, auth.InvalidToken(errors.New("not known here"))
}

func callers() known {
	return known{
		"good-token":  {Name: "app", Grants: []auth.Grant{{Store: "a", Rights: []auth.Right{auth.RightCatalog}}}},
		"both-token":  {Name: "both", Grants: []auth.Grant{{Store: auth.AnyStore, Rights: []auth.Right{auth.RightCatalog}}}},
		"other-token": {Name: "other", Grants: []auth.Grant{{Store: "b", Rights: []auth.Right{auth.RightOrders}}}},
	}
}

// serveCatalog serves c under a name of a network until the test ends.
func serveCatalog(t *testing.T, network *Network, name string, cfg ServerConfig, c *catalog) {
	t.Helper()
	lis, err := network.Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(cfg)
	catalogv1.RegisterCatalogServiceServer(s, c)
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "quartet.x.v1.Unruled", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Call", Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			req := &emptypb.Empty{}
			if err := decode(req); err != nil {
				return nil, err
			}
			return intercept(ctx, req, &grpc.UnaryServerInfo{FullMethod: "/quartet.x.v1.Unruled/Call"},
				func(context.Context, any) (any, error) { c.calls.Add(1); return req, nil })
		},
	}}}, nil)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func dialCatalog(t *testing.T, network *Network, name string, cfg DialConfig) *grpc.ClientConn {
	t.Helper()
	cfg.Network = network
	conn, err := Dial("inproc:///"+name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func get(ctx context.Context, conn *grpc.ClientConn, store string) error {
	_, err := catalogv1.NewCatalogServiceClient(conn).GetProduct(ctx, &catalogv1.GetProductRequest{StoreId: store, ProductId: "p"})
	return err
}

// is checks the code and the reason of an error.
func is(t *testing.T, what string, err error, code codes.Code, reason string) {
	t.Helper()
	if st := status.Convert(err); st.Code() != code || Reason(st) != reason {
		t.Errorf("%s: %v, reason %q; want %v, %q", what, err, Reason(st), code, reason)
	}
}

func TestCallersProveWhoTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		network, c := NewNetwork(), &catalog{}
		serveCatalog(t, network, "catalog", ServerConfig{
			Authenticator: callers(), Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, c)
		conn := dialCatalog(t, network, "catalog", DialConfig{})
		for name, test := range map[string]struct {
			headers []string
			reason  string // "" if accepted
		}{
			"no credentials": {nil, "CREDENTIALS_MISSING"},
			"a good token":   {[]string{"Bearer good-token"}, ""},
			"lower case":     {[]string{"bearer good-token"}, ""},
			"unknown":        {[]string{"Bearer bad-token"}, "CREDENTIALS_INVALID"},
			"another scheme": {[]string{"Basic good-token"}, "CREDENTIALS_INVALID"},
			"no scheme":      {[]string{"good-token"}, "CREDENTIALS_INVALID"},
			"no token":       {[]string{"Bearer "}, "CREDENTIALS_INVALID"},
			"empty":          {[]string{""}, "CREDENTIALS_INVALID"},
			"twice":          {[]string{"Bearer good-token", "Bearer good-token"}, "CREDENTIALS_INVALID"},
			"endless":        {[]string{"Bearer " + strings.Repeat("x", maxToken+1)}, "CREDENTIALS_INVALID"},
		} {
			before := c.calls.Load()
			ctx := t.Context()
			for _, h := range test.headers {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", h)
			}
			err := get(ctx, conn, "a")
			if test.reason == "" {
				if err != nil || c.calls.Load() != before+1 || c.caller.Load().Name != "app" {
					t.Errorf("%s: %v, the handler saw %q", name, err, c.caller.Load().Name)
				}
				continue
			}
			is(t, name, err, codes.Unauthenticated, test.reason)
			if c.calls.Load() != before {
				t.Errorf("%s: the handler was called", name)
			}
		}
		synctest.Wait()
		if text := log.String(); !strings.Contains(text, "caller=app") || !strings.Contains(text, "not known here") ||
			strings.Contains(text, "good-token") || strings.Contains(text, "bad-token") {
			t.Errorf("the log says\n%s", text)
		}
	})
}

func TestRightsAreCheckedBeforeTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, c := NewNetwork(), &catalog{}
		serveCatalog(t, network, "catalog", ServerConfig{Authenticator: callers()}, c)
		app := dialCatalog(t, network, "catalog", DialConfig{Token: "good-token"})
		other := dialCatalog(t, network, "catalog", DialConfig{Token: "other-token"})
		is(t, "another store", get(t.Context(), app, "b"), codes.PermissionDenied, "PERMISSION_DENIED")
		is(t, "another right", get(t.Context(), other, "b"), codes.PermissionDenied, "PERMISSION_DENIED")
		is(t, "no store", get(t.Context(), app, ""), codes.PermissionDenied, "PERMISSION_DENIED")
		is(t, "a method without a rule", app.Invoke(t.Context(), "/quartet.x.v1.Unruled/Call", &emptypb.Empty{}, &emptypb.Empty{}),
			codes.PermissionDenied, "PERMISSION_DENIED")
		if c.calls.Load() != 0 {
			t.Errorf("the handler was called %d times", c.calls.Load())
		}
		serveCatalog(t, network, "open", ServerConfig{}, c)
		local := dialCatalog(t, network, "open", DialConfig{})
		is(t, "a local caller", get(t.Context(), local, "b"), codes.OK, "")
		is(t, "a local caller of a method without a rule", local.Invoke(t.Context(), "/quartet.x.v1.Unruled/Call", &emptypb.Empty{}, &emptypb.Empty{}),
			codes.PermissionDenied, "PERMISSION_DENIED")
	})
}

func TestEveryMessageOfAStreamIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, c := NewNetwork(), &catalog{}
		serveCatalog(t, network, "catalog", ServerConfig{Authenticator: callers()}, c)
		for _, test := range []struct {
			what, token string
			stores      []string
			code        codes.Code
			received    int32
		}{
			{"all for one store", "good-token", []string{"a", "", "a"}, codes.OK, 3},
			{"the second for another", "good-token", []string{"a", "b"}, codes.PermissionDenied, 1},
			{"back after the store's name was left out", "good-token", []string{"a", "", "b"}, codes.PermissionDenied, 2},
			{"the first for another", "good-token", []string{"b"}, codes.PermissionDenied, 0},
			{"the first for none", "good-token", []string{""}, codes.PermissionDenied, 0},
			{"no message", "good-token", nil, codes.OK, 0},
			{"no message and no right", "other-token", nil, codes.PermissionDenied, 0},
			{"no token", "", []string{"a"}, codes.Unauthenticated, 0},
		} {
			before := c.calls.Load()
			conn := dialCatalog(t, network, "catalog", DialConfig{Token: test.token})
			stream, err := catalogv1.NewCatalogServiceClient(conn).UpsertProducts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, store := range test.stores {
				_ = stream.Send(&catalogv1.UpsertProductsRequest{StoreId: store}) // the status comes with the response
			}
			_, err = stream.CloseAndRecv()
			if status.Code(err) != test.code || c.calls.Load() != before+test.received {
				t.Errorf("%s: %v after %d messages; want %v after %d", test.what, err, c.calls.Load()-before, test.code, test.received)
			}
		}
	})
}

func TestCallersAreAskedToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, c := NewNetwork(), &catalog{}
		serveCatalog(t, network, "catalog", ServerConfig{Authenticator: callers(), Limiter: auth.NewLimiter(0.5)}, c)
		conn := dialCatalog(t, network, "catalog", DialConfig{Token: "good-token"})
		is(t, "the first", get(t.Context(), conn, "a"), codes.OK, "")
		err := get(t.Context(), conn, "a")
		is(t, "the second", err, codes.ResourceExhausted, "RATE_LIMITED")
		var wait time.Duration
		for _, d := range status.Convert(err).Details() {
			if r, ok := d.(*errdetails.RetryInfo); ok {
				wait = r.GetRetryDelay().AsDuration()
			}
		}
		if wait != 2*time.Second {
			t.Errorf("asked to wait %v, want 2s", wait)
		}
		is(t, "a call that is refused anyway", get(t.Context(), conn, "b"), codes.PermissionDenied, "PERMISSION_DENIED")
		<-time.After(wait)
		is(t, "after the wait", get(t.Context(), conn, "a"), codes.OK, "")

		stream, err := catalogv1.NewCatalogServiceClient(dialCatalog(t, network, "catalog", DialConfig{Token: "both-token"})).UpsertProducts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, store := range []string{"a", "a", "b", "a"} {
			_ = stream.Send(&catalogv1.UpsertProductsRequest{StoreId: store})
		}
		_, err = stream.CloseAndRecv()
		is(t, "a stream that returns to a store", err, codes.ResourceExhausted, "RATE_LIMITED")
	})
}

func TestTheCallersTokenIsForwardedOnlyWhereTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, behind := NewNetwork(), &catalog{}
		serveCatalog(t, network, "behind", ServerConfig{Authenticator: callers()}, behind)
		for name, test := range map[string]struct {
			how    DialConfig
			code   codes.Code
			caller string
		}{
			"told":               {DialConfig{ForwardCaller: true}, codes.OK, "app"},
			"not told":           {DialConfig{}, codes.Unauthenticated, ""},
			"a token of its own": {DialConfig{Token: "good-token"}, codes.OK, "app"},
		} {
			behind.caller.Store(&auth.Caller{})
			front := &catalog{next: catalogv1.NewCatalogServiceClient(dialCatalog(t, network, "behind", test.how))}
			serveCatalog(t, network, name, ServerConfig{Authenticator: callers()}, front)
			err := get(t.Context(), dialCatalog(t, network, name, DialConfig{Token: "good-token"}), "a")
			if status.Code(err) != test.code || behind.caller.Load().Name != test.caller {
				t.Errorf("%s: %v, the service behind saw %q", name, err, behind.caller.Load().Name)
			}
		}
	})
}

func TestRefusalsAreCountedByReason(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	synctest.Test(t, func(t *testing.T) {
		network := NewNetwork()
		serveCatalog(t, network, "catalog", ServerConfig{Authenticator: callers(), Limiter: auth.NewLimiter(1)}, &catalog{})
		for token, stores := range map[string][]string{"": {"a", "a"}, "bad-token": {"a"}, "good-token": {"a", "a", "a", "b"}} {
			conn := dialCatalog(t, network, "catalog", DialConfig{Token: token})
			for _, store := range stores {
				_ = get(t.Context(), conn, store)
			}
		}
	})
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int64)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == telemetry.MetricRefusals {
				for _, p := range sum.DataPoints {
					reason, _ := p.Attributes.Value(telemetry.KeyErrorType)
					got[reason.AsString()] += p.Value
				}
			}
		}
	}
	want := map[string]int64{"CREDENTIALS_MISSING": 2, "CREDENTIALS_INVALID": 1, "PERMISSION_DENIED": 1, "RATE_LIMITED": 2}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

func TestHealthIsOpenAndReflectionIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, c := NewNetwork(), &catalog{}
		for name, on := range map[string]bool{"off": false, "on": true} {
			serveCatalog(t, network, name, ServerConfig{Authenticator: callers(), Reflection: on}, c)
			conn := dialCatalog(t, network, name, DialConfig{})
			if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
				t.Errorf("health: %v", err)
			}
			stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
			_ = stream.CloseSend()
			_, err = stream.Recv()
			if want := map[bool]codes.Code{true: codes.OK, false: codes.Unimplemented}[on]; status.Code(err) != want {
				t.Errorf("reflection %s: %v, want %v", name, err, want)
			}
			for err == nil {
				_, err = stream.Recv()
			}
		}
	})
}
