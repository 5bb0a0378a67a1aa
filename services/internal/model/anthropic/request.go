package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// request translates a request.
func (m *Model) request(req *agentloop.Request) (sdk.MessageNewParams, error) {
	out := sdk.MessageNewParams{Model: m.cfg.Model, MaxTokens: DefaultMaxOutputTokens}
	if req.MaxOutputTokens > 0 {
		out.MaxTokens = int64(req.MaxOutputTokens)
	}
	if req.Temperature != nil && !m.cfg.OmitTemperature {
		out.Temperature = sdk.Float(min(*req.Temperature, 1)) // others go up to 2
	}
	if req.NoReasoning && m.cfg.ReasoningSwitch {
		disabled := sdk.NewThinkingConfigDisabledParam()
		out.Thinking = sdk.ThinkingConfigParamUnion{OfDisabled: &disabled}
	}
	for _, t := range req.Tools {
		tool, err := toolOf(t)
		if err != nil {
			return out, err
		}
		out.Tools = append(out.Tools, tool)
	}
	if req.NoToolCalls && len(req.Tools) > 0 {
		none := sdk.NewToolChoiceNoneParam()
		out.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &none}
	}
	if req.Output != nil {
		var schema map[string]any
		if err := json.Unmarshal(req.Output.Schema, &schema); err != nil {
			return out, fmt.Errorf("schema of the answer: %w", err)
		}
		if taken, ok := sdk.BetaJSONSchemaOutputFormat(schema).Schema.(map[string]any); ok && len(taken) > 0 {
			schema = taken
		}
		out.OutputConfig.Format = sdk.JSONOutputFormatParam{Schema: schema}
	}
	out.System, out.Messages = conversation(req.Messages, out.Thinking.OfDisabled == nil)
	return out, nil
}

// toolOf translates a tool with its schema as it is.
func toolOf(t agentloop.ToolSpec) (sdk.ToolUnionParam, error) {
	var schema map[string]any
	if err := json.Unmarshal(t.Parameters, &schema); err != nil {
		return sdk.ToolUnionParam{}, fmt.Errorf("schema of tool %q: %w", t.Name, err)
	}
	delete(schema, "type") // always "object", which the SDK adds
	tool := &sdk.ToolParam{Name: t.Name, InputSchema: sdk.ToolInputSchemaParam{ExtraFields: schema}}
	if t.Description != "" {
		tool.Description = sdk.String(t.Description)
	}
	return sdk.ToolUnionParam{OfTool: tool}, nil
}

// conversation translates messages. The API takes the system prompt apart from the messages. The two sides must take turns,
// the user first, and all tool results must be at the start of the turn after their calls. Earlier reasoning is
// sent back if thinking is true.
func conversation(messages []agentloop.Message, thinking bool) (system []sdk.TextBlockParam, turns []sdk.MessageParam) {
	for _, m := range messages {
		if m.Role == agentloop.RoleSystem && len(turns) == 0 {
			if strings.TrimSpace(m.Text) != "" {
				system = append(system, sdk.TextBlockParam{Text: m.Text})
			}
			continue
		}
		role := sdk.MessageParamRoleUser
		if m.Role == agentloop.RoleAssistant {
			role = sdk.MessageParamRoleAssistant
		}
		if len(turns) == 0 && role == sdk.MessageParamRoleAssistant {
			turns = append(turns, sdk.NewUserMessage(sdk.NewTextBlock(endpoint.NoContent)))
		}
		if len(turns) == 0 || turns[len(turns)-1].Role != role {
			turns = append(turns, sdk.MessageParam{Role: role})
		}
		last := &turns[len(turns)-1]
		last.Content = append(last.Content, blocksOf(m, thinking)...)
	}
	if len(turns) == 0 {
		turns = append(turns, sdk.NewUserMessage(sdk.NewTextBlock(endpoint.NoContent)))
	}
	return system, turns
}

// blocksOf translates one message; there is always at least one block.
func blocksOf(m agentloop.Message, thinking bool) []sdk.ContentBlockParamUnion {
	if m.Role == agentloop.RoleTool {
		return []sdk.ContentBlockParamUnion{sdk.NewToolResultBlock(plain(m.ToolCallID), textOf(m.Text), false)}
	}
	var blocks []sdk.ContentBlockParamUnion
	if thinking && len(m.ToolCalls) > 0 {
		for _, b := range thinkingOf(m.ProviderData) {
			switch b.Type {
			case "thinking":
				blocks = append(blocks, sdk.NewThinkingBlock(b.Signature, b.Thinking))
			case "redacted_thinking":
				blocks = append(blocks, sdk.NewRedactedThinkingBlock(b.Data))
			}
		}
	}
	if strings.TrimSpace(m.Text) != "" || len(m.ToolCalls) == 0 {
		blocks = append(blocks, sdk.NewTextBlock(textOf(m.Text)))
	}
	for _, c := range m.ToolCalls {
		blocks = append(blocks, sdk.NewToolUseBlock(plain(c.ID), endpoint.Arguments(c.Arguments), plain(c.Name)))
	}
	return blocks
}

// textOf returns the text, or NoContent for one of white space only, which the API refuses.
func textOf(text string) string {
	if strings.TrimSpace(text) == "" {
		return endpoint.NoContent
	}
	return text
}

// plain returns an id or a name of an earlier call with only the characters that the API takes: letters, digits, '_' and
// '-'. Ids of other providers and names that a model invented may hold others.
func plain(s string) string {
	if s == "" {
		return "_"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}
