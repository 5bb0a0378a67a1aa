package hostile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// chunk is one event of a stream.
type chunk struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role             string  `json:"role,omitempty"`
	Content          string  `json:"content,omitempty"`
	ReasoningContent string  `json:"reasoning_content,omitempty"`
	Reasoning        string  `json:"reasoning,omitempty"`
	ToolCalls        []piece `json:"tool_calls,omitempty"`
}

// piece is a tool call or a part of one.
type piece struct {
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// parseStream decodes the events of a whole stream. The first one holds the role.
func parseStream(body []byte) ([]chunk, error) {
	var chunks []chunk
	for line := range bytes.Lines(body) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("event of the real answer: %w", err)
		}
		chunks = append(chunks, c)
	}
	if len(chunks) == 0 {
		return nil, errors.New("the real answer is empty")
	}
	return chunks, nil
}

// delta returns what a chunk of the first choice says; nil for a chunk without choices.
func (c *chunk) delta() *delta {
	if len(c.Choices) == 0 {
		return nil
	}
	return &c.Choices[0].Delta
}

func (c *chunk) calls() bool { return c.delta() != nil && len(c.delta().ToolCalls) > 0 }

func (c *chunk) finishes() bool { return len(c.Choices) > 0 && c.Choices[0].FinishReason != nil }

// isText reports whether an answer calls no tools.
func isText(chunks []chunk) bool {
	return !slices.ContainsFunc(chunks, func(c chunk) bool { return c.calls() })
}

// say returns a chunk like those of an answer, with another delta.
func say(chunks []chunk, d delta) chunk {
	c := chunks[0]
	c.Choices, c.Usage = []choice{{Delta: d}}, nil
	return c
}

// begin puts a chunk after the role.
func begin(chunks []chunk, d delta) []chunk { return slices.Insert(chunks, 1, say(chunks, d)) }

// finish sets the finish reason; "" takes it away.
func finish(chunks []chunk, reason string) {
	for i := range chunks {
		switch {
		case !chunks[i].finishes():
		case reason == "":
			chunks[i].Choices[0].FinishReason = nil
		default:
			chunks[i].Choices[0].FinishReason = &reason
		}
	}
}

// texts returns the places of the chunks with text.
func texts(chunks []chunk) []int {
	var at []int
	for i := range chunks {
		if d := chunks[i].delta(); d != nil && d.Content != "" {
			at = append(at, i)
		}
	}
	return at
}

// cutText drops all text after a number of chunks with text.
func cutText(chunks []chunk, keep int) []chunk {
	at := texts(chunks)
	for _, i := range slices.Backward(at[min(keep, len(at)):]) {
		chunks = slices.Delete(chunks, i, i+1)
	}
	return chunks
}

// byCall takes the tool calls out of an answer and returns the chunks of each call, in order, and all others.
func byCall(chunks []chunk) (groups [][]chunk, rest []chunk) {
	for _, c := range chunks {
		if !c.calls() {
			rest = append(rest, c)
			continue
		}
		p := c.delta().ToolCalls[0]
		if p.Function.Name != "" || len(groups) == 0 {
			groups = append(groups, []chunk{c})
			continue
		}
		at := len(groups) - 1
		for i, g := range groups {
			if first := g[0].delta().ToolCalls[0]; p.Index != nil && first.Index != nil && *first.Index == *p.Index {
				at = i
			}
		}
		groups[at] = append(groups[at], c)
	}
	return groups, rest
}

// wholeCalls returns the tool calls of an answer, each in one piece.
func wholeCalls(chunks []chunk) []piece {
	groups, _ := byCall(chunks)
	whole := make([]piece, len(groups))
	for i, g := range groups {
		whole[i] = g[0].delta().ToolCalls[0]
		for _, c := range g[1:] {
			whole[i].Function.Arguments += c.delta().ToolCalls[0].Function.Arguments
		}
	}
	return whole
}

// withCalls puts other tool calls into the place of an answer's, or of its text. Each call is sent as a name and then its
// arguments.
func withCalls(chunks []chunk, whole []piece) []chunk {
	chunks = cutText(slices.DeleteFunc(chunks, func(c chunk) bool { return c.calls() }), 0)
	for i, p := range slices.Backward(whole) {
		head, rest := p, piece{Index: &i, Function: function{Arguments: p.Function.Arguments}}
		head.Index, head.Type, head.Function.Arguments = &i, "function", ""
		chunks = begin(begin(chunks, delta{ToolCalls: []piece{rest}}), delta{ToolCalls: []piece{head}})
	}
	finish(chunks, "tool_calls")
	return chunks
}
