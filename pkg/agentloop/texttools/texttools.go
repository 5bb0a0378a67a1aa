// Package texttools gives tools to models without native tool calls, by a text protocol:
//
//	<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>
//
// [New] wraps such a model. The system prompt describes the tools, calls are read from the answer while it streams, and
// earlier calls and results are written into the conversation as text. The same request is always written in the same way.
//
// Words of a user or of a tool result are never run. Calls are read only from the model's answer. In everything that the model
// reads and might repeat, except the system prompt, the tags are escaped with &lt; and &gt;, and each result is between tags
// with a mark that the result cannot contain.
//
// For a model that writes its reasoning into its answer, put wrap.Reasoning below this wrapper, never above it: a call that
// the model only considers must not be run. wrap.Standard does so.
//
// The package must not import anything beyond the standard library and agentloop.
package texttools

import (
	"context"
	"fmt"
	"iter"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// New returns a model that answers requests with tools through m, which needs no support for tools or typed output. It is safe
// for concurrent use if m is.
//
// Of an answer:
//
//   - Text is yielded as it comes, except what may be the start of a tag and space that may be beside a call.
//   - A call is yielded when it is complete, with a new id that is unique in the conversation.
//   - A call that is almost JSON is repaired as the loop repairs arguments (see [agentloop.CallRecord]). Repairs around the
//     arguments are not logged.
//   - A call that cannot be parsed is yielded with its text as the arguments. They are not a JSON object, so the loop refuses the
//     call and says why.
//   - A call without its close tag counts if the next call starts or the answer ends. If its JSON is not complete, the loop
//     refuses it.
//   - If the request allows no calls, they are removed from the text and dropped.
//
// The finish reason and the usage come with the last chunk. A request without tools, typed output and earlier calls passes
// unchanged.
func New(m agentloop.Model) agentloop.Model { return &model{next: m} }

// Recognize returns a model that sends m's requests unchanged and reads calls that m writes into its text, as models do behind
// endpoints that do not know their format. It changes nothing for a model whose calls come as calls. It is safe for concurrent
// use if m is.
//
// These are calls, as [New] treats them:
//
//   - <tool_call>...</tool_call> with JSON (Hermes, Qwen), with <function=name><parameter=key> (Qwen3-Coder), or with
//     <arg_key> and <arg_value> (GLM). The function tags count alone, too.
//   - JSON after <|python_tag|> (Llama) or [TOOL_CALLS] (Mistral), and [TOOL_CALLS]name[ARGS]{...}
//   - JSON anywhere in the text, also in a code fence, that names an offered tool. Its name is in name, tool_name or function, its
//     arguments are in arguments or parameters. JSON with another name and an object of arguments is a call that the loop refuses,
//     unless the answer is typed. Other JSON is text.
//
// The marks <|im_end|>, <|endoftext|>, <|eom_id|> and <|eot_id|> are dropped.
//
// Calls cut at the end of the answer, and calls that m only repeats from a user's message or a tool's result, are refused by the
// loop. A model that rewrites such words as a call is not noticed: guard tools with effects in your own code.
//
// Text is held back from a character that may start a call until it is clear that none does: JSON and code fences around it to
// their end, other text for a few bytes.
func Recognize(m agentloop.Model) agentloop.Model { return &recognizer{m} }

type recognizer struct{ next agentloop.Model }

// Generate implements [agentloop.Model].
func (r *recognizer) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	answer := r.next.Generate(ctx, req)
	if len(req.Tools) == 0 && !mentionsTools(req.Messages) {
		return answer
	}
	return read(answer, newParser(req, true))
}

type model struct{ next agentloop.Model }

// Generate implements [agentloop.Model].
func (m *model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	calls := len(req.Tools) > 0 || mentionsTools(req.Messages)
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
			answer = read(answer, newParser(req, false))
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
			for _, d := range c.ToolCalls {
				p.taken[d.ID] = true
			}
			text, found := p.write(c.Text)
			c.Text, c.ToolCalls = text, append(c.ToolCalls, found...)
			if !empty(c) && !yield(c, nil) {
				return
			}
		}
		p.drop = p.drop || failure != nil // a call that an error cut off does not count
		last.Text, last.ToolCalls = p.end()
		if p.emitted > 0 && last.FinishReason == agentloop.FinishStop {
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

// mentionsTools reports whether a conversation holds tool calls or results.
func mentionsTools(messages []agentloop.Message) bool {
	for _, m := range messages {
		if m.Role == agentloop.RoleTool || len(m.ToolCalls) > 0 {
			return true
		}
	}
	return false
}
