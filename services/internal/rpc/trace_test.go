package rpc

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// exportNothing sets telemetry up as a process without an endpoint does. Tests that call it are not parallel.
func exportNothing(tb testing.TB) {
	tb.Helper()
	tracers, meters, propagator := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetTextMapPropagator()
	if _, err := telemetry.Setup(tb.Context(), telemetry.Config{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		otel.SetTracerProvider(tracers)
		otel.SetMeterProvider(meters)
		otel.SetTextMapPropagator(propagator)
	})
}

func TestTracesTravelWhereNothingIsExported(t *testing.T) {
	exportNothing(t)
	theirs := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	member, _ := baggage.NewMember("campaign", "spring")
	luggage, _ := baggage.New(member)
	both(t, func(t *testing.T, svc func(func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error) {
		var got context.Context
		log := newRecorder()
		h := newFixture()
		h.server.Logger = slog.New(log)
		h.start(t, svc(func(ctx context.Context) error { got = ctx; return nil }))
		conn := h.conn(t)
		ask := func(ctx context.Context) (trace.SpanContext, map[string]string) {
			if err := call(ctx, conn); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return trace.SpanContextFromContext(got), attrs(log.drain()["call"][0])
		}

		ctx := baggage.ContextWithBaggage(trace.ContextWithSpanContext(t.Context(), theirs), luggage)
		stale := metadata.Pairs("traceparent", "00-"+strings.Repeat("ab", 16)+"-"+strings.Repeat("cd", 8)+"-01", "x-other", "kept")
		for name, ctx := range map[string]context.Context{"alone": ctx, "over stale metadata": metadata.NewOutgoingContext(ctx, stale)} {
			sc, line := ask(ctx)
			if id := theirs.TraceID(); sc.TraceID() != id || line["trace_id"] != id.String() || sc.IsSampled() {
				t.Errorf("%s: the handler has trace %v (sampled: %v), the log %q, want %v", name, sc.TraceID(), sc.IsSampled(), line["trace_id"], id)
			}
			if v := baggage.FromContext(got).Member("campaign").Value(); v != "spring" {
				t.Errorf("%s: the handler has the baggage %q", name, v)
			}
			md, _ := metadata.FromIncomingContext(got)
			if len(md.Get("traceparent")) != 1 || (name != "alone") != (len(md.Get("x-other")) == 1) {
				t.Errorf("%s: metadata %v of %v", name, md.Get("traceparent"), md.Get("x-other"))
			}
		}
		one, line := ask(t.Context())
		other, _ := ask(t.Context())
		if !one.IsValid() || one.TraceID() == other.TraceID() || line["trace_id"] != one.TraceID().String() {
			t.Errorf("calls outside a trace are in %v and %v, the log says %q", one.TraceID(), other.TraceID(), line["trace_id"])
		}
	})
}
