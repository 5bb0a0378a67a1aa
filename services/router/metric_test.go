package router

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

func TestDecisionsAreCountedBySourceAndAgreement(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	cases := []struct {
		message string
		model   fakeModel
	}{
		{sureMessage, fakeModel{}},
		{sureMessage, fakeModel{}},
		{unsureMessage, says(given("search", terrace, "support", "where is my order?"))},
		{unsureMessage, says(given("recommend", terrace, "support", "where is my order?"))},
		{terrace, says(given("support", terrace))},
		{terrace, says("nothing")},
	}
	for _, c := range cases {
		cfg := Config{MeterProvider: provider}
		if c.model.answer != nil {
			cfg.Model = c.model
		}
		route(t, cfg, request(c.message))
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name != telemetry.MetricRoutingDecisions {
			t.Errorf("metric %q is not wanted", m.Name)
		}
		for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
			source, _ := p.Attributes.Value(telemetry.KeyRoutingSource)
			agreement, _ := p.Attributes.Value(telemetry.KeyRoutingAgreement)
			got[source.AsString()+" "+agreement.AsString()] = p.Value
		}
	}
	want := map[string]int64{
		"DECISION_SOURCE_RULES alone": 2, "DECISION_SOURCE_MODEL all": 1, "DECISION_SOURCE_MODEL some": 1,
		"DECISION_SOURCE_MODEL none": 1, "DECISION_SOURCE_FALLBACK all": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
