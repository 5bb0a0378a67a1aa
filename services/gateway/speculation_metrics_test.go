package gateway

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

func TestRunningAheadIsCountedAndRestsWhenItIsWasted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	spans, tracers := tracetest.NewSpanRecorder(), otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(tracers) })
	inBubble(t, func(t *testing.T, h *house) {
		h.router.route = thinks(guess("search: shoes | recommend: hats | promotions: codes"), split("search: shoes"))
		for _, s := range h.specialists {
			s.answer = takes(10 * time.Second)
		}
		h.start()
		h.ask("shoes")
		want := map[string]int64{"branches confirmed": 1, "branches canceled": 2, "wasted": 200, "active": 1}
		if diff := cmp.Diff(want, aheadMetrics(t, reader)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		if got := wastedOf(spans.Ended()); got != 200 {
			t.Errorf("the turn's span tells of %d wasted tokens", got)
		}
		for turns := 1; aheadMetrics(t, reader)["active"] != 0; turns++ {
			if h.ask("shoes"); turns > 100 {
				t.Fatal("speculation does not pause though two thirds of it are wasted")
			}
		}
		requests, _ := h.specialists["recommend"].calls()
		h.ask("shoes")
		if again, _ := h.specialists["recommend"].calls(); len(again) != len(requests) || len(again) != 14 {
			t.Errorf("%d guesses were started, and then %d", len(requests), len(again))
		}
	})
}

// wastedOf is what the span of a turn says was wasted.
func wastedOf(spans []sdktrace.ReadOnlySpan) int64 {
	for _, s := range spans {
		for _, kv := range s.Attributes() {
			if kv.Key == telemetry.KeyRunAheadWasted {
				return kv.Value.AsInt64()
			}
		}
	}
	return -1
}

// aheadMetrics reads what was counted of running ahead.
func aheadMetrics(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch m.Name {
			case telemetry.MetricRunAheadBranches:
				for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
					outcome, _ := p.Attributes.Value(telemetry.KeyRunAheadOutcome)
					got["branches "+outcome.AsString()] = p.Value
				}
			case telemetry.MetricRunAheadWasted:
				got["wasted"] = m.Data.(metricdata.Sum[int64]).DataPoints[0].Value
			case telemetry.MetricRunAheadActive:
				got["active"] = m.Data.(metricdata.Gauge[int64]).DataPoints[0].Value
			}
		}
	}
	return got
}
