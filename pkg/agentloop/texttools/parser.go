package texttools

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

// The tags of a call.
const (
	openTag  = "<tool_call>"
	closeTag = "</tool_call>"
)

const whitespace = " \t\r\n"

// parser separates the calls in a text from the rest, piece by piece. Where the pieces are cut changes only when it returns
// something, not what.
type parser struct {
	drop    bool            // calls are removed from the text and dropped
	taken   map[string]bool // ids
	emitted int             // calls returned
	found   int             // calls, including dropped ones

	tail   string // the end of the text, which may be the start of a tag
	inside bool   // a call has been opened
	body   callBody

	space   string // after the last word
	closed  bool   // space is final: a call came after it
	hasText bool

	text  strings.Builder // output of the current write
	calls []agentloop.ToolCallDelta
}

func newParser(req *agentloop.Request) *parser {
	p := &parser{drop: req.NoToolCalls || len(req.Tools) == 0, taken: make(map[string]bool)}
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			p.taken[c.ID] = true
		}
	}
	return p
}

// write adds a piece and returns the text and the calls that are decided by now.
func (p *parser) write(piece string) (string, []agentloop.ToolCallDelta) {
	p.feed(piece)
	return p.take()
}

// end returns what was held back at the end of the text.
func (p *parser) end() (string, []agentloop.ToolCallDelta) {
	for p.inside {
		p.finish()
	}
	p.addText(p.tail)
	p.tail = ""
	if p.found == 0 {
		p.text.WriteString(p.space)
	}
	p.space = ""
	return p.take()
}

// finish ends a call that is still open when the text ends.
func (p *parser) finish() {
	written := p.body.text.String()
	at := p.body.firstClose
	p.inside = false
	if at > 0 { // an extra quote hid the close tag
		p.body.reset()
		p.addCall(written[:at-1])
		p.feed(written[at-1+len(closeTag):])
		return
	}
	p.body.reset()
	complete := strings.Trim(written[:len(written)-overlap(written, closeTag)], whitespace)
	var first json.RawMessage
	if strings.HasPrefix(complete, "{") && json.NewDecoder(strings.NewReader(complete)).Decode(&first) == nil {
		p.addCall(complete) // the loop refuses it if more follows the object
		return
	}
	p.addText(openTag + written)
}

func (p *parser) take() (string, []agentloop.ToolCallDelta) {
	text, calls := p.text.String(), p.calls
	p.text.Reset()
	p.calls = nil
	return text, calls
}

// feed reads a piece.
func (p *parser) feed(in string) {
	for in != "" {
		if !p.inside {
			in = p.outside(in)
			continue
		}
		tag, rest := p.body.write(in)
		in = rest
		switch written := p.body.text.String(); {
		case tag == "":
			return
		case tag == closeTag:
			p.inside = false
			p.body.reset()
			p.addCall(written)
		default: // the next call begins where this one should have ended
			p.body.reset()
			if strings.Trim(written, whitespace) != "" {
				p.addCall(written)
			}
		}
	}
}

// outside reads text up to the next call and returns what comes after its tag. A stray close tag is dropped.
func (p *parser) outside(in string) string {
	in = p.tail + in
	p.tail = ""
	opens, closes := strings.Index(in, openTag), strings.Index(in, closeTag)
	switch {
	case opens >= 0 && (closes < 0 || opens < closes):
		p.addText(in[:opens])
		p.inside = true
		return in[opens+len(openTag):]
	case closes >= 0:
		p.addText(in[:closes])
		return in[closes+len(closeTag):]
	}
	n := len(in) - max(overlap(in, openTag), overlap(in, closeTag))
	p.addText(in[:n])
	p.tail = in[n:]
	return ""
}

// overlap returns how many bytes at the end of text may be the start of a tag.
func overlap(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// addText adds to the text. Space waits for a word, because beside a call it is not part of the text.
func (p *parser) addText(text string) {
	word := strings.TrimLeft(text, whitespace)
	if !p.closed {
		p.space += text[:len(text)-len(word)]
	}
	if word == "" {
		return
	}
	end := strings.TrimRight(word, whitespace)
	p.text.WriteString(p.space)
	p.text.WriteString(end)
	p.space, p.closed, p.hasText = word[len(end):], false, true
}

// addCall adds a call.
func (p *parser) addCall(body string) {
	p.found++
	if !p.hasText {
		p.space = ""
	}
	p.closed = !p.hasText || p.space != ""
	if p.drop {
		return
	}
	name, arguments := parseCall(body)
	p.calls = append(p.calls, agentloop.ToolCallDelta{Index: p.emitted, ID: p.id(), Name: name, Arguments: arguments})
	p.emitted++
}

// id returns a new id.
func (p *parser) id() string {
	for n := len(p.taken); ; n++ {
		if id := fmt.Sprintf("call_%d", n); !p.taken[id] {
			p.taken[id] = true
			return id
		}
	}
}

// nameIn finds the name of the tool in a call that cannot be parsed.
var nameIn = regexp.MustCompile(`"name"\s*:\s*"([^"\\]{1,64})"`)

// parseCall reads the text between the tags and repairs almost-JSON. If the text is not a call, the arguments are all of it,
// in a form that the loop neither takes for a JSON object nor repairs to one.
func parseCall(body string) (name, arguments string) {
	body = strings.Trim(body, whitespace)
	object, ok := repair.Object(body)
	if !ok {
		if m := nameIn.FindStringSubmatch(body); m != nil {
			name = m[1]
		}
		return name, body
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal([]byte(object), &fields)
	raw, given := fields["arguments"]
	if !given {
		raw, given = fields["parameters"]
	}
	if err == nil {
		err = json.Unmarshal(fields["name"], &name)
	}
	if err != nil || name == "" || !given && len(fields) > 1 {
		list, _ := json.Marshal([]string{body}) // never fails for strings
		return name, string(list)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil { // JSON within a string, or null
		return name, text
	}
	return name, string(raw)
}

// callBody collects the text of a call that has been opened.
type callBody struct {
	text       strings.Builder
	scanned    int // bytes of text
	inString   bool
	escaped    bool
	firstClose int // position of the first close tag inside a string, plus 1
}

func (b *callBody) reset() { *b = callBody{} }

// write adds a piece. If a tag ends the call, it returns the tag and the rest of the piece; text is then what comes before the
// tag. A tag inside a JSON string is part of the string.
func (b *callBody) write(piece string) (tag, rest string) {
	b.text.WriteString(piece)
	text := b.text.String()
	for b.scanned < len(text) {
		c := text[b.scanned]
		if c == '<' {
			ahead := text[b.scanned:]
			closes, opens := strings.HasPrefix(ahead, closeTag), strings.HasPrefix(ahead, openTag)
			switch {
			case closes && b.inString && b.firstClose == 0:
				b.firstClose = b.scanned + 1
			case closes && !b.inString:
				return b.cut(text, closeTag)
			case opens && !b.inString:
				return b.cut(text, openTag)
			case strings.HasPrefix(closeTag, ahead) || strings.HasPrefix(openTag, ahead):
				return "", "" // undecided until more comes
			}
		}
		switch {
		case b.escaped:
			b.escaped = false
		case b.inString && c == '\\':
			b.escaped = true
		case c == '"':
			b.inString = !b.inString
		}
		b.scanned++
	}
	return "", ""
}

// cut ends the text before the tag at the scanned position.
func (b *callBody) cut(text, tag string) (string, string) {
	at := b.scanned
	b.text.Reset()
	b.text.WriteString(text[:at])
	return tag, text[at+len(tag):]
}
