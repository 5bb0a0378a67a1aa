package main

import (
	"context"
	"errors"
	"flag"
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

// modelFlags say which models answer.
type modelFlags struct{ url, name, fast string }

func addModelFlags(fs *flag.FlagSet) *modelFlags {
	m := &modelFlags{}
	fs.StringVar(&m.url, "model-url", "", "`URL` of an OpenAI-compatible API, such as http://localhost:8000/v1; also OPENAI_BASE_URL")
	fs.StringVar(&m.name, "model", "", "`name` of the model that answers")
	fs.StringVar(&m.fast, "fast-model", "", "`name` of the model that classifies messages (default: that of --model)")
	return m
}

// real reports whether a real endpoint is configured. The key is taken from OPENAI_API_KEY alone: keys do not belong
// into command lines.
func (m *modelFlags) real(env environment) bool {
	return m.url != "" || env.get("OPENAI_BASE_URL") != "" || env.get("OPENAI_API_KEY") != ""
}

// defaultModel is asked when only a key is given.
const (
	defaultModel     = "gpt-4.1"
	defaultFastModel = "gpt-4.1-mini"
)

// models sets the models of a suite.
func (m *modelFlags) models(cfg *suite.Config, env environment) error {
	url, name, fast := m.url, m.name, m.fast
	if url == "" {
		url = env.get("OPENAI_BASE_URL")
	}
	switch {
	case !m.real(env):
		return usagef("no model is configured: set OPENAI_API_KEY, or --model-url and --model; for trials run 'quartet model' " +
			"and give --model-url http://127.0.0.1:7310/v1 --model " + offline.Model)
	case name == "" && url != "":
		return usagef("--model-url is given without --model")
	case name == "":
		name = defaultModel
		if fast == "" {
			fast = defaultFastModel
		}
	}
	if fast == "" {
		fast = name
	}
	var err, fastErr error
	key := env.get("OPENAI_API_KEY")
	cfg.Model, err = model.New(model.Config{URL: url, Key: key, Name: name})
	cfg.FastModel, fastErr = model.New(model.Config{URL: url, Key: key, Name: fast})
	return errors.Join(err, fastErr)
}

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
