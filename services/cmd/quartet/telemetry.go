package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// telemetryFlags say what a server tells of itself beside OTLP, which environment variables configure.
type telemetryFlags struct {
	level   *slog.Level
	format  string
	metrics string
	sample  bool // spans are read in this process
}

func addTelemetryFlags(fs *flag.FlagSet) *telemetryFlags {
	f := &telemetryFlags{level: logLevel(fs, slog.LevelInfo), format: "text"}
	fs.Func("log-format", "format of log lines on stderr: text or json (default text)", func(s string) error {
		if f.format = s; s != "text" && s != "json" {
			return errors.New("must be text or json")
		}
		return nil
	})
	fs.StringVar(&f.metrics, "metrics-listen", "", "further `address` that serves metrics to Prometheus under /metrics, in plaintext, such as 127.0.0.1:9464 (default none)")
	return f
}

// start sets up the telemetry of the process and returns its logger. The caller calls stop last.
func (f *telemetryFlags) start(ctx context.Context, env environment, service string) (logger *slog.Logger, stop func() error, err error) {
	options := &slog.HandlerOptions{Level: *f.level}
	var lines slog.Handler = slog.NewTextHandler(env.err, options)
	if f.format == "json" {
		lines = slog.NewJSONHandler(env.err, options)
	}
	var lis net.Listener
	if f.metrics != "" {
		if lis, err = (&net.ListenConfig{}).Listen(ctx, "tcp", f.metrics); err != nil {
			return nil, nil, fmt.Errorf("--metrics-listen: %w", err)
		}
	}
	logger = slog.New(telemetry.LogHandler(lines))
	process, flush, err := setUpTelemetry(ctx, env, telemetry.Config{ServiceName: service, Prometheus: lis != nil, Sample: f.sample, Logger: logger})
	if err != nil {
		if lis != nil {
			err = errors.Join(err, lis.Close())
		}
		return nil, nil, err
	}
	if process.Logs != nil {
		logger = slog.New(telemetry.LogHandler(slog.NewMultiHandler(lines, telemetry.AtLeast(*f.level, process.Logs))))
	}
	slog.SetDefault(logger) // libraries log through the default
	if lis == nil {
		return logger, flush, nil
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- telemetry.ServeMetrics(serving, lis, process.Metrics) }()
	logger.Info("serving metrics", "address", lis.Addr().String())
	return logger, func() error {
		end()
		return errors.Join(<-served, flush())
	}, nil
}

// setUpTelemetry sets telemetry up as the environment says. The caller calls flush at the end.
func setUpTelemetry(ctx context.Context, env environment, cfg telemetry.Config) (p *telemetry.Process, flush func() error, err error) {
	cfg.Version, cfg.Endpoint = version(), env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
	p, err = telemetry.Setup(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	return p, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		return p.Shutdown(ctx)
	}, nil
}
