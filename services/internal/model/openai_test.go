package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/services/internal/model/modeltest"
)

func TestOpenAIConforms(t *testing.T) {
	modeltest.Run(t, modeltest.Provider{Wire: openaiWire{}, New: func(t *testing.T, url string) agentloop.Model {
		t.Helper()
		m, err := openai.New(openai.Config{BaseURL: url + "/v1", APIKey: modeltest.Key, Model: modeltest.Model})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}})
}

// openaiWire is OpenAI's Chat Completions API from the server's side.
type openaiWire struct{}

func (openaiWire) Read(r *http.Request) (*modeltest.Seen, error) {
	type function struct {
		Name, Description, Arguments string
		Parameters                   json.RawMessage
	}
	var body struct {
		Model       string
		Stream      bool
		MaxTokens   int `json:"max_tokens"`
		Temperature *float64
		Messages    []struct {
			Role, Content string
			ToolCallID    string `json:"tool_call_id"`
			ToolCalls     []struct {
				ID       string
				Function function
			} `json:"tool_calls"`
		}
		Tools          []struct{ Function function }
		ToolChoice     string `json:"tool_choice"`
		ResponseFormat *struct {
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || !body.Stream {
		return nil, fmt.Errorf("%s %s, stream %v", r.Method, r.URL, body.Stream)
	}
	seen := &modeltest.Seen{Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), Model: body.Model}
	seen.Temperature, seen.MaxOutputTokens, seen.NoToolCalls = body.Temperature, body.MaxTokens, body.ToolChoice == "none"
	for _, m := range body.Messages {
		message := agentloop.Message{Role: agentloop.Role(m.Role), Text: m.Content, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, agentloop.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		if message.Text == "" && len(message.ToolCalls) == 0 {
			return nil, fmt.Errorf("message without content: %+v", m)
		}
		seen.Messages = append(seen.Messages, message)
	}
	for _, t := range body.Tools {
		seen.Tools = append(seen.Tools, agentloop.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	if f := body.ResponseFormat; f != nil {
		seen.Output = &agentloop.OutputSchema{Schema: f.JSONSchema.Schema}
	}
	return seen, nil
}

type object map[string]any

func (openaiWire) Stream(s modeltest.Script) []string {
	var frames []string
	event := func(v object) {
		v["model"] = modeltest.Model + "-1"
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		frames = append(frames, "data: "+string(raw)+"\n\n")
	}
	delta := func(d object) { event(object{"choices": []object{{"index": 0, "delta": d}}}) }
	if s.Reasoning != "" {
		delta(object{"reasoning_content": s.Reasoning})
	}
	for _, text := range s.Text {
		delta(object{"content": text})
	}
	for i, c := range s.Calls {
		half := len(c.Arguments) / 2
		delta(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments[:half]}}}})
		delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": c.Arguments[half:]}}}})
	}
	switch {
	case s.Open:
		return frames
	case s.Fail != "":
		event(object{"error": object{"message": s.Fail, "code": 503}})
		return frames
	}
	event(object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": s.Finish}}})
	u := s.Usage
	event(object{"choices": []object{}, "usage": object{
		"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "prompt_tokens_details": object{"cached_tokens": u.CachedInputTokens},
		"completion_tokens_details": object{"reasoning_tokens": u.ReasoningTokens},
	}})
	return append(frames, "data: [DONE]\n\n")
}

func (openaiWire) Refusal(_ int, text string) string {
	raw, err := json.Marshal(object{"error": object{"message": text, "type": "some_error"}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}
