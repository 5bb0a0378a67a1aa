package anthropic

import (
	"encoding/json"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// answer is the state of an answer so far.
type answer struct {
	endpoint.Ending
	calls   map[int64]int            // position of a tool call by the index of its block
	blocks  map[int64]*thinkingBlock // by the index of the block
	order   []*thinkingBlock
	usage   usage
	stopped bool // the last event came
}

// thinkingBlock is a block of signed reasoning, as the API sends it and wants it back.
type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"` // of redacted_thinking
}

// providerData is what a message carries from the answer to the requests that follow: the API wants reasoning back with
// the results of the calls that it led to.
type providerData struct {
	Anthropic struct {
		Thinking []*thinkingBlock `json:"thinking"`
	} `json:"anthropic"`
}

// data returns the ProviderData of the answer: its reasoning, if it calls tools.
func (a *answer) data() string {
	if a.Calls == 0 || len(a.order) == 0 {
		return ""
	}
	var d providerData
	d.Anthropic.Thinking = a.order
	raw, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	return string(raw)
}

// thinkingOf returns the reasoning in a message's ProviderData; nil if there is none, or the data is another adapter's.
func thinkingOf(data string) []*thinkingBlock {
	var d providerData
	if data == "" || json.Unmarshal([]byte(data), &d) != nil {
		return nil
	}
	return d.Anthropic.Thinking
}

// decode takes in an event. It keeps the finish reason and the usage for the end, and ignores unknown events and blocks.
func (a *answer) decode(ev sdk.MessageStreamEventUnion) agentloop.Chunk {
	var c agentloop.Chunk
	switch ev.Type {
	case "message_start":
		c.Model = ev.Message.Model
		u := ev.Message.Usage
		a.count(usage{u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens})
	case "content_block_start":
		a.start(ev, &c)
	case "content_block_delta":
		c.Text, c.Reasoning = ev.Delta.Text, ev.Delta.Thinking
		if b, ok := a.blocks[ev.Index]; ok {
			b.Thinking += ev.Delta.Thinking
			b.Signature += ev.Delta.Signature
		}
		if call, ok := a.calls[ev.Index]; ok && ev.Delta.PartialJSON != "" {
			c.ToolCalls = []agentloop.ToolCallDelta{{Index: call, Arguments: ev.Delta.PartialJSON}}
		}
	case "message_delta":
		if ev.Delta.StopReason != "" {
			a.Finish = finishOf(ev.Delta.StopReason)
		}
		u := ev.Usage
		a.count(usage{u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens})
	case "message_stop":
		a.stopped = true
	}
	a.Text = a.Text || c.Text != ""
	return c
}

// start takes in the start of a block, which may hold some of its content.
func (a *answer) start(ev sdk.MessageStreamEventUnion, c *agentloop.Chunk) {
	b := ev.ContentBlock
	c.Text, c.Reasoning = b.Text, b.Thinking
	if b.Type == "thinking" || b.Type == "redacted_thinking" {
		block := &thinkingBlock{Type: b.Type, Thinking: b.Thinking, Signature: b.Signature, Data: b.Data}
		a.blocks[ev.Index] = block
		a.order = append(a.order, block)
	}
	if b.Type != "tool_use" {
		return
	}
	call := agentloop.ToolCallDelta{Index: a.Calls, ID: b.ID, Name: b.Name}
	a.calls[ev.Index] = call.Index
	a.Calls++
	// The arguments usually follow in pieces after an empty object. Some endpoints that speak this API send them at once.
	if raw, err := json.Marshal(b.Input); err == nil && string(raw) != "{}" && string(raw) != "null" {
		call.Arguments = string(raw)
	}
	c.ToolCalls = []agentloop.ToolCallDelta{call}
}

// usage is the API's count. Tokens read from and written to the cache are counted apart.
type usage struct{ input, cacheWrite, cacheRead, output, thinking int64 }

// count takes in a count. Counts grow from event to event, and later events leave some parts out.
func (a *answer) count(u usage) {
	t := &a.usage
	t.input, t.cacheWrite, t.cacheRead = max(t.input, u.input), max(t.cacheWrite, u.cacheWrite), max(t.cacheRead, u.cacheRead)
	t.output, t.thinking = max(t.output, u.output), max(t.thinking, u.thinking)
	if *t != (usage{}) {
		a.Usage = &agentloop.Usage{
			InputTokens: t.input + t.cacheWrite + t.cacheRead, CachedInputTokens: t.cacheRead,
			OutputTokens: t.output, ReasoningTokens: t.thinking,
		}
	}
}

// finishOf translates a stop reason.
func finishOf(reason sdk.StopReason) agentloop.FinishReason {
	switch reason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return agentloop.FinishLength
	case sdk.StopReasonToolUse:
		return agentloop.FinishToolCalls
	case sdk.StopReasonRefusal:
		return agentloop.FinishContentFilter
	}
	return agentloop.FinishStop
}

// codes are the HTTP statuses of the API's errors. In the middle of an answer, an error comes without its status.
var codes = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529, // the API's own
}
