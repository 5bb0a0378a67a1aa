// Package model makes the models that the services use from configuration: an OpenAI-compatible endpoint with the
// quirks of the model named, traced, and with errors that the services' error table knows. It imports no service.
package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Config names an endpoint and the model to ask there.
type Config struct {
	// URL of an OpenAI-compatible API, such as "http://localhost:8000/v1". Empty: OpenAI's own.
	URL string
	// Key is sent as a bearer token. Empty: none; required by OpenAI's own endpoint.
	Key string
	// Name of the model. Required.
	Name string
}

// Traced is a model with the price of its tokens.
type Traced struct {
	agentloop.Model
	// Price of the model's tokens. Nil: unknown.
	Price *agentloop.Price
}

// New returns the model, or one line that says what is wrong with the configuration. Nothing is sent yet.
func New(cfg Config) (*Traced, error) {
	p := profileOf(cfg.Name)
	m, err := openai.New(openai.Config{
		BaseURL: cfg.URL, APIKey: cfg.Key, Model: cfg.Name,
		UseMaxCompletionTokens: p.maxCompletionTokens, OmitTemperature: p.fixedTemperature,
	})
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	traced := agentotel.Model(m, agentotel.Config{Provider: p.provider, RequestModel: cfg.Name})
	return &Traced{Model: faults{traced}, Price: p.price}, nil
}

// faults gives a model's errors the types that the services' error table knows.
type faults struct{ agentloop.Model }

// Generate implements agentloop.Model.
func (f faults) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		for c, err := range f.Model.Generate(ctx, req) {
			if !yield(c, faultOf(err)) {
				return
			}
		}
	}
}

// retryAfter is what callers are told to wait when the endpoint does not say.
const retryAfter = 2 * time.Second

// faultOf classifies a model's error. A refused key or request is the deployment's fault and so stays internal, where the
// log has the cause; time-outs of the context stay what they are.
func faultOf(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var status *openai.StatusError
	if !errors.As(err, &status) {
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_UNAVAILABLE, What: "model endpoint", RetryAfter: retryAfter, Err: err,
		}
	}
	wait := max(status.RetryAfter, retryAfter)
	switch {
	case status.StatusCode == 429:
		return &fault.Exhausted{
			Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_RATE_LIMITED, What: "model endpoint", RetryAfter: wait, Err: err,
		}
	case status.StatusCode >= 500:
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_UNAVAILABLE, What: "model endpoint", RetryAfter: wait, Err: err,
		}
	}
	return err
}
