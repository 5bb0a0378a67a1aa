package telemetry

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Counter returns a counter of the global meter provider, for packages that are given no meter. scope is the path of the package. If the
// provider refuses it, the error goes to the global handler, and the counter counts nothing.
func Counter(scope, name, unit, description string) metric.Int64Counter {
	c, err := otel.Meter(scope).Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if err != nil {
		otel.Handle(err)
	}
	return c
}
