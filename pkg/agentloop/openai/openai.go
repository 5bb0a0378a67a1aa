// Package openai is an agentloop.Model for any endpoint that speaks OpenAI's Chat Completions: OpenAI itself, vLLM, NIM,
// Ollama, OpenRouter and many more. It uses the client of github.com/sashabaranov/go-openai, and decodes the raw events of
// its streams, because endpoints send more than its types hold.
//
// It streams unless told otherwise, and understands an answer of the other kind too. It sets no time limit on a call, only
// on connecting: the caller's context says how long an answer may take. It does not retry either; an
// [endpoint.StatusError] holds what a retrying wrapper needs to know.
//
// The package must not import anything of Quartet's but agentloop and endpoint.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// DefaultBaseURL is OpenAI's own endpoint.
const DefaultBaseURL = "https://api.openai.com/v1"

// ResponseFormat is how a typed answer ([agentloop.Request.Output]) is asked for. Endpoints differ in what they take.
type ResponseFormat string

const (
	// ResponseJSONSchema sends the schema as response_format json_schema, not strict: strict mode forbids most of JSON
	// Schema.
	ResponseJSONSchema ResponseFormat = "json_schema"
	// ResponseJSONObject sends response_format json_object, and the schema as an instruction in the system message.
	ResponseJSONObject ResponseFormat = "json_object"
	// ResponseNone sends no response_format, and the schema as an instruction in the system message.
	ResponseNone ResponseFormat = "none"
)

// ReasoningSwitch is how a request with NoReasoning is sent. Endpoints refuse or ignore a field that they do not know.
type ReasoningSwitch string

const (
	// SwitchNone sends nothing: NoReasoning has no effect.
	SwitchNone ReasoningSwitch = "none"
	// SwitchEnableThinking sends chat_template_kwargs with enable_thinking false, which vLLM, SGLang and NIM pass on to the
	// model's template. It is not part of OpenAI's own API.
	SwitchEnableThinking ReasoningSwitch = "enable_thinking"
	// SwitchEffortNone sends reasoning_effort none, as OpenAI's reasoning models from gpt-5.1 on take it.
	SwitchEffortNone ReasoningSwitch = "effort_none"
	// SwitchEffortMinimal sends reasoning_effort minimal, the least that OpenAI's first gpt-5 takes.
	SwitchEffortMinimal ReasoningSwitch = "effort_minimal"
)

// Config says which model to use, and where. Model is required, and APIKey with the default BaseURL.
type Config struct {
	// BaseURL of the endpoint, up to and without "/chat/completions". Empty: DefaultBaseURL.
	BaseURL string
	// APIKey is sent as a bearer token. Empty: none is sent. It never shows in an error.
	APIKey string
	// Model is the endpoint's name for the model.
	Model string
	// HTTPClient makes the calls. It should have no Timeout, which would cut long answers. Nil: a client of the model's own,
	// with an [endpoint.NewTransport].
	HTTPClient *http.Client
	// UseMaxCompletionTokens sends the bound of the answer as max_completion_tokens rather than max_tokens. It is always on
	// for OpenAI's reasoning models (o1, o3, o4, gpt-5).
	UseMaxCompletionTokens bool
	// OmitTemperature leaves out the temperature, for models that take none. It is always on for OpenAI's reasoning models.
	OmitTemperature bool
	// NoStream asks for complete answers, for endpoints that cannot stream. An answer then comes in one or two chunks.
	NoStream bool
	// ResponseFormat is how typed answers are asked for. Empty: ResponseJSONSchema.
	ResponseFormat ResponseFormat
	// ReasoningSwitch is how a request with NoReasoning is sent. Empty: SwitchNone.
	ReasoningSwitch ReasoningSwitch
	// SendReasoning sends the reasoning behind tool calls back with their results, as reasoning_content, for models that
	// refuse the results without. Other models take reasoning in their history for an example to follow.
	SendReasoning bool
}

// Model asks one model of one endpoint. It implements [agentloop.Model] and is safe for concurrent use.
type Model struct {
	cfg  Config
	http *http.Client
}

// New returns a model, or an error of one line that says what is wrong with the configuration. It makes no call.
func New(cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey) // keys from files end in a line feed
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if isReasoningModel(cfg.Model) {
		cfg.UseMaxCompletionTokens, cfg.OmitTemperature = true, true
	}
	m := &Model{cfg: cfg, http: cfg.HTTPClient}
	if m.http == nil {
		m.http = &http.Client{Transport: endpoint.NewTransport()}
	}
	return m, nil
}

// The values of the two settings; the first is the default.
var (
	responseFormats   = []ResponseFormat{"", ResponseJSONSchema, ResponseJSONObject, ResponseNone}
	reasoningSwitches = []ReasoningSwitch{"", SwitchNone, SwitchEnableThinking, SwitchEffortNone, SwitchEffortMinimal}
)

// validate looks for what would fail in every call.
func (cfg *Config) validate() error {
	err := endpoint.Config{
		Provider: "openai", BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Model: cfg.Model,
		KeyOptional: strings.TrimRight(cfg.BaseURL, "/") != DefaultBaseURL,
	}.Validate()
	switch {
	case err != nil:
		return err
	case !slices.Contains(responseFormats, cfg.ResponseFormat):
		return fmt.Errorf("openai: Config.ResponseFormat %q: want %v", cfg.ResponseFormat, responseFormats[1:])
	case !slices.Contains(reasoningSwitches, cfg.ReasoningSwitch):
		return fmt.Errorf("openai: Config.ReasoningSwitch %q: want %v", cfg.ReasoningSwitch, reasoningSwitches[1:])
	}
	return nil
}

// isReasoningModel reports whether a model is one for which go-openai refuses max_tokens and a temperature.
func isReasoningModel(model string) bool {
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

// Generate implements [agentloop.Model]. Errors: an [*endpoint.StatusError] when the endpoint refuses the call or reports a
// failure in the middle of the answer, an [*endpoint.ResponseError] when the answer cannot be read, the context's error,
// io.ErrUnexpectedEOF when the answer breaks off, or the connection's.
func (m *Model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return endpoint.Stream(ctx, "openai", func(emit endpoint.Emit) error {
		return m.withHint(m.generate(ctx, req, emit), req)
	})
}

func (m *Model) generate(ctx context.Context, req *agentloop.Request, emit endpoint.Emit) error {
	x := &exchange{
		client: m.http, key: m.cfg.APIKey, noStream: m.cfg.NoStream,
		zeroTemperature: req.Temperature != nil && float32(*req.Temperature) == 0,
	}
	a := &answer{key: m.cfg.APIKey, keepReasoning: m.cfg.SendReasoning}
	stream, err := m.call(ctx, x, req)
	if stream != nil {
		defer stream.Close()
	}
	switch {
	case x.object != nil: // which go-openai's types may not fit
		return a.emitObject(x, emit)
	case err != nil:
		return endpoint.Redact(err, m.cfg.APIKey)
	}
	return a.emitStream(stream, x.events, emit)
}

// call makes the call and returns its stream, or leaves an answer that does not stream in x. A request is large and is copied
// for each function that it is given to, so no frame of a function that reads the answer or waits for it holds one.
func (m *Model) call(ctx context.Context, x *exchange, req *agentloop.Request) (*goopenai.ChatCompletionStream, error) {
	settings := goopenai.DefaultConfig(m.cfg.APIKey)
	settings.BaseURL, settings.HTTPClient = m.cfg.BaseURL, x
	client := goopenai.NewClientWithConfig(settings)
	if m.cfg.NoStream {
		if err := m.cfg.complete(ctx, client, req); !errors.Is(err, errStreams) {
			return nil, err
		}
	}
	return client.CreateChatCompletionStream(ctx, m.cfg.request(req))
}

// complete asks for an answer that does not stream. The exchange keeps the answer.
func (cfg *Config) complete(ctx context.Context, client *goopenai.Client, req *agentloop.Request) error {
	_, err := client.CreateChatCompletion(ctx, cfg.request(req))
	return err
}

// emitObject emits an answer that does not stream.
func (a *answer) emitObject(x *exchange, emit endpoint.Emit) error {
	c, err := a.decode(x.object)
	var status *endpoint.StatusError
	switch {
	case errors.As(err, &status):
		return err
	case err != nil || !a.choices:
		return x.notAnAnswer(x.object)
	}
	if err := emit(c); err != nil {
		return err
	}
	a.Done = true
	return a.emitLast(nil, emit)
}

// emitStream emits an answer that streams.
func (a *answer) emitStream(stream *goopenai.ChatCompletionStream, events *eventReader, emit endpoint.Emit) error {
	for {
		raw, err := stream.RecvRaw()
		switch {
		case errors.Is(err, io.EOF):
			a.Done = !events.ended
			return a.endStream(events, nil, emit)
		case err != nil:
			return a.endStream(events, endpoint.Redact(err, a.key), emit)
		}
		c, err := a.decode(raw)
		if err != nil {
			return a.endStream(events, err, emit)
		}
		if err := emit(c); err != nil {
			return err
		}
	}
}

// endStream emits the end of a stream, and reads what is left of its body.
func (a *answer) endStream(events *eventReader, err error, emit endpoint.Emit) error {
	if err := a.emitLast(err, emit); err != nil {
		return err
	}
	endpoint.Drain(func() { events.Close() }, func() { _, _ = io.CopyN(io.Discard, events.in, 4<<10) })
	return nil
}

// emitLast emits the end of an answer whose stream ended with err, or returns the error if the answer broke off.
func (a *answer) emitLast(err error, emit endpoint.Emit) error {
	last, err := a.Last(err)
	if err != nil {
		return err
	}
	last.ProviderData = a.providerData()
	return emit(last)
}

// withHint adds which setting may help where an endpoint refuses a field that not all endpoints take.
func (m *Model) withHint(err error, req *agentloop.Request) error {
	var status *endpoint.StatusError
	if !errors.As(err, &status) || !errors.Is(err, endpoint.ErrBadRequest) {
		return err
	}
	mentions := func(fields ...string) bool {
		return slices.ContainsFunc(fields, func(f string) bool { return strings.Contains(strings.ToLower(status.Message), f) })
	}
	switch {
	case req.Output != nil && m.cfg.ResponseFormat != ResponseNone && mentions("response_format", "response format", "json_schema", "json_object"):
		return fmt.Errorf("%w (another response format may help: Config.ResponseFormat json_object or none)", err)
	case req.NoReasoning && mentions("chat_template", "reasoning_effort"):
		return fmt.Errorf("%w (another switch for reasoning may help: Config.ReasoningSwitch, or none)", err)
	case len(req.Tools) > 0 && mentions("tool choice", "tool_choice", "support tools"):
		return fmt.Errorf("%w (tools as text may help: wrap.Options.TextTools)", err)
	}
	return err
}
