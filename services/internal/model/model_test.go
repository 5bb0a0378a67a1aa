package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewRefusesWhatCanNotWork(t *testing.T) {
	cases := []struct {
		name string
		cfg  model.Config
		want string // part of the error; empty for none
	}{
		{"unknown provider", model.Config{Provider: "acme", Name: "m", Key: "secret"}, `unknown provider "acme": want openai, anthropic, gemini`},
		{"no name", model.Config{Key: "secret"}, "Model is empty"},
		{"no key for OpenAI", model.Config{Name: "m"}, "APIKey is empty"},
		{"no key for Anthropic", model.Config{Name: "claude-x"}, "anthropic: Config.APIKey is empty"},
		{"no key for Gemini", model.Config{Name: "gemini-x"}, "gemini: Config.APIKey is empty"},
		{"no key elsewhere", model.Config{Name: "m", URL: "http://localhost:1/v1"}, ""},
		{"bad URL", model.Config{Name: "m", URL: "localhost:1", Key: "secret"}, "want http://"},
		{"bad URL for Anthropic", model.Config{Provider: "anthropic", Name: "m", URL: "ftp://x", Key: "secret"}, "want http://"},
		{"key in the URL", model.Config{Provider: "gemini", Name: "m", URL: "http://x?key=secret", Key: "secret"}, "goes into APIKey"},
		{"user in the URL", model.Config{Provider: "gemini", Name: "m", URL: "http://a:secret@x", Key: "secret"}, "goes into APIKey"},
		{"key of two lines", model.Config{Provider: "anthropic", Name: "m", Key: "secret\nx"}, "character that no key has"},
		{"reasoning that stays", model.Config{Name: "claude-opus-5", Key: "secret", NoReasoning: true}, ""},
		{"unknown response format", model.Config{Name: "m", Key: "secret", ResponseFormat: "yaml"}, `ResponseFormat "yaml"`},
		{"unknown way of calling tools", model.Config{Name: "m", Key: "secret", Tools: "xml"}, `unknown way of calling tools "xml": want native, text or auto`},
		{"unknown reasoning switch", model.Config{Name: "m", Key: "secret", ReasoningSwitch: "off"}, `ReasoningSwitch "off"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := model.New(c.cfg)
			switch {
			case c.want == "" && (err != nil || m == nil):
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			case err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret")):
				t.Errorf("error %q holds a secret or a line break", err)
			}
		})
	}
}

func TestProviderFollowsFromURLAndName(t *testing.T) {
	for _, c := range []struct {
		cfg  model.Config
		want string
	}{
		{model.Config{Name: "claude-opus-5"}, "anthropic"},
		{model.Config{Name: "gemini-3-pro"}, "gemini"},
		{model.Config{Name: "gpt-4.1"}, "openai"},
		{model.Config{Name: "claude-opus-5", URL: "http://localhost/v1"}, "openai"},
		{model.Config{Name: "anything", URL: "http://localhost", Provider: "anthropic"}, "anthropic"},
	} {
		if got, err := c.cfg.ProviderName(); got != c.want || err != nil {
			t.Errorf("%+v: %q, error %v, want %q", c.cfg, got, err, c.want)
		}
	}
}

// serve starts an endpoint that answers every call with status, and notes the last request.
func serve(t *testing.T, status int, header http.Header) (url string, last func() (path, body string)) {
	t.Helper()
	var path, body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		path, body = r.URL.Path, string(raw)
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() (string, string) { return path, body }
}

func generate(t *testing.T, m agentloop.Model) (err error) {
	t.Helper()
	warm := 0.5
	for _, e := range m.Generate(t.Context(), &agentloop.Request{
		Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "hi"}}, Temperature: &warm, MaxOutputTokens: 9,
		Output: &agentloop.OutputSchema{Name: "x", Schema: []byte(`{"type":"object"}`)},
	}) {
		err = e
	}
	return err
}

func TestErrorsAreFaults(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		t.Run(provider, func(t *testing.T) {
			faultOf := func(status int, header http.Header) error {
				url, _ := serve(t, status, header)
				m, err := model.New(model.Config{Provider: provider, URL: url, Key: "k", Name: "m", MaxAttempts: 1})
				if err != nil {
					t.Fatal(err)
				}
				return generate(t, m)
			}
			var exhausted *fault.Exhausted
			if err := faultOf(429, http.Header{"Retry-After": {"7"}}); !errors.As(err, &exhausted) || exhausted.RetryAfter != 7*time.Second {
				t.Errorf("429: %#v", err)
			}
			var unavailable *fault.Unavailable
			if err := faultOf(500, nil); !errors.As(err, &unavailable) || unavailable.RetryAfter <= 0 {
				t.Errorf("500: %#v", err)
			}
			for _, refused := range []int{401, 403} {
				unavailable = nil
				if err := faultOf(refused, nil); !errors.As(err, &unavailable) || unavailable.RetryAfter != fault.NoRetry {
					t.Errorf("%d: %#v, want that another try does not help", refused, err)
				}
			}
			untrusted := httptest.NewUnstartedServer(nil)
			untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
			untrusted.StartTLS()
			defer untrusted.Close()
			plain, _ := serve(t, 200, nil)
			for _, url := range []string{untrusted.URL, strings.Replace(plain, "http", "https", 1)} {
				m, err := model.New(model.Config{Provider: provider, URL: url, Key: "k", Name: "m", MaxAttempts: 1})
				if err != nil {
					t.Fatal(err)
				}
				if err := generate(t, m); err == nil || errors.As(err, &unavailable) || errors.As(err, &exhausted) {
					t.Errorf("%s: %#v, want an error that the caller can do nothing about", url, err)
				}
			}
		})
	}
}

func TestProfilesAndTheirOverrides(t *testing.T) {
	yes, no := true, false
	cases := []struct {
		cfg                 model.Config
		path, with, without string
	}{
		{model.Config{Name: "m"}, "/chat/completions", `"max_tokens":9`, "max_completion_tokens"},
		{model.Config{Name: "m", MaxCompletionTokens: &yes}, "/chat/completions", "max_completion_tokens", `"max_tokens"`},
		{model.Config{Name: "m", FixedTemperature: &yes}, "/chat/completions", `"max_tokens":9`, "temperature"},
		{model.Config{Name: "claude-opus-5", Provider: "anthropic"}, "/v1/messages", `"max_tokens":9`, "temperature"},
		{model.Config{Name: "claude-opus-5", Provider: "anthropic", FixedTemperature: &no}, "/v1/messages", `"temperature":0.5`, "thinking"},
		{model.Config{Name: "claude-sonnet-4-6", Provider: "anthropic", NoReasoning: true}, "/v1/messages", `"thinking":{"type":"disabled"}`, "stop"},
		{model.Config{Name: "claude-sonnet-4-6", Provider: "anthropic"}, "/v1/messages", `"max_tokens":9`, "thinking"},
		{model.Config{Name: "claude-opus-5", Provider: "anthropic", NoReasoning: true}, "/v1/messages", `"max_tokens":9`, "thinking"},
		{model.Config{Name: "gemini-2.5-flash", Provider: "gemini", NoReasoning: true}, "/v1beta/models/gemini-2.5-flash:streamGenerateContent", `"thinkingBudget":0`, "effort"},
		{model.Config{Name: "m", NoStream: true}, "/chat/completions", `"stream":false`, "stream_options"},
		{model.Config{Name: "m", NoReasoning: true}, "/chat/completions", `"stream":true`, "thinking"},
		{model.Config{Name: "Maker/Qwen3-8B", NoReasoning: true}, "/chat/completions", `"chat_template_kwargs":{"enable_thinking":false}`, "effort"},
		{model.Config{Name: "qwen3:8b"}, "/chat/completions", `"stream":true`, "enable_thinking"},
		{model.Config{Name: "qwen3:8b", NoReasoning: true, ReasoningSwitch: openai.SwitchNone}, "/chat/completions", `"stream":true`, "enable_thinking"},
		{model.Config{Name: "gpt-5", NoReasoning: true}, "/chat/completions", `"reasoning_effort":"minimal"`, "thinking"},
		{model.Config{Name: "gpt-5-mini-2025-08-07", NoReasoning: true}, "/chat/completions", `"reasoning_effort":"minimal"`, "thinking"},
		{model.Config{Name: "gpt-5.1", NoReasoning: true}, "/chat/completions", `"reasoning_effort":"none"`, "thinking"},
		{model.Config{Name: "gpt-5-codex", NoReasoning: true}, "/chat/completions", `"max_completion_tokens":9`, "effort"},
		{model.Config{Name: "o3", NoReasoning: true}, "/chat/completions", `"max_completion_tokens":9`, "effort"},
		{model.Config{Name: "claude-sonnet-4-6", NoReasoning: true}, "/chat/completions", `"stream":true`, "thinking"}, // behind OpenAI's API
		{model.Config{Name: "m"}, "/chat/completions", `"type":"json_schema"`, "JSON Schema"},
		{model.Config{Name: "deepseek-chat"}, "/chat/completions", `"type":"json_object"`, "json_schema"},
		{model.Config{Name: "deepseek-chat", ResponseFormat: openai.ResponseJSONSchema}, "/chat/completions", `"type":"json_schema"`, "json_object"},
		{model.Config{Name: "m", ResponseFormat: openai.ResponseNone}, "/chat/completions", `JSON Schema`, "response_format"},
		{model.Config{Name: "gemini-3-pro", Provider: "gemini"}, "/v1beta/models/gemini-3-pro:streamGenerateContent", `"temperature":0.5`, "thinking"},
	}
	for _, c := range cases {
		url, last := serve(t, 400, nil)
		c.cfg.URL, c.cfg.Key = url, "k"
		m, err := model.New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		_ = generate(t, m) // refused
		if path, body := last(); path != c.path || !strings.Contains(body, c.with) || strings.Contains(body, c.without) {
			t.Errorf("%+v: %s %s, want %s with %s and without %s", c.cfg, path, body, c.path, c.with, c.without)
		}
	}
}

func TestSpansNameTheProvider(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	defer otel.SetTracerProvider(before)
	url, _ := serve(t, 500, nil)
	want := []string{"openai", "anthropic", "gcp.gemini", "quartet"}
	for i, cfg := range []model.Config{{Name: "m"}, {Name: "m", Provider: "anthropic"}, {Name: "m", Provider: "gemini"}, {Name: "quartet-offline-rules"}} {
		cfg.URL, cfg.Key, cfg.MaxAttempts = url, "k", 1
		m, err := model.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_ = generate(t, m)
		spans := recorder.Ended()
		if len(spans) != i+1 { // the SDKs' own are off
			t.Fatalf("%d spans after %d calls", len(spans), i+1)
		}
		for _, a := range spans[i].Attributes() {
			if a.Key == "gen_ai.provider.name" && a.Value.AsString() != want[i] {
				t.Errorf("%+v: provider %q, want %q", cfg, a.Value.AsString(), want[i])
			}
		}
	}
}

// How calls are read follows from the configuration; what the endpoint writes is recorded from a model of the 8B class.
func TestToolCallsInText(t *testing.T) {
	const written = `{"name": "list_active_promotions", "parameters": {}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, _ := json.Marshal(written)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	}))
	defer server.Close()
	for tools, isCall := range map[model.Tools]bool{"": true, model.ToolsAuto: true, model.ToolsText: false, model.ToolsNative: false} {
		m, err := model.New(model.Config{URL: server.URL + "/v1", Name: "m", Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		req := &agentloop.Request{
			Tools:    []agentloop.ToolSpec{{Name: "list_active_promotions", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
			Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "is FEET10 still working"}},
		}
		var text, calls string
		for c, err := range m.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			text += c.Text
			for _, d := range c.ToolCalls {
				calls += d.Name + d.Arguments
			}
		}
		if isCall && (text != "" || calls != "list_active_promotions{}") || !isCall && (text != written || calls != "") {
			t.Errorf("tools %q: text %q, calls %q", tools, text, calls)
		}
	}
}
