// Package openai is an agentloop.Model for any endpoint that speaks OpenAI's Chat Completions: OpenAI itself, vLLM, NIM,
// Ollama, OpenRouter and many more. It is built on github.com/sashabaranov/go-openai.
//
// It always streams. There is no time limit of its own on a call, only on connecting: how long an answer may take is for
// the caller's context to say. It does not retry either; a [StatusError] holds what a retrying wrapper needs to know.
//
// The package must not import anything of Quartet's but agentloop.
package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// DefaultBaseURL is OpenAI's own endpoint.
const DefaultBaseURL = "https://api.openai.com/v1"

// maxEmptyLines bounds the lines in a row of a stream that hold no data. Some endpoints send a comment line now and then
// while the model thinks, for minutes.
const maxEmptyLines = 1 << 20

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
	// ThinkingSwitch says that the endpoint takes chat_template_kwargs, as vLLM, SGLang and NIM do, and the model's template
	// its enable_thinking: a request with NoReasoning is then sent with it switched off. Others may refuse the field. Zero: not
	// sent, and NoReasoning has no effect.
	ThinkingSwitch bool
}

// Model asks one model of one endpoint. It implements [agentloop.Model] and is safe for concurrent use.
type Model struct {
	cfg    Config
	client *goopenai.Client
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
	client := http.Client{Transport: NewTransport()}
	if cfg.HTTPClient != nil {
		client = *cfg.HTTPClient
	}
	client.Transport = &tap{next: client.Transport}
	c := goopenai.DefaultConfig(cfg.APIKey)
	c.BaseURL = cfg.BaseURL
	c.HTTPClient = &client
	c.EmptyMessagesLimit = maxEmptyLines
	return &Model{cfg: cfg, client: goopenai.NewClientWithConfig(c)}, nil
}

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

// NewTransport returns a transport for many calls at once to one host, for this and other adapters of models. Go's default
// keeps two idle connections for each host and so opens a new one for almost every call.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// HTTP/2 shares one connection among all calls: find out when it is dead.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// Generate implements [agentloop.Model]. Errors: a [*StatusError] when the endpoint refuses the call or reports a failure
// in the middle of the answer, the context's error, io.ErrUnexpectedEOF when the answer breaks off, or the connection's.
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	call := &exchange{}
	stream, err := m.client.CreateChatCompletionStream(withExchange(ctx, call), m.request(req))
	if err != nil {
		return m.statusError(err, call)
	}
	defer stream.Close()
	a := answer{key: m.cfg.APIKey}
	for {
		raw, err := stream.RecvRaw()
		if err != nil {
			err = m.statusError(err, call)
			last, err := a.end(call, err)
			if err != nil {
				return err
			}
			if last.FinishReason != "" || last.Usage != nil {
				yield(last, nil)
			}
			call.drain(cancel)
			return nil
		}
		c, err := a.decode(raw)
		if err != nil {
			return err
		}
		if c.Text == "" && c.Reasoning == "" && len(c.ToolCalls) == 0 && c.Model == "" {
			continue
		}
		if !yield(c, nil) {
			return errStopped
		}
	}
}
