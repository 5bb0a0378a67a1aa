package offline

import (
	"time"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// reply is the answer of the rules: text, or tool calls.
type reply struct {
	text   string
	calls  []toolCall
	finish string
}

// respond answers a valid request. It is a pure function of its arguments.
func respond(req *chatRequest, now time.Time) reply {
	form := schemaOf(req.ResponseFormat)
	c := readConversation(req.Messages, form != nil, now)
	mode, name := toolChoice(req.ToolChoice)
	if len(req.Tools) > 0 && mode != choiceNone {
		calls := newPlanner(c, req.Tools).plan(mode == choiceRequired, name)
		if len(calls) > 0 {
			if req.ParallelToolCalls != nil && !*req.ParallelToolCalls {
				calls = calls[:1]
			}
			return reply{calls: calls, finish: "tool_calls"}
		}
	}
	if form != nil {
		return limited(string(encode(fillForm(c, form))), req)
	}
	if notes, ok := takeNotes(c.system, req.Messages); ok && len(req.Tools) == 0 {
		return limited(notes, req)
	}
	if merged, ok := mergeSections(req.Messages); ok {
		return limited(merged, req)
	}
	w := newWriter(c, req.Tools)
	text := w.answer()
	if mode == choiceNone && newPlanner(c, req.Tools).stopped() {
		text += "\n\n" + w.say.stopped
	}
	return limited(text, req)
}

// limited cuts a text at the request's limit of output tokens.
func limited(text string, req *chatRequest) reply {
	tokens := req.MaxCompletionTokens
	if tokens == 0 {
		tokens = req.MaxTokens
	}
	if limit := 4 * tokens; tokens > 0 && len(text) > limit {
		return reply{text: plaintext.HeadBytes(text, limit), finish: "length"}
	}
	return reply{text: text, finish: "stop"}
}
