package bundle

import (
	"cmp"
	"fmt"
	"strings"
)

// Inside is what happened in a turn that its reply does not carry, in the order in which it was recorded.
type Inside struct {
	Calls []AgentCall
	Tools []ToolResult
}

// AgentCall is one call of a model.
type AgentCall struct {
	// Agent that asked: "router", "merge", or a specialist.
	Agent string
	// Prompt has the messages that the model read, each under its role.
	Prompt string
	// Answer has the model's text and tool calls, or its error.
	Answer string
}

// ToolResult is the whole result of a tool call, which a reply has only the beginning of.
type ToolResult struct{ Specialist, Name, Arguments, Result string }

// Inside returns what the recording has beside the reply.
func (p *Player) Inside() Inside {
	var in Inside
	for _, l := range p.lines {
		switch {
		case l.Exchange != nil:
			call := AgentCall{Agent: agentOf(l.Service)}
			var prompt, answer strings.Builder
			for _, m := range l.Exchange.Request.Messages {
				fmt.Fprintf(&prompt, "── %s\n%s\n\n", m.Role, strings.TrimSpace(m.Text+"\n"+calls(m.ToolCalls)))
			}
			for _, c := range joined(l.Exchange.Chunks) {
				answer.WriteString(c.Text)
				for _, t := range c.ToolCalls {
					if t.Name != "" {
						fmt.Fprintf(&answer, "\n→ %s ", t.Name)
					}
					answer.WriteString(t.Arguments)
				}
			}
			if e := l.Exchange.Error; e != nil {
				answer.WriteString("\nerror: " + e.Message)
			}
			call.Prompt, call.Answer = strings.TrimSpace(prompt.String()), strings.TrimSpace(answer.String())
			in.Calls = append(in.Calls, call)
		case l.Tool != nil:
			r := ToolResult{Specialist: l.Service, Name: l.Tool.Name, Arguments: l.Tool.Arguments, Result: string(l.Tool.Result)}
			if l.Tool.Text != nil {
				r.Result = *l.Tool.Text
			}
			r.Result = cmp.Or(r.Result, l.Tool.Error)
			in.Tools = append(in.Tools, r)
		}
	}
	return in
}
