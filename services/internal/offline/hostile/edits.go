package hostile

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

func think(what string) editFunc {
	return func(_ *exchange, cs []chunk) []chunk { return begin(cs, delta{Content: what}) }
}

// thinkLast opens a thought after the answer and never closes it.
func thinkLast(_ *exchange, cs []chunk) []chunk {
	for i := range cs {
		if cs[i].finishes() {
			return append(append(cs[:i:i], say(cs, delta{Content: "<think>" + reasoningText})), cs[i:]...)
		}
	}
	return cs
}

// onlyThoughts is cut before the answer begins.
func onlyThoughts(_ *exchange, cs []chunk) []chunk {
	cs = begin(cutText(cs, 0), delta{Content: "<think>" + reasoningText})
	finish(cs, "length")
	return cs
}

func textBeforeTools(_ *exchange, cs []chunk) []chunk {
	if isText(cs) {
		return cs
	}
	return begin(cs, delta{Content: "Let me look that up."})
}

func noText(_ *exchange, cs []chunk) []chunk { return cutText(cs, 0) }

func noFinish(_ *exchange, cs []chunk) []chunk {
	finish(cs, "")
	return cs
}

func emptyChoices(_ *exchange, cs []chunk) []chunk {
	var out []chunk
	empty := cs[0]
	empty.Choices = []choice{}
	for _, c := range cs {
		out = append(out, empty, c)
	}
	return append(out, empty)
}

// gigantic says a mebibyte of text before the answer, in events of 4 KiB.
func gigantic(_ *exchange, cs []chunk) []chunk {
	for range 256 {
		cs = begin(cs, delta{Content: strings.Repeat("and on, ", 512)})
	}
	return cs
}

// setUsage drops the chunks without choices, which hold nothing but the usage, and puts a usage into all others.
func setUsage(cs []chunk, usage json.RawMessage) []chunk {
	var out []chunk
	for _, c := range cs {
		if len(c.Choices) > 0 {
			c.Usage = usage
			out = append(out, c)
		}
	}
	return out
}

func usageFirst(_ *exchange, cs []chunk) []chunk {
	last := cs[len(cs)-1]
	if last.Usage == nil {
		return cs
	}
	return append([]chunk{last}, cs[:len(cs)-1]...)
}

// short ends the answer after two pieces of text.
func short(reason string) editFunc {
	return func(_ *exchange, cs []chunk) []chunk {
		cs = cutText(cs, 2)
		finish(cs, reason)
		return cs
	}
}

// onText makes an edit that leaves tool calls alone.
func onText(edit editFunc) editFunc {
	return func(x *exchange, chunks []chunk) []chunk {
		if !isText(chunks) {
			return chunks
		}
		return edit(x, chunks)
	}
}

// onCalls makes an edit of tool calls, each whole.
func onCalls(change func(p *piece)) editFunc {
	return func(_ *exchange, chunks []chunk) []chunk {
		whole := wholeCalls(chunks)
		if len(whole) == 0 {
			return chunks
		}
		for i := range whole {
			change(&whole[i])
		}
		return withCalls(chunks, whole)
	}
}

// onPieces makes an edit of tool calls, piece by piece.
func onPieces(change func(p *piece)) editFunc {
	return func(_ *exchange, chunks []chunk) []chunk {
		for i := range chunks {
			if !chunks[i].calls() {
				continue
			}
			for j := range chunks[i].delta().ToolCalls {
				change(&chunks[i].delta().ToolCalls[j])
			}
		}
		return chunks
	}
}

// arguments makes an edit of the arguments of all calls.
func arguments(change func(string) string) editFunc {
	return onCalls(func(p *piece) { p.Function.Arguments = change(p.Function.Arguments) })
}

// splitEvents sends every character of text, reasoning and arguments in its own event.
func splitEvents(_ *exchange, chunks []chunk) []chunk {
	var out []chunk
	for _, c := range chunks {
		d := c.delta()
		if d == nil || d.Content+d.ReasoningContent+d.Reasoning == "" && len(d.ToolCalls) != 1 {
			out = append(out, c)
			continue
		}
		for _, s := range strings.Split(d.ReasoningContent, "") {
			out = append(out, say(chunks, delta{ReasoningContent: s}))
		}
		for _, s := range strings.Split(d.Reasoning, "") {
			out = append(out, say(chunks, delta{Reasoning: s}))
		}
		for _, s := range strings.Split(d.Content, "") {
			out = append(out, say(chunks, delta{Content: s}))
		}
		for _, p := range d.ToolCalls {
			if p.Function.Name != "" {
				out = append(out, c)
				continue
			}
			for _, s := range strings.Split(p.Function.Arguments, "") {
				out = append(out, say(chunks, delta{ToolCalls: []piece{{Index: p.Index, ID: p.ID, Function: function{Arguments: s}}}}))
			}
		}
	}
	return out
}

// interleave sends the first pieces of all calls, then their second pieces, and so on.
func interleave(_ *exchange, chunks []chunk) []chunk {
	groups, rest := byCall(chunks)
	var mixed []chunk
	for n := 0; len(mixed) < len(chunks)-len(rest); n++ {
		for _, g := range groups {
			if n < len(g) {
				mixed = append(mixed, g[n])
			}
		}
	}
	return slices.Insert(rest, 1, mixed...)
}

// lastCallFirst sends the calls from the last to the first, each with its own index.
func lastCallFirst(_ *exchange, chunks []chunk) []chunk {
	groups, rest := byCall(chunks)
	slices.Reverse(groups)
	return slices.Insert(rest, 1, slices.Concat(groups...)...)
}

// sameCallAgain is callAgain as long as tools may be called.
func sameCallAgain(x *exchange, chunks []chunk) []chunk {
	if string(x.ToolChoice) == `"none"` {
		return chunks
	}
	return callAgain(x, chunks)
}

// callAgain makes the first calls of the conversation once more, whatever there is to say.
func callAgain(x *exchange, chunks []chunk) []chunk {
	if again := x.firstCalls(); again != nil {
		return withCalls(chunks, again)
	}
	return chunks
}

// callsAsText writes tool calls into the text, as open models do behind endpoints that do not know their format.
func callsAsText(write func(calls []function) string) editFunc {
	return func(_ *exchange, cs []chunk) []chunk {
		if isText(cs) {
			return cs
		}
		var calls []function
		for _, p := range wholeCalls(cs) {
			calls = append(calls, p.Function)
		}
		cs = cutText(slices.DeleteFunc(cs, func(c chunk) bool { return c.calls() }), 0)
		finish(cs, "stop")
		return begin(cs, delta{Content: write(calls)})
	}
}

// eachCall writes calls one after the other.
func eachCall(separator string, write func(name, arguments string) string) func([]function) string {
	return func(calls []function) string {
		var all []string
		for _, c := range calls {
			all = append(all, write(c.Name, c.Arguments))
		}
		return strings.Join(all, separator)
	}
}

// qwenCoder writes a call as Qwen3-Coder does: the arguments are elements, whose text is JSON only if it is not text.
func qwenCoder(name, arguments string) string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal([]byte(arguments), &values) // the offline model writes objects
	text := "<tool_call>\n<function=" + name + ">\n"
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := string(values[key])
		_ = json.Unmarshal(values[key], &value)
		text += "<parameter=" + key + ">\n" + value + "\n</parameter>\n"
	}
	return text + "</function>\n</tool_call>"
}
