package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// event is one event of a stream, or an answer that does not stream, as far as it is used.
type event struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int      `json:"index"`
	Delta        *message `json:"delta"`
	Message      *message `json:"message"` // the whole of it
	FinishReason string   `json:"finish_reason"`
}

type message struct {
	Content          words  `json:"content"`
	Refusal          string `json:"refusal"`
	ReasoningContent words  `json:"reasoning_content"` // DeepSeek, vLLM and others
	Reasoning        words  `json:"reasoning"`         // OpenRouter, Groq
	// ToolCalls is a list of toolCall, read apart: a decoder that went down to the arguments would double the stack of its
	// goroutine, which waits for models most of its life.
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// calls returns the tool calls. Those of a whole message are numbered, which endpoints leave out there or do wrong.
func (m *message) calls(whole bool) ([]toolCall, error) {
	if len(m.ToolCalls) == 0 {
		return nil, nil
	}
	var out []toolCall
	if err := json.Unmarshal(m.ToolCalls, &out); err != nil {
		return nil, fmt.Errorf("tool calls: %w", err)
	}
	if whole {
		for i := range out {
			out[i].Index = &i
		}
	}
	return out, nil
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// answer is what is known of an answer so far.
type answer struct {
	key     string // never to be repeated in an error
	choices bool   // some answer was sent, if an empty one
	text    bool   // some text was sent
	calls   bool   // some of a tool call was sent
	finish  agentloop.FinishReason
	usage   *agentloop.Usage
	model   string
}

// read yields an answer. It is a function of its own because the frame that it takes is not needed before there is an answer.
func (b *body) read(yield func(agentloop.Chunk, error) bool) error {
	a := answer{key: b.key}
	for {
		c, err := a.read(b)
		if err != nil {
			if c, err = a.end(b.done, err); err != nil {
				return err
			}
			if c.FinishReason == "" && c.Usage == nil || yield(c, nil) {
				b.drain()
			}
			return nil
		}
		if c.Text == "" && c.Reasoning == "" && len(c.ToolCalls) == 0 && c.Model == "" {
			continue
		}
		if !yield(c, nil) {
			return errStopped
		}
	}
}

// read takes in the next event of a body.
func (a *answer) read(b *body) (agentloop.Chunk, error) {
	raw, err := b.next()
	if err != nil {
		return agentloop.Chunk{}, err
	}
	c, err := a.decode(raw)
	if b.done && !a.choices && !isStatus(err) {
		return c, b.strange(raw) // an object, but not a model's
	}
	return c, err
}

// isStatus reports whether an error is one that the endpoint reports.
func isStatus(err error) bool {
	var status *endpoint.StatusError
	return errors.As(err, &status)
}

// decode takes in an event. The finish reason and the usage are kept for the end: endpoints repeat the one, and count up
// the other as they go.
func (a *answer) decode(raw []byte) (agentloop.Chunk, error) {
	if c, ok := a.quick(raw); ok {
		return c, nil
	}
	return a.decodeAny(raw)
}

// decodeAny is decode for an event of any kind.
func (a *answer) decodeAny(raw []byte) (agentloop.Chunk, error) {
	var c agentloop.Chunk
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return c, unreadable(err, a.key)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		return c, endpoint.ParseError(raw, a.key)
	}
	if e.Model != "" && e.Model != a.model {
		a.model, c.Model = e.Model, e.Model
	}
	if u := e.Usage.count(); u != nil {
		a.usage = u
	}
	for _, ch := range e.Choices {
		if ch.Index != 0 {
			continue // only one answer is ever asked for
		}
		a.choices = true
		said, whole := ch.Delta, ch.Delta == nil
		if whole {
			said = ch.Message
		}
		if said != nil {
			calls, err := said.calls(whole)
			if err != nil {
				return agentloop.Chunk{}, unreadable(err, a.key)
			}
			a.add(said, calls, &c)
		}
		if ch.FinishReason != "" && a.finish == "" {
			a.finish = finishOf(ch.FinishReason)
		}
	}
	return c, nil
}

// unreadable returns the error for JSON that is broken or of another shape.
func unreadable(err error, key string) error {
	return &endpoint.ResponseError{Reason: "the answer is not the JSON of a chat completion", Message: endpoint.CleanMessage(err.Error(), key)}
}

// add takes in a message or a piece of one, and its calls.
func (a *answer) add(m *message, calls []toolCall, c *agentloop.Chunk) {
	c.Text += m.Content.text + m.Refusal
	a.text = a.text || c.Text != ""
	reasoning := m.ReasoningContent.all()
	if reasoning == "" {
		reasoning = m.Reasoning.all() // some endpoints fill both with the same
	}
	c.Reasoning += m.Content.thoughts + reasoning
	for _, t := range calls {
		index := -1
		if t.Index != nil {
			index = *t.Index
		}
		c.ToolCalls = append(c.ToolCalls, agentloop.ToolCallDelta{
			Index: index, ID: t.ID, Name: t.Function.Name, Arguments: string(t.Function.Arguments),
		})
		a.calls = true
	}
}

// end returns the last chunk, or the error if the answer broke off before its end.
func (a *answer) end(done bool, err error) (agentloop.Chunk, error) {
	last := agentloop.Chunk{FinishReason: a.finish, Usage: a.usage}
	switch {
	case a.finish != "" && !isStatus(err):
		return last, nil // whatever came after it, the answer is whole
	case !errors.Is(err, io.EOF):
		return agentloop.Chunk{}, err
	case done:
		return last, nil
	case a.text && !a.calls:
		last.FinishReason = agentloop.FinishLength // there is no saying whether it is whole
		return last, nil
	}
	return agentloop.Chunk{}, fmt.Errorf("the stream ended without an answer: %w", io.ErrUnexpectedEOF)
}

// finishOf translates a finish reason. What some endpoints call their own way is taken for what it is.
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

// count translates a usage; nil when nothing was counted.
func (u *usage) count() *agentloop.Usage {
	if u == nil || u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return nil
	}
	out := u.CompletionTokens
	reasoning := u.CompletionDetails.ReasoningTokens
	if reasoning > 0 && u.TotalTokens == u.PromptTokens+out+reasoning {
		out += reasoning // xAI counts it apart
	}
	return &agentloop.Usage{
		InputTokens: u.PromptTokens, OutputTokens: out,
		CachedInputTokens: u.PromptDetails.CachedTokens, ReasoningTokens: reasoning,
	}
}
