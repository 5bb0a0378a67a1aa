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

const space = " \t\r\n"

// parser takes the calls out of a text, piece by piece. What it returns does not depend on where the pieces are cut, save
// for when it comes out.
type parser struct {
	dropped bool            // calls are taken out and dropped
	taken   map[string]bool // ids
	made    int             // calls that went out
	found   int             // calls, dropped ones included

	tail   string // the end of the text: it may be the start of a tag
	inside bool   // a call has been opened
	body   body

	gap    string // space after the last word
	closed bool   // the gap is final: a call came after it
	begun  bool   // the text has begun

	text  strings.Builder // output of the write under way
	calls []agentloop.ToolCallDelta
}

func newParser(req *agentloop.Request) *parser {
	p := &parser{dropped: req.NoToolCalls || len(req.Tools) == 0, taken: make(map[string]bool)}
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			p.taken[c.ID] = true
		}
	}
	return p
}

// write takes the next piece in and returns the text and the calls that are clear by now.
func (p *parser) write(piece string) (string, []agentloop.ToolCallDelta) {
	p.feed(piece)
	return p.take()
}

// end returns what was held back, when no more text comes.
func (p *parser) end() (string, []agentloop.ToolCallDelta) {
	for p.inside {
		p.finish()
	}
	p.say(p.tail)
	p.tail = ""
	if p.found == 0 {
		p.text.WriteString(p.gap)
	}
	p.gap = ""
	return p.take()
}

// finish ends a call that was still open when the text ended.
func (p *parser) finish() {
	written := p.body.text.String()
	at := p.body.firstClose
	p.inside = false
	if at > 0 { // a quote too many hid the close tag
		p.body.reset()
		p.call(written[:at-1])
		p.feed(written[at-1+len(closeTag):])
		return
	}
	p.body.reset()
	complete := strings.Trim(written[:len(written)-overlap(written, closeTag)], space)
	var first json.RawMessage
	if strings.HasPrefix(complete, "{") && json.NewDecoder(strings.NewReader(complete)).Decode(&first) == nil {
		p.call(complete) // refused if more than the object is there
		return
	}
	p.say(openTag + written)
}

func (p *parser) take() (string, []agentloop.ToolCallDelta) {
	text, calls := p.text.String(), p.calls
	p.text.Reset()
	p.calls = nil
	return text, calls
}

// feed goes through a piece.
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
			p.call(written)
		default: // the next call begins where this one should have ended
			p.body.reset()
			if strings.Trim(written, space) != "" {
				p.call(written)
			}
		}
	}
}

// outside goes through text up to the next call, and returns what comes after its tag. A close tag alone is dropped.
func (p *parser) outside(in string) string {
	in = p.tail + in
	p.tail = ""
	opens, closes := strings.Index(in, openTag), strings.Index(in, closeTag)
	switch {
	case opens >= 0 && (closes < 0 || opens < closes):
		p.say(in[:opens])
		p.inside = true
		return in[opens+len(openTag):]
	case closes >= 0:
		p.say(in[:closes])
		return in[closes+len(closeTag):]
	}
	n := len(in) - max(overlap(in, openTag), overlap(in, closeTag))
	p.say(in[:n])
	p.tail = in[n:]
	return ""
}

// overlap returns how many bytes at the end of text are the start of a tag.
func overlap(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// say adds to the text. Space waits for a word: beside a call it is no part of the text.
func (p *parser) say(text string) {
	word := strings.TrimLeft(text, space)
	if !p.closed {
		p.gap += text[:len(text)-len(word)]
	}
	if word == "" {
		return
	}
	end := strings.TrimRight(word, space)
	p.text.WriteString(p.gap)
	p.text.WriteString(end)
	p.gap, p.closed, p.begun = word[len(end):], false, true
}

// call adds a call.
func (p *parser) call(body string) {
	p.found++
	if !p.begun {
		p.gap = ""
	}
	p.closed = !p.begun || p.gap != ""
	if p.dropped {
		return
	}
	name, arguments := parseCall(body)
	p.calls = append(p.calls, agentloop.ToolCallDelta{Index: p.made, ID: p.id(), Name: name, Arguments: arguments})
	p.made++
}

// id makes up the id of the next call.
func (p *parser) id() string {
	for n := len(p.taken); ; n++ {
		if id := fmt.Sprintf("call_%d", n); !p.taken[id] {
			p.taken[id] = true
			return id
		}
	}
}

// nameIn finds the tool that a call means which can not be parsed.
var nameIn = regexp.MustCompile(`"name"\s*:\s*"([^"\\]{1,64})"`)

// parseCall reads what stands between the tags, repaired if need be. If it is not what it should be, the arguments are all
// that was written, in a form that the loop neither takes for a JSON object nor repairs to one.
func parseCall(body string) (name, arguments string) {
	body = strings.Trim(body, space)
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
