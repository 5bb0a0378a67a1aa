package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// counts returns how often a histogram was recorded, by the values of its attributes in the order of their keys.
func (m meters) counts(name string) map[string]uint64 {
	m.t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &all); err != nil {
		m.t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, sm := range all.ScopeMetrics {
		for _, metric := range sm.Metrics {
			if metric.Name != name {
				continue
			}
			for _, p := range metric.Data.(metricdata.Histogram[float64]).DataPoints {
				var values []string
				for _, kv := range p.Attributes.ToSlice() {
					values = append(values, kv.Value.AsString())
				}
				got[strings.Join(values, " ")] += p.Count
			}
		}
	}
	return got
}

func TestTurnsAreCountedByOutcome(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	m := h.meter()
	h.start()
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		return sayAnswer(stream, &specialistv1.Answer{
			Text: "Here.", Confidence: 0.9, Usage: &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 1},
			Cost: &commonv1.Cost{AmountMicros: 2_500_000, CurrencyCode: "USD"},
		})
	}
	h.specialists["support"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return status.Error(codes.Internal, "broken") }
	h.ask("search: a")
	h.ask("search: b | support: c")
	for range 2 { // the second is the reply of the first
		if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", RequestId: "r1", Message: "search: d"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.askStream(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: e"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "support: f"}); err == nil {
		t.Fatal("no error")
	}
	for name, want := range map[string]map[string]uint64{
		telemetry.MetricTurnDuration:  {"answered demo": 3, "degraded demo": 1, "NOTHING_ANSWERED failed demo": 1},
		telemetry.MetricTurnFirstText: {"demo": 1},
		telemetry.MetricStageDuration: {"route": 5, "specialists": 4, "merge": 4, "record": 4},
	} {
		if diff := cmp.Diff(want, m.counts(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, want := range map[string]struct {
		keys []string
		sums map[string]int64
	}{
		telemetry.MetricTurnTokens:  {[]string{telemetry.KeyStore, telemetry.KeyTokenType}, map[string]int64{"input demo": 400, "output demo": 40}},
		telemetry.MetricAssignments: {[]string{telemetry.KeyAgent, telemetry.KeyOutcome}, map[string]int64{"search answered": 4, "support INTERNAL": 1}},
		telemetry.MetricHandoffs:    {[]string{telemetry.KeyStore}, map[string]int64{"demo": 1}},
	} {
		if diff := cmp.Diff(want.sums, m.sums(name, want.keys...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A turn is one line of the log, without what was said.
func TestATurnIsOneLineOfTheLog(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.start()
	var log bytes.Buffer
	h.service.cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	h.specialists["support"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return status.Error(codes.Internal, "broken") }
	reply := h.ask("search: a secret | support: another secret")
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "support: f"}); err == nil {
		t.Fatal("no error")
	}
	var lines []map[string]any
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] == "turn" {
			lines = append(lines, fields)
		}
	}
	if len(lines) != 2 || strings.Contains(log.String(), "secret") {
		t.Fatalf("%d lines of turns in\n%s", len(lines), log.String())
	}
	for key, want := range map[string]any{
		"outcome": "degraded", "store": "demo", "turn": reply.GetTurnId(), "thread": reply.GetThreadId(), "parts": "search,support", "handoff": true,
	} {
		if lines[0][key] != want {
			t.Errorf("%s is %v, want %v", key, lines[0][key], want)
		}
	}
	if lines[1]["outcome"] != "failed" || lines[1]["reason"] != "NOTHING_ANSWERED" {
		t.Errorf("the failed turn is %v", lines[1])
	}
}
