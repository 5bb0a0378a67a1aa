// Package wire is the part of OpenAI's chat wire format that an endpoint writes: an answer, whole or as a stream. The offline
// model and the hostile endpoint share it. It must not import other packages of this repository. Its types are those of go-openai, but
// what go-openai would write with fields that the API does not have is written as plain objects.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
)

// Answer is what the model says and how the stream tells it.
type Answer struct {
	ID      string
	Created int64 // Unix seconds
	Model   string
	// Before is text in one chunk before all else. Text comes before the calls, After after them.
	Before, Text, After string
	Calls               []openai.ToolCall
	Finish              openai.FinishReason // empty: none
	Usage               *openai.Usage       // nil: none

	// How the stream differs from the usual one.
	Reasoning string // text of the field reasoning_content
	Piece     int    // bytes of a chunk's text; zero: 16, and more of long texts
	CutBytes  bool   // characters of the text are cut, as by a server that encodes each piece by itself
	Mixed     bool   // a piece of each call in turn
	Padded    bool   // a chunk without choices before each chunk
	UsageAll  bool   // every chunk has the usage
}

// Object is a JSON object.
type Object = map[string]any

// Parse reads an answer that is not a stream. ok is false if it has no message.
func Parse(body []byte) (a *Answer, ok bool) {
	var r openai.ChatCompletionResponse
	if json.Unmarshal(body, &r) != nil || len(r.Choices) == 0 {
		return nil, false
	}
	c := r.Choices[0]
	a = &Answer{ID: r.ID, Created: r.Created, Model: r.Model, Usage: &r.Usage, Finish: c.FinishReason, Text: c.Message.Content}
	a.SetCalls(c.Message.ToolCalls)
	return a, true
}

// SetCalls sets the calls, if there are any, in place of the text, and gives each its index.
func (a *Answer) SetCalls(calls []openai.ToolCall) {
	a.Calls = slices.Clone(calls)
	for i := range a.Calls {
		a.Calls[i].Index, a.Calls[i].Type = &i, openai.ToolTypeFunction
	}
	if len(calls) > 0 {
		a.Text, a.Finish = "", openai.FinishReasonToolCalls
	}
}

// Whole returns the answer as JSON that is not a stream. Content is null beside calls.
func (a *Answer) Whole() []byte {
	message := Object{"role": "assistant", "content": a.Text}
	if len(a.Calls) > 0 {
		message["content"], message["tool_calls"] = nil, a.Calls
	}
	return Encode(Object{"id": a.ID, "object": "chat.completion", "created": a.Created, "model": a.Model, "usage": a.Usage,
		"choices": []any{Object{"index": 0, "message": message, "finish_reason": a.Finish}}})
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
	deltas := a.deltas()
	for i, d := range deltas {
		if a.Padded {
			add(false)
		}
		c := Object{"index": 0, "delta": d, "finish_reason": nil}
		if i == len(deltas)-1 && a.Finish != "" {
			c["finish_reason"] = a.Finish
		}
		add(a.UsageAll, c)
	}
	if a.Usage != nil && !a.UsageAll {
		add(true)
	}
	return out
}

// deltas returns what the chunks say, from the role to the empty delta of the finish reason.
func (a *Answer) deltas() []any {
	out := []any{Object{"role": "assistant"}}
	say := func(field, text string) {
		for _, piece := range a.pieces(text, a.CutBytes) {
			out = append(out, Object{field: piece})
		}
	}
	say("reasoning_content", a.Reasoning)
	if a.Before != "" && a.Piece == 0 {
		out = append(out, Object{"content": a.Before})
	} else {
		say("content", a.Before)
	}
	say("content", a.Text)
	var calls [][]any
	longest := 0
	for _, c := range a.Calls {
		arguments := a.pieces(c.Function.Arguments, false)
		c.Function.Arguments = ""
		parts := []any{Object{"tool_calls": []openai.ToolCall{c}}}
		for _, piece := range arguments {
			part := Object{"function": Object{"arguments": piece}}
			if c.Index != nil {
				part["index"] = *c.Index
			}
			parts = append(parts, Object{"tool_calls": []any{part}})
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

// pieces cuts a text, inside a character only if that is asked for.
func (a *Answer) pieces(s string, inside bool) []string {
	size := cmp.Or(a.Piece, max(16, len(s)/256))
	var out []string
	begin := 0
	for i := range len(s) {
		if i-begin >= size && (inside || utf8.RuneStart(s[i])) {
			out, begin = append(out, s[begin:i]), i
		}
	}
	if s != "" {
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
