package agentloop

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
)

// Model is a language model. It is the only thing that the loop asks of a provider; everything else about models
// (retries, tracing, recording) is a Model that wraps another.
//
// Generate sends one request and yields the answer in pieces, in order. The sequence ends after the last piece, or
// with exactly one non-nil error, after which nothing follows. Generate must return promptly once ctx is done, must
// stop its work when the consumer stops ranging, and must be safe for concurrent use.
type Model interface {
	Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// Request is one call of a model. A Model must not change it or keep it after the sequence has ended.
type Request struct {
	// Messages is the conversation, the oldest first. Never empty.
	Messages []Message
	// Tools are what the model may call. Empty: none.
	Tools []ToolSpec
	// NoToolCalls forbids calls. Tools are then listed only because the conversation speaks of them.
	NoToolCalls bool
	// Temperature is the sampling temperature, 0 or more. Nil: the provider's default.
	Temperature *float64
	// MaxOutputTokens bounds the answer. Zero: the provider's default.
	MaxOutputTokens int
	// NoReasoning asks for an answer without reasoning before it. Adapters that can switch it off do; others ignore it.
	NoReasoning bool
	// Output asks for JSON of this schema instead of prose. Nil: prose.
	Output *OutputSchema
}

// Clone returns a copy of the request that shares nothing with it.
func (r *Request) Clone() *Request {
	c := *r
	c.Messages = slices.Clone(r.Messages)
	for i := range c.Messages {
		c.Messages[i].ToolCalls = slices.Clone(c.Messages[i].ToolCalls)
	}
	c.Tools = slices.Clone(r.Tools)
	for i := range c.Tools {
		c.Tools[i].Parameters = bytes.Clone(c.Tools[i].Parameters)
	}
	if r.Temperature != nil {
		c.Temperature = new(*r.Temperature)
	}
	if r.Output != nil {
		c.Output = &OutputSchema{Name: r.Output.Name, Schema: bytes.Clone(r.Output.Schema)}
	}
	return &c
}

// OutputSchema is the shape of a typed answer.
type OutputSchema struct {
	// Name of the shape: letters, digits, '_' and '-', at most 64.
	Name string
	// Schema is a JSON Schema of an object.
	Schema json.RawMessage
}

// ToolSpec is what a model is told of a tool.
type ToolSpec struct {
	// Name that the model calls it by: letters, digits, '_' and '-', at most 64.
	Name string
	// Description says what the tool does and when to use it.
	Description string
	// Parameters is the JSON Schema of the arguments, an object.
	Parameters json.RawMessage
}

// Role says who wrote a message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	// Role says who wrote it.
	Role Role
	// Text is what was written, or the result of a tool call. It may be empty beside ToolCalls.
	Text string
	// ToolCalls are the calls that an assistant message asks for.
	ToolCalls []ToolCall
	// ToolCallID names the call that a tool message answers. Empty for other roles.
	ToolCallID string
	// ProviderData is what the adapter that made an assistant message wants back with it, such as signed reasoning: an opaque
	// text that is valid UTF-8. Adapters alone set and read it, and pass over data that is not their own; the loop and all
	// wrappers carry it unchanged, and do not log it. It belongs to the conversation, not to a process. Empty: none.
	ProviderData string `json:",omitempty"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	// ID tells the calls of one run apart. The loop replaces missing and repeated ones.
	ID string
	// Name of the tool, as the model wrote it.
	Name string
	// Arguments as the model wrote them: JSON, or what it took for JSON. Once they have passed a tool's schema: JSON, with
	// the keys sorted and no space.
	Arguments string
	// ProviderData is what the adapter that made the call wants back with it. See [Message].
	ProviderData string `json:",omitempty"`
}

// Chunk is one piece of a model's answer. Several fields may be set; the zero Chunk means nothing.
type Chunk struct {
	// Text continues the answer.
	Text string
	// Reasoning continues the model's thoughts. The loop counts it and drops it.
	Reasoning string
	// ToolCalls start or continue tool calls.
	ToolCalls []ToolCallDelta
	// FinishReason says why the answer ended. Set at most once, on one of the last chunks.
	FinishReason FinishReason
	// Usage counts the tokens of the whole call. Set at most once, on one of the last chunks.
	Usage *Usage
	// Model is the name by which the provider calls the model that answers. Empty: unchanged.
	Model string
	// ProviderData becomes that of the message. Set at most once, on one of the last chunks. See [Message].
	ProviderData string `json:",omitempty"`
}

// ToolCallDelta is one piece of a tool call.
type ToolCallDelta struct {
	// Index is the position of the call in the answer, from 0. Negative: not said; the piece then belongs to the call
	// with the same ID, to a new call if it has a new ID or a name, or else to the last call.
	Index int
	// ID of the call, on its first piece. Empty: unchanged.
	ID string
	// Name of the tool, on the first piece. Empty: unchanged.
	Name string
	// Arguments continues the arguments.
	Arguments string
	// ProviderData becomes that of the call. Set on one piece at most. See [Message].
	ProviderData string `json:",omitempty"`
}

// FinishReason says why an answer ended.
type FinishReason string

// The finish reasons. The first four and FinishError are a model's; the loop adds the others.
const (
	// FinishStop: the model had said all.
	FinishStop FinishReason = "stop"
	// FinishLength: the answer hit its token limit and may be cut; or the loop cut it, see [Config.MaxOutputTokens].
	FinishLength FinishReason = "length"
	// FinishToolCalls: the model wants tools to be run.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishContentFilter: the provider withheld the answer.
	FinishContentFilter FinishReason = "content_filter"
	// FinishMaxSteps: the limit of steps was reached, and the answer made from what was known by then.
	FinishMaxSteps FinishReason = "max_steps"
	// FinishBudget: the budget of tokens or money was used up, and the answer made from what was known by then; or the model
	// refused a call because of its own budget, and the text is what was there by then, mostly nothing. See [ErrBudget].
	FinishBudget FinishReason = "budget"
	// FinishDeadline: the context's deadline passed, and the text is what was there by then, maybe nothing; or it came near,
	// and the answer was made from what was known.
	FinishDeadline FinishReason = "deadline"
	// FinishCanceled: the context was cancelled.
	FinishCanceled FinishReason = "canceled"
	// FinishError: a model call failed, or the provider broke the answer off for a reason of its own.
	FinishError FinishReason = "error"
)

// Usage counts tokens. The zero value is no use at all.
type Usage struct {
	// InputTokens were sent, cached ones included.
	InputTokens int64
	// OutputTokens were produced, reasoning included.
	OutputTokens int64
	// CachedInputTokens is the part of InputTokens that the provider had cached.
	CachedInputTokens int64
	// ReasoningTokens is the part of OutputTokens spent on reasoning.
	ReasoningTokens int64
	// ModelCalls is the number of calls counted.
	ModelCalls int
	// Estimated is true when at least one call reported no usage and was counted at four bytes a token.
	Estimated bool
}

// Add returns the sum of two usages; the sum is estimated if either is.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
		ModelCalls:        u.ModelCalls + v.ModelCalls,
		Estimated:         u.Estimated || v.Estimated,
	}
}
