package wrap

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTagBytes bounds a tag with its attributes. A '<' without its '>' by then is text.
const maxTagBytes = 256

// tagNames are the names of reasoning tags.
var tagNames = []string{"think", "thinking", "thought", "reasoning"}

// state says what the text that comes is.
type state int

const (
	unclear state = iota // text, or reasoning if a close tag comes
	answer
	thought
)

// splitter tells the reasoning in a text from the rest, piece by piece. What it returns does not depend on where the pieces
// are cut, save for when it comes out.
type splitter struct {
	state state
	name  string          // of the tag that opened the thought, "" if the template did
	hold  int             // bytes that may be held
	held  strings.Builder // what was said while unclear
	tail  string          // the end of the input: it may be the start of a tag

	lead     string // space at the start of the answer, and maybe a part of a character
	begun    bool   // the answer has begun, with more than space
	tagged   bool   // a tag has come
	pondered bool   // reasoning has come, with more than space

	text, reasoning strings.Builder // output of the write under way
}

func newSplitter(cfg ReasoningConfig) *splitter {
	s := &splitter{hold: cfg.Hold}
	switch {
	case cfg.CloseOnly:
		s.state = thought
	case cfg.Hold < 0:
		s.state = answer
	}
	return s
}

// write takes the next piece in and returns what is clear by now.
func (s *splitter) write(piece string) (text, reasoning string) {
	in := s.tail + piece
	s.tail = ""
	for in != "" {
		i := strings.IndexByte(in, '<')
		if i < 0 {
			s.say(in)
			break
		}
		s.say(in[:i])
		in = in[i:]
		t, n, ok := parseTag(in)
		switch {
		case !ok && n == 0:
			s.tail = in
			return s.take()
		case !ok:
			s.say(in[:n])
		case !s.tag(t):
			s.say(in[:n])
		}
		in = in[n:]
	}
	return s.take()
}

// end returns what was held back, when no more text comes.
func (s *splitter) end() (text, reasoning string) {
	s.say(s.tail)
	s.tail = ""
	s.release()
	if !s.tagged {
		s.text.WriteString(s.lead)
	} else {
		s.text.WriteString(strings.TrimLeftFunc(s.lead, unicode.IsSpace))
	}
	s.lead = ""
	return s.take()
}

func (s *splitter) take() (text, reasoning string) {
	text, reasoning = s.text.String(), s.reasoning.String()
	s.text.Reset()
	s.reasoning.Reset()
	return text, reasoning
}

// say adds text that is no tag.
func (s *splitter) say(text string) {
	switch s.state {
	case unclear:
		s.held.WriteString(text)
		if s.held.Len() > s.hold {
			s.release()
		}
	case answer:
		s.answer(text)
	case thought:
		s.pondered = s.pondered || strings.Trim(text, " \t\r\n") != "" // no Unicode: characters may come in parts
		s.reasoning.WriteString(text)
	}
}

// release decides that what was held is the answer.
func (s *splitter) release() {
	if s.state == unclear {
		s.state = answer
		s.answer(s.held.String())
		s.held.Reset()
	}
}

// answer adds to the answer. Space at its start waits: it goes if reasoning comes before the first word.
func (s *splitter) answer(text string) {
	if s.begun {
		s.text.WriteString(text)
		return
	}
	s.lead += text
	rest := strings.TrimLeftFunc(s.lead, unicode.IsSpace)
	if !utf8.FullRuneInString(rest) { // nothing, or the start of a character that may be space
		return
	}
	if s.tagged {
		s.text.WriteString(rest)
	} else {
		s.text.WriteString(s.lead)
	}
	s.begun, s.lead = true, ""
}

// tag acts on a tag, and reports whether it was one where it stands.
func (s *splitter) tag(t tag) bool {
	switch {
	case s.state == thought && t.closes && (s.name == "" || s.name == t.name):
		s.state = answer
	case s.state == thought && s.name == "" && !s.pondered && !t.closes:
		s.name = t.name // the model opens the tag once more, after the template
	case s.state == thought:
		return false
	case t.closes && s.state == unclear:
		s.reasoning.WriteString(s.held.String())
		s.held.Reset()
		s.state = answer
	case !t.closes:
		s.release()
		if !t.empty {
			s.state, s.name = thought, t.name
		}
	}
	s.tagged = true
	return true
}

// tag is a reasoning tag.
type tag struct {
	name   string
	closes bool
	empty  bool // opens and closes at once
}

// parseTag reads a tag at the start of in, which begins with '<', and its length. If there is none, it returns how much of
// in is surely text, or 0 if more of it must come to tell.
func parseTag(in string) (t tag, n int, ok bool) {
	rest := in[1:]
	if strings.HasPrefix(rest, "/") {
		t.closes, rest = true, rest[1:]
	}
	end := 0
	for end < len(rest) && (rest[end]|0x20 >= 'a' && rest[end]|0x20 <= 'z') {
		end++
	}
	t.name = strings.ToLower(rest[:end])
	rest = rest[end:]
	if rest == "" {
		return t, textIf(!beginsName(t.name)), false
	}
	if !slices.Contains(tagNames, t.name) || !strings.ContainsRune(" \t\r\n/>", rune(rest[0])) {
		return t, 1, false
	}
	i := strings.IndexAny(rest, "<>")
	length := len(in) - len(rest) + i + 1
	switch {
	case i < 0:
		return t, textIf(len(in) >= maxTagBytes), false
	case rest[i] == '<' || length > maxTagBytes:
		return t, 1, false
	}
	inside := rest[:i]
	if t.closes && strings.TrimSpace(inside) != "" {
		return t, 1, false
	}
	t.empty = strings.HasSuffix(strings.TrimSpace(inside), "/")
	return t, length, true
}

// textIf returns 1, for the '<' is text, or 0.
func textIf(isText bool) int {
	if isText {
		return 1
	}
	return 0
}

// beginsName reports whether a tag's name begins so.
func beginsName(start string) bool {
	return slices.ContainsFunc(tagNames, func(name string) bool { return strings.HasPrefix(name, start) })
}
