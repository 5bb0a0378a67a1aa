// Package gemini is an agentloop.Model for Google's Gemini API, built on the official SDK.
//
// It always streams. It sets no time limit on a call: the caller's context says how long an answer may take. The SDK's
// retries and its continuation of broken answers are off, because wrappers do the same for every provider. The schemas of
// tools and of typed answers are sent as JSON Schema.
//
// The API's tool calls need no ids: the package makes them up, and pairs results with calls by name and order. The signature
// of the reasoning behind a call travels as ProviderData of the call and is sent back with it.
//
// The package must not import anything of Quartet's but agentloop and endpoint.
package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// DefaultBaseURL is Google's own endpoint.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Config says which model to use, and where. Model and APIKey are required.
type Config struct {
	// BaseURL of the endpoint, with or without "/v1beta". Empty: DefaultBaseURL.
	BaseURL string
	// APIKey never shows in an error.
	APIKey string
	// Model is the provider's name for it.
	Model string
	// HTTPClient makes the calls. It should have no Timeout, which would cut long answers. Nil: one of the model's own.
	HTTPClient *http.Client
	// OmitTemperature leaves out the temperature.
	OmitTemperature bool
	// ReasoningSwitch says that the model's reasoning can be switched off, as a request with NoReasoning then does. Zero:
	// NoReasoning has no effect.
	ReasoningSwitch bool
}

// Model asks one model. It implements [agentloop.Model] and is safe for concurrent use.
type Model struct {
	cfg    Config
	client *genai.Client
}

// New returns a model, or an error of one line that says what is wrong with the configuration. It makes no call.
func New(cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey) // keys from files end in a line feed
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	err := endpoint.Config{Provider: "gemini", BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Model: cfg.Model}.Validate()
	if err != nil {
		return nil, err
	}
	client := endpoint.Client(cfg.HTTPClient)
	client.Transport = recorder{client.Transport}
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: cfg.APIKey, HTTPClient: client,
		// Always set, or the SDK would look for it in the environment.
		HTTPOptions: genai.HTTPOptions{BaseURL: strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1beta")},
	})
	if err != nil {
		return nil, errors.New("gemini: the SDK refuses the configuration") // its error would repeat the key
	}
	return &Model{cfg: cfg, client: c}, nil
}

// Generate implements [agentloop.Model]. Errors: an [*endpoint.StatusError] when the API refuses the call or reports a
// failure in the middle of the answer, the context's error, io.ErrUnexpectedEOF when the answer breaks off, or the
// connection's.
func (m *Model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return endpoint.Stream(ctx, "gemini", func(emit endpoint.Emit) error {
		return m.generate(ctx, req, emit)
	})
}

func (m *Model) generate(ctx context.Context, req *agentloop.Request, emit endpoint.Emit) error {
	contents, config := m.request(req)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	call := &exchange{}
	a := answer{}
	var streamErr error
	for r, err := range m.client.Models.GenerateContentStream(context.WithValue(ctx, exchangeKey{}, call), m.cfg.Model, contents, config) {
		if err != nil {
			streamErr = m.statusError(err, call)
			break
		}
		if err := emit(a.decode(r)); err != nil {
			return err
		}
		if a.Finish != "" {
			// The end follows at once. Wait for it: it has the usage, and only then can the connection be used again.
			t := time.AfterFunc(endTime, cancel)
			defer t.Stop()
		}
	}
	if streamErr == nil && call.err != nil {
		streamErr = fmt.Errorf("stream: %w", endpoint.Redact(call.err, m.cfg.APIKey))
	}
	last, err := a.Last(streamErr)
	if err != nil {
		return err
	}
	return emit(last)
}

// endTime bounds the wait for the end of a stream after the finish reason.
const endTime = time.Second

// statusError turns the API's failures into a StatusError, and hides the text of other errors unless it is known to be safe.
func (m *Model) statusError(err error, call *exchange) error {
	var apiErr genai.APIError
	if !errors.As(err, &apiErr) {
		return endpoint.Redact(err, m.cfg.APIKey)
	}
	body, err := json.Marshal(map[string]any{"error": apiErr})
	if err != nil {
		return endpoint.Redact(err, m.cfg.APIKey)
	}
	e := endpoint.NewStatusError(apiErr.Code, call.header, body, m.cfg.APIKey)
	if e.StatusCode == 0 || call.status >= http.StatusBadRequest {
		e.StatusCode = call.status
	}
	for _, d := range apiErr.Details {
		if delay, ok := d["retryDelay"].(string); ok && e.RetryAfter == 0 {
			if wait, err := time.ParseDuration(delay); err == nil {
				e.RetryAfter = max(0, wait)
			}
		}
	}
	return e
}

// exchange is what the SDK drops of a response. It belongs to the goroutine of the call.
type exchange struct {
	status int
	header http.Header
	err    error // that ended the body
}

type exchangeKey struct{}

// recorder is a RoundTripper that fills in the exchange of a call.
type recorder struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	call, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if err != nil || !ok {
		return resp, err
	}
	call.status, call.header = resp.StatusCode, resp.Header
	resp.Body = &body{ReadCloser: resp.Body, call: call}
	return resp, nil
}

// body hides the error that ends a body from the SDK, which would write it to the process's log even when the caller has
// left.
type body struct {
	io.ReadCloser
	call *exchange
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.call.err = err
		err = io.EOF
	}
	return n, err
}
