package agentloop

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
)

// Model is a language model. It is all that the loop needs from a provider. Everything else about models (retries, tracing,
// recording) is a Model that wraps another; see package wrap.
//
// Generate sends one request and yields the answer in pieces, in order. The sequence ends after the last piece or with
// exactly one non-nil error. Generate must return promptly once ctx is done, must stop its work when the consumer stops
// ranging, and must be safe for concurrent use.
type Model interface {
	Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// Request is one model call. A Model must not change it, or keep it after the sequence has ended.
type Request struct {
	// Messages is the conversation, oldest first. Never empty.
	Messages []Message
	// Tools are the tools that the model may call. Empty: none.
	Tools []ToolSpec
	// NoToolCalls forbids calls. Tools are then listed only because the conversation mentions them.
	NoToolCalls bool
	// Temperature is the sampling temperature, 0 or more. Nil: the provider's default.
	Temperature *float64
	// MaxOutputTokens limits the answer. Zero: the provider's default.
	MaxOutputTokens int
	// NoReasoning asks for an answer without reasoning. Adapters that cannot switch reasoning off ignore it.
	NoReasoning bool
	// Output asks for JSON that fits a schema. Nil: prose.
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

// OutputSchema is the schema of a typed answer.
type OutputSchema struct {
	// Name of the schema: 1 to 64 letters, digits, '_' and '-'.
	Name string
	// Schema is a JSON Schema of an object.
	Schema json.RawMessage
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	// Name of the tool: 1 to 64 letters, digits, '_' and '-'.
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
	// Role says who wrote the message.
	Role Role
	// Text of the message, or the result of a tool call. It may be empty beside ToolCalls.
	Text string
	// ToolCalls are the calls that an assistant message asks for.
	ToolCalls []ToolCall
	// ToolCallID is the id of the call that a tool message answers. Empty for other roles.
	ToolCallID string
	// ProviderData is opaque data that the adapter needs back with an assistant message, such as signed reasoning: valid UTF-8.
	// Only adapters set and read it, and they ignore data of others. The loop and all wrappers carry it unchanged and do not
	// log it. Empty: none.
	ProviderData string `json:",omitempty"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	// ID is unique in a conversation. The loop replaces missing and repeated ids.
	ID string
	// Name of the tool, as the model wrote it.
	Name string
	// Arguments as the model wrote them, which may not be JSON. For [Tool] functions: a JSON object that fits the schema, with
	// sorted keys and no space.
	Arguments string
	// ProviderData is opaque data that the adapter needs back with the call. See [Message].
	ProviderData string `json:",omitempty"`
}

// Chunk is one piece of a model's answer. Several fields may be set. The zero Chunk is valid and has no effect.
type Chunk struct {
	// Text continues the answer.
	Text string
	// Reasoning continues the model's reasoning. The loop counts it and drops it.
	Reasoning string
	// ToolCalls start or continue tool calls.
	ToolCalls []ToolCallDelta
	// FinishReason says why the answer ended. Set at most once, on one of the last chunks.
	FinishReason FinishReason
	// Usage counts the tokens of the whole call. Set at most once, on one of the last chunks.
	Usage *Usage
	// Model is the provider's name of the model that answers. Empty: unchanged.
	Model string
	// Unpriced is true if the price of this call is not Config.Price, and unknown.
	Unpriced bool `json:",omitempty"`
	// ProviderData of the message. Set at most once, on one of the last chunks. See [Message].
	ProviderData string `json:",omitempty"`
}

// ToolCallDelta is one piece of a tool call.
type ToolCallDelta struct {
	// Index is the position of the call in the answer, from 0. Negative: unknown; the piece then belongs to the call with the
	// same ID, to a new call if it has a new ID or a name, or else to the last call.
	Index int
	// ID of the call, on its first piece. Empty: unchanged.
	ID string
	// Name of the tool, on the first piece. Empty: unchanged.
	Name string
	// Arguments continues the arguments.
	Arguments string
	// ProviderData of the call. Set on at most one piece. See [Message].
	ProviderData string `json:",omitempty"`
}

// FinishReason says why an answer ended.
type FinishReason string

// The finish reasons. The first four and FinishError are a model's; the loop adds the others.
const (
	// FinishStop: the answer is complete.
	FinishStop FinishReason = "stop"
	// FinishLength: the answer reached its token limit and may be cut, or the loop cut it; see [Config.MaxOutputTokens].
	FinishLength FinishReason = "length"
	// FinishToolCalls: the model asks for tools.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishContentFilter: the provider withheld the answer.
	FinishContentFilter FinishReason = "content_filter"
	// FinishMaxSteps: the limit of steps was reached; the answer was made from what was known.
	FinishMaxSteps FinishReason = "max_steps"
	// FinishBudget: the budget of tokens or money was used up; the answer was made from what was known. Or the model refused a
	// call because of its own budget; the text is what came before. See [ErrBudget].
	FinishBudget FinishReason = "budget"
	// FinishDeadline: the context's deadline passed; the text is what came before. Or the deadline was near; the answer was made
	// from what was known.
	FinishDeadline FinishReason = "deadline"
	// FinishCanceled: the context was cancelled.
	FinishCanceled FinishReason = "canceled"
	// FinishError: a model call failed, or the provider ended the answer for a reason of its own.
	FinishError FinishReason = "error"
)

// Usage counts tokens. The zero value means that nothing was used.
type Usage struct {
	// InputTokens were sent, including cached ones.
	InputTokens int64
	// OutputTokens were produced, including reasoning.
	OutputTokens int64
	// CachedInputTokens is the part of InputTokens that the provider had cached.
	CachedInputTokens int64
	// ReasoningTokens is the part of OutputTokens spent on reasoning.
	ReasoningTokens int64
	// ModelCalls is the number of calls counted.
	ModelCalls int
	// Unpriced is true if the price of at least one call is unknown. The cost is then unknown.
	Unpriced bool
	// Estimated is true if at least one call reported no usage and was estimated at four bytes per token.
	Estimated bool
}

// Add returns the sum of two usages. The sum is estimated if either of them is.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
		ModelCalls:        u.ModelCalls + v.ModelCalls,
		Unpriced:          u.Unpriced || v.Unpriced,
		Estimated:         u.Estimated || v.Estimated,
	}
}
