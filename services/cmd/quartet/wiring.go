package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/suite"
)

// flushTimeout bounds the export of the last spans when a command ends.
const flushTimeout = 3 * time.Second

// startOffline serves the offline model on a free port of the loopback interface until ctx ends, and makes it the
// suite's model. The returned function waits for its end.
func startOffline(ctx context.Context, cfg *suite.Config, logger *slog.Logger) (wait func() error, err error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("offline model: %w", err)
	}
	server, err := offline.New(offline.Config{Logger: logger})
	if err != nil {
		return nil, errors.Join(err, lis.Close())
	}
	url := "http://" + lis.Addr().String() + "/v1"
	var fastErr error
	cfg.Model, err = model.New(model.Config{URL: url, Name: offline.Model})
	cfg.FastModel, fastErr = model.New(model.Config{URL: url, Name: offline.ModelFast})
	if err := errors.Join(err, fastErr); err != nil {
		return nil, errors.Join(err, lis.Close())
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, lis) }()
	return func() error { return <-done }, nil
}

// openState connects to Redis, or starts the embedded server when url is empty. The returned function closes both.
func openState(ctx context.Context, cfg *suite.Config, url string) (closeState func() error, err error) {
	state.LogTo(cfg.Logger)
	closeServer := func() error { return nil }
	if url == "" {
		server, err := state.Embedded()
		if err != nil {
			return nil, err
		}
		url, closeServer = server.URL(), server.Close
	}
	client, err := state.Open(ctx, url)
	if err != nil {
		return nil, errors.Join(err, closeServer())
	}
	cfg.Redis = client
	return func() error { return errors.Join(client.Close(), closeServer()) }, nil
}

// startTelemetry sets up tracing. The returned function flushes what is left, within flushTimeout.
func startTelemetry(ctx context.Context, env environment, service string, logger *slog.Logger) (flush func() error, err error) {
	shutdown, err := telemetry.Setup(ctx, telemetry.Config{
		ServiceName: service, Version: version(), Endpoint: env.get("OTEL_EXPORTER_OTLP_ENDPOINT"), Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		return shutdown(ctx)
	}, nil
}
