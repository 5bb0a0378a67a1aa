package router

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// Values of telemetry.KeyRoutingAgreement: how much of the provisional decision the final one confirms.
const (
	agreementAlone = "alone" // there was no provisional decision, since no model was asked
	agreementAll   = "all"   // the same assignments
	agreementSome  = "some"  // some in common
	agreementNone  = "none"  // none in common
)

func newCounter(provider metric.MeterProvider) (metric.Int64Counter, error) {
	counter, err := provider.Meter("github.com/quartet-commerce/quartet/services/router").Int64Counter(
		telemetry.MetricRoutingDecisions, metric.WithUnit("{decision}"),
		metric.WithDescription("Final routing decisions by what made them and how much of the provisional decision they confirm."))
	if err != nil {
		return nil, fmt.Errorf("router: make counter: %w", err)
	}
	return counter, nil
}

// count counts a final decision.
func (s *Service) count(ctx context.Context, d *routerv1.RoutingDecision, provisional []*routerv1.Assignment) {
	s.decisions.Add(ctx, 1, metric.WithAttributes(
		attribute.String(telemetry.KeyRoutingSource, d.GetSource().String()),
		attribute.String(telemetry.KeyRoutingAgreement, agreement(provisional, d.GetAssignments())),
	))
}

// agreement compares by identifiers, which are the same exactly for the same work.
func agreement(provisional, final []*routerv1.Assignment) string {
	known := map[string]bool{}
	for _, a := range provisional {
		known[a.GetAssignmentId()] = true
	}
	kept := 0
	for _, a := range final {
		if known[a.GetAssignmentId()] {
			kept++
		}
	}
	switch {
	case len(provisional) == 0:
		return agreementAlone
	case kept == 0:
		return agreementNone
	case kept == len(final) && kept == len(provisional):
		return agreementAll
	}
	return agreementSome
}
