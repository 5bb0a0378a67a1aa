package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const specialistService = "quartet.specialist.v1.SpecialistService"

func check(t *testing.T, conn *grpc.ClientConn, service string) healthv1.HealthCheckResponse_ServingStatus {
	t.Helper()
	resp, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatalf("health of %q: %v", service, err)
	}
	return resp.GetStatus()
}

func TestHealthIsReportedPerService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture()
		h.start(t, &fake{})
		conn := h.conn(t)
		for _, service := range []string{"", specialistService} {
			if got := check(t, conn, service); got != healthv1.HealthCheckResponse_SERVING {
				t.Errorf("%q is %v", service, got)
			}
		}
		_, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: "other"})
		if status.Code(err) != codes.NotFound {
			t.Errorf("an unknown service: %v", err)
		}
	})
}

func TestHealthTurnsBeforeTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture()
		h.server.DrainDelay = 10 * time.Second
		stop := h.start(t, &fake{})
		// A bare client: one that watches health would not send anything to a server that is going away.
		conn, err := grpc.NewClient("passthrough:///fake", grpc.WithContextDialer(h.network.dial), insecureCreds())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		check(t, conn, "")
		start := time.Now()
		done := make(chan error, 1)
		go func() { done <- stop() }()
		synctest.Wait()
		for _, service := range []string{"", specialistService} {
			if got := check(t, conn, service); got != healthv1.HealthCheckResponse_NOT_SERVING {
				t.Errorf("%q is %v while draining", service, got)
			}
		}
		if err := describe(t.Context(), conn); err != nil {
			t.Errorf("a late call during the drain delay: %v", err)
		}
		if err := <-done; err != nil || time.Since(start) != 10*time.Second {
			t.Errorf("stopped after %v with %v, want 10s and nil", time.Since(start), err)
		}
	})
}

func TestDrainWaitsForRunningCalls(t *testing.T) {
	tests := map[string]struct {
		work, want time.Duration
		code       codes.Code
	}{
		"a call that ends in time is answered": {work: 3 * time.Second, want: 3 * time.Second, code: codes.OK},
		"one that does not is cancelled":       {work: 50 * time.Second, want: 5 * time.Second, code: codes.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFixture()
				h.server.DrainTimeout = 5 * time.Second
				begun := make(chan struct{})
				stop := h.start(t, &fake{describe: func(ctx context.Context) error {
					close(begun)
					select {
					case <-time.After(tt.work):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}})
				conn := h.conn(t)
				result := make(chan error, 1)
				go func() { result <- describe(t.Context(), conn) }()
				<-begun
				start := time.Now()
				if err := stop(); err != nil {
					t.Errorf("Serve: %v", err)
				}
				if got := time.Since(start); got != tt.want {
					t.Errorf("stopped after %v, want %v", got, tt.want)
				}
				if err := <-result; status.Code(err) != tt.code {
					t.Errorf("the call ended with %v, want %v", err, tt.code)
				}
			})
		})
	}
}

func TestServeUsesAllListeners(t *testing.T) {
	local, err := Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	network := NewNetwork()
	inner, err := network.Listen("fake")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(newFixture().server)
	specialistv1.RegisterSpecialistServiceServer(s, &fake{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, local, inner) }()
	for _, target := range []string{local.Addr().String(), "inproc:///fake"} {
		conn, err := Dial(target, DialConfig{Network: network})
		if err != nil {
			t.Fatal(err)
		}
		if err := describe(t.Context(), conn); err != nil {
			t.Errorf("%s: %v", target, err)
		}
		conn.Close()
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := local.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open after Serve: %v", err)
	}
}

// broken is a listener that fails.
type broken struct {
	net.Listener
	err error
}

func (b broken) Accept() (net.Conn, error) { return nil, b.err }

func TestServeReturnsTheFirstListenersError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := NewNetwork()
		good, _ := network.Listen("good")
		bad, _ := network.Listen("bad")
		want := errors.New("out of sockets")
		err := NewServer(ServerConfig{DrainDelay: time.Hour}).Serve(t.Context(), good, broken{bad, want})
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "inproc:///bad") {
			t.Errorf("got %v", err)
		}
	})
}

func TestServeWithNothingToServe(t *testing.T) {
	if err := NewServer(ServerConfig{}).Serve(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestServeOfAnEndedContextReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		lis, _ := NewNetwork().Listen("x")
		if err := NewServer(ServerConfig{}).Serve(ctx, lis); err != nil {
			t.Error(err)
		}
	})
}

func TestPlaintextForOtherMachinesIsRefused(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		_, err := Listen(addr, false)
		if err == nil || !strings.Contains(err.Error(), "refusing to serve plaintext") || strings.Contains(err.Error(), "\n") {
			t.Errorf("Listen(%q): %v", addr, err)
		}
	}
	raw, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := NewServer(ServerConfig{}).Serve(t.Context(), raw); err == nil || !strings.Contains(err.Error(), "refusing") {
		t.Errorf("Serve: %v", err)
	}
	if _, err := raw.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the refused listener is open: %v", err)
	}
	allowed, err := Listen("0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewServer(ServerConfig{}).Serve(ctx, allowed); err != nil {
		t.Errorf("Serve on an allowed address: %v", err)
	}
}

func TestListenSaysWhatFailed(t *testing.T) {
	l, err := Listen("localhost:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(l.Addr().String(), false); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("got %v", err)
	}
}

func TestReflectionListsServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture()
		h.server.Reflection = true
		h.start(t, &fake{})
		stream, err := reflectionv1.NewServerReflectionClient(h.conn(t)).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, s := range resp.GetListServicesResponse().GetService() {
			names[s.GetName()] = true
		}
		for _, want := range []string{specialistService, "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"} {
			if !names[want] {
				t.Errorf("%s is missing from %v", want, names)
			}
		}
		if err := stream.CloseSend(); err != nil {
			t.Error(err)
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v", err)
		}
	})
}

// TestTraceReachesHandlerAndLog sets the process's tracer provider and is therefore not parallel.
func TestTraceReachesHandlerAndLog(t *testing.T) {
	before, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	defer func() { otel.SetTracerProvider(before); otel.SetTextMapPropagator(propagator) }()
	otel.SetTracerProvider(sdktrace.NewTracerProvider())
	otel.SetTextMapPropagator(propagation.TraceContext{})
	synctest.Test(t, func(t *testing.T) {
		var inner string
		log := newRecorder()
		h := newFixture()
		h.server.Logger = slog.New(log)
		h.start(t, &fake{describe: func(ctx context.Context) error { inner = telemetry.TraceID(ctx); return nil }})
		ctx, span := otel.Tracer("test").Start(t.Context(), "turn")
		defer span.End()
		if err := describe(ctx, h.conn(t)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		outer := telemetry.TraceID(ctx)
		line := attrs(log.drain()["call"][0])
		if outer == "" || inner != outer || line["trace_id"] != outer {
			t.Errorf("trace ids: caller %q, handler %q, log %q", outer, inner, line["trace_id"])
		}
	})
}
