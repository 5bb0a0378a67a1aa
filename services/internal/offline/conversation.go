package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// conversation is a request as the rules see it.
type conversation struct {
	system   string
	question text
	context  text     // the last question before this one that names something
	turn     findings // what tools returned since the question
	past     findings // what they returned before it
	listed   []object // what the instructions say was shown before, in that order
	rounds   int      // how often tools were called since the question
	now      time.Time
}

// maxQuestion is how many bytes of a message are read.
const maxQuestion = 16 << 10

func readConversation(messages []message, formatted bool, now time.Time) *conversation {
	c := &conversation{now: now}
	var system []string
	for _, m := range messages {
		if m.Role == "system" || m.Role == "developer" {
			system = append(system, string(m.Content))
		}
	}
	c.system = strings.Join(system, "\n\n")
	at := questionAt(messages, formatted)
	question, aside := withoutContext("")
	if at >= 0 {
		question, aside = withoutContext(string(messages[at].Content))
	}
	c.question = read(plaintext.HeadBytes(question, maxQuestion))
	if m := wholeRE.FindStringSubmatch(c.system); m != nil && aside == "" {
		aside = preceding(m[1], question)
	}
	c.listed = listedIn(c.system)
	c.system = materialRE.ReplaceAllString(c.system, "")
	c.context = earlier(messages[:max(at, 0)], aside)
	c.past = gather(messages[:max(at, 0)])
	c.turn = gather(messages[at+1:])
	for _, m := range messages[at+1:] {
		if m.Role == "assistant" && len(m.ToolCalls) > 0 {
			c.rounds++
		}
	}
	return c
}

var asideTailRE = regexp.MustCompile(`\s*\([^()]*\)\s*$`)

// preceding is the clause of a message right before one of its parts: all that "it" and "in blue?" can mean. It is "" for
// a part that stands first, or is not in the message.
func preceding(whole, part string) string {
	at := strings.Index(whole, part)
	if at < 0 { // the one who parted it may have put a hint behind it
		part = strings.TrimRight(asideTailRE.ReplaceAllString(part, ""), " ?!.")
		at = strings.Index(whole, part)
	}
	if at <= 0 || part == "" {
		return ""
	}
	t := read(whole[:at])
	for _, s := range slices.Backward(t.pieces()) {
		if piece := readAs(t.raw[s.start:s.end], t.lang); !isSmallTalk(piece) && len(wishes(salient(piece, optionSpans(piece)))) > 0 {
			return piece.raw
		}
	}
	return ""
}

// questionAt finds the message to answer: the last of the user's that is no note of the program that runs the loop. A note
// stands right after tool results, whatever it says; or it asks to mend JSON, right after that; or it asks again, right after a
// question that has no answer yet or an empty one.
func questionAt(messages []message, formatted bool) int {
	first := -1
	for i, m := range slices.Backward(messages) {
		if m.Role != "user" {
			continue
		}
		first = i
		before, words := previous(messages, i), string(m.Content)
		switch {
		case before == nil:
			return i
		case before.Role == "tool",
			formatted && before.Role == "assistant" && mendRE.MatchString(words),
			(before.Role == "user" || saysNothing(before)) && againRE.MatchString(words):
			continue
		}
		return i
	}
	return first
}

// previous returns the message before one, instructions apart; nil if there is none.
func previous(messages []message, i int) *message {
	for i--; i >= 0; i-- {
		if messages[i].Role != "system" && messages[i].Role != "developer" {
			return &messages[i]
		}
	}
	return nil
}

// saysNothing reports whether a message is an empty answer, or what programs send in place of one.
func saysNothing(m *message) bool {
	said := strings.Trim(string(m.Content), " \t\r\n().")
	return m.Role == "assistant" && len(m.ToolCalls) == 0 && (said == "" || said == "empty")
}

var (
	mendRE = regexp.MustCompile(`(?i)\b(schema|json|invalid|required property)\b`)
	// againRE finds what only a program says, of the answer that it waits for and of the calls that it allows.
	againRE = regexp.MustCompile(`(?i)\byou(r (last )?(answer|reply|response|message) (was|is)| (wrote|said|returned|sent|gave)) (nothing|no|empty|blank)\b|` +
		`\b(answer|reply|respond)( to)? ((the|my) (last|previous|earlier|original) (message|question)|now\b)|\bno ((tool )?calls|steps) left\b`)
	// asideRE opens a paragraph that tells what else was said.
	asideRE = regexp.MustCompile(`(?i)^\W*(for context|context|(the )?((shopper|customer|user)('s)? )?(whole|full|original|complete|entire) message|conversation so far|history|earlier( messages)?|previous(ly)?( messages)?)\b[^\n:]*:`)
	// labelRE opens a paragraph that is the question itself.
	labelRE = regexp.MustCompile(`(?i)^\W*(question|message|sub-?query|request|shopper|customer|user|(the )?(shopper|customer|user)('s)? (question|message|request)|your (part|task))\s*:\s*`)
	// wholeRE finds the whole message in a prompt for one part of it.
	wholeRE = regexp.MustCompile(`(?s)<(?:message|whole_message|user_message)>\n?(.*?)\n?</`)
	tagRE   = regexp.MustCompile(`(?m)^\s*</?[A-Za-z_]+>\s*$`)
)

// withoutContext parts a message from paragraphs that only tell what else was said.
func withoutContext(s string) (question, aside string) {
	s = tagRE.ReplaceAllString(s, "")
	var asked, told []string
	inAside := false
	for p := range strings.SplitSeq(s, "\n\n") {
		p = strings.TrimSpace(p)
		switch {
		case asideRE.MatchString(p):
			inAside = true
			told = append(told, asideRE.ReplaceAllString(p, ""))
		case labelRE.MatchString(p):
			inAside = false
			asked = append(asked, labelRE.ReplaceAllString(p, ""))
		case inAside:
			told = append(told, p)
		case p != "":
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return strings.TrimSpace(s), ""
	}
	return strings.Join(asked, "\n\n"), strings.Join(told, "\n")
}

// earlier is what a question may lean on: what was said beside it, else the last earlier question that names something.
func earlier(before []message, aside string) text {
	if t := read(aside); aside != "" && !leansOnContext(t) {
		return t
	}
	for _, m := range slices.Backward(before) {
		if m.Role != "user" {
			continue
		}
		q, _ := withoutContext(string(m.Content))
		if t := read(q); !isSmallTalk(t) && !leansOnContext(t) {
			return t
		}
	}
	return text{}
}

// gather pairs tool calls with their results.
func gather(messages []message) findings {
	calls := map[string]functionCall{}
	var out findings
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			calls[c.ID] = c.Function
		}
		if m.Role != "tool" {
			continue
		}
		c := calls[m.ToolCallID]
		args, ok := decode(c.Arguments)
		if !ok {
			args = object{}
		}
		out.results = append(out.results, result{tool: c.Name, args: args, value: parseResult(string(m.Content))})
	}
	return out
}

// called reports whether the tool was called in this turn with these arguments.
func (c *conversation) called(name string, args object) bool {
	return slices.ContainsFunc(c.turn.results, func(r result) bool { return r.tool == name && sameJSON(r.args, args) })
}

// calls counts the calls of a tool in this turn.
func (c *conversation) calls(name string) int {
	n := 0
	for _, r := range c.turn.results {
		if r.tool == name {
			n++
		}
	}
	return n
}

// all is everything that tools returned, that of this turn last.
func (c *conversation) all() *findings {
	return &findings{results: append(slices.Clone(c.past.results), c.turn.results...)}
}

// schemaOf returns the schema that the reply must follow, nil when there is none.
func schemaOf(f *responseFormat) *schema {
	if f == nil || f.Type != "json_schema" || f.JSONSchema == nil {
		return nil
	}
	s, err := parseSchema(json.RawMessage(f.JSONSchema.Schema))
	if err != nil {
		return nil // refused by check
	}
	return s
}
