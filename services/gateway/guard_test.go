package gateway

import (
	"context"
	"go.opentelemetry.io/otel/metric/noop"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// several is n times the same.
func several(n int, confirmed bool, tokens int64) []ranAhead {
	out := make([]ranAhead, n)
	for i := range out {
		out[i] = ranAhead{confirmed: confirmed, tokens: tokens}
	}
	return out
}

func TestWasteIsAShareOfTokensOrElseOfBranches(t *testing.T) {
	tests := []struct {
		name            string
		confirmed, lost []ranAhead
		want            float64
	}{
		{"nothing is wasted", several(3, true, 100), nil, 0},
		{"tokens count, not branches", several(1, true, 900), several(3, false, 100), 0.25},
		{"no tokens are known of any", several(3, true, 0), several(1, false, 0), 0.25},
		{"none are known of what was cancelled early", several(3, true, 100), several(1, false, 0), 0.25},
		{"all is wasted, whatever it was", nil, several(2, false, 0), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := waste(append(tt.confirmed, tt.lost...)); got != tt.want {
				t.Errorf("waste %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheGuardRestsAndTriesAgain(t *testing.T) {
	var g guard
	add := func(n int, confirmed bool) (resting bool) {
		for range n {
			resting, _ = g.add(ranAhead{confirmed: confirmed, tokens: 100})
		}
		return resting
	}
	allowed := func(turns int) (n int) {
		for range turns {
			if g.allowed() {
				n++
			}
		}
		return n
	}
	if add(wasteSample-1, false) {
		t.Error("it rests on too small a sample")
	}
	if !add(1, false) || allowed(10*restTurns) != 10 {
		t.Error("it does not rest, or does not try again now and then")
	}
	if !add(wasteSample, false) {
		t.Error("it does not rest on though the trial was no better")
	}
	if add(wasteSample, true) || allowed(100) != 100 {
		t.Error("it rests on though the trial was good")
	}
	if add(wasteWindow, true) || add(wasteWindow*3/10, false) {
		t.Error("it rests at the cap")
	}
	if !add(1, false) {
		t.Error("it does not rest above the cap, of the last branches alone")
	}
}

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
		for h.service.ahead.guard.allowed() {
			h.ask("shoes")
		}
		if got := aheadMetrics(t, reader); got["active"] != 0 {
			t.Errorf("metrics %v", got)
		}
		requests, _ := h.specialists["recommend"].calls()
		h.ask("shoes")
		if again, _ := h.specialists["recommend"].calls(); len(again) != len(requests) || len(again) != wasteSample/3+1 {
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

func TestTheModesSayWhatRunsAhead(t *testing.T) {
	unsure := &routerv1.Assignment{Confidence: certainEnough - 0.01}
	sure := &routerv1.Assignment{Confidence: certainEnough}
	for _, tt := range []struct {
		mode RunAhead
		want []bool // nothing at all; an unsure assignment; a sure one
	}{
		{RunAheadAlways, []bool{true, true, true}},
		{RunAheadCertain, []bool{true, false, true}},
		{RunAheadOff, []bool{false, false, false}},
	} {
		a, err := newAhead(tt.mode, noop.Meter{}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		got := []bool{a != nil, a != nil && a.wants(unsure), a != nil && a.wants(sure)}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.mode, diff)
		}
	}
}
