package openai

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// noContent stands for a text of nothing: endpoints refuse a message without content, and some one that is empty.
const noContent = "(empty)"

// write writes a request.
func (m *Model) write(w *writer, req *agentloop.Request) {
	w.text(`{"model":`, m.cfg.Model)
	w.raw(`,"messages":[`)
	for i, message := range m.cfg.ResponseFormat.messages(req) {
		w.comma(i)
		w.message(message)
	}
	w.raw(`]`)
	m.cfg.bounds(w, req)
	if m.cfg.NoStream {
		w.raw(`,"stream":false`)
	} else {
		w.raw(`,"stream":true,"stream_options":{"include_usage":true}`)
	}
	if len(req.Tools) > 0 {
		w.raw(`,"tools":[`)
		for i, t := range req.Tools {
			w.comma(i)
			w.tool(t)
		}
		w.raw(`]`)
		if req.NoToolCalls {
			w.raw(`,"tool_choice":"none"`)
		}
	}
	if req.NoReasoning {
		w.raw(m.cfg.ReasoningSwitch.off())
	}
	if req.Output != nil {
		m.cfg.ResponseFormat.write(w, req.Output)
	}
	w.raw(`}`)
}

// bounds writes what an answer is bound by.
func (cfg *Config) bounds(w *writer, req *agentloop.Request) {
	if req.MaxOutputTokens != 0 {
		name := `,"max_tokens":` // the old name is the only one that most endpoints know
		if cfg.UseMaxCompletionTokens {
			name = `,"max_completion_tokens":`
		}
		w.integer(name, req.MaxOutputTokens)
	}
	if req.Temperature != nil && !cfg.OmitTemperature {
		// Endpoints have been seen to take a 0 for none, and to use their default, often 1.
		w.float(`,"temperature":`, max(float32(*req.Temperature), math.SmallestNonzeroFloat32))
	}
}

// off asks for an answer without reasoning.
func (s ReasoningSwitch) off() string {
	switch s {
	case SwitchEnableThinking:
		return `,"chat_template_kwargs":{"enable_thinking":false}`
	case SwitchEffortNone:
		return `,"reasoning_effort":"none"`
	case SwitchEffortMinimal:
		return `,"reasoning_effort":"minimal"`
	}
	return ""
}

// write asks for a typed answer. The loop checks it, however it was asked for.
func (f ResponseFormat) write(w *writer, output *agentloop.OutputSchema) {
	switch f {
	case ResponseNone:
	case ResponseJSONObject:
		w.raw(`,"response_format":{"type":"json_object"}`)
	default:
		w.text(`,"response_format":{"type":"json_schema","json_schema":{"name":`, output.Name)
		w.schema(`,"schema":`, output.Schema)
		w.raw(`,"strict":false}}`)
	}
}

// sayOutput comes before the schema where the format alone does not say it.
const sayOutput = "Answer with one JSON object that fits this JSON Schema, and with nothing before or after it:\n"

// messages returns the messages to send: the request's, and what the model must be told of the answer's type.
func (f ResponseFormat) messages(req *agentloop.Request) []agentloop.Message {
	if req.Output == nil || f != ResponseJSONObject && f != ResponseNone {
		return req.Messages
	}
	system := agentloop.Message{Role: agentloop.RoleSystem, Text: sayOutput + string(req.Output.Schema)}
	rest := req.Messages
	if len(rest) > 0 && rest[0].Role == agentloop.RoleSystem { // a second system message is more than some templates take
		system.Text = cmp.Or(rest[0].Text, noContent) + "\n\n" + system.Text
		rest = rest[1:]
	}
	return slices.Concat([]agentloop.Message{system}, rest)
}

// message writes a message. The names of the roles are the same on both sides.
func (w *writer) message(m agentloop.Message) {
	w.text(`{"role":`, string(m.Role))
	if m.Text != "" || len(m.ToolCalls) == 0 {
		w.text(`,"content":`, cmp.Or(m.Text, noContent))
	}
	if len(m.ToolCalls) > 0 {
		w.raw(`,"tool_calls":[`)
		for i, c := range m.ToolCalls {
			w.comma(i)
			w.call(c)
		}
		w.raw(`]`)
	}
	if m.ToolCallID != "" {
		w.text(`,"tool_call_id":`, m.ToolCallID)
	}
	w.raw(`}`)
}

func (w *writer) call(c agentloop.ToolCall) {
	w.raw(`{"type":"function"`)
	if c.ID != "" {
		w.text(`,"id":`, c.ID)
	}
	w.text(`,"function":{"arguments":`, argumentsOf(c.Arguments))
	if c.Name != "" {
		w.text(`,"name":`, c.Name)
	}
	w.raw(`}}`)
}

func (w *writer) tool(t agentloop.ToolSpec) {
	w.text(`{"type":"function","function":{"name":`, t.Name)
	if t.Description != "" {
		w.text(`,"description":`, t.Description)
	}
	w.schema(`,"parameters":`, t.Parameters)
	w.raw(`}}`)
}

// argumentsOf returns the arguments of an earlier call as a JSON object. Some endpoints decode them to fill their prompt
// template and fail for good where a model once wrote something else.
func argumentsOf(arguments string) string {
	switch {
	case arguments == "":
		return "{}"
	case strings.HasPrefix(strings.TrimLeft(arguments, " \t\r\n"), "{") && json.Valid([]byte(arguments)):
		return arguments
	}
	wrapped, err := json.Marshal(map[string]string{"malformed": arguments})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}
