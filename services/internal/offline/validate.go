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
	if req.Model == "" {
		return invalid("model", "you must provide a model parameter")
	}
	if req.Model != Model && req.Model != ModelFast {
		return &apiError{Status: http.StatusNotFound, Type: "invalid_request_error", Param: "model", Code: "model_not_found",
			Message: fmt.Sprintf("The model %q does not exist; this server has %q and %q", req.Model, Model, ModelFast)}
	}
	if len(req.Messages) == 0 {
		return invalid("messages", "messages must hold at least one message")
	}
	if err := checkTools(req); err != nil {
		return err
	}
	if err := checkFormat(req.ResponseFormat); err != nil {
		return err
	}
	return checkMessages(req.Messages)
}

func checkTools(req *chatRequest) *apiError {
	for i, t := range req.Tools {
		param := fmt.Sprintf("tools[%d].function", i)
		if t.Function.Name == "" {
			return invalid(param+".name", "a tool needs a name")
		}
		if err := checkSchema(t.Function.Parameters); err != nil {
			return invalid(param+".parameters", "invalid schema for function %q: %v", t.Function.Name, err)
		}
	}
	mode, name := toolChoice(req.ToolChoice)
	if mode == choiceInvalid {
		return invalid("tool_choice", "tool_choice must be none, auto, required or a function")
	}
	if name != "" && !slices.ContainsFunc(req.Tools, func(t tool) bool { return t.Function.Name == name }) {
		return invalid("tool_choice", "tool_choice names %q, which is not in tools", name)
	}
	return nil
}

func checkFormat(f *responseFormat) *apiError {
	if f == nil || f.Type != "json_schema" {
		return nil
	}
	if f.JSONSchema == nil || len(f.JSONSchema.Schema) == 0 {
		return invalid("response_format", "response_format json_schema needs a schema")
	}
	if err := checkSchema(f.JSONSchema.Schema); err != nil {
		return invalid("response_format", "invalid schema: %v", err)
	}
	return nil
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

type choiceMode int

const (
	choiceAuto choiceMode = iota
	choiceNone
	choiceRequired
	choiceInvalid
)

// toolChoice reads tool_choice; name is set when one function is demanded.
func toolChoice(raw json.RawMessage) (mode choiceMode, name string) {
	if len(raw) == 0 || string(raw) == "null" {
		return choiceAuto, ""
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "auto":
			return choiceAuto, ""
		case "none":
			return choiceNone, ""
		case "required":
			return choiceRequired, ""
		}
		return choiceInvalid, ""
	}
	var one struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &one) != nil || one.Function.Name == "" {
		return choiceInvalid, ""
	}
	return choiceRequired, one.Function.Name
}

// checkSchema refuses a schema that is no JSON object. No schema at all is one without properties.
func checkSchema(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	return json.Unmarshal(raw, &s)
}
