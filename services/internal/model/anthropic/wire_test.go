package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model/modeltest"
)

// wire is Anthropic's Messages API from the server's side.
type wire struct{}

type message struct {
	Role    string
	Content []struct {
		Type      string
		Text      string
		ID        string
		Name      string
		Input     json.RawMessage
		ToolUseID string `json:"tool_use_id"`
		Content   []struct{ Type, Text string }
	}
}

func (wire) Read(r *http.Request) (*modeltest.Seen, error) {
	var body struct {
		Model       string
		MaxTokens   int `json:"max_tokens"`
		Stream      bool
		Temperature *float64
		System      []struct{ Type, Text string }
		Messages    []message
		Tools       []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
		ToolChoice   struct{ Type string } `json:"tool_choice"`
		Thinking     struct{ Type string }
		OutputConfig struct {
			Format *struct {
				Type   string
				Schema json.RawMessage
			}
		} `json:"output_config"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	switch {
	case r.Method != http.MethodPost, r.URL.Path != "/v1/messages":
		return nil, fmt.Errorf("%s %s", r.Method, r.URL)
	case r.Header.Get("Anthropic-Version") == "", r.Header.Get("Authorization") != "":
		return nil, fmt.Errorf("headers %v", r.Header)
	case body.MaxTokens < 1, !body.Stream:
		return nil, errors.New("max_tokens and stream are required")
	}
	seen := &modeltest.Seen{Key: r.Header.Get("X-Api-Key"), Model: body.Model}
	seen.Temperature, seen.MaxOutputTokens, seen.NoToolCalls = body.Temperature, body.MaxTokens, body.ToolChoice.Type == "none"
	seen.NoReasoning = body.Thinking.Type == "disabled"
	for _, s := range body.System {
		seen.Messages = append(seen.Messages, agentloop.Message{Role: agentloop.RoleSystem, Text: s.Text})
	}
	for _, t := range body.Tools {
		seen.Tools = append(seen.Tools, agentloop.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	if f := body.OutputConfig.Format; f != nil {
		seen.Output = &agentloop.OutputSchema{Schema: f.Schema}
	}
	err := readMessages(seen, body.Messages)
	return seen, err
}

// readMessages refuses what the API refuses.
func readMessages(seen *modeltest.Seen, messages []message) error {
	role, open := "assistant", map[string]bool{}
	for _, m := range messages {
		if m.Role == role || len(m.Content) == 0 {
			return fmt.Errorf("message of %q after %q, with %d blocks", m.Role, role, len(m.Content))
		}
		role = m.Role
		spoken := agentloop.Message{Role: agentloop.Role(m.Role)}
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_result" && role == "user" && open[b.ToolUseID] && spoken.Text == "":
				delete(open, b.ToolUseID)
				seen.Messages = append(seen.Messages, agentloop.Message{Role: agentloop.RoleTool, ToolCallID: b.ToolUseID, Text: b.Content[0].Text})
			case b.Type == "text" && strings.TrimSpace(b.Text) != "":
				spoken.Text += b.Text
			case b.Type == "tool_use" && role == "assistant":
				open[b.ID] = true
				spoken.ToolCalls = append(spoken.ToolCalls, agentloop.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
			default:
				return fmt.Errorf("block %+v of %s", b, role)
			}
		}
		if role == "user" && len(open) > 0 {
			return fmt.Errorf("no results for %v", open)
		}
		if spoken.Text != "" || len(spoken.ToolCalls) > 0 {
			seen.Messages = append(seen.Messages, spoken)
		}
	}
	return nil
}

// event writes an event.
func event(kind string, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s\n\n", kind, kind, strings.TrimPrefix(string(raw), "{"))
}

type object map[string]any

func (wire) Stream(s modeltest.Script) []string {
	u := s.Usage
	frames := []string{event("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": modeltest.Model + "-1", "content": []any{}, "stop_reason": nil,
		"usage": object{
			"input_tokens": u.InputTokens - u.CachedInputTokens, "cache_read_input_tokens": u.CachedInputTokens,
			"cache_creation_input_tokens": 0, "output_tokens": min(1, u.OutputTokens),
		},
	}}), event("ping", object{"at": 1})}
	index := 0
	block := func(start object, deltas ...object) {
		frames = append(frames, event("content_block_start", object{"index": index, "content_block": start}))
		for _, d := range deltas {
			frames = append(frames, event("content_block_delta", object{"index": index, "delta": d}))
		}
		frames = append(frames, event("content_block_stop", object{"index": index}))
		index++
	}
	if s.Reasoning != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": s.Reasoning}, object{"type": "signature_delta", "signature": "c2ln"})
	}
	if s.Sealed {
		block(object{"type": "redacted_thinking", "data": "c2VhbGVk"})
	}
	if len(s.Text) > 0 {
		var deltas []object
		for _, text := range s.Text {
			deltas = append(deltas, object{"type": "text_delta", "text": text})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range s.Calls {
		half := len(c.Arguments) / 2
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": ""},
			object{"type": "input_json_delta", "partial_json": c.Arguments[:half]}, object{"type": "input_json_delta", "partial_json": c.Arguments[half:]})
	}
	switch {
	case !s.Ends():
		return frames
	case s.Fail != "":
		return append(frames, event("error", object{"error": object{"type": "overloaded_error", "message": s.Fail}}))
	}
	reason := map[agentloop.FinishReason]string{
		agentloop.FinishStop: "end_turn", agentloop.FinishLength: "max_tokens", agentloop.FinishToolCalls: "tool_use", agentloop.FinishContentFilter: "refusal",
	}[s.Finish]
	return append(frames, event("message_delta", object{
		"delta": object{"stop_reason": reason, "stop_sequence": nil},
		"usage": object{"output_tokens": u.OutputTokens, "output_tokens_details": object{"thinking_tokens": u.ReasoningTokens}},
	}), event("message_stop", object{"end": true}))
}

func (wire) Refusal(_ int, text string) string {
	raw, err := json.Marshal(object{"type": "error", "error": object{"type": "some_error", "message": text}, "request_id": "req_1"})
	if err != nil {
		panic(err)
	}
	return string(raw)
}
