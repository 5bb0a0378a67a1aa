// Package texttools lets models without tool calls of their own call tools, by a text protocol:
//
//	<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>
//
// [New] wraps such a model. The loop, its tools and its tests stay the same: the tools are described in the system prompt,
// the calls are read out of the answer while it streams, and earlier calls and results are written back into the
// conversation as text. The same request is always written in the same way.
//
// What a user or a tool's result says is never run. Only the model's answer is read for calls; in everything that the
// model reads and might repeat, save the system prompt, the tags are written with &lt; and &gt;, and each result stands
// between marks that it can not contain.
//
// A model that writes its reasoning into its answer needs package wrap's Reasoning below this one, never above it: a call
// that is only thought of must not be run.
//
// The package must not import anything beyond the standard library and agentloop.
package texttools

import (
	"context"
	"fmt"
	"iter"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// New returns a model that answers requests with tools through m, which gets none and needs no support for them, nor for
// typed output. It is safe for concurrent use if m is.
//
// Of an answer:
//
//   - Text goes out as it comes; only what may be the start of a tag, and space that may stand beside a call, waits.
//   - A call goes out when it is complete. Its id is made up, and is no other's in the conversation.
//   - A call that is almost JSON is read as the loop reads such arguments (see [agentloop.CallRecord]). What is repaired around
//     the arguments is not logged.
//   - A call that can not be understood goes out with what was written as its arguments, which are then no JSON object: the
//     loop refuses it and says why.
//   - A call whose close tag is missing counts if the next one begins or the answer ends, and its JSON is complete. At the
//     end of an answer, anything less is text.
//   - Where the request allows no calls, they are taken out of the text and dropped.
//
// The finish reason and the usage come with the last chunk. A request without tools, typed output and earlier calls passes
// unchanged.
func New(m agentloop.Model) agentloop.Model { return &model{next: m} }

type model struct{ next agentloop.Model }

// Generate implements [agentloop.Model].
func (m *model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	calls := len(req.Tools) > 0 || spokeOfTools(req.Messages)
	if !calls && req.Output == nil {
		return m.next.Generate(ctx, req)
	}
	return func(yield func(agentloop.Chunk, error) bool) {
		plain, err := write(req)
		if err != nil {
			yield(agentloop.Chunk{}, fmt.Errorf("texttools: %w", err))
			return
		}
		answer := m.next.Generate(ctx, plain)
		if calls {
			answer = read(answer, newParser(req))
		}
		answer(yield)
	}
}

// read finds the calls in an answer.
func read(chunks iter.Seq2[agentloop.Chunk, error], p *parser) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		var last agentloop.Chunk
		var failure error
		for c, err := range chunks {
			if err != nil {
				failure = err
				break
			}
			if c.FinishReason != "" {
				last.FinishReason, c.FinishReason = c.FinishReason, ""
			}
			if c.Usage != nil {
				last.Usage, c.Usage = c.Usage, nil
			}
			text, found := p.write(c.Text)
			c.Text, c.ToolCalls = text, append(c.ToolCalls, found...)
			if !empty(c) && !yield(c, nil) {
				return
			}
		}
		if failure == nil { // a call that an error cut off is none
			last.Text, last.ToolCalls = p.end()
		}
		if p.made > 0 && last.FinishReason == agentloop.FinishStop {
			last.FinishReason = agentloop.FinishToolCalls
		}
		if !empty(last) && !yield(last, nil) {
			return
		}
		if failure != nil {
			yield(agentloop.Chunk{}, failure)
		}
	}
}

func empty(c agentloop.Chunk) bool {
	return c.Text == "" && c.Reasoning == "" && len(c.ToolCalls) == 0 && c.FinishReason == "" && c.Usage == nil && c.Model == "" && c.ProviderData == ""
}

func spokeOfTools(messages []agentloop.Message) bool {
	for _, m := range messages {
		if m.Role == agentloop.RoleTool || len(m.ToolCalls) > 0 {
			return true
		}
	}
	return false
}
