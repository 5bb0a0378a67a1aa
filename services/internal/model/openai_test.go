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
	for name, noStream := range map[string]bool{"stream": false, "no stream": true} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, modeltest.Provider{NoStream: noStream, Wire: openaiWire{noStream}, New: func(t *testing.T, url string) agentloop.Model {
				t.Helper()
				m, err := openai.New(openai.Config{
					BaseURL: url + "/v1", APIKey: modeltest.Key, Model: modeltest.Model, NoStream: noStream, ReasoningSwitch: openai.SwitchEnableThinking,
				})
				if err != nil {
					t.Fatal(err)
				}
				return m
			}})
		})
	}
}

// openaiWire is OpenAI's Chat Completions API from the server's side, streaming or not.
type openaiWire struct{ noStream bool }

func (o openaiWire) Read(r *http.Request) (*modeltest.Seen, error) {
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
		Tools         []struct{ Function function }
		ToolChoice    string `json:"tool_choice"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Template struct {
			EnableThinking *bool `json:"enable_thinking"`
		} `json:"chat_template_kwargs"`
		ResponseFormat *struct {
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || body.Stream == o.noStream || body.StreamOptions.IncludeUsage == o.noStream {
		return nil, fmt.Errorf("%s %s, stream %v with usage %v", r.Method, r.URL, body.Stream, body.StreamOptions.IncludeUsage)
	}
	seen := &modeltest.Seen{Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), Model: body.Model}
	seen.Temperature, seen.MaxOutputTokens, seen.NoToolCalls = body.Temperature, body.MaxTokens, body.ToolChoice == "none"
	seen.NoReasoning = body.Template.EnableThinking != nil && !*body.Template.EnableThinking
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

func (o openaiWire) Stream(s modeltest.Script) []string {
	if o.noStream {
		return completeAnswer(s)
	}
	var frames []string
	event := func(v object) {
		v["model"] = modeltest.Model + "-1"
		frames = append(frames, "data: "+marshal(v)+"\n\n")
	}
	delta := func(d object) { event(object{"choices": []object{{"index": 0, "delta": d}}}) }
	if s.Reasoning != "" {
		delta(object{"reasoning_content": s.Reasoning})
	}
	if s.Sealed {
		delta(sealed())
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
	case !s.Ends():
		return frames
	case s.Fail != "":
		event(failure(s))
		return frames
	}
	event(object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": s.Finish}}})
	event(object{"choices": []object{}, "usage": usageOf(s)})
	return append(frames, "data: [DONE]\n\n")
}

// completeAnswer is an answer in one body; one without an end is half of it.
func completeAnswer(s modeltest.Script) []string {
	message := object{"role": "assistant", "content": strings.Join(s.Text, "")}
	if s.Sealed {
		message = sealed()
		message["content"] = []object{{"type": "text", "text": strings.Join(s.Text, "")}}
	}
	if s.Reasoning != "" {
		message["reasoning"] = s.Reasoning
	}
	var calls []object
	for _, c := range s.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	message["tool_calls"] = calls
	answer := marshal(object{
		"model": modeltest.Model + "-1", "choices": []object{{"index": 0, "message": message, "finish_reason": s.Finish}}, "usage": usageOf(s),
	})
	switch {
	case s.Fail != "":
		return []string{marshal(failure(s))}
	case !s.Ends() && len(s.Text)+len(s.Calls) == 0:
		return nil
	case !s.Ends():
		return []string{answer[:len(answer)/2]}
	}
	return []string{answer}
}

// sealed is what a message holds of thoughts that are no text.
func sealed() object {
	return object{"reasoning": nil, "reasoning_content": object{}, "reasoning_details": []object{{"type": "reasoning.encrypted", "data": "c2VhbGVk"}}}
}

func failure(s modeltest.Script) object {
	return object{"error": object{"message": s.Fail, "code": 503}}
}

func usageOf(s modeltest.Script) object {
	u := s.Usage
	return object{
		"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "prompt_tokens_details": object{"cached_tokens": u.CachedInputTokens},
		"completion_tokens_details": object{"reasoning_tokens": u.ReasoningTokens},
	}
}

func marshal(v object) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (openaiWire) Refusal(_ int, text string) string {
	return marshal(object{"error": object{"message": text, "type": "some_error"}})
}
