package offline

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Model names that the server answers to. Both follow the same rules.
const (
	Model     = "quartet-offline"
	ModelFast = "quartet-offline-fast"
)

func invalid(param, format string, args ...any) *apiError {
	return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: param, Message: fmt.Sprintf(format, args...)}
}

// check refuses what the real API refuses. It returns nil for a request that can be answered.
func check(req *chatRequest) *apiError {
	switch {
	case req.Model == "":
		return invalid("model", "you must provide a model parameter")
	case req.Model != Model && req.Model != ModelFast:
		return &apiError{Status: http.StatusNotFound, Type: "invalid_request_error", Param: "model", Code: "model_not_found",
			Message: fmt.Sprintf("The model %q does not exist; this server has %q and %q", req.Model, Model, ModelFast)}
	case len(req.Messages) == 0:
		return invalid("messages", "messages must hold at least one message")
	}
	for i, t := range req.Tools {
		param := fmt.Sprintf("tools[%d].function", i)
		if t.Function.Name == "" {
			return invalid(param+".name", "a tool needs a name")
		}
		if _, err := readSchema(t.Function.Parameters); err != nil {
			return invalid(param+".parameters", "invalid schema for function %q: %v", t.Function.Name, err)
		}
	}
	switch mode, name := toolChoice(req.ToolChoice); {
	case mode == "":
		return invalid("tool_choice", "tool_choice must be none, auto, required or a function")
	case name != "" && !slices.ContainsFunc(req.Tools, func(t tool) bool { return t.Function.Name == name }):
		return invalid("tool_choice", "tool_choice names %q, which is not in tools", name)
	}
	if f := req.ResponseFormat; f != nil && f.Type == "json_schema" {
		if f.JSONSchema == nil || len(f.JSONSchema.Schema) == 0 {
			return invalid("response_format", "response_format json_schema needs a schema")
		}
		if _, err := readSchema(f.JSONSchema.Schema); err != nil {
			return invalid("response_format", "invalid schema: %v", err)
		}
	}
	return checkMessages(req.Messages)
}

// checkMessages pairs tool calls with their answers: each id is answered exactly once, right after it was asked.
func checkMessages(messages []message) *apiError {
	var open []string
	for i, m := range messages {
		param := fmt.Sprintf("messages[%d]", i)
		if m.Role != "tool" && len(open) > 0 {
			return unanswered(open)
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
				return invalid(param, "messages with role 'tool' must answer a preceding message with 'tool_calls'; no open call has id %q", m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		default:
			return invalid(param+".role", "invalid role %q", m.Role)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(ids []string) *apiError {
	return invalid("messages", "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; "+
		"these have no response: %s", strings.Join(ids, ", "))
}

// toolChoice reads tool_choice as "auto", "none" or "required", "" for anything else; name is set when one function is demanded.
func toolChoice(raw json.RawMessage) (mode, name string) {
	var one struct {
		Function struct{ Name string }
	}
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "auto", ""
	case json.Unmarshal(raw, &mode) == nil && slices.Contains([]string{"auto", "none", "required"}, mode):
		return mode, ""
	case json.Unmarshal(raw, &one) == nil && one.Function.Name != "":
		return "required", one.Function.Name
	}
	return "", ""
}

// schema is what the rules read of a JSON schema.
type schema struct {
	Properties map[string]json.RawMessage
	Required   []string
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
	var p struct {
		Type any // a name or a list of names
		Enum []any
	}
	_ = json.Unmarshal(s.Properties[property], &p) // what is no object says nothing of its type
	switch {
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Type == "string":
		return text
	case p.Type == "integer" || p.Type == "number":
		n, _ := quantity(" " + text)
		return n
	case p.Type == "array":
		return []any{text}
	case p.Type == "boolean":
		return true
	}
	return object{}
}
