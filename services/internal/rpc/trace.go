package rpc

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// A process that exports its traces and metrics leaves them to otelgrpc. One that does not only carries trace ids from call to
// call, which the interceptors do by the way: otelgrpc, and the copies that gRPC makes for it, are a quarter of what a call
// allocates, and it keeps a kilobyte at each end while the call lasts.

// serverTrace returns the option that traces the calls of a server, if they are exported.
func serverTrace(name string) []grpc.ServerOption {
	if !telemetry.Exports() {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
		otelgrpc.WithSpanAttributes(attribute.String(telemetry.KeyService, name)),
	))}
}

// clientTrace returns the option that traces the calls of a client, if they are exported.
func clientTrace() []grpc.DialOption {
	if !telemetry.Exports() {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	))}
}

// carrier carries the ids of traces from call to call. A nil one leaves that to otelgrpc.
type carrier struct{ tracer trace.Tracer }

func newCarrier() *carrier {
	if telemetry.Exports() {
		return nil
	}
	return &carrier{otel.Tracer("github.com/quartet-commerce/quartet/services/internal/rpc")}
}

// receive returns ctx with the trace of an incoming call, or with a new one.
func (c *carrier) receive(ctx context.Context) context.Context {
	if c == nil {
		return ctx
	}
	ctx, _ = c.tracer.Start(otel.GetTextMapPropagator().Extract(ctx, received{ctx: ctx}), "")
	return ctx
}

// addTrace adds the metadata of the trace that ctx belongs to, or of a new one, to pairs.
func (c *carrier) addTrace(ctx context.Context, pairs []string) []string {
	if c == nil {
		return pairs
	}
	ctx, _ = c.tracer.Start(ctx, "")
	s := sent{pairs: pairs}
	otel.GetTextMapPropagator().Inject(ctx, &s)
	return s.pairs
}

// received is the metadata of an incoming call, to look names up.
type received struct {
	propagation.MapCarrier // nil
	ctx                    context.Context
}

// Get implements propagation.TextMapCarrier.
func (r received) Get(name string) string {
	if values := metadata.ValueFromIncomingContext(r.ctx, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// sent is metadata for an outgoing call, to add to.
type sent struct {
	propagation.MapCarrier // nil
	pairs                  []string
}

// Set implements propagation.TextMapCarrier.
func (s *sent) Set(name, value string) { s.pairs = append(s.pairs, name, value) }
