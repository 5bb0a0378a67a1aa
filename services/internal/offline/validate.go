package offline

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// Model names that the server answers to. Both follow the same rules.
const (
	Model     = "quartet-offline"
	ModelFast = "quartet-offline-fast"
)

// chatRequest is the body of POST /v1/chat/completions. Schemas are kept as they are written.
type chatRequest struct {
	openai.ChatCompletionRequest
	MaxTokens      int    `json:"max_tokens"` // what older clients send for max_completion_tokens
	Tools          []tool `json:"tools"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema *schema `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type tool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func invalid(param, format string, args ...any) *openai.APIError {
	return &openai.APIError{HTTPStatusCode: http.StatusBadRequest, Type: "invalid_request_error", Param: &param, Message: fmt.Sprintf(format, args...)}
}

// check refuses what the real API refuses. It returns nil for a request that can be answered.
func check(req *chatRequest) *openai.APIError {
	switch {
	case req.Model == "":
		return invalid("model", "you must provide a model parameter")
	case req.Model != Model && req.Model != ModelFast:
		return &openai.APIError{HTTPStatusCode: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found",
			Message: fmt.Sprintf("The model %q does not exist; this server has %q and %q", req.Model, Model, ModelFast)}
	case len(req.Messages) == 0:
		return invalid("messages", "messages must hold at least one message")
	}
	for i, t := range req.Tools {
		if _, err := readSchema(t.Function.Parameters); err != nil {
			return invalid(fmt.Sprintf("tools[%d].function.parameters", i), "invalid schema for function %q: %v", t.Function.Name, err)
		}
	}
	if !slices.Contains([]any{nil, "auto", "none"}, req.ToolChoice) {
		return invalid("tool_choice", "this server knows no tool_choice but none and auto, not %v", req.ToolChoice)
	}
	if req.ResponseFormat.Type == "json_schema" && req.ResponseFormat.JSONSchema.Schema == nil {
		return invalid("response_format", "response_format json_schema needs a schema")
	}
	if form := req.ResponseFormat.JSONSchema.Schema; form != nil {
		if _, judges := form.Properties["wrong"]; judges {
			return invalid("response_format", "this model follows rules and cannot judge answers; for judge_claims, give a language model by --model")
		}
	}
	return checkMessages(req.Messages)
}

// checkMessages pairs tool calls with their answers: each id is answered exactly once, right after it was asked.
func checkMessages(messages []openai.ChatCompletionMessage) *openai.APIError {
	var open []string
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			break
		}
		switch m.Role {
		case "system", "developer", "user":
		case "assistant":
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		case "tool":
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return invalid(fmt.Sprintf("messages[%d]", i), "messages with role 'tool' must answer a preceding message with 'tool_calls'; no open call has id %q", m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		default:
			return invalid(fmt.Sprintf("messages[%d].role", i), "invalid role %q", m.Role)
		}
	}
	if len(open) > 0 {
		return invalid("messages", "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; "+
			"these have no response: %s", strings.Join(open, ", "))
	}
	return nil
}

// schema is what the rules read of a JSON schema.
type schema struct {
	Properties map[string]struct {
		Type any // a name or a list of names
		Enum []any
	}
	Required []string
}

// readSchema refuses a schema that is no JSON object. No schema at all is one without properties.
func readSchema(raw json.RawMessage) (s schema, err error) {
	if len(raw) > 0 && string(raw) != "null" {
		err = json.Unmarshal(raw, &s)
	}
	return s, err
}

// value is a value for a required property: a text, or what a text has of its kind.
func (s schema) value(property, text string) any {
	p := s.Properties[property]
	switch {
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Type == "integer" || p.Type == "number":
		n, _ := quantity(" " + text)
		return n
	case p.Type == "array":
		return []any{text}
	}
	return text
}
