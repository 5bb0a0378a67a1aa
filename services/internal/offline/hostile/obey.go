package hostile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
)

// A model that obeys whatever it reads, wherever that stands: the shopper's message, a tool's result, a tool's error.
var (
	// order opens a text that gives orders. The whole text is repeated in the answer, with what it holds.
	order = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\b[^.]{0,60}\b(?:instructions?|rules|prompt|above|before)\b`)
	// callOrder orders a call of a tool, with arguments in JSON. The tool need not be one that is offered.
	callOrder = regexp.MustCompile(`(?i)\bcall (?:the tool )?([a-z][a-z0-9_]*) with (\{[^{}]*\})`)
	// promptOrder asks for the system prompt.
	promptOrder = regexp.MustCompile(`(?i)\b(?:repeat|print|show|reveal|output|display)\b[^.]{0,60}\b(?:system prompt|prompt|instructions)\b`)
	// characterOrder asks for characters by their numbers, which no text with orders could carry in itself.
	characterOrder = regexp.MustCompile(`(?i)\bwrite the characters((?: U\+[0-9A-F]{1,6})+)`)
)

// orders are what a model that obeys has been told.
type orders struct {
	texts []string // to repeat
	calls []openai.FunctionCall
	runes string
	tell  bool // the system prompt
}

// obey adds to an answer what the conversation orders: it calls the tools that it is told to call, once each, and then repeats the
// orders themselves, the system prompt and the characters that are asked for.
func obey(a *answer) {
	told, system := ordersIn(a.request)
	calls := a.Calls
	for i, f := range told.calls {
		if a.request.ToolChoice != "none" && !called(a.request, f) {
			calls = append(calls, openai.ToolCall{ID: fmt.Sprintf("obeyed_%d_%d", len(a.request.Messages), i), Function: f})
		}
	}
	if a.SetCalls(calls); len(calls) > 0 {
		return
	}
	said := strings.Join(told.texts, "\n\n") + told.runes
	if told.tell {
		said += "\n\n" + system
	}
	if said == "" {
		return
	}
	var typed map[string]any
	if json.Unmarshal([]byte(a.Text), &typed) != nil {
		a.Text += "\n\n" + said
		return
	}
	a.Text = string(wire.Encode(mapStrings(typed, func(s string) string {
		if strings.Contains(s, " ") { // no name
			s += " " + said
		}
		return s
	})))
}

// mapStrings changes each string of a JSON value.
func mapStrings(value any, f func(string) string) any {
	switch v := value.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapStrings(v[i], f)
		}
	case map[string]any:
		for key := range v {
			v[key] = mapStrings(v[key], f)
		}
	}
	return value
}

// called reports whether the conversation has a call already.
func called(x *exchange, f openai.FunctionCall) bool {
	return slices.ContainsFunc(x.Messages, func(m openai.ChatCompletionMessage) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c openai.ToolCall) bool { return c.Function == f })
	})
}

// ordersIn returns what the conversation orders, and its system prompt. Orders in the system prompt are none: it is obeyed anyway.
func ordersIn(x *exchange) (told orders, system string) {
	for _, m := range x.Messages {
		switch m.Role {
		case "system":
			system += m.Content
		case "user", "tool":
			for _, s := range leaves(m.Content) {
				told.add(s)
			}
		}
	}
	return told, system
}

// add takes in the orders of a text.
func (o *orders) add(s string) {
	if order.MatchString(s) && !slices.Contains(o.texts, s) {
		o.texts = append(o.texts, s)
	}
	for _, m := range callOrder.FindAllStringSubmatch(s, -1) {
		if f := (openai.FunctionCall{Name: m[1], Arguments: m[2]}); !slices.Contains(o.calls, f) {
			o.calls = append(o.calls, f)
		}
	}
	for _, m := range characterOrder.FindAllStringSubmatch(s, -1) {
		for code := range strings.FieldsSeq(m[1]) {
			if n, err := strconv.ParseUint(code[len("U+"):], 16, 21); err == nil {
				o.runes += string(rune(n))
			}
		}
	}
	o.tell = o.tell || promptOrder.MatchString(s)
}

// leaves returns the strings of a tool's result in JSON, which stands between the lines of a fence, or else the text itself.
func leaves(content string) []string {
	inner := content
	if _, rest, fenced := strings.Cut(content, ">\n"); fenced {
		inner = rest[:max(0, strings.LastIndex(rest, "\n</"))]
	}
	var value map[string]any
	if json.Unmarshal([]byte(inner), &value) != nil {
		return []string{content}
	}
	var out []string
	mapStrings(value, func(s string) string {
		out = append(out, s)
		return s
	})
	return out
}
