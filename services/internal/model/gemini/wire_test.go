package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model/modeltest"
)

// wire is the Gemini API from the server's side.
type wire struct{}

type content struct {
	Role  string
	Parts []struct {
		Text             string
		ThoughtSignature string
		FunctionCall     *struct {
			Name string
			Args json.RawMessage
		}
		FunctionResponse *struct {
			Name     string
			Response struct{ Output string }
		}
	}
}

func (wire) Read(r *http.Request) (*modeltest.Seen, error) {
	var body struct {
		SystemInstruction content
		Contents          []content
		Tools             []struct {
			FunctionDeclarations []struct {
				Name, Description    string
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			}
		}
		ToolConfig       struct{ FunctionCallingConfig struct{ Mode string } }
		GenerationConfig struct {
			Temperature        *float64
			MaxOutputTokens    int
			ThinkingConfig     struct{ ThinkingBudget *int }
			ResponseMIMEType   string          `json:"responseMimeType"`
			ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	const path = "/v1beta/models/" + modeltest.Model + ":streamGenerateContent"
	if r.Method != http.MethodPost || r.URL.Path != path || r.URL.RawQuery != "alt=sse" {
		return nil, fmt.Errorf("%s %s", r.Method, r.URL)
	}
	g := body.GenerationConfig
	seen := &modeltest.Seen{Key: r.Header.Get("X-Goog-Api-Key"), Model: modeltest.Model}
	seen.Temperature, seen.MaxOutputTokens = g.Temperature, g.MaxOutputTokens
	seen.NoReasoning = g.ThinkingConfig.ThinkingBudget != nil && *g.ThinkingConfig.ThinkingBudget == 0
	seen.NoToolCalls = body.ToolConfig.FunctionCallingConfig.Mode == "NONE"
	for _, t := range body.Tools {
		for _, f := range t.FunctionDeclarations {
			seen.Tools = append(seen.Tools, agentloop.ToolSpec{Name: f.Name, Description: f.Description, Parameters: f.ParametersJSONSchema})
		}
	}
	if g.ResponseMIMEType == "application/json" {
		seen.Output = &agentloop.OutputSchema{Schema: g.ResponseJSONSchema}
	}
	for _, p := range body.SystemInstruction.Parts {
		seen.Messages = append(seen.Messages, agentloop.Message{Role: agentloop.RoleSystem, Text: p.Text})
	}
	return seen, readContents(seen, body.Contents)
}

// readContents refuses what the API refuses: results that do not follow their calls one for one, empty parts, calls
// without a signature.
func readContents(seen *modeltest.Seen, contents []content) error {
	if len(contents) == 0 || contents[0].Role != "user" {
		return errors.New("the user has to begin")
	}
	var open []agentloop.ToolCall
	calls := 0
	for _, c := range contents {
		m := agentloop.Message{Role: agentloop.Role(c.Role)}
		if c.Role == "model" {
			m.Role = agentloop.RoleAssistant
		}
		results := len(open)
		for i, p := range c.Parts {
			switch {
			case p.FunctionCall != nil && c.Role == "model":
				if len(m.ToolCalls) == 0 && p.ThoughtSignature == "" {
					return fmt.Errorf("function call %s, position %d, is missing a thought_signature", p.FunctionCall.Name, i)
				}
				m.ToolCalls = append(m.ToolCalls, agentloop.ToolCall{ID: strconv.Itoa(calls), Name: p.FunctionCall.Name, Arguments: string(p.FunctionCall.Args)})
				calls++
			case p.FunctionResponse != nil && c.Role == "user" && len(c.Parts) == results && open[0].Name == p.FunctionResponse.Name:
				seen.Messages = append(seen.Messages, agentloop.Message{Role: agentloop.RoleTool, ToolCallID: open[0].ID, Text: p.FunctionResponse.Response.Output})
				open = open[1:]
			case p.Text != "" && results == 0:
				m.Text += p.Text
			default:
				return fmt.Errorf("part %+v of %s, with %d calls open", p, c.Role, results)
			}
		}
		if m.Text != "" || len(m.ToolCalls) > 0 {
			seen.Messages = append(seen.Messages, m)
		}
		if len(m.ToolCalls) > 0 {
			open = m.ToolCalls
		}
	}
	return nil
}

type object map[string]any

func frame(v object) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return "data: " + string(raw) + "\r\n\r\n"
}

func (wire) Stream(s modeltest.Script) []string {
	var frames []string
	part := func(p object) {
		frames = append(frames, frame(object{
			"candidates":    []object{{"content": object{"role": "model", "parts": []object{p}}, "index": 0}},
			"usageMetadata": object{"promptTokenCount": s.Usage.InputTokens, "totalTokenCount": s.Usage.InputTokens},
			"modelVersion":  modeltest.Model + "-1",
		}))
	}
	if s.Reasoning != "" {
		part(object{"text": s.Reasoning, "thought": true})
	}
	if s.Sealed {
		part(object{"text": "", "thoughtSignature": "c2VhbGVk"})
	}
	for _, text := range s.Text {
		part(object{"text": text})
	}
	for _, c := range s.Calls {
		call := object{"name": c.Name}
		if c.Arguments != "{}" {
			call["args"] = json.RawMessage(c.Arguments)
		}
		part(object{"functionCall": call})
	}
	switch {
	case !s.Ends():
		return frames
	case s.Fail != "":
		return append(frames, frame(object{"error": object{"code": 503, "message": s.Fail, "status": "UNAVAILABLE"}}))
	}
	u := s.Usage
	last := object{
		"usageMetadata": object{
			"promptTokenCount": u.InputTokens, "cachedContentTokenCount": u.CachedInputTokens,
			"candidatesTokenCount": u.OutputTokens - u.ReasoningTokens, "thoughtsTokenCount": u.ReasoningTokens,
			"totalTokenCount": u.InputTokens + u.OutputTokens,
		},
		"modelVersion": modeltest.Model + "-1", "responseId": "r-1",
	}
	if s.Finish == agentloop.FinishContentFilter {
		last["promptFeedback"] = object{"blockReason": "SAFETY"}
		return append(frames, frame(last))
	}
	reason := "STOP"
	if s.Finish == agentloop.FinishLength {
		reason = "MAX_TOKENS"
	}
	last["candidates"] = []object{{"content": object{"role": "model", "parts": []object{{"text": ""}}}, "finishReason": reason, "index": 0}}
	return append(frames, frame(last))
}

func (wire) Refusal(status int, text string) string {
	raw, err := json.Marshal(object{"error": object{"code": status, "message": text, "status": "SOME_STATUS"}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}
