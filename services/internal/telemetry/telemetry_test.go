package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup runs Setup and returns its shutdown, which runs once at the latest when the test ends.
func setup(t *testing.T, cfg Config) func() error {
	t.Helper()
	shutdown, err := Setup(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	once := sync.OnceValue(func() error { return shutdown(context.Background()) })
	t.Cleanup(func() { _ = once() })
	return once
}

func TestTraceIDsAreValidWithoutAnExporter(t *testing.T) {
	shutdown := setup(t, Config{ServiceName: "test"})
	ctx, span := otel.Tracer("t").Start(t.Context(), "work")
	if span.IsRecording() {
		t.Error("a span is recorded that nobody will see")
	}
	span.End()
	if id := TraceID(ctx); len(id) != 32 || strings.Trim(id, "0") == "" {
		t.Errorf("trace id %q", id)
	}
	if id := TraceID(t.Context()); id != "" {
		t.Errorf("outside a trace: %q", id)
	}
	if err := shutdown(); err != nil {
		t.Error(err)
	}
}

// Whatever a span is begun in, what is passed on is of the same trace and not sampled, and ending it ends nothing else.
func TestWithoutAnExporterTracesAreContinuedUnsampled(t *testing.T) {
	setup(t, Config{})
	recording := sdktrace.NewTracerProvider()
	recorded, outer := recording.Tracer("t").Start(t.Context(), "outer")
	sampled := outer.SpanContext()
	for name, parent := range map[string]context.Context{
		"a span that records":      recorded,
		"a caller that samples":    trace.ContextWithRemoteSpanContext(t.Context(), sampled),
		"one that does not sample": trace.ContextWithRemoteSpanContext(t.Context(), sampled.WithTraceFlags(0)),
	} {
		ctx, span := otel.Tracer("t").Start(parent, "inner")
		again, inner := otel.Tracer("t").Start(ctx, "innermost")
		inner.End()
		span.End()
		if sc := trace.SpanContextFromContext(again); sc.TraceID() != sampled.TraceID() || sc.IsSampled() || inner.IsRecording() {
			t.Errorf("in %s: %v", name, sc)
		}
	}
	if !outer.IsRecording() {
		t.Error("the outer span was ended")
	}
	outer.End()
	one, _ := otel.Tracer("t").Start(t.Context(), "work")
	other, _ := otel.Tracer("t").Start(t.Context(), "work")
	if TraceID(one) == TraceID(other) {
		t.Errorf("two traces have the id %s", TraceID(one))
	}
}

func TestPropagatorIsW3C(t *testing.T) {
	setup(t, Config{})
	ctx, span := otel.Tracer("t").Start(t.Context(), "work")
	defer span.End()
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	if !strings.Contains(carrier["traceparent"], TraceID(ctx)) {
		t.Errorf("carrier %v", carrier)
	}
}

// collector is an OTLP receiver.
type collector struct {
	tracev1.UnimplementedTraceServiceServer
	spans chan *tracev1.ExportTraceServiceRequest
}

func (c *collector) Export(_ context.Context, req *tracev1.ExportTraceServiceRequest) (*tracev1.ExportTraceServiceResponse, error) {
	c.spans <- req
	return &tracev1.ExportTraceServiceResponse{}, nil
}

// metricSink takes metrics and forgets them.
type metricSink struct {
	metricsv1.UnimplementedMetricsServiceServer
	got chan struct{}
}

func (m *metricSink) Export(context.Context, *metricsv1.ExportMetricsServiceRequest) (*metricsv1.ExportMetricsServiceResponse, error) {
	m.got <- struct{}{}
	return &metricsv1.ExportMetricsServiceResponse{}, nil
}

func TestShutdownExportsWhatIsLeft(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	spans, metrics := &collector{spans: make(chan *tracev1.ExportTraceServiceRequest, 8)}, &metricSink{got: make(chan struct{}, 8)}
	tracev1.RegisterTraceServiceServer(server, spans)
	metricsv1.RegisterMetricsServiceServer(server, metrics)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	defer func() { server.Stop(); <-served }()

	shutdown := setup(t, Config{ServiceName: "quartet-test", Version: "v9", Endpoint: "http://" + lis.Addr().String()})
	_, span := otel.Tracer("t").Start(t.Context(), "work")
	span.End()
	counter, err := otel.Meter("t").Int64Counter("things")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 1)
	if err := shutdown(); err != nil {
		t.Fatal(err)
	}
	if len(spans.spans) != 1 || len(metrics.got) != 1 {
		t.Fatalf("%d batches of spans, %d of metrics, want one each", len(spans.spans), len(metrics.got))
	}
	rs := (<-spans.spans).GetResourceSpans()[0]
	got := map[string]string{}
	for _, kv := range rs.GetResource().GetAttributes() {
		got[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	if got["service.name"] != "quartet-test" || got["service.version"] != "v9" || got["service.instance.id"] == "" {
		t.Errorf("resource %v", got)
	}
	if name := rs.GetScopeSpans()[0].GetSpans()[0].GetName(); name != "work" {
		t.Errorf("span %q", name)
	}
}

func TestBadEndpointIsRefused(t *testing.T) {
	for _, endpoint := range []string{"collector:4317", "http://", "ftp://x", "://"} {
		if _, err := Setup(t.Context(), Config{Endpoint: endpoint}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

func TestLogHandlerAddsTheTrace(t *testing.T) {
	setup(t, Config{})
	ctx, span := otel.Tracer("t").Start(t.Context(), "work")
	defer span.End()
	var buf bytes.Buffer
	// Wrapping twice must not add anything twice.
	log := slog.New(LogHandler(LogHandler(slog.NewJSONHandler(&buf, nil)))).With("service", "x")
	line := func() map[string]any {
		t.Helper()
		var m map[string]any
		if err := json.Unmarshal(buf.Bytes(), &m); err != nil {
			t.Fatalf("%v in %s", err, buf.Bytes())
		}
		buf.Reset()
		return m
	}
	log.InfoContext(ctx, "inside")
	if n := strings.Count(buf.String(), `"trace_id"`); n != 1 {
		t.Errorf("%d trace ids in %s", n, buf.String())
	}
	got := line()
	if got["trace_id"] != TraceID(ctx) || got["span_id"] != span.SpanContext().SpanID().String() || got["service"] != "x" {
		t.Errorf("got %v", got)
	}
	log.Info("outside")
	if got := line(); got["trace_id"] != nil {
		t.Errorf("got %v", got)
	}
	log.WithGroup("g").InfoContext(ctx, "grouped", "k", "v")
	if got := line()["g"].(map[string]any); got["k"] != "v" {
		t.Errorf("got %v", got)
	}
}
