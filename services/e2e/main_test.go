package e2e

import (
	"os"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
)

// spans keeps every span of every test; tests tell theirs apart by trace id.
var spans = tracetest.NewSpanRecorder()

// metrics reads the metrics of all tests.
var metrics = sdkmetric.NewManualReader()

func TestMain(m *testing.M) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	code := m.Run()
	if code == 0 {
		// The search library starts four workers with the process, for good.
		workers := goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker")
		if err := goleak.Find(workers); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
