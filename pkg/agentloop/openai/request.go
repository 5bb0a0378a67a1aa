package openai

import (
	"encoding/json"
	"math"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// noContent stands for a text of nothing, which the wire format has no way to send: go-openai leaves it out, and endpoints
// refuse a message without content.
const noContent = "(empty)"

// request translates a request.
func (m *Model) request(req *agentloop.Request) goopenai.ChatCompletionRequest {
	out := goopenai.ChatCompletionRequest{
		Model:    m.cfg.Model,
		Messages: make([]goopenai.ChatCompletionMessage, 0, len(req.Messages)+1),
	}
	if !m.cfg.NoStream {
		out.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	for _, message := range req.Messages {
		out.Messages = append(out.Messages, messageOf(message))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, goopenai.Tool{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	if req.NoToolCalls && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	if m.cfg.UseMaxCompletionTokens {
		out.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		//lint:ignore SA1019 the old name is the only one that most endpoints know
		out.MaxTokens = req.MaxOutputTokens
	}
	if req.Temperature != nil && !m.cfg.OmitTemperature {
		// A literal 0 would be left out, and the endpoint's default, often 1, would apply.
		out.Temperature = max(float32(*req.Temperature), math.SmallestNonzeroFloat32)
	}
	if req.NoReasoning {
		m.cfg.ReasoningSwitch.off(&out)
	}
	if req.Output != nil {
		m.cfg.ResponseFormat.ask(req.Output, &out)
	}
	return out
}

// off asks for an answer without reasoning.
func (s ReasoningSwitch) off(out *goopenai.ChatCompletionRequest) {
	switch s {
	case SwitchEnableThinking:
		out.ChatTemplateKwargs = map[string]any{"enable_thinking": false}
	case SwitchEffortNone:
		out.ReasoningEffort = "none"
	case SwitchEffortMinimal:
		out.ReasoningEffort = "minimal"
	}
}

// sayOutput comes before the schema where the format alone does not say it.
const sayOutput = "Answer with one JSON object that fits this JSON Schema, and with nothing before or after it:\n"

// ask asks for a typed answer. The loop checks it, however it was asked for.
func (f ResponseFormat) ask(output *agentloop.OutputSchema, out *goopenai.ChatCompletionRequest) {
	if f != ResponseJSONObject && f != ResponseNone {
		out.ResponseFormat = &goopenai.ChatCompletionResponseFormat{
			Type:       goopenai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{Name: output.Name, Schema: output.Schema},
		}
		return
	}
	if f == ResponseJSONObject {
		out.ResponseFormat = &goopenai.ChatCompletionResponseFormat{Type: goopenai.ChatCompletionResponseFormatTypeJSONObject}
	}
	instruction := sayOutput + string(output.Schema)
	if len(out.Messages) > 0 && out.Messages[0].Role == goopenai.ChatMessageRoleSystem {
		out.Messages[0].Content += "\n\n" + instruction // a second system message is more than some templates take
		return
	}
	out.Messages = slices.Insert(out.Messages, 0, goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleSystem, Content: instruction})
}

// messageOf translates a message. The names of the roles are the same on both sides.
func messageOf(m agentloop.Message) goopenai.ChatCompletionMessage {
	out := goopenai.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, goopenai.ToolCall{
			ID: c.ID, Type: goopenai.ToolTypeFunction,
			Function: goopenai.FunctionCall{Name: c.Name, Arguments: argumentsOf(c.Arguments)},
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
