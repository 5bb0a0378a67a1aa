// Package telemetry sets up OpenTelemetry for a process, has the names of attributes and metrics, and puts trace ids into log
// lines. It must not import a package of Quartet.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// flushTimeout bounds the last export when a process ends.
const flushTimeout = 5 * time.Second

// scrapeTimeout bounds a request for metrics.
const scrapeTimeout = 10 * time.Second

// Config says what a process tells about itself, and to whom. The zero value records nothing but trace ids.
type Config struct {
	// ServiceName is the process's service.name, such as "quartet-search". OTEL_SERVICE_NAME, if set, wins.
	ServiceName string
	// Version is the process's service.version. May be empty.
	Version string
	// Endpoint is the OTLP/gRPC receiver of traces, metrics and logs, such as "http://collector:4317"; https means TLS.
	// Empty: there is none.
	Endpoint string
	// Sample makes spans although there is no Endpoint, for a processor that is registered with the tracer provider.
	Sample bool
	// Prometheus asks for Process.Metrics.
	Prometheus bool
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

// maxSeries bounds the series of one metric, and so the stores that are told apart. Further ones become one series with the attribute
// otel.metric.overflow.
const maxSeries = 2000

// Process is the telemetry of a process.
type Process struct {
	// Metrics serves metrics to Prometheus. Nil unless Config asks for it.
	Metrics http.Handler
	// Logs sends log records to the endpoint. Nil: there is no endpoint.
	Logs slog.Handler

	shutdown []func(context.Context) error
}

// Shutdown exports what is left, within its context and 5 seconds. It is called once.
func (p *Process) Shutdown(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	for _, shutdown := range p.shutdown {
		err = errors.Join(err, shutdown(ctx))
	}
	return err
}

// Setup installs the process's global tracer provider, meter provider and W3C propagators. Traces get valid ids even when
// nothing is exported, so that replies and log lines can always name one. What a process without an endpoint passes on is
// not sampled, so give one to all processes of a deployment or to none. The usual OTEL_* variables tune the rest.
//
// The caller calls Shutdown at the end.
func Setup(ctx context.Context, cfg Config) (*Process, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	res, err := describe(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p := &Process{}
	if err := errors.Join(p.traces(ctx, cfg, res), p.metrics(ctx, cfg, res), p.logs(ctx, cfg, res)); err != nil {
		return nil, errors.Join(err, p.Shutdown(ctx))
	}
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	if log := cfg.Logger; log != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			log.Warn("telemetry", slog.String("error", err.Error()))
		}))
	}
	return p, nil
}

func (p *Process) traces(ctx context.Context, cfg Config, res *resource.Resource) error {
	if cfg.Endpoint == "" {
		sampler := sdktrace.NeverSample()
		if cfg.Sample {
			sampler = sdktrace.AlwaysSample()
		}
		otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)))
		return nil
	}
	spans, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(cfg.Endpoint))
	if err != nil {
		return fmt.Errorf("export traces to %s: %w", cfg.Endpoint, err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(spans))
	otel.SetTracerProvider(tp)
	p.shutdown = append(p.shutdown, tp.Shutdown)
	return nil
}

// metrics has those of the Go runtime, too.
func (p *Process) metrics(ctx context.Context, cfg Config, res *resource.Resource) error {
	options := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithCardinalityLimit(maxSeries)}
	if cfg.Endpoint != "" {
		points, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(cfg.Endpoint))
		if err != nil {
			return fmt.Errorf("export metrics to %s: %w", cfg.Endpoint, err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(points)))
	}
	if cfg.Prometheus {
		registry := prometheus.NewRegistry()
		reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		options = append(options, sdkmetric.WithReader(reader))
		p.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}) // with exemplars
	}
	if cfg.Endpoint == "" && !cfg.Prometheus {
		otel.SetMeterProvider(noop.NewMeterProvider())
		return nil
	}
	mp := sdkmetric.NewMeterProvider(options...)
	otel.SetMeterProvider(mp)
	p.shutdown = append(p.shutdown, mp.Shutdown)
	return runtime.Start(runtime.WithMeterProvider(mp))
}

func (p *Process) logs(ctx context.Context, cfg Config, res *resource.Resource) error {
	if cfg.Endpoint == "" {
		return nil
	}
	records, err := otlploggrpc.New(ctx, otlploggrpc.WithEndpointURL(cfg.Endpoint))
	if err != nil {
		return fmt.Errorf("export logs to %s: %w", cfg.Endpoint, err)
	}
	lp := sdklog.NewLoggerProvider(sdklog.WithResource(res), sdklog.WithProcessor(sdklog.NewBatchProcessor(records)))
	p.Logs = otelslog.NewHandler("github.com/quartet-commerce/quartet", otelslog.WithLoggerProvider(lp))
	p.shutdown = append(p.shutdown, lp.Shutdown)
	return nil
}

// ServeMetrics serves metrics under /metrics until ctx ends.
func ServeMetrics(ctx context.Context, lis net.Listener, metrics http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: scrapeTimeout, ReadTimeout: scrapeTimeout, WriteTimeout: scrapeTimeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
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
