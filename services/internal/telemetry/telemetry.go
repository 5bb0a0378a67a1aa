// Package telemetry sets up OpenTelemetry for a process, has the names of attributes and metrics, and puts trace ids into log
// lines. It must not import a package of Quartet.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// flushTimeout bounds the last export when a process ends.
const flushTimeout = 5 * time.Second

// Config says what a process tells about itself, and to whom. The zero value records nothing but trace ids.
type Config struct {
	// ServiceName is the process's service.name, such as "quartet-search". OTEL_SERVICE_NAME, if set, wins.
	ServiceName string
	// Version is the process's service.version. May be empty.
	Version string
	// Endpoint is the OTLP/gRPC receiver of traces and metrics, such as "http://collector:4317"; https means TLS.
	// Empty means that nothing is exported.
	Endpoint string
	// Logger receives export failures. Nil discards them.
	Logger *slog.Logger
}

// Validate returns an error if the endpoint is not an http or https URL.
func (c Config) Validate() error {
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("telemetry endpoint must be of the form http://HOST:PORT or https://HOST:PORT")
	}
	return nil
}

// Setup installs the process's global tracer provider, meter provider and W3C propagators. Traces get valid ids even when
// nothing is exported, so that replies and log lines can always name one. What a process without an endpoint passes on is
// not sampled, so give one to all processes of a deployment or to none. The usual OTEL_* variables tune the rest.
//
// The caller calls shutdown once, at the end: it exports what is left, within its context and 5 seconds.
func Setup(ctx context.Context, cfg Config) (shutdown func(context.Context) error, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	shutdown = func(context.Context) error { return nil }
	if cfg.Endpoint == "" {
		otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
		otel.SetMeterProvider(noop.NewMeterProvider())
	} else if shutdown, err = export(ctx, cfg); err != nil {
		return nil, err
	}
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	if log := cfg.Logger; log != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			log.Warn("telemetry", slog.String("error", err.Error()))
		}))
	}
	return shutdown, nil
}

// export installs providers whose spans and points go to the endpoint.
func export(ctx context.Context, cfg Config) (shutdown func(context.Context) error, err error) {
	res, err := describe(ctx, cfg)
	if err != nil {
		return nil, err
	}
	spans, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(cfg.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("export traces to %s: %w", cfg.Endpoint, err)
	}
	points, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(cfg.Endpoint))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("export metrics to %s: %w", cfg.Endpoint, err), spans.Shutdown(ctx))
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(spans))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithResource(res), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(points)))
	otel.SetTracerProvider(tp)
	otel.SetMeterProvider(mp)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		return errors.Join(tp.Shutdown(ctx), mp.Shutdown(ctx))
	}, nil
}

// describe returns the resource that all spans and metrics of the process belong to.
func describe(ctx context.Context, cfg Config) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{
		attribute.String("service.name", cfg.ServiceName),
		attribute.String("service.instance.id", uuid.NewString()),
	}
	if cfg.Version != "" {
		attrs = append(attrs, attribute.String("service.version", cfg.Version))
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe the process: %w", err)
	}
	return res, nil
}
