package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// ids is a tracer provider that records nothing: a trace has its ids from whoever begins it, and all that belongs to it
// passes them on. The SDK's, with a sampler that says no, makes ids, attributes and a span for each call all the same.
type ids struct{ embedded.TracerProvider }

// idTracer is the tracer of ids.
type idTracer struct{ embedded.Tracer }

var (
	_ trace.TracerProvider = ids{}
	_ trace.Tracer         = idTracer{}
)

// Tracer implements trace.TracerProvider.
func (ids) Tracer(string, ...trace.TracerOption) trace.Tracer { return idTracer{} }

// Start implements trace.Tracer: the span is the one that there is, or else a new trace. It is never sampled.
func (idTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	sc := trace.SpanContextFromContext(ctx)
	if sc.IsValid() && !sc.IsSampled() {
		if span := trace.SpanFromContext(ctx); !span.IsRecording() {
			return ctx, span
		}
	}
	if !sc.IsValid() {
		sc = newTrace()
	}
	ctx = trace.ContextWithSpanContext(ctx, sc.WithTraceFlags(sc.TraceFlags().WithSampled(false)))
	return ctx, trace.SpanFromContext(ctx)
}

// newTrace returns random ids. They name a trace, and keep no secret.
func newTrace() trace.SpanContext {
	var cfg trace.SpanContextConfig
	for !cfg.TraceID.IsValid() {
		binary.BigEndian.PutUint64(cfg.TraceID[:8], rand.Uint64())
		binary.BigEndian.PutUint64(cfg.TraceID[8:], rand.Uint64())
	}
	for !cfg.SpanID.IsValid() {
		binary.BigEndian.PutUint64(cfg.SpanID[:], rand.Uint64())
	}
	return trace.NewSpanContext(cfg)
}
