package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// noContent stands for a text of nothing: endpoints refuse a message without content, and some one that is empty.
const noContent = "(empty)"

// request translates a request.
func (m *Model) request(req *agentloop.Request) *wireRequest {
	out := &wireRequest{Model: m.cfg.Model, Messages: make([]wireMessage, 0, len(req.Messages)+1), Stream: !m.cfg.NoStream}
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
	if m.cfg.UseMaxCompletionTokens {
		out.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		out.MaxTokens = req.MaxOutputTokens // the old name is the only one that most endpoints know
	}
	if req.Temperature != nil && !m.cfg.OmitTemperature {
		// A literal 0 would be left out, and the endpoint's default, often 1, would apply.
		out.Temperature = max(float32(*req.Temperature), math.SmallestNonzeroFloat32)
	}
	if req.NoReasoning {
		m.cfg.ReasoningSwitch.off(out)
	}
	if req.Output != nil {
		m.cfg.ResponseFormat.ask(req.Output, out)
	}
	return out
}

// off asks for an answer without reasoning.
func (s ReasoningSwitch) off(out *wireRequest) {
	switch s {
	case SwitchEnableThinking:
		out.ChatTemplateKwargs = map[string]bool{"enable_thinking": false}
	case SwitchEffortNone:
		out.ReasoningEffort = "none"
	case SwitchEffortMinimal:
		out.ReasoningEffort = "minimal"
	}
}

// sayOutput comes before the schema where the format alone does not say it.
const sayOutput = "Answer with one JSON object that fits this JSON Schema, and with nothing before or after it:\n"

// ask asks for a typed answer. The loop checks it, however it was asked for.
func (f ResponseFormat) ask(output *agentloop.OutputSchema, out *wireRequest) {
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

// messageOf translates a message. The names of the roles are the same on both sides.
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

// argumentsOf returns the arguments of an earlier call as a JSON object. Some endpoints decode them to fill their prompt
// template and fail for good where a model once wrote something else.
func argumentsOf(arguments string) string {
	if arguments == "" {
		return "{}"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) == nil && object != nil {
		return arguments
	}
	wrapped, err := json.Marshal(map[string]string{"malformed": arguments})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

// encode returns a request as JSON.
func (m *Model) encode(req *agentloop.Request) ([]byte, error) {
	sent, err := json.Marshal(m.request(req))
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return sent, nil
}
