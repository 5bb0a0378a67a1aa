package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// response is one event of a stream, or an answer that does not stream. It stands in for go-openai's types, which drop an
// error beside choices and some names of reasoning, and refuse content in parts and arguments that are not a string.
type response struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *goopenai.Usage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int      `json:"index"`
	Delta        *message `json:"delta"`
	Message      *message `json:"message"` // in place of the delta: all of the message
	FinishReason string   `json:"finish_reason"`
}

type message struct {
	Content          content    `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent content    `json:"reasoning_content"` // DeepSeek, vLLM and others
	Reasoning        content    `json:"reasoning"`         // OpenRouter, Groq
	ToolCalls        []toolCall `json:"tool_calls"`
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// content is what a model wrote: a string as a rule. Some endpoints send one part or a list of parts, and reasoning among
// them (Mistral).
type content struct{ text, reasoning string }

// all returns the content of a field that holds nothing but reasoning, whatever its parts are marked as.
func (c content) all() string { return c.reasoning + c.text }

// UnmarshalJSON implements json.Unmarshaler. It never fails: a value of another kind is no content.
func (c *content) UnmarshalJSON(raw []byte) error {
	*c = content{}
	switch raw[0] {
	case '"':
		var err error
		c.text, err = decodeString(raw)
		return err
	case '[':
		var parts []content
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			c.text += p.text
			c.reasoning += p.reasoning
		}
	case '{':
		var part struct {
			Type     string  `json:"type"`
			Text     content `json:"text"`
			Thinking content `json:"thinking"`
		}
		if json.Unmarshal(raw, &part) != nil {
			return nil
		}
		c.text, c.reasoning = part.Text.text, part.Text.reasoning+part.Thinking.all()
		if strings.HasPrefix(part.Type, "thinking") || strings.HasPrefix(part.Type, "reasoning") {
			c.text, c.reasoning = "", c.all()
		}
	}
	return nil
}

// decodeString decodes a JSON string that is known to be valid JSON. A second pass of encoding/json over each piece of text
// costs 5 to 8 % of a turn's processor time (quartet bench turn).
func decodeString(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// arguments are those of a tool call: JSON in a string, or from some endpoints the JSON itself.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch {
	case raw[0] == '"':
		text, err := decodeString(raw)
		*a = arguments(text)
		return err
	case string(raw) != "null":
		*a = arguments(raw)
	}
	return nil
}

// answer is what is known of an answer so far.
type answer struct {
	endpoint.Ending
	key     string // of the endpoint, never repeated in an error
	choices bool   // a choice came, if an empty one
	model   string
	// keepReasoning is set if the endpoint wants reasoning back. The reasoning is then collected here.
	keepReasoning bool
	reasoning     strings.Builder
}

// decode takes in an event. It keeps the finish reason and the usage for the end: endpoints repeat the one, and count up
// the other as they go.
func (a *answer) decode(raw []byte) (agentloop.Chunk, error) {
	var c agentloop.Chunk
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		return c, &endpoint.ResponseError{Reason: "the answer is not the JSON of a chat completion", Message: endpoint.CleanMessage(err.Error(), a.key)}
	}
	if len(r.Error) > 0 && string(r.Error) != "null" {
		return c, endpoint.ParseError(raw, a.key)
	}
	if r.Model != "" && r.Model != a.model {
		a.model, c.Model = r.Model, r.Model
	}
	if u := usageOf(r.Usage); u != nil {
		a.Usage = u
	}
	for _, ch := range r.Choices {
		if ch.Index != 0 {
			continue // only one answer is ever asked for
		}
		a.choices = true
		if ch.Delta != nil {
			a.add(ch.Delta, &c)
		} else if ch.Message != nil {
			for i := range ch.Message.ToolCalls {
				ch.Message.ToolCalls[i].Index = &i // endpoints leave out the indexes of a complete message, or get them wrong
			}
			a.add(ch.Message, &c)
		}
		if ch.FinishReason != "" && a.Finish == "" {
			a.Finish = finishOf(ch.FinishReason)
		}
	}
	return c, nil
}

// add takes in a message or a piece of one.
func (a *answer) add(m *message, c *agentloop.Chunk) {
	c.Text += m.Content.text + m.Refusal
	a.Text = a.Text || c.Text != ""
	reasoning := m.ReasoningContent.all()
	if reasoning == "" {
		reasoning = m.Reasoning.all() // some endpoints fill both with the same
	}
	c.Reasoning += m.Content.reasoning + reasoning
	if a.keepReasoning {
		a.reasoning.WriteString(c.Reasoning)
	}
	for _, t := range m.ToolCalls {
		index := -1
		if t.Index != nil {
			index = *t.Index
		}
		c.ToolCalls = append(c.ToolCalls, agentloop.ToolCallDelta{
			Index: index, ID: t.ID, Name: t.Function.Name, Arguments: string(t.Function.Arguments),
		})
		a.Calls++
	}
}

// providerData is what a message carries from the answer to the requests that follow.
type providerData struct {
	OpenAI struct {
		ReasoningContent string `json:"reasoning_content"`
	} `json:"openai"`
}

// providerData returns the ProviderData of the answer: its reasoning, if the endpoint wants that back with the results of
// calls.
func (a *answer) providerData() string {
	if a.Calls == 0 || a.reasoning.Len() == 0 {
		return ""
	}
	var d providerData
	d.OpenAI.ReasoningContent = a.reasoning.String()
	raw, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	return string(raw)
}

// reasoningOf returns the reasoning in a message's ProviderData; "" if there is none, or the data is another adapter's.
func reasoningOf(data string) string {
	var d providerData
	if data == "" || json.Unmarshal([]byte(data), &d) != nil {
		return ""
	}
	return d.OpenAI.ReasoningContent
}

// finishOf translates a finish reason, also where an endpoint has another name for it.
func finishOf(reason string) agentloop.FinishReason {
	switch strings.ToLower(reason) {
	case "length", "max_tokens":
		return agentloop.FinishLength
	case "tool_calls", "tool_use", "function_call":
		return agentloop.FinishToolCalls
	case "content_filter", "safety":
		return agentloop.FinishContentFilter
	case "error":
		return agentloop.FinishError
	}
	return agentloop.FinishStop
}

// usageOf translates a usage; nil when nothing was counted.
func usageOf(u *goopenai.Usage) *agentloop.Usage {
	if u == nil || u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return nil
	}
	out := &agentloop.Usage{InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens)}
	if d := u.PromptTokensDetails; d != nil {
		out.CachedInputTokens = int64(d.CachedTokens)
	}
	if d := u.CompletionTokensDetails; d != nil {
		out.ReasoningTokens = int64(d.ReasoningTokens)
		if d.ReasoningTokens > 0 && u.TotalTokens == u.PromptTokens+u.CompletionTokens+d.ReasoningTokens {
			out.OutputTokens += out.ReasoningTokens // xAI counts reasoning apart
		}
	}
	return out
}
