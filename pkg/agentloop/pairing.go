package agentloop

import "slices"

// paired returns the conversation with every tool call answered exactly once, right after the message that made it, and
// every answer preceded by its call. Providers refuse any other conversation, so one lost result would close a thread for
// good. A conversation that is in order is returned as it is.
func paired(messages []Message) []Message {
	if inOrder(messages) {
		return messages
	}
	mended := make([]Message, 0, len(messages)+1)
	for i := 0; i < len(messages); {
		m := messages[i]
		i++
		if m.Role == RoleTool {
			continue // the call that it answered is gone
		}
		end := i
		for end < len(messages) && messages[end].Role == RoleTool {
			end++
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		asked := make(map[string]bool, len(m.ToolCalls))
		m.ToolCalls = slices.DeleteFunc(m.ToolCalls, func(c ToolCall) bool {
			twice := asked[c.ID]
			asked[c.ID] = true
			return twice
		})
		mended = append(mended, m)
		for _, c := range m.ToolCalls {
			mended = append(mended, answerOf(c, messages[i:end]))
		}
		i = end
	}
	return mended
}

// answerOf finds the first answer to a call, or makes one that says that there is none.
func answerOf(c ToolCall, answers []Message) Message {
	for _, a := range answers {
		if a.ToolCallID == c.ID {
			return a
		}
	}
	return Message{Role: RoleTool, ToolCallID: c.ID, Text: fenced(c, "Error: the call was cancelled, there is no result")}
}

// inOrder reports whether the answers follow their calls one for one, in the order of the calls.
func inOrder(messages []Message) bool {
	var open []ToolCall
	for _, m := range messages {
		if m.Role == RoleTool {
			if len(open) == 0 || open[0].ID != m.ToolCallID {
				return false
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return false
		}
		open = m.ToolCalls
		for i := range open {
			if slices.ContainsFunc(open[:i], func(c ToolCall) bool { return c.ID == open[i].ID }) {
				return false
			}
		}
	}
	return len(open) == 0
}
