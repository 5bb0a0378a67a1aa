package main

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/suite"
)

func TestModelFlagsReachTheEndpoint(t *testing.T) {
	const thinking, effort = `"chat_template_kwargs":{"enable_thinking":false}`, `"reasoning_effort":"none"`
	for name, c := range map[string]struct {
		args          []string
		env           map[string]string
		both, neither string // in what the two models are sent
		fastOnly      string // in what the fast model is sent, and not the other
	}{
		"nothing said":                   {both: `"type":"json_schema"`, neither: "enable_thinking"},
		"a fast model with a switch":     {args: []string{"--fast-model", "qwen3-4b"}, fastOnly: thinking},
		"which is let to reason":         {args: []string{"--fast-model", "qwen3-4b", "--fast-model-reasoning"}, neither: thinking},
		"another switch":                 {env: map[string]string{"QUARTET_MODEL_REASONING_SWITCH": "effort_none"}, fastOnly: effort},
		"no stream":                      {args: []string{"--model-no-stream"}, both: `"stream":false`, neither: "stream_options"},
		"a response format":              {args: []string{"--model-response-format", "json_object"}, both: `"type":"json_object"`, neither: `"json_schema"`},
		"a response format from outside": {env: map[string]string{"QUARTET_MODEL_RESPONSE_FORMAT": "none"}, both: "JSON Schema", neither: "response_format"},
	} {
		t.Run(name, func(t *testing.T) {
			var body string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				body = string(raw)
				w.WriteHeader(http.StatusBadRequest)
			}))
			defer srv.Close()
			env := environment{get: func(key string) string { return c.env[key] }, err: io.Discard}
			fs := flag.NewFlagSet("test", flag.ContinueOnError)
			flags := addModelFlags(fs)
			if _, err := parse(fs, append([]string{"--model-url", srv.URL, "--model", "m"}, c.args...), env); err != nil {
				t.Fatal(err)
			}
			var cfg suite.Config
			if err := flags.models(&cfg, env); err != nil {
				t.Fatal(err)
			}
			sent := func(m *model.Traced) string {
				req := &agentloop.Request{
					Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "hi"}},
					Output:   &agentloop.OutputSchema{Name: "x", Schema: []byte(`{"type":"object"}`)},
				}
				for range m.Generate(t.Context(), req) { // refused
				}
				return body
			}
			answerer, fast := sent(cfg.Model), sent(cfg.FastModel)
			for _, got := range []string{answerer, fast} {
				if !strings.Contains(got, c.both) || c.neither != "" && strings.Contains(got, c.neither) {
					t.Errorf("sent %s, want %s and not %s", got, c.both, c.neither)
				}
			}
			if c.fastOnly != "" && (strings.Contains(answerer, c.fastOnly) || !strings.Contains(fast, c.fastOnly)) {
				t.Errorf("sent %s and %s, want %s in the second only", answerer, fast, c.fastOnly)
			}
		})
	}
}
