package offline

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// respond answers a valid request. It is a pure function of its argument.
func respond(req *chatRequest) *wire.Answer {
	c := readConversation(req)
	a := &wire.Answer{Finish: openai.FinishReasonStop}
	if req.ToolChoice != "none" {
		if a.SetCalls(c.plan()); len(a.Calls) > 0 {
			return a
		}
	}
	switch form := req.ResponseFormat.JSONSchema.Schema; {
	case form != nil:
		a.Text = string(wire.Encode(c.form(form)))
	case notesRE.MatchString(c.raw):
		a.Text = takeNotes(c.raw)
	case sectionRE.MatchString(c.raw):
		a.Text = joinSections(c.raw)
	default:
		a.Text = c.answer()
	}
	if tokens := cmp.Or(req.MaxCompletionTokens, req.MaxTokens); tokens > 0 && len(a.Text) > bytesPerToken*tokens {
		a.Text, a.Finish = plaintext.HeadBytes(a.Text, bytesPerToken*tokens), openai.FinishReasonLength
	}
	return a
}

// conversation is what the rules read of a request.
type conversation struct {
	system string
	lang   string // "en", "de", "fr" or "es"; others are answered in English
	raw    string // the last user message as it is
	ask    string // what is asked, in one line
	before string // the user message before
	told   string // the last answer before the question
	tools  []tool
	done   []result // calls since the question, with their results
}

// result is a call and what came of it.
type result struct {
	name string
	args map[string]any
	body string
	ok   bool   // body is JSON
	data object // of the body, nil if it is no object
	step int    // grows with each step of the loop
}

var (
	languageRE = regexp.MustCompile(`(?m)^(?:Answer in [^(\n]*\(|Language: )([a-z]{2})`)
	fenceRE    = regexp.MustCompile(`(?s)^\s*<tool_result[^>]*>(.*?)</tool_result>.*$`)
	// notAskedRE is what a caller puts around the shopper's words.
	notAskedRE = regexp.MustCompile(`(?s)<message>.*?</message>|</?[a-z_]+>`)
)

func readConversation(req *chatRequest) *conversation {
	c := &conversation{tools: req.Tools}
	last := -1
	for i, m := range req.Messages {
		switch m.Role {
		case "system", "developer":
			c.system += text(m) + "\n"
		case "user":
			if last >= 0 && isNote(req.Messages[i-1], text(m)) {
				continue
			}
			last, c.before, c.raw = i, c.raw, text(m)
		}
	}
	calls, step := map[string]openai.ToolCall{}, 0
	for i, m := range req.Messages {
		if len(m.ToolCalls) > 0 {
			step = i
		}
		for _, call := range m.ToolCalls {
			calls[call.ID] = call
		}
		switch {
		case m.Role == "assistant" && i < last && text(m) != "":
			c.told = text(m)
		case m.Role == "tool" && i > last:
			call := calls[m.ToolCallID]
			r := result{step: step, name: call.Function.Name, body: strings.TrimSpace(fenceRE.ReplaceAllString(text(m), "$1"))}
			_ = json.Unmarshal([]byte(call.Function.Arguments), &r.args) // arguments of a hostile endpoint may be no JSON
			_ = json.Unmarshal([]byte(r.body), &r.data)                  // no object: the data is nil
			r.ok = json.Valid([]byte(r.body)) && !strings.HasPrefix(r.body, `{"error"`)
			c.done = append(c.done, r)
		}
	}
	c.ask = plaintext.OneLine(notAskedRE.ReplaceAllString(c.raw, " "))
	if m := languageRE.FindStringSubmatch(c.system + c.raw); m != nil {
		c.lang = m[1]
	} else {
		c.lang = plaintext.Language(c.ask)
	}
	if sayings["help"][c.lang] == "" {
		c.lang = "en"
	}
	// What follows a question of the model's own completes what was asked before it, unless that only offered help.
	if told := strings.TrimSpace(c.told); strings.HasSuffix(told, "?") && !strings.HasSuffix(told, c.say("help")) && c.before != "" {
		c.ask = plaintext.OneLine(c.before) + ", " + c.ask
	}
	return c
}

// text is the content of a message, which is a string or parts of which the text ones count.
func text(m openai.ChatCompletionMessage) string {
	out := m.Content
	for _, part := range m.MultiContent {
		out += part.Text + "\n"
	}
	return out
}

// isNote reports whether a user message comes from the program that runs the loop: one right after tool results, or after nothing
// that was said.
func isNote(before openai.ChatCompletionMessage, text string) bool {
	return before.Role == "tool" || before.Role != "system" && (before.Content == "" || before.Role == "user") && strings.Contains(text, "Answer the last message")
}

// has reports whether a tool is offered.
func (c *conversation) has(name string) bool {
	return slices.ContainsFunc(c.tools, func(t tool) bool { return t.Function.Name == name })
}

// called reports whether a tool was called since the question.
func (c *conversation) called(name string) bool {
	return slices.ContainsFunc(c.done, func(r result) bool { return r.name == name })
}

var (
	sectionRE = regexp.MustCompile(`(?m)^##+[ \t]*Section\b[^\n]*$`)
	notesRE   = regexp.MustCompile(`(?s)<notes>\n?(.*?)\n?</notes>`)
	spokenRE  = regexp.MustCompile(`(?s)<(shopper|store|assistant)>\n?(.*?)\n?</(?:shopper|store|assistant)>`)
)

// joinSections puts the sections of a merge request one after another, each paragraph once.
func joinSections(whole string) string {
	var out []string
	seen := map[string]bool{}
	for i, body := range sectionRE.Split(whole, -1) {
		for p := range strings.SplitSeq(body, "\n\n") {
			if p = strings.TrimSpace(p); i > 0 && p != "" && !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return strings.Join(out, "\n\n")
}

const (
	mostNotes = 8
	maxNote   = 160
)

// takeNotes writes a thread's summary: the notes so far and a line for each new message of the shopper, the latest ones.
func takeNotes(whole string) string {
	lines := strings.FieldsFunc(notesRE.FindStringSubmatch(whole)[1], func(r rune) bool { return r == '\n' })
	for _, m := range spokenRE.FindAllStringSubmatch(whole, -1) {
		who := "Store: "
		if m[1] == "shopper" {
			who = "Shopper: "
		}
		line := who + plaintext.Cut(plaintext.OneLine(m[2]), maxNote)
		if !strings.Contains(strings.Join(lines, "\n"), line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-mostNotes):], "\n")
}
