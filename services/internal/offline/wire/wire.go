// Package wire is the part of OpenAI's chat wire format that an endpoint writes: an answer, whole or as a stream. The offline
// model and the hostile endpoint share it. It must not import other packages of this repository.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// defaultPiece is about how many bytes of text or arguments a chunk has.
const defaultPiece = 16

// Answer is what the model says and how the stream tells it.
type Answer struct {
	ID      string
	Created int64 // Unix seconds
	Model   string
	// Before is text in one chunk before all else. Text comes before the calls, After after them.
	Before, Text, After string
	Calls               []ToolCall
	Finish              string // empty: no finish reason
	Usage               *Usage // nil: none

	// How the stream differs from the usual one.
	Reasoning map[string]string // text by the name of the field it stands in
	Piece     int               // bytes of a chunk's text; zero: defaultPiece, and long texts have larger chunks
	Mixed     bool              // a piece of each call in turn
	Padded    bool              // a chunk without choices before each chunk
	UsageIn   UsagePlace
}

// UsagePlace says which chunks have the usage.
type UsagePlace int

// A chunk without choices at the end, one at the start, or every chunk.
const (
	UsageLast UsagePlace = iota
	UsageFirst
	UsageEverywhere
)

// Usage counts tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// ToolCall is a call of a tool or, in a stream, a part of one.
type ToolCall struct {
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function Function `json:"function"`
}

// Function is a tool's name and arguments in JSON.
type Function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// Object is a JSON object.
type Object = map[string]any

// whole is an answer that is not a stream. Content is null beside calls.
type whole struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *Usage   `json:"usage"`
}

type choice struct {
	Index   int `json:"index"`
	Message struct {
		Role      string     `json:"role"`
		Content   *string    `json:"content"`
		ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	} `json:"message"`
	FinishReason string `json:"finish_reason"`
}

// Parse reads an answer that is not a stream. ok is false if it has no message.
func Parse(body []byte) (a *Answer, ok bool) {
	var w whole
	if json.Unmarshal(body, &w) != nil || len(w.Choices) == 0 {
		return nil, false
	}
	c := w.Choices[0]
	a = &Answer{ID: w.ID, Created: w.Created, Model: w.Model, Usage: w.Usage, Finish: c.FinishReason}
	if c.Message.Content != nil {
		a.Text = *c.Message.Content
	}
	a.SetCalls(c.Message.ToolCalls)
	return a, true
}

// SetCalls sets the calls, if there are any, in place of the text, and gives each its index.
func (a *Answer) SetCalls(calls []ToolCall) {
	a.Calls = slices.Clone(calls)
	for i := range a.Calls {
		a.Calls[i].Index, a.Calls[i].Type = &i, "function"
	}
	if len(calls) > 0 {
		a.Text, a.Finish = "", "tool_calls"
	}
}

// Whole returns the answer as JSON that is not a stream.
func (a *Answer) Whole() []byte {
	var c choice
	c.Message.Role, c.Message.ToolCalls, c.FinishReason = "assistant", a.Calls, a.Finish
	if len(a.Calls) == 0 {
		c.Message.Content = &a.Text
	}
	return Encode(whole{ID: a.ID, Object: "chat.completion", Created: a.Created, Model: a.Model, Choices: []choice{c}, Usage: a.Usage})
}

// Chunks returns the stream: the role, the pieces, the finish reason and the usage. The mark of the end is the caller's.
func (a *Answer) Chunks() [][]byte {
	var out [][]byte
	add := func(usage bool, choices ...any) {
		c := Object{"id": a.ID, "object": "chat.completion.chunk", "created": a.Created, "model": a.Model, "choices": append([]any{}, choices...)}
		if usage && a.Usage != nil {
			c["usage"] = a.Usage
		}
		out = append(out, Encode(c))
	}
	if a.Usage != nil && a.UsageIn == UsageFirst {
		add(true)
	}
	deltas := a.deltas()
	for i, d := range deltas {
		if a.Padded {
			add(false)
		}
		c := Object{"index": 0, "delta": d, "finish_reason": nil}
		if i == len(deltas)-1 && a.Finish != "" {
			c["finish_reason"] = a.Finish
		}
		add(a.UsageIn == UsageEverywhere, c)
	}
	if a.Usage != nil && a.UsageIn == UsageLast {
		add(true)
	}
	return out
}

// deltas returns what the chunks say, from the role to the empty delta of the finish reason.
func (a *Answer) deltas() []any {
	out := []any{Object{"role": "assistant"}}
	say := func(field, text string) {
		for _, piece := range a.pieces(text) {
			out = append(out, Object{field: piece})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(a.Reasoning)) {
		say(field, a.Reasoning[field])
	}
	if a.Before != "" && a.Piece == 0 {
		out = append(out, Object{"content": a.Before})
	} else {
		say("content", a.Before)
	}
	say("content", a.Text)
	var calls [][]any
	longest := 0
	for _, c := range a.Calls {
		head := c
		head.Function.Arguments = ""
		parts := []any{Object{"tool_calls": []ToolCall{head}}}
		for _, piece := range a.pieces(c.Function.Arguments) {
			parts = append(parts, Object{"tool_calls": []ToolCall{{Index: c.Index, Function: Function{Arguments: piece}}}})
		}
		calls = append(calls, parts)
		longest = max(longest, len(parts))
	}
	if !a.Mixed {
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
	say("content", a.After)
	return append(out, Object{})
}

// pieces cuts a text, never inside a character.
func (a *Answer) pieces(s string) []string {
	size := a.Piece
	if size == 0 {
		size = max(defaultPiece, len(s)/256)
	}
	var out []string
	begin := 0
	for i := range s {
		if i-begin >= size {
			out, begin = append(out, s[begin:i]), i
		}
	}
	if begin < len(s) {
		out = append(out, s[begin:])
	}
	return out
}

// Encode is JSON without HTML escaping, for values that can be marshalled.
func Encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Wait sleeps for d and reports whether ctx is still alive.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
