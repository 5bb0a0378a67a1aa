package hostile

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// answer is what the model says and how the stream tells it. Edits change it.
type answer struct {
	request *exchange
	head    map[string]json.RawMessage // id, created, model
	usage   json.RawMessage            // nil: none
	before  string                     // in one event, before all else
	text    string                     // comes before the calls
	calls   []toolCall
	after   string // text after the calls
	finish  string // empty: no finish reason

	reasoning map[string]string // by the name of the field
	split     bool              // one character in an event
	mixed     bool              // a piece of each call in turn
	padded    bool              // a chunk without choices around each chunk
	usageIn   usagePlace
}

type usagePlace int

const (
	usageLast usagePlace = iota
	usageFirst
	usageEverywhere
)

type toolCall struct {
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// readAnswer parses an answer that is not a stream. ok is false if it holds no message.
func readAnswer(body []byte, x *exchange) (a *answer, ok bool) {
	var whole struct {
		Choices []struct {
			Message struct {
				Content   string     `json:"content"`
				ToolCalls []toolCall `json:"tool_calls"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Usage json.RawMessage `json:"usage"`
	}
	a = &answer{request: x}
	if json.Unmarshal(body, &whole) != nil || json.Unmarshal(body, &a.head) != nil || len(whole.Choices) == 0 {
		return nil, false
	}
	maps.DeleteFunc(a.head, func(name string, _ json.RawMessage) bool { return name == "choices" || name == "usage" })
	message := whole.Choices[0].Message
	a.text, a.finish = message.Content, whole.Choices[0].FinishReason
	a.setCalls(message.ToolCalls)
	if x.StreamOptions.IncludeUsage {
		a.usage = whole.Usage
	}
	return a, true
}

// setCalls sets the calls and gives each its index.
func (a *answer) setCalls(calls []toolCall) {
	a.calls = slices.Clone(calls)
	for i := range a.calls {
		a.calls[i].Index, a.calls[i].Type = &i, "function"
	}
	if len(calls) > 0 {
		a.text, a.finish = "", "tool_calls"
	}
}

type chunk = map[string]any

// chunks returns the stream: the role, the pieces, the finish reason and the usage.
func (a *answer) chunks() []chunk {
	var out []chunk
	add := func(choices ...any) {
		c := chunk{"object": "chat.completion.chunk", "choices": append([]any{}, choices...)}
		for name, value := range a.head {
			if name != "object" {
				c[name] = value
			}
		}
		if a.usageIn == usageEverywhere && a.usage != nil || len(choices) == 0 && !a.padded {
			c["usage"] = a.usage
		}
		out = append(out, c)
	}
	if a.usageIn == usageFirst && a.usage != nil {
		add()
	}
	var finish any
	if a.finish != "" {
		finish = a.finish
	}
	deltas := a.deltas()
	for i, d := range deltas {
		if a.padded {
			add()
		}
		c := chunk{"index": 0, "delta": d, "finish_reason": nil}
		if i == len(deltas)-1 {
			c["finish_reason"] = finish
		}
		add(c)
	}
	if a.padded = false; a.usageIn == usageLast && a.usage != nil {
		add()
	}
	return out
}

// deltas returns what the chunks say, from the role to the empty delta of the finish reason.
func (a *answer) deltas() []any {
	out := []any{chunk{"role": "assistant"}}
	say := func(field, text string) {
		for _, piece := range a.pieces(text) {
			out = append(out, chunk{field: piece})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(a.reasoning)) {
		say(field, a.reasoning[field])
	}
	if a.split {
		say("content", a.before)
	} else if a.before != "" {
		out = append(out, chunk{"content": a.before})
	}
	say("content", a.text)
	var calls [][]any
	longest := 0
	for _, c := range a.calls {
		head := c
		head.Function.Arguments = ""
		parts := []any{chunk{"tool_calls": []toolCall{head}}}
		for _, piece := range a.pieces(c.Function.Arguments) {
			parts = append(parts, chunk{"tool_calls": []toolCall{{Index: c.Index, Function: function{Arguments: piece}}}})
		}
		calls = append(calls, parts)
		longest = max(longest, len(parts))
	}
	if !a.mixed {
		out = append(out, slices.Concat(calls...)...)
		longest = 0
	}
	for i := range longest {
		for _, parts := range calls {
			if i < len(parts) {
				out = append(out, parts[i])
			}
		}
	}
	say("content", a.after)
	return append(out, chunk{})
}

// pieces cuts a text after spaces, a long one into about 256 pieces.
func (a *answer) pieces(s string) []string {
	if a.split {
		return strings.Split(s, "")
	}
	var out []string
	for size := len(s) / 256; len(s) > size; {
		at := strings.IndexByte(s[size:], ' ') + 1
		if at == 0 {
			break
		}
		out, s = append(out, s[:size+at]), s[size+at:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
