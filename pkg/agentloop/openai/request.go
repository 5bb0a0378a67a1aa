package openai

import (
	"cmp"
	"math"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// request translates a request.
func (cfg *Config) request(req *agentloop.Request) goopenai.ChatCompletionRequest {
	out := goopenai.ChatCompletionRequest{Model: cfg.Model}
	for _, m := range cfg.ResponseFormat.messages(req) {
		out.Messages = append(out.Messages, cfg.message(m))
	}
	if cfg.UseMaxCompletionTokens {
		out.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		//lint:ignore SA1019 most endpoints know only the old name of the field
		out.MaxTokens = req.MaxOutputTokens
	}
	if req.Temperature != nil && !cfg.OmitTemperature {
		// go-openai leaves out a 0. The exchange sends a 0 in place of the least number above it.
		out.Temperature = max(float32(*req.Temperature), math.SmallestNonzeroFloat32)
	}
	if !cfg.NoStream {
		out.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, goopenai.Tool{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	if req.NoToolCalls && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	if req.NoReasoning {
		cfg.ReasoningSwitch.off(&out)
	}
	if req.Output != nil {
		out.ResponseFormat = cfg.ResponseFormat.format(req.Output)
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

// format asks for a typed answer. The loop checks the answer, whichever way it was asked for.
func (f ResponseFormat) format(output *agentloop.OutputSchema) *goopenai.ChatCompletionResponseFormat {
	switch f {
	case ResponseNone:
		return nil
	case ResponseJSONObject:
		return &goopenai.ChatCompletionResponseFormat{Type: goopenai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return &goopenai.ChatCompletionResponseFormat{
		Type:       goopenai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{Name: output.Name, Schema: output.Schema},
	}
}

// outputInstruction stands before the schema where the response format does not carry it.
const outputInstruction = "Answer with one JSON object that fits this JSON Schema, and with nothing before or after it:\n"

// messages returns the request's messages, with the schema of the answer in the system message where the response format
// does not carry it.
func (f ResponseFormat) messages(req *agentloop.Request) []agentloop.Message {
	if req.Output == nil || f != ResponseJSONObject && f != ResponseNone {
		return req.Messages
	}
	system := agentloop.Message{Role: agentloop.RoleSystem, Text: outputInstruction + string(req.Output.Schema)}
	rest := req.Messages
	if len(rest) > 0 && rest[0].Role == agentloop.RoleSystem { // some prompt templates take one system message only
		system.Text = cmp.Or(rest[0].Text, endpoint.NoContent) + "\n\n" + system.Text
		rest = rest[1:]
	}
	return slices.Concat([]agentloop.Message{system}, rest)
}

// message translates a message. The names of the roles are the same on both sides.
func (cfg *Config) message(m agentloop.Message) goopenai.ChatCompletionMessage {
	out := goopenai.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.ToolCallID}
	if cfg.SendReasoning && len(m.ToolCalls) > 0 {
		out.ReasoningContent = reasoningOf(m.ProviderData)
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, goopenai.ToolCall{ID: c.ID, Type: goopenai.ToolTypeFunction, Function: goopenai.FunctionCall{
			Name: c.Name, Arguments: string(endpoint.Arguments(c.Arguments)),
		}})
	}
	if out.Content == "" && len(out.ToolCalls) == 0 {
		out.Content = endpoint.NoContent // endpoints refuse a message without content, and some an empty one
	}
	return out
}
