package gemini

import (
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// skipSignature stands for the signature of a call that has none, because another provider made it. The API's documentation
// names the value.
const skipSignature = "skip_thought_signature_validator"

// request translates a request.
func (m *Model) request(req *agentloop.Request) ([]*genai.Content, *genai.GenerateContentConfig) {
	off := false
	config := &genai.GenerateContentConfig{AutomaticContinuation: &off}
	if req.MaxOutputTokens > 0 {
		config.MaxOutputTokens = int32(min(req.MaxOutputTokens, math.MaxInt32))
	}
	if req.Temperature != nil && !m.cfg.OmitTemperature {
		t := float32(*req.Temperature)
		config.Temperature = &t
	}
	if req.NoReasoning && m.cfg.ReasoningSwitch {
		var none int32
		config.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: &none}
	}
	if len(req.Tools) > 0 {
		tool := &genai.Tool{}
		for _, t := range req.Tools {
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, &genai.FunctionDeclaration{
				Name: t.Name, Description: t.Description, ParametersJsonSchema: t.Parameters,
			})
		}
		config.Tools = []*genai.Tool{tool}
		if req.NoToolCalls {
			config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeNone}}
		}
	}
	if req.Output != nil {
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", req.Output.Schema
	}
	var contents []*genai.Content
	config.SystemInstruction, contents = m.conversation(req.Messages)
	return contents, config
}

// conversation translates messages. The API takes the system prompt apart from the messages. The first content must be the
// user's, and tool results must be alone in the content after the one with their calls.
func (m *Model) conversation(messages []agentloop.Message) (system *genai.Content, contents []*genai.Content) {
	var results *genai.Content // the last content, if it holds results
	names := make(map[string]string)
	for _, msg := range messages {
		switch {
		case msg.Role == agentloop.RoleSystem && len(contents) == 0:
			if msg.Text != "" {
				if system == nil {
					system = &genai.Content{}
				}
				system.Parts = append(system.Parts, &genai.Part{Text: msg.Text})
			}
			continue
		case msg.Role == agentloop.RoleTool:
			if results == nil {
				results = &genai.Content{Role: genai.RoleUser}
				contents = append(contents, results)
			}
			results.Parts = append(results.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				Name: names[msg.ToolCallID], Response: map[string]any{"output": msg.Text},
			}})
			continue
		case msg.Role == agentloop.RoleAssistant:
			if len(contents) == 0 {
				contents = append(contents, textContent(genai.RoleUser, ""))
			}
			contents = append(contents, m.modelContent(msg, names))
		default:
			contents = append(contents, textContent(genai.RoleUser, msg.Text))
		}
		results = nil
	}
	if len(contents) == 0 {
		contents = append(contents, textContent(genai.RoleUser, ""))
	}
	return system, contents
}

// modelContent translates a message of the model, and adds the names of its calls to names by their ids.
func (m *Model) modelContent(msg agentloop.Message, names map[string]string) *genai.Content {
	if len(msg.ToolCalls) == 0 {
		return textContent(genai.RoleModel, msg.Text)
	}
	content := &genai.Content{Role: genai.RoleModel}
	if msg.Text != "" {
		content.Parts = append(content.Parts, &genai.Part{Text: msg.Text})
	}
	for i, c := range msg.ToolCalls {
		names[c.ID] = c.Name
		p := &genai.Part{FunctionCall: &genai.FunctionCall{Name: c.Name}, ThoughtSignature: signatureOf(c.ProviderData)}
		if err := json.Unmarshal(endpoint.Arguments(c.Arguments), &p.FunctionCall.Args); err != nil {
			p.FunctionCall.Args = nil // cannot happen: Arguments returns an object
		}
		if i == 0 && p.ThoughtSignature == nil && m.wantsSignatures() {
			p.ThoughtSignature = []byte(skipSignature) // of parallel calls, only the first is signed
		}
		content.Parts = append(content.Parts, p)
	}
	return content
}

// wantsSignatures reports whether the model refuses calls without a signature, as all do from Gemini 3 on.
func (m *Model) wantsSignatures() bool {
	return !strings.HasPrefix(m.cfg.Model, "gemini-1.") && !strings.HasPrefix(m.cfg.Model, "gemini-2.")
}

// textContent returns a content of one text. The API refuses an empty one.
func textContent(role genai.Role, text string) *genai.Content {
	if text == "" {
		text = endpoint.NoContent
	}
	return &genai.Content{Role: string(role), Parts: []*genai.Part{{Text: text}}}
}
