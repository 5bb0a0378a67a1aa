package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	logsv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup runs Setup and returns its shutdown, which runs once at the latest when the test ends.
func setup(t *testing.T, cfg Config) func() error {
	t.Helper()
	p, err := Setup(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	once := sync.OnceValue(func() error { return p.Shutdown(context.Background()) })
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

// logSink takes log records.
type logSink struct {
	logsv1.UnimplementedLogsServiceServer
	got chan *logsv1.ExportLogsServiceRequest
}

func (l *logSink) Export(_ context.Context, req *logsv1.ExportLogsServiceRequest) (*logsv1.ExportLogsServiceResponse, error) {
	l.got <- req
	return &logsv1.ExportLogsServiceResponse{}, nil
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
	logs := &logSink{got: make(chan *logsv1.ExportLogsServiceRequest, 8)}
	logsv1.RegisterLogsServiceServer(server, logs)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	defer func() { server.Stop(); <-served }()

	p, err := Setup(t.Context(), Config{ServiceName: "quartet-test", Version: "v9", Endpoint: "http://" + lis.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	shutdown := func() error { return p.Shutdown(context.Background()) }
	ctx, span := otel.Tracer("t").Start(t.Context(), "work")
	log := slog.New(AtLeast(slog.LevelInfo, p.Logs))
	log.DebugContext(ctx, "not this")
	log.InfoContext(ctx, "this")
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
	records := (<-logs.got).GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords()
	if len(records) != 1 || records[0].GetBody().GetStringValue() != "this" || hex.EncodeToString(records[0].GetTraceId()) != TraceID(ctx) {
		t.Errorf("log records %v, want one of trace %s", records, TraceID(ctx))
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

func TestPrometheusReadsMetrics(t *testing.T) {
	p, err := Setup(t.Context(), Config{Prometheus: true})
	if err != nil {
		t.Fatal(err)
	}
	counter, err := otel.Meter("t").Int64Counter("quartet.things", metric.WithUnit("{thing}"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxSeries + 100 { // more stores than are told apart
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.Int(KeyStore, i)))
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- ServeMetrics(ctx, lis, p.Metrics) }()
	resp, err := http.Get("http://" + lis.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "\nquartet_things_total{"); n != maxSeries || !strings.Contains(string(page), "otel_metric_overflow") {
		t.Errorf("%d series, want %d and one for the others", n, maxSeries)
	}
	if !strings.Contains(string(page), "go_goroutine_count") {
		t.Error("no metrics of the runtime")
	}
	stop()
	http.DefaultClient.CloseIdleConnections()
	if err := errors.Join(<-served, p.Shutdown(context.Background())); err != nil {
		t.Error(err)
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
