package openai_test

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/publicdata"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

// beyond are the fields of requests that OpenAI's own API does not have.
var beyond = []string{"chat_template_kwargs"}

// requestSchema returns OpenAI's published schema of a request.
func requestSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	raw, err := io.ReadAll(publicdata.Open(t, "openai/chat_completions_subset.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]*jsonschema.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), "#/components/schemas/", "#/$defs/")), &doc); err != nil {
		t.Fatal(err)
	}
	// The published schema lets any other field pass; what is sent must not hold one.
	for _, name := range []string{
		"CreateChatCompletionRequest", "ChatCompletionRequestSystemMessage", "ChatCompletionRequestUserMessage",
		"ChatCompletionRequestAssistantMessage", "ChatCompletionRequestToolMessage", "ChatCompletionMessageToolCall",
		"ChatCompletionTool", "FunctionObject", "ResponseFormatJsonSchema", "ResponseFormatJsonObject",
	} {
		doc.Components.Schemas[name].UnevaluatedProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	root := &jsonschema.Schema{Ref: "#/$defs/CreateChatCompletionRequest", Defs: doc.Components.Schemas}
	resolved, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// sent returns the body that a request becomes.
func sent(t *testing.T, cfg openai.Config, req *agentloop.Request) map[string]any {
	t.Helper()
	var body map[string]any
	cfg.BaseURL, cfg.HTTPClient = "http://endpoint.invalid/v1", &http.Client{Transport: sniff(func(r io.Reader) {
		if err := json.NewDecoder(r).Decode(&body); err != nil {
			t.Error(err)
		}
	})}
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	return body
}

// sniff is a transport that looks at requests and answers all with the same word.
type sniff func(body io.Reader)

// RoundTrip implements http.RoundTripper.
func (s sniff) RoundTrip(req *http.Request) (*http.Response, error) {
	s(req.Body)
	answer := `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`
	return replay{status: 200, contentType: "application/json", body: strings.NewReader(answer)}.RoundTrip(req)
}

// What requests in tests hold.
var (
	user  = []agentloop.Message{{Role: agentloop.RoleUser, Text: "hi"}}
	tools = []agentloop.ToolSpec{
		{Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}`)},
		{Name: "wait", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
	calls = []agentloop.Message{
		{Role: agentloop.RoleSystem, Text: "Be brief."}, {Role: agentloop.RoleUser},
		{Role: agentloop.RoleAssistant, Text: "Two at once.", ToolCalls: []agentloop.ToolCall{{ID: "a", Name: "look", Arguments: `{"at":"x"}`}, {ID: "b", Name: "wait"}}},
		{Role: agentloop.RoleTool, ToolCallID: "a", Text: `{"seen":1}`}, {Role: agentloop.RoleTool, ToolCallID: "b"},
		{Role: agentloop.RoleAssistant, ToolCalls: []agentloop.ToolCall{{ID: "c", Name: "no such", Arguments: "{"}}},
		{Role: agentloop.RoleTool, ToolCallID: "c", Text: "Error: no such tool"}, {Role: agentloop.RoleAssistant}, {Role: agentloop.RoleUser, Text: "and?"},
	}
)

// TestRequestsFitOpenAIsSchema checks every kind of request against what OpenAI publishes. The switch for reasoning that
// open models' endpoints take is not part of that, and is the only exception.
func TestRequestsFitOpenAIsSchema(t *testing.T) {
	schema := requestSchema(t)
	zero, warm := 0.0, 0.7
	odd := []agentloop.Message{{Role: agentloop.RoleSystem, Text: "\u2028"}, {Role: agentloop.RoleUser, Text: "größer 鞋 👟\x00 \xff </s>\r\n\t"}}
	output := &agentloop.OutputSchema{Name: "route", Schema: json.RawMessage(`{"type":"object","properties":{"to":{"enum":["a","b"]}},"required":["to"]}`)}
	for name, c := range map[string]struct {
		cfg openai.Config
		req agentloop.Request
	}{
		"plain":                       {req: agentloop.Request{Messages: user}},
		"bounds":                      {req: agentloop.Request{Messages: user, Temperature: &warm, MaxOutputTokens: 9}},
		"temperature 0":               {req: agentloop.Request{Messages: user, Temperature: &zero}},
		"a reasoning model":           {openai.Config{Model: "gpt-5"}, agentloop.Request{Messages: user, Temperature: &zero, MaxOutputTokens: 9}},
		"tools":                       {req: agentloop.Request{Messages: user, Tools: tools}},
		"tool results":                {req: agentloop.Request{Messages: calls, Tools: tools}},
		"no tool calls":               {req: agentloop.Request{Messages: calls, Tools: tools, NoToolCalls: true}},
		"unicode and what is none":    {req: agentloop.Request{Messages: odd}},
		"no stream":                   {openai.Config{NoStream: true}, agentloop.Request{Messages: calls, Tools: tools}},
		"output, by schema":           {req: agentloop.Request{Messages: user, Output: output}},
		"output, as an object":        {openai.Config{ResponseFormat: openai.ResponseJSONObject}, agentloop.Request{Messages: calls, Output: output}},
		"output, by the prompt":       {openai.Config{ResponseFormat: openai.ResponseNone}, agentloop.Request{Messages: user, Output: output}},
		"no reasoning, by effort":     {openai.Config{ReasoningSwitch: openai.SwitchEffortNone}, agentloop.Request{Messages: user, NoReasoning: true}},
		"no reasoning, least effort":  {openai.Config{ReasoningSwitch: openai.SwitchEffortMinimal}, agentloop.Request{Messages: user, NoReasoning: true}},
		"no reasoning, by a template": {openai.Config{ReasoningSwitch: openai.SwitchEnableThinking}, agentloop.Request{Messages: user, NoReasoning: true}},
		"no reasoning, no switch":     {req: agentloop.Request{Messages: user, NoReasoning: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Model = cmp.Or(c.cfg.Model, "m")
			body := sent(t, c.cfg, &c.req)
			for _, field := range beyond {
				if _, there := body[field]; there && c.cfg.ReasoningSwitch != openai.SwitchEnableThinking {
					t.Errorf("%s is sent unasked", field)
				}
				delete(body, field)
			}
			if err := schema.Validate(body); err != nil {
				t.Errorf("%v in %v", err, body)
			}
		})
	}
}

// TestOpenAIsSchemaFindsWhatIsWrong shows that the check of requests can fail.
func TestOpenAIsSchemaFindsWhatIsWrong(t *testing.T) {
	schema := requestSchema(t)
	message := func(body map[string]any, i int) map[string]any {
		return body["messages"].([]any)[i].(map[string]any)
	}
	for name, spoil := range map[string]func(body map[string]any){
		"no messages":               func(b map[string]any) { b["messages"] = []any{} },
		"no model":                  func(b map[string]any) { delete(b, "model") },
		"a role that is none":       func(b map[string]any) { message(b, 0)["role"] = "narrator" },
		"content that is null":      func(b map[string]any) { message(b, 1)["content"] = nil },
		"a field of another's":      func(b map[string]any) { b["chat_template_kwargs"] = map[string]any{} },
		"a field within a message":  func(b map[string]any) { message(b, 2)["reasoning_content"] = "hm" },
		"a call without a function": func(b map[string]any) { delete(message(b, 2)["tool_calls"].([]any)[0].(map[string]any), "function") },
		"a result without its call": func(b map[string]any) { delete(message(b, 3), "tool_call_id") },
		"a temperature in words":    func(b map[string]any) { b["temperature"] = "cold" },
		"an unknown tool choice":    func(b map[string]any) { b["tool_choice"] = "perhaps" },
		"an unknown effort":         func(b map[string]any) { b["reasoning_effort"] = "off" },
		"an unknown format":         func(b map[string]any) { b["response_format"] = map[string]any{"type": "yaml"} },
	} {
		body := sent(t, openai.Config{Model: "m"}, &agentloop.Request{Messages: calls, Tools: tools})
		spoil(body)
		if schema.Validate(body) == nil {
			t.Errorf("%s passes", name)
		}
	}
}
