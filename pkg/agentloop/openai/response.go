package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	goopenai "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// choice is one of the choices of an event of a stream, or of an answer that does not stream.
type choice struct {
	index  int64
	delta  gjson.Result
	whole  gjson.Result // in place of the delta: all of the message
	finish string
}

func choiceOf(r gjson.Result) (ch choice) {
	each(r, func(key, value gjson.Result) {
		switch key.Str {
		case "index":
			ch.index = value.Int()
		case "delta":
			ch.delta = value
		case "message":
			ch.whole = value
		case "finish_reason":
			ch.finish = value.Str
		}
	})
	return ch
}

// each calls f for each field or element of a value. A value of another kind than an object or a list has none.
func each(value gjson.Result, f func(key, value gjson.Result)) {
	if value.Type == gjson.JSON {
		value.ForEach(func(k, v gjson.Result) bool {
			f(k, v)
			return true
		})
	}
}

// content is what a model wrote: a string as a rule. Some endpoints send one part or a list of parts, and reasoning among
// them (Mistral).
type content struct{ text, reasoning string }

// all returns the content of a field that holds nothing but reasoning, whatever its parts are marked as.
func (c content) all() string { return c.reasoning + c.text }

// maxLevels bounds how deep parts lie in each other, and maxChoices the choices of an event. Each level of parts is read once more,
// so that without a bound an event of many megabytes takes minutes.
const (
	maxLevels  = 8
	maxChoices = 64
)

// contentOf returns the content in a field, down to some levels of parts. A value of another kind is no content.
func contentOf(r gjson.Result, levels int) (c content) {
	switch {
	case r.Type == gjson.String:
		c.text = r.Str
	case levels == 0:
	case r.IsArray():
		var text, reasoning strings.Builder
		each(r, func(_, part gjson.Result) {
			p := contentOf(part, levels-1)
			text.WriteString(p.text)
			reasoning.WriteString(p.reasoning)
		})
		c.text, c.reasoning = text.String(), reasoning.String()
	case r.IsObject():
		text, kind := contentOf(r.Get("text"), levels-1), r.Get("type").Str
		c.text, c.reasoning = text.text, text.reasoning+contentOf(r.Get("thinking"), levels-1).all()
		if strings.HasPrefix(kind, "thinking") || strings.HasPrefix(kind, "reasoning") {
			c.text, c.reasoning = "", c.all()
		}
	}
	return c
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
//
// It reads the JSON by gjson and not into go-openai's types, which drop an error beside choices and some names of reasoning,
// and refuse content in parts and arguments that are not a string. Types of our own for encoding/json cost a turn 8 % more
// processor time and 7 % more allocated memory (quartet bench turn).
func (a *answer) decode(raw []byte) (agentloop.Chunk, error) {
	var c agentloop.Chunk
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !isValid(raw) {
		return c, a.noCompletion("invalid JSON")
	}
	var choices, usage, failure gjson.Result
	event := gjson.ParseBytes(raw)
	each(event, func(key, value gjson.Result) {
		switch key.Str {
		case "model":
			if value.Str != "" && value.Str != a.model {
				a.model, c.Model = value.Str, value.Str
			}
		case "choices":
			choices = value
		case "usage":
			usage = value
		case "error":
			failure = value
		}
	})
	switch {
	case failure.Type != gjson.Null:
		return agentloop.Chunk{}, endpoint.ParseError(raw, a.key)
	case !isNullOr(gjson.Result.IsObject, event, usage) || !isNullOr(gjson.Result.IsArray, choices):
		return agentloop.Chunk{}, a.noCompletion("a value is of another type")
	}
	if usage.Type != gjson.Null {
		var u goopenai.Usage
		if err := json.Unmarshal([]byte(usage.Raw), &u); err != nil {
			return agentloop.Chunk{}, a.noCompletion(err.Error())
		}
		if u := usageOf(&u); u != nil {
			a.Usage = u
		}
	}
	all := choices.Array()
	for _, value := range all[:min(len(all), maxChoices)] {
		if ch := choiceOf(value); ch.index == 0 { // only one answer is ever asked for
			a.addChoice(ch, &c)
		}
	}
	return c, nil
}

// maxBrackets bounds the brackets of what is given to gjson's check, which calls itself for each level and has no bound.
const maxBrackets = 10_000

// isValid reports whether raw is valid JSON. A check by encoding/json takes three times as long.
func isValid(raw []byte) bool {
	if bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) > maxBrackets {
		return json.Valid(raw)
	}
	return gjson.ValidBytes(raw)
}

// isNullOr reports whether all values are null, not there, or of a type.
func isNullOr(isType func(gjson.Result) bool, values ...gjson.Result) bool {
	return !slices.ContainsFunc(values, func(v gjson.Result) bool { return v.Type != gjson.Null && !isType(v) })
}

func (a *answer) noCompletion(message string) error {
	return &endpoint.ResponseError{Reason: "the answer is not the JSON of a chat completion", Message: endpoint.CleanMessage(message, a.key)}
}

// addChoice takes in a choice.
func (a *answer) addChoice(ch choice, c *agentloop.Chunk) {
	a.choices = true
	if ch.delta.IsObject() {
		a.addMessage(ch.delta, false, c)
	} else {
		a.addMessage(ch.whole, true, c)
	}
	if ch.finish != "" && a.Finish == "" {
		a.Finish = finishOf(ch.finish)
	}
}

// addMessage takes in a message or a piece of one.
func (a *answer) addMessage(message gjson.Result, isWhole bool, c *agentloop.Chunk) {
	var written, reasoning, other content
	var calls gjson.Result
	refusal := ""
	each(message, func(key, value gjson.Result) {
		switch key.Str {
		case "content":
			written = contentOf(value, maxLevels)
		case "refusal":
			refusal = value.Str
		case "reasoning_content": // DeepSeek, vLLM and others
			reasoning = contentOf(value, maxLevels)
		case "reasoning": // OpenRouter, Groq
			other = contentOf(value, maxLevels)
		case "tool_calls":
			calls = value
		}
	})
	if calls.IsArray() {
		a.addCalls(calls.Array(), isWhole, c)
	}
	c.Text += written.text + refusal
	a.Text = a.Text || c.Text != ""
	c.Reasoning += written.reasoning + cmp.Or(reasoning.all(), other.all()) // some endpoints fill both with the same
	if a.keepReasoning {
		a.reasoning.WriteString(c.Reasoning)
	}
}

// addCalls takes in tool calls or pieces of them.
func (a *answer) addCalls(calls []gjson.Result, areWhole bool, c *agentloop.Chunk) {
	for i, call := range calls {
		d := agentloop.ToolCallDelta{Index: -1}
		var function gjson.Result
		each(call, func(key, value gjson.Result) {
			switch {
			case key.Str == "index" && value.Type == gjson.Number:
				d.Index = int(value.Int())
			case key.Str == "id":
				d.ID = value.Str
			case key.Str == "function":
				function = value
			}
		})
		each(function, func(key, value gjson.Result) {
			switch key.Str {
			case "name":
				d.Name = value.Str
			case "arguments":
				d.Arguments = argumentsOf(value)
			}
		})
		if areWhole {
			d.Index = i // endpoints leave out the indexes of a complete message, or get them wrong
		}
		c.ToolCalls = append(c.ToolCalls, d)
		a.Calls++
	}
}

// argumentsOf returns the arguments of a tool call: JSON in a string, or from some endpoints the JSON itself.
func argumentsOf(r gjson.Result) string {
	switch r.Type {
	case gjson.Null:
		return ""
	case gjson.String:
		return r.Str
	}
	return r.Raw
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
	if u.PromptTokens == 0 && u.CompletionTokens == 0 {
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
