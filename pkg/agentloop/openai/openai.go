// Package openai is an agentloop.Model for any endpoint that speaks OpenAI's Chat Completions: OpenAI itself, vLLM, NIM,
// Ollama, OpenRouter and many more. It is built on github.com/sashabaranov/go-openai, which says where requests go and what refusals mean.
//
// It streams unless told otherwise; what comes is understood either way, whichever was asked for. There is no time limit of its own on a call, only on connecting: how long an answer may take is for
// the caller's context to say. It does not retry either; an [endpoint.StatusError] holds what a retrying wrapper needs to know.
//
// The package must not import anything of Quartet's but agentloop.
package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

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

// ReasoningSwitch is how a request with NoReasoning is sent. Endpoints refuse, or pass over, a field that they do not know.
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
	// Model is the name by which the endpoint knows the model.
	Model string
	// HTTPClient makes the calls. It should have no Timeout, which would cut long answers. Nil: one of the model's own, with
	// connections enough for hundreds of calls at once.
	HTTPClient *http.Client
	// UseMaxCompletionTokens sends the bound of the answer as max_completion_tokens rather than max_tokens. It is always on
	// for OpenAI's reasoning models (o1, o3, o4, gpt-5).
	UseMaxCompletionTokens bool
	// OmitTemperature leaves out the temperature, for models that take none. It is always on for OpenAI's reasoning models.
	OmitTemperature bool
	// NoStream asks for whole answers, for endpoints that can not stream. The chunks are then few.
	NoStream bool
	// ResponseFormat is how typed answers are asked for. Empty: ResponseJSONSchema.
	ResponseFormat ResponseFormat
	// ReasoningSwitch is how a request with NoReasoning is sent. Empty: SwitchNone.
	ReasoningSwitch ReasoningSwitch
}

// Model asks one model of one endpoint. It implements [agentloop.Model] and is safe for concurrent use.
type Model struct {
	cfg       Config
	form      *http.Request     // of all calls
	transport http.RoundTripper // where no client is configured
	schemas   schemas
}

// New returns a model, or an error that says in a line what is wrong with the configuration. It makes no call.
func New(cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey) // keys from files end in a line feed
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if takesNoTemperature(cfg.Model) {
		cfg.UseMaxCompletionTokens, cfg.OmitTemperature = true, true
	}
	form, err := cfg.form()
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	return &Model{cfg: cfg, form: form, transport: endpoint.NewTransport()}, nil
}

// What the two settings may be; the first is the default.
var (
	responseFormats   = []ResponseFormat{"", ResponseJSONSchema, ResponseJSONObject, ResponseNone}
	reasoningSwitches = []ReasoningSwitch{"", SwitchNone, SwitchEnableThinking, SwitchEffortNone, SwitchEffortMinimal}
)

// validate looks for what would fail in every call.
func (cfg *Config) validate() error {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case cfg.Model == "":
		return errors.New("openai: Config.Model is empty")
	case err != nil:
		return errors.New("openai: Config.BaseURL is not a URL") // the parser's error would repeat a key within it
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("openai: Config.BaseURL %q: want http:// or https:// and a host", u.Redacted())
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("openai: Config.BaseURL must not hold a user, a query or a fragment; the key goes into APIKey")
	case cfg.APIKey == "" && strings.TrimRight(cfg.BaseURL, "/") == DefaultBaseURL:
		return errors.New("openai: Config.APIKey is empty, which " + DefaultBaseURL + " does not allow")
	case strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("openai: Config.APIKey holds a character that no key has")
	case !slices.Contains(responseFormats, cfg.ResponseFormat):
		return fmt.Errorf("openai: Config.ResponseFormat %q: want %v", cfg.ResponseFormat, responseFormats[1:])
	case !slices.Contains(reasoningSwitches, cfg.ReasoningSwitch):
		return fmt.Errorf("openai: Config.ReasoningSwitch %q: want %v", cfg.ReasoningSwitch, reasoningSwitches[1:])
	}
	return nil
}

// takesNoTemperature reports whether go-openai would refuse max_tokens and temperature for a model before any call.
func takesNoTemperature(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

// Generate implements [agentloop.Model]. Errors: an [*endpoint.StatusError] when the endpoint refuses the call or reports a failure
// in the middle of the answer, the context's error, io.ErrUnexpectedEOF when the answer breaks off, one with a RetryHint when
// it can not be read, or the connection's.
func (m *Model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		err := m.generate(ctx, req, yield)
		if err == nil || errors.Is(err, errStopped) {
			return
		}
		if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		yield(agentloop.Chunk{}, fmt.Errorf("openai: %w", err))
	}
}

// errStopped says that the consumer wants no more.
var errStopped = errors.New("consumer stopped")

func (m *Model) generate(ctx context.Context, req *agentloop.Request, yield func(agentloop.Chunk, error) bool) error {
	b, err := m.send(ctx, req)
	if err != nil {
		return err
	}
	defer b.Close()
	return b.read(yield)
}
