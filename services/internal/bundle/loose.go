package bundle

import (
	"maps"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// minOverlap is the share of common words from which two sub-queries count as the same. Splitting a message anew moves a few words.
const minOverlap = 0.2

// sameMessage is the share of common words from which a question is the whole message.
const sameMessage = 0.9

// looseCall is a recorded model call by what stays of it when prompts, tools and their results change: the question that it is about, and
// how many answers the model had given.
type looseCall struct {
	at       int // the line
	answers  int
	question map[string]bool
	tools    []string // that the answer calls
}

func loose(at int, x *wrap.Exchange) looseCall {
	c := looseCall{at: at, question: words(question(x.Request.Messages)), answers: answers(x.Request.Messages)}
	for _, chunk := range x.Chunks {
		for _, call := range chunk.ToolCalls {
			if call.Name != "" {
				c.tools = append(c.tools, call.Name)
			}
		}
	}
	return c
}

// question returns the first message of the user.
func question(messages []agentloop.Message) string {
	for _, m := range messages {
		if m.Role == agentloop.RoleUser {
			return m.Text
		}
	}
	return ""
}

func answers(messages []agentloop.Message) (n int) {
	for _, m := range messages {
		if m.Role == agentloop.RoleAssistant {
			n++
		}
	}
	return n
}

// looseMatch returns the line with the model call of a service that fits a request best, or -1.
func looseMatch(lines []line, service string, req *agentloop.Request) int {
	var all []looseCall
	for i, l := range lines {
		if l.Service == service && l.Exchange != nil {
			all = append(all, loose(i, l.Exchange))
		}
	}
	all = offered(all, req.Tools)
	least := minOverlap
	if service == gatewayService { // a merge has one question
		least = 0
	}
	at := best(all, words(question(req.Messages)), least, answers(req.Messages), req.NoToolCalls)
	if at < 0 && service != gatewayService && len(req.Messages) > 0 {
		// The sub-query may be in another language than the message, which the system prompt has and which was the recorded question.
		_, rest, _ := strings.Cut(req.Messages[0].Text, "<message>")
		if message, _, found := strings.Cut(rest, "</message>"); found {
			at = best(all, words(message), sameMessage, answers(req.Messages), req.NoToolCalls)
		}
	}
	return at
}

// offered leaves out the calls whose answers call only tools that the request does not offer, because they have gone since the recording.
// Those after them, in the same conversation, count one answer less.
func offered(all []looseCall, tools []agentloop.ToolSpec) (out []looseCall) {
	gone := func(c looseCall) bool {
		return len(c.tools) > 0 && !slices.ContainsFunc(c.tools, func(name string) bool {
			return slices.ContainsFunc(tools, func(t agentloop.ToolSpec) bool { return t.Name == name })
		})
	}
	for _, c := range all {
		if gone(c) {
			continue
		}
		kept := c
		for _, before := range all {
			if before.answers < c.answers && gone(before) && maps.Equal(before.question, c.question) {
				kept.answers--
			}
		}
		out = append(out, kept)
	}
	return out
}

// best returns the line of the call whose question has the most words in common with a question, after so many answers or, if there is none,
// after the most answers below that, if at least that share of words is common. With textOnly, it calls no tools. -1: there is none.
func best(all []looseCall, question map[string]bool, least float64, answers int, textOnly bool) int {
	var found *looseCall
	var overlap float64
	for i, c := range all {
		o := jaccard(c.question, question)
		switch {
		case c.answers > answers && !textOnly || textOnly && len(c.tools) > 0:
		case o < least:
		case found == nil, o > overlap, o == overlap && c.answers > found.answers:
			found, overlap = &all[i], o
		}
	}
	if found == nil {
		return -1
	}
	return found.at
}

// words returns the words of a text in lower case.
func words(s string) map[string]bool {
	all := make(map[string]bool)
	for _, w := range text.Words(s) {
		all[strings.ToLower(w.Text)] = true
	}
	return all
}

// jaccard is the share of words that two sets have in common.
func jaccard(a, b map[string]bool) float64 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(a)+len(b)-common)
}
