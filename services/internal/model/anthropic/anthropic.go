// Package anthropic is an agentloop.Model for Anthropic's Messages API, built on the official SDK.
//
// It always streams. It sets no time limit on a call: the caller's context says how long an answer may take. The SDK's
// retries, its reading of the environment and its spans are off, because wrappers do the same for every provider. A typed
// answer is asked for as the API's structured output (output_config.format). The SDK turns the parts of the schema that the
// API does not take into descriptions; the loop checks the answer against the complete schema.
//
// Reasoning that leads to tool calls travels as ProviderData of the message and is sent back with the results.
//
// The package must not import anything of Quartet's but agentloop and endpoint.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

const (
	// DefaultBaseURL is Anthropic's own endpoint.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultMaxOutputTokens bounds an answer when the request does not: the API wants a bound.
	DefaultMaxOutputTokens = 4096
)

// Config says which model to use, and where. Model and APIKey are required.
type Config struct {
	// BaseURL of the endpoint, with or without "/v1". Empty: DefaultBaseURL.
	BaseURL string
	// APIKey never shows in an error.
	APIKey string
	// Model is the provider's name for it.
	Model string
	// HTTPClient makes the calls. It should have no Timeout, which would cut long answers. Nil: one of the model's own.
	HTTPClient *http.Client
	// OmitTemperature leaves out the temperature, for models that take none.
	OmitTemperature bool
	// ReasoningSwitch says that the model's reasoning can be switched off, as a request with NoReasoning then does. Zero:
	// NoReasoning has no effect.
	ReasoningSwitch bool
}

// Model asks one model. It implements [agentloop.Model] and is safe for concurrent use.
type Model struct {
	cfg    Config
	client sdk.Client
}

// New returns a model, or an error of one line that says what is wrong with the configuration. It makes no call.
func New(cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey) // keys from files end in a line feed
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	err := endpoint.Config{Provider: "anthropic", BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Model: cfg.Model}.Validate()
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1") + "/"
	return &Model{cfg: cfg, client: sdk.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithBaseURL(base), option.WithAPIKey(cfg.APIKey), option.WithHTTPClient(endpoint.Client(cfg.HTTPClient)),
	)}, nil
}

// Generate implements [agentloop.Model]. Errors: an [*endpoint.StatusError] when the API refuses the call or reports a
// failure in the middle of the answer, the context's error, io.ErrUnexpectedEOF when the answer breaks off, or the
// connection's.
func (m *Model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return endpoint.Stream(ctx, "anthropic", func(emit endpoint.Emit) error {
		return m.generate(ctx, req, emit)
	})
}

func (m *Model) generate(ctx context.Context, req *agentloop.Request, emit endpoint.Emit) error {
	params, err := m.request(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := m.client.Messages.NewStreaming(ctx, params)
	defer stream.Close()
	a := answer{calls: make(map[int64]int), blocks: make(map[int64]*thinkingBlock)}
	for !a.stopped && stream.Next() {
		if err := emit(a.decode(stream.Current())); err != nil {
			return err
		}
	}
	last, err := a.Last(m.statusError(stream.Err()))
	if err != nil {
		return err
	}
	last.ProviderData = a.data()
	if err := emit(last); err != nil {
		return err
	}
	endpoint.Drain(cancel, func() {
		for stream.Next() {
		}
	})
	return nil
}

// statusError turns the API's failures into a StatusError, and hides the text of other errors unless it is known to be safe.
func (m *Model) statusError(err error) error {
	var apiErr *sdk.Error
	if !errors.As(err, &apiErr) {
		if err != nil {
			return fmt.Errorf("stream: %w", endpoint.Redact(err, m.cfg.APIKey))
		}
		return nil
	}
	if apiErr.StatusCode < http.StatusBadRequest { // in the middle of an answer
		e := endpoint.ParseError([]byte(apiErr.RawJSON()), m.cfg.APIKey)
		e.StatusCode = codes[string(apiErr.Type())]
		return e
	}
	var header http.Header
	if apiErr.Response != nil {
		header = apiErr.Response.Header
	}
	return endpoint.NewStatusError(apiErr.StatusCode, header, []byte(apiErr.RawJSON()), m.cfg.APIKey)
}
