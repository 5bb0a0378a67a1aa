package router

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
)

// Defaults of Config.
const (
	// DefaultModelTimeout bounds the model's part of a decision, with the correction round.
	DefaultModelTimeout = 5 * time.Second
)

// Config configures a Service. The zero value routes without a model.
type Config struct {
	// Model decides where the classifier is not certain. Nil: the classifier always decides.
	Model agentloop.Model
	// ModelTimeout bounds the model's part of one decision. An earlier deadline of the caller shortens it, so that the
	// classifier's decision is still in time. Zero: DefaultModelTimeout.
	ModelTimeout time.Duration
	// AlwaysAskModel asks the model also where the classifier is certain. It has no effect without a model.
	AlwaysAskModel bool
	// Embedder compares messages of which the classifier is not certain with the specialists' examples, before the model is asked.
	// Nil: they are not compared.
	Embedder Embedder
	// Price turns the model's usage into cost. Nil: the cost is unknown.
	Price *agentloop.Price
	// NamedModel returns a model that a store has chosen. Nil: stores choose none.
	NamedModel prompt.NamedModel
	// MeterProvider makes the metric of decisions. Nil: the global one.
	MeterProvider metric.MeterProvider
	// Logger gets a debug line for each decision and a warning for each model failure, never a shopper's words. Nil: nothing
	// is logged.
	Logger *slog.Logger
}

// Validate returns an error for the first invalid value.
func (c Config) Validate() error {
	if c.ModelTimeout < 0 {
		return fmt.Errorf("router: ModelTimeout is %v, must not be negative", c.ModelTimeout)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.ModelTimeout == 0 {
		c.ModelTimeout = DefaultModelTimeout
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
