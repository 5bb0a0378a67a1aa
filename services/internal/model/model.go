// Package model makes the services' models from configuration. A model is the adapter for a provider's API with the profile
// of the model, in the standard wrappers, with errors of types that the services' error table knows. It imports no service.
package model

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/model/anthropic"
	"github.com/quartet-commerce/quartet/services/internal/model/gemini"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// DefaultIdleTimeout is three quarters of the default minute of a turn, so that a hung connection leaves time for another
// attempt. Models usually send their first words much sooner.
const DefaultIdleTimeout = 45 * time.Second

// Config names an endpoint and the model to ask there.
type Config struct {
	// Provider whose API is spoken: "openai", "anthropic" or "gemini". Empty: OpenAI's when there is a URL; without one,
	// Anthropic's for a Name that starts with "claude-", Google's for "gemini-", and else OpenAI's.
	Provider string
	// URL of the API, such as "http://localhost:8000/v1". Empty: the provider's own.
	URL string
	// Key that the provider gave out. Empty: none, which only endpoints that speak OpenAI's API allow.
	Key string
	// KeySetting is where an operator sets Key, such as an environment variable, for the log. Empty: Config.Key.
	KeySetting string
	// Name of the model. Required.
	Name string
	// Price of the model's tokens. Nil: unknown.
	Price *agentloop.Price
	// MaxAttempts bounds the attempts of a call that fails before it answers. Zero: wrap.Retry's default.
	MaxAttempts int
	// IdleTimeout fails an attempt that sends nothing for this long, before the answer or after any piece of it. Reasoning
	// counts only if the endpoint sends it. Zero: DefaultIdleTimeout, or none with NoStream, where nothing comes before the
	// whole answer. Negative: none.
	IdleTimeout time.Duration
	// NoReasoning asks for answers without reasoning in every call, where the model has a switch for it. It has no effect on
	// other models.
	NoReasoning bool
	// MaxCompletionTokens sends the bound of an answer as max_completion_tokens rather than max_tokens, in OpenAI's API. Nil:
	// as the model's profile says.
	MaxCompletionTokens *bool
	// FixedTemperature leaves out the temperature. Nil: as the model's profile says.
	FixedTemperature *bool
	// ResponseFormat is how typed answers are asked for, in OpenAI's API. Empty: as the model's profile says.
	ResponseFormat openai.ResponseFormat
	// ReasoningSwitch is how reasoning is switched off, in OpenAI's API. Empty: as the model's profile says.
	ReasoningSwitch openai.ReasoningSwitch
	// Tools is how tool calls come. Empty: ToolsAuto.
	Tools Tools
	// NoStream asks for complete answers, in OpenAI's API, for endpoints that cannot stream. Shoppers then see no text grow.
	NoStream bool
	// CaptureContent puts what the endpoint writes about a failed call on the call's span. Endpoints repeat what shoppers wrote.
	CaptureContent bool
	// Logger gets a line when the endpoint refuses the key. Nil: slog.Default().
	Logger *slog.Logger
}

// Tools is how a model is offered tools, and how its calls come.
type Tools string

// The ways.
const (
	// ToolsNative leaves both to the API.
	ToolsNative Tools = "native"
	// ToolsText describes the tools in the prompt and reads calls from the text, for endpoints that refuse tools.
	ToolsText Tools = "text"
	// ToolsAuto offers tools by the API and also reads calls that the model writes into its text. Without a URL it is
	// ToolsNative, because the providers' own endpoints read the calls of their models.
	ToolsAuto Tools = "auto"
)

// Traced is a model with the price of its tokens.
type Traced struct {
	agentloop.Model
	// Price of the model's tokens. Nil: unknown.
	Price *agentloop.Price

	key *keyWatch // nil: the model has no key to watch
}

// New returns the model, or an error of one line that says what is wrong with the configuration. It sends nothing.
func New(cfg Config) (*Traced, error) {
	provider, err := cfg.ProviderName()
	if err != nil {
		return nil, err
	}
	switch cfg.Tools {
	case "":
		cfg.Tools = ToolsAuto
	case ToolsNative, ToolsText, ToolsAuto:
	default:
		return nil, fmt.Errorf("model %q: unknown way of calling tools %q: want native, text or auto", cfg.Name, cfg.Tools)
	}
	p := profileOf(cfg)
	m, err := adapter(provider, cfg, p)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	if cfg.CaptureContent {
		m = captured{m}
	}
	m = wrap.Standard(m, wrap.Options{
		IdleTimeout: cfg.idleTimeout(),
		Trace: func(m agentloop.Model) agentloop.Model {
			return agentotel.Model(m, agentotel.Config{Provider: traceName(provider, cfg.Name), RequestModel: cfg.Name, CaptureContent: cfg.CaptureContent})
		},
		Retry:       wrap.RetryConfig{MaxAttempts: cfg.MaxAttempts},
		Reasoning:   wrap.ReasoningConfig{Hold: hold(cfg)},
		NoReasoning: cfg.NoReasoning,

		TextTools:      cfg.Tools == ToolsText,
		RecognizeCalls: cfg.Tools == ToolsAuto && cfg.URL != "",
	})
	key := &keyWatch{Model: m, cfg: cfg}
	return &Traced{Model: faults{key}, Price: cfg.Price, key: key}, nil
}

// WithFallback returns a model that asks fallback where m fails before it answers, which the log then says. What fallback answers
// has an unknown cost.
func WithFallback(m, fallback *Traced, logger *slog.Logger) *Traced {
	return &Traced{Model: wrap.Fallback(logged{m.Model, logger}, unpriced{fallback.Model}), Price: m.Price}
}

// logged logs why a model fails: a fallback that answers hides a refused key from everybody else.
type logged struct {
	agentloop.Model
	logger *slog.Logger
}

// Generate implements agentloop.Model.
func (l logged) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		for c, err := range l.Model.Generate(ctx, req) {
			if err != nil && ctx.Err() == nil {
				l.logger.WarnContext(ctx, "the model failed; the fallback model answers unless this one had begun to, or refused the request", "error", err)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// unpriced marks what a model answers as of an unknown price.
type unpriced struct{ agentloop.Model }

// Generate implements agentloop.Model.
func (u unpriced) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		for c, err := range u.Model.Generate(ctx, req) {
			c.Unpriced = err == nil
			if !yield(c, err) {
				return
			}
		}
	}
}

// idleTimeout returns the timeout in the terms of wrap.IdleTimeout.
func (cfg Config) idleTimeout() time.Duration {
	if cfg.IdleTimeout == 0 && !cfg.NoStream {
		return DefaultIdleTimeout
	}
	return cfg.IdleTimeout
}

// adapter returns the model that speaks a provider's API.
func adapter(provider string, cfg Config, p profile) (agentloop.Model, error) {
	switch provider {
	case providerAnthropic:
		return anthropic.New(anthropic.Config{
			BaseURL: cfg.URL, APIKey: cfg.Key, Model: cfg.Name, OmitTemperature: p.fixedTemperature, ReasoningSwitch: p.reasoningOff,
		})
	case providerGemini:
		return gemini.New(gemini.Config{
			BaseURL: cfg.URL, APIKey: cfg.Key, Model: cfg.Name, OmitTemperature: p.fixedTemperature, ReasoningSwitch: p.reasoningOff,
		})
	}
	return openai.New(openai.Config{
		BaseURL: cfg.URL, APIKey: cfg.Key, Model: cfg.Name,
		UseMaxCompletionTokens: p.maxCompletionTokens, OmitTemperature: p.fixedTemperature,
		NoStream: cfg.NoStream, ResponseFormat: p.responseFormat, ReasoningSwitch: p.reasoningSwitch,
		SendReasoning: p.sendReasoning,
	})
}

// captured puts what the endpoint writes about a failed call on its span. The error's own text does not show it.
type captured struct{ agentloop.Model }

// Generate implements agentloop.Model.
func (c captured) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		for chunk, err := range c.Model.Generate(ctx, req) {
			if text := endpoint.Message(err); text != "" {
				trace.SpanFromContext(ctx).SetAttributes(attribute.String(telemetry.KeyEndpointMessage, text))
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// faults turns a model's errors into types that the services' error table knows.
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

// retryAfter is the wait that callers are asked for when the endpoint does not ask for one.
const retryAfter = 2 * time.Second

// faultOf classifies a model's error. A refused request or certificate is a fault of the deployment: the error stays as it is, so
// callers see an internal error without a RetryInfo, and the log has the cause. With a refused key no call can succeed: the model is
// unavailable, and trying again does not help. The context's errors stay as they are.
func faultOf(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || isMisconfigured(err) {
		return err
	}
	var status *endpoint.StatusError
	wait, retry := wrap.Retryable(err)
	wait = max(wait, retryAfter)
	switch {
	case errors.Is(err, endpoint.ErrUnauthorized):
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_UNAVAILABLE, What: "model endpoint", RetryAfter: fault.NoRetry, Err: err,
		}
	case errors.Is(err, endpoint.ErrRateLimited):
		if !retry {
			wait = fault.NoRetry
		}
		return &fault.Exhausted{
			Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_RATE_LIMITED, What: "model endpoint", RetryAfter: wait, Err: err,
		}
	case retry, !errors.As(err, &status): // without a status: the connection or the answer broke
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_UNAVAILABLE, What: "model endpoint", RetryAfter: wait, Err: err,
		}
	}
	return err
}

// isMisconfigured reports whether the endpoint's certificate is refused, or one side speaks TLS and the other does not.
func isMisconfigured(err error) bool {
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &noTLS) || errors.Is(err, http.ErrSchemeMismatch)
}
