package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

func TestRequestsAreTranslated(t *testing.T) {
	zero, fifth := 0.0, 0.2
	tool := agentloop.ToolSpec{Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
	output := &agentloop.OutputSchema{Name: "route", Schema: json.RawMessage(`{"type":"object"}`)}
	const told = `Answer with one JSON object that fits this JSON Schema, and with nothing before or after it:\n{\"type\":\"object\"}`
	const tools = `[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{}}}}]`
	const hi = `[{"role":"user","content":"hi"}]`
	cases := []struct {
		name string
		cfg  openai.Config
		req  agentloop.Request
		want string // the body, without stream and stream_options, which follow from NoStream
	}{
		{"plain", openai.Config{Model: "m"}, agentloop.Request{Messages: user}, `{"model":"m","messages":` + hi + `}`},
		{"bounds", openai.Config{Model: "m"}, agentloop.Request{Messages: user, MaxOutputTokens: 9, Temperature: &fifth}, `{"model":"m","messages":` + hi + `,"max_tokens":9,"temperature":0.2}`},
		{"temperature 0 is sent", openai.Config{Model: "m"}, agentloop.Request{Messages: user, Temperature: &zero}, `{"model":"m","messages":` + hi + `,"temperature":0}`},
		{"a temperature in a message stays", openai.Config{Model: "m"}, agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: `{"temperature":1e-45}`}}, Temperature: &zero}, `{"model":"m","messages":[{"role":"user","content":"{\"temperature\":1e-45}"}],"temperature":0}`},
		{"no stream", openai.Config{Model: "m", NoStream: true}, agentloop.Request{Messages: user}, `{"model":"m","messages":` + hi + `}`},
		{
			"other names", openai.Config{Model: "m", UseMaxCompletionTokens: true, OmitTemperature: true},
			agentloop.Request{Messages: user, MaxOutputTokens: 9, Temperature: &fifth}, `{"model":"m","messages":` + hi + `,"max_completion_tokens":9}`,
		},
		{
			"reasoning models need not be configured", openai.Config{Model: "o3-mini"},
			agentloop.Request{Messages: user, MaxOutputTokens: 9, Temperature: &fifth}, `{"model":"o3-mini","messages":` + hi + `,"max_completion_tokens":9}`,
		},
		{"tools", openai.Config{Model: "m"}, agentloop.Request{Messages: user, Tools: []agentloop.ToolSpec{tool}}, `{"model":"m","messages":` + hi + `,"tools":` + tools + `}`},
		{
			"tools that must not be called", openai.Config{Model: "m"},
			agentloop.Request{Messages: user, Tools: []agentloop.ToolSpec{tool}, NoToolCalls: true}, `{"model":"m","messages":` + hi + `,"tools":` + tools + `,"tool_choice":"none"}`,
		},
		{"no choice without tools", openai.Config{Model: "m"}, agentloop.Request{Messages: user, NoToolCalls: true}, `{"model":"m","messages":` + hi + `}`},
		{
			"reasoning switched off", openai.Config{Model: "m", ReasoningSwitch: openai.SwitchEnableThinking},
			agentloop.Request{Messages: user, NoReasoning: true}, `{"model":"m","messages":` + hi + `,"chat_template_kwargs":{"enable_thinking":false}}`,
		},
		{"reasoning left on", openai.Config{Model: "m", ReasoningSwitch: openai.SwitchEnableThinking}, agentloop.Request{Messages: user}, `{"model":"m","messages":` + hi + `}`},
		{"no switch for it", openai.Config{Model: "m"}, agentloop.Request{Messages: user, NoReasoning: true}, `{"model":"m","messages":` + hi + `}`},
		{
			"typed output", openai.Config{Model: "m"},
			agentloop.Request{Messages: user, Output: output},
			`{"model":"m","messages":` + hi + `,"response_format":{"type":"json_schema","json_schema":{"name":"route","schema":{"type":"object"},"strict":false}}}`,
		},
		{"no effort", openai.Config{Model: "m", ReasoningSwitch: openai.SwitchEffortNone}, agentloop.Request{Messages: user, NoReasoning: true}, `{"model":"m","messages":` + hi + `,"reasoning_effort":"none"}`},
		{"least effort", openai.Config{Model: "m", ReasoningSwitch: openai.SwitchEffortMinimal}, agentloop.Request{Messages: user, NoReasoning: true}, `{"model":"m","messages":` + hi + `,"reasoning_effort":"minimal"}`},
		{"effort left alone", openai.Config{Model: "m", ReasoningSwitch: openai.SwitchEffortNone}, agentloop.Request{Messages: user}, `{"model":"m","messages":` + hi + `}`},
		{
			"typed output as an object", openai.Config{Model: "m", ResponseFormat: openai.ResponseJSONObject},
			agentloop.Request{Messages: append([]agentloop.Message{{Role: agentloop.RoleSystem, Text: "Be terse."}}, user...), Output: output},
			`{"model":"m","messages":[{"role":"system","content":"Be terse.\n\n` + told + `"},{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}}`,
		},
		{
			"typed output by the prompt alone", openai.Config{Model: "m", ResponseFormat: openai.ResponseNone},
			agentloop.Request{Messages: user, Output: output},
			`{"model":"m","messages":[{"role":"system","content":"` + told + `"},{"role":"user","content":"hi"}]}`,
		},
		{
			"a conversation with calls", openai.Config{Model: "m"},
			agentloop.Request{Messages: []agentloop.Message{
				{Role: agentloop.RoleSystem, Text: "Be terse."},
				{Role: agentloop.RoleUser},
				{Role: agentloop.RoleAssistant, ToolCalls: []agentloop.ToolCall{
					{ID: "a", Name: "look", Arguments: `{"x":1}`}, {ID: "b", Name: "look"}, {ID: "c", Name: "look", Arguments: `{"x":`}, {ID: "d", Name: "look", Arguments: `null`},
				}},
				{Role: agentloop.RoleTool, ToolCallID: "a", Text: "1"},
				{Role: agentloop.RoleTool, ToolCallID: "b"},
				{Role: agentloop.RoleAssistant, Text: "So."},
			}},
			`{"model":"m","messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"(empty)"},
			  {"role":"assistant","tool_calls":[
			    {"id":"a","type":"function","function":{"name":"look","arguments":"{\"x\":1}"}},
			    {"id":"b","type":"function","function":{"name":"look","arguments":"{}"}},
			    {"id":"c","type":"function","function":{"name":"look","arguments":"{\"malformed\":\"{\\\"x\\\":\"}"}},
			    {"id":"d","type":"function","function":{"name":"look","arguments":"{\"malformed\":\"null\"}"}}]},
			  {"role":"tool","content":"1","tool_call_id":"a"},{"role":"tool","content":"(empty)","tool_call_id":"b"},{"role":"assistant","content":"So."}]}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var path, key string
			var body map[string]any
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path, key = r.URL.Path, r.Header.Get("Authorization")
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(w, "data: [DONE]\n\n")
			}))
			defer srv.Close()
			c.cfg.BaseURL = srv.URL + "/base/"
			c.cfg.APIKey = testKey
			m, err := openai.New(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := collect(t.Context(), m, &c.req); err != nil {
				t.Fatal(err)
			}
			if path != "/base/chat/completions" || key != "Bearer "+testKey {
				t.Errorf("path %q, key %q", path, key)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			want["stream"], want["stream_options"] = true, map[string]any{"include_usage": true}
			if c.cfg.NoStream {
				want["stream"] = false
				delete(want, "stream_options")
			}
			if diff := cmp.Diff(want, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoKeyNoHeader(t *testing.T) {
	var header []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Values("Authorization")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer srv.Close()
	m, err := openai.New(openai.Config{BaseURL: srv.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(t.Context(), m, ask("hi")); err != nil || len(header) != 0 {
		t.Errorf("Authorization %q, error %v", header, err)
	}
}

// TestRequestsSideBySideStayApart sends requests of many sizes at once, to an endpoint that repeats them.
func TestRequestsSideBySideStayApart(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
			return
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, body.Messages[0].Content)
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				text := strings.Repeat(string(rune('a'+i)), 1+n*n*(i+1)*10)
				if got, err := collect(t.Context(), m, ask(text)); err != nil || got[0].Text != text {
					t.Errorf("%d times %q came back as %v, error %v", len(text), text[0], got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestRequestsThatJSONCanNotHold checks that such a request is refused before anything is sent.
func TestRequestsThatJSONCanNotHold(t *testing.T) {
	m := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the endpoint was asked") })
	none, endless := math.NaN(), math.Inf(1)
	for name, change := range map[string]func(*agentloop.Request){
		"no number": func(r *agentloop.Request) { r.Temperature = &none },
		"endless":   func(r *agentloop.Request) { r.Temperature = &endless },
		"a broken schema": func(r *agentloop.Request) {
			r.Tools = []agentloop.ToolSpec{{Name: "look", Parameters: json.RawMessage(`{"type":`)}}
		},
		"no schema at all": func(r *agentloop.Request) {
			r.Output = &agentloop.OutputSchema{Name: "route", Schema: json.RawMessage(``)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("hi")
			change(req)
			if _, err := collect(t.Context(), m, req); err == nil || !strings.Contains(err.Error(), "json") {
				t.Errorf("error %v, want the encoder's", err)
			}
		})
	}
}

// A redirect makes the HTTP client send the body again.
func TestATemperatureOfZeroIsSentAgain(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bodies = append(bodies, string(body)); len(bodies) == 1 {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	m, err := openai.New(openai.Config{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	for _, err := range m.Generate(t.Context(), &agentloop.Request{Messages: user, Temperature: &zero}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 2 || bodies[0] != bodies[1] || !strings.Contains(bodies[0], `"temperature":0,`) || !json.Valid([]byte(bodies[0])) {
		t.Errorf("sent %q", bodies)
	}
}
