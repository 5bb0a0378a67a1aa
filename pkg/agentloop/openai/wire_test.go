package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// The types of a request for encoding/json, which says what writer is to write.

type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         float32         `json:"temperature,omitempty"`
	Stream              bool            `json:"stream"`
	ResponseFormat      *wireFormat     `json:"response_format,omitempty"`
	Tools               []wireTool      `json:"tools,omitempty"`
	ToolChoice          string          `json:"tool_choice,omitempty"`
	StreamOptions       *wireStream     `json:"stream_options,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	ChatTemplateKwargs  map[string]bool `json:"chat_template_kwargs,omitempty"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type"`
	Function wireCallBody `json:"function"`
}

type wireCallBody struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireToolBody `json:"function"`
}

type wireToolBody struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type wireStream struct {
	IncludeUsage bool `json:"include_usage,omitempty"`
}

type wireFormat struct {
	Type       string      `json:"type"`
	JSONSchema *wireSchema `json:"json_schema,omitempty"`
}

type wireSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// typeFunction is the type of every tool.
const typeFunction = "function"

// wireOf translates a request.
func wireOf(cfg *Config, req *agentloop.Request) *wireRequest {
	out := &wireRequest{Model: cfg.Model, Messages: make([]wireMessage, 0, len(req.Messages)+1), Stream: !cfg.NoStream}
	if out.Stream {
		out.StreamOptions = &wireStream{IncludeUsage: true}
	}
	for _, message := range req.Messages {
		out.Messages = append(out.Messages, messageOf(message))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, wireTool{Type: typeFunction, Function: wireToolBody{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	if req.NoToolCalls && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	if cfg.UseMaxCompletionTokens {
		out.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		out.MaxTokens = req.MaxOutputTokens // the old name is the only one that most endpoints know
	}
	if req.Temperature != nil && !cfg.OmitTemperature {
		// A literal 0 would be left out, and the endpoint's default, often 1, would apply.
		out.Temperature = max(float32(*req.Temperature), math.SmallestNonzeroFloat32)
	}
	if req.NoReasoning {
		switchOff(cfg.ReasoningSwitch, out)
	}
	if req.Output != nil {
		askFor(cfg.ResponseFormat, req.Output, out)
	}
	return out
}

func switchOff(s ReasoningSwitch, out *wireRequest) {
	switch s {
	case SwitchEnableThinking:
		out.ChatTemplateKwargs = map[string]bool{"enable_thinking": false}
	case SwitchEffortNone:
		out.ReasoningEffort = "none"
	case SwitchEffortMinimal:
		out.ReasoningEffort = "minimal"
	}
}

func askFor(f ResponseFormat, output *agentloop.OutputSchema, out *wireRequest) {
	if f != ResponseJSONObject && f != ResponseNone {
		out.ResponseFormat = &wireFormat{
			Type: string(ResponseJSONSchema), JSONSchema: &wireSchema{Name: output.Name, Schema: output.Schema},
		}
		return
	}
	if f == ResponseJSONObject {
		out.ResponseFormat = &wireFormat{Type: string(ResponseJSONObject)}
	}
	instruction := sayOutput + string(output.Schema)
	if len(out.Messages) > 0 && out.Messages[0].Role == string(agentloop.RoleSystem) {
		out.Messages[0].Content += "\n\n" + instruction // a second system message is more than some templates take
		return
	}
	out.Messages = slices.Insert(out.Messages, 0, wireMessage{Role: string(agentloop.RoleSystem), Content: instruction})
}

func messageOf(m agentloop.Message) wireMessage {
	out := wireMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, wireCall{
			ID: c.ID, Type: typeFunction,
			Function: wireCallBody{Name: c.Name, Arguments: argumentsOf(c.Arguments)},
		})
	}
	if out.Content == "" && len(out.ToolCalls) == 0 {
		out.Content = noContent
	}
	return out
}

// FuzzRequest writes any request as encoding/json would.
func FuzzRequest(f *testing.F) {
	f.Add("hi", `{"at":"x"}`, `{"type":"object"}`, 9, 0.2, uint16(0xffff))
	f.Add("größer 鞋 👟\x00\x1f\x7f \xff\xc3 <&> \u2028 \"quoted\" \\ \r\n\t", ` {"a":[1,{}]} `, " { } ", 0, 0.0, uint16(0x5555))
	f.Add("", "null", "null", -1, 1e30, uint16(0xaaaa))
	f.Add("\ufffd", `{"x":`, "{", 1, -1.0, uint16(0))
	f.Add("", "", "{}", 1, 1.0, uint16(0x1480)) // a system message of nothing before the schema
	f.Add("a", "", "{}", 1, math.NaN(), uint16(0))
	f.Fuzz(func(t *testing.T, text, arguments, schema string, tokens int, temperature float64, options uint16) {
		cfg, req := requestOf(text, arguments, schema, tokens, temperature, options)
		m := &Model{cfg: *cfg}
		want, wantErr := json.Marshal(wireOf(cfg, req))
		for range 2 { // the second time, the schema is known
			body, err := m.encode(req)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("error %v, of encoding/json %v", err, wantErr)
			}
			if err != nil {
				return
			}
			got, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", got, diff)
			}
		}
	})
}

// requestOf returns a request and the settings for it, as the bits of options have it.
func requestOf(text, arguments, schema string, tokens int, temperature float64, options uint16) (*Config, *agentloop.Request) {
	on := func(bit int) bool { return options>>bit&1 == 1 }
	cfg := &Config{
		Model: text, NoStream: on(0), UseMaxCompletionTokens: on(1), OmitTemperature: on(2),
		ReasoningSwitch: reasoningSwitches[int(options>>3&7)%len(reasoningSwitches)],
		ResponseFormat:  responseFormats[int(options>>6&3)],
	}
	req := &agentloop.Request{MaxOutputTokens: tokens, Temperature: &temperature, NoReasoning: on(8), NoToolCalls: on(9)}
	if on(10) {
		req.Messages = append(req.Messages, agentloop.Message{Role: agentloop.RoleSystem, Text: text})
	}
	if on(11) {
		calls := []agentloop.ToolCall{{ID: "a", Name: text, Arguments: arguments}, {ID: text, Name: "b"}}
		req.Messages = append(req.Messages, agentloop.Message{Role: agentloop.RoleAssistant, Text: text, ToolCalls: calls},
			agentloop.Message{Role: agentloop.RoleTool, Text: arguments, ToolCallID: "a"})
	}
	if on(12) {
		req.Output = &agentloop.OutputSchema{Name: text, Schema: json.RawMessage(schema)}
	}
	if on(13) {
		req.Tools = []agentloop.ToolSpec{{Name: text, Description: text, Parameters: json.RawMessage(schema)}, {Name: "b"}}
	}
	if on(14) {
		req.Temperature = nil
	}
	return cfg, req
}

// decoded returns JSON as values, numbers as they are written.
func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil || dec.More() {
		t.Fatalf("%v in %s", err, raw)
	}
	return value
}
