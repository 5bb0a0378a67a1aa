package openai

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// quick takes in the plainest and by far the most frequent of all events: a few characters of text and nothing else. It
// reports whether the event is one; if not, nothing has happened, and decode is to read it. Where it says yes, it has done
// what decode does, in a tenth of the time: most of what streaming costs is else spent on JSON.
func (a *answer) quick(raw []byte) (c agentloop.Chunk, ok bool) {
	s := scanner{raw: raw}
	var model, text string
	var hasModel, hasChoices bool
	ok = s.object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			seen := hasChoices
			hasChoices = true
			return !seen && s.skip('[') && s.choice(&text) && s.skip(']')
		case "model":
			seen := hasModel
			hasModel = true
			return !seen && s.text(&model)
		case "id", "object", "system_fingerprint", "service_tier", "obfuscation", "provider", "created":
			return s.plain()
		case "usage", "error":
			return s.null()
		}
		return false
	})
	if !ok || !hasChoices || !s.end() {
		return agentloop.Chunk{}, false
	}
	if model != "" && model != a.model {
		a.model, c.Model = model, model
	}
	a.choices = true
	a.text = a.text || text != ""
	c.Text = text
	return c, true
}

// choice reads the first and only choice of an event with nothing but text.
func (s *scanner) choice(text *string) bool {
	hasDelta := false
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			return s.skip('0')
		case "delta":
			seen := hasDelta
			hasDelta = true
			return !seen && s.delta(text)
		case "finish_reason", "logprobs":
			return s.null()
		}
		return false
	}) && hasDelta
}

func (s *scanner) delta(text *string) bool {
	hasContent := false
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "content":
			seen := hasContent
			hasContent = true
			return !seen && (s.null() || s.text(text))
		case "role":
			return s.plain()
		case "refusal", "reasoning", "reasoning_content", "tool_calls", "function_call":
			return s.null()
		}
		return false
	})
}

// scanner reads JSON of a narrow kind. Each of its methods reports whether what comes next is what it reads; after a no it
// is of no more use.
type scanner struct {
	raw []byte
	at  int
}

// peek skips space and returns what comes next; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.raw); s.at++ {
		switch b := s.raw[s.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

func (s *scanner) end() bool { return s.peek() == 0 && s.at == len(s.raw) }

func (s *scanner) skip(b byte) bool {
	if s.peek() != b {
		return false
	}
	s.at++
	return true
}

// null reads a null, or nothing if something else comes.
func (s *scanner) null() bool {
	if s.peek() != 'n' || len(s.raw)-s.at < 4 || string(s.raw[s.at:s.at+4]) != "null" {
		return false
	}
	s.at += 4
	return true
}

// object reads an object, of which member reads the value of each key.
func (s *scanner) object(member func(key []byte) bool) bool {
	if !s.skip('{') {
		return false
	}
	if s.skip('}') {
		return true
	}
	for {
		key, escaped, ok := s.quoted()
		if !ok || escaped || !s.skip(':') || !member(key) {
			return false
		}
		if !s.skip(',') {
			return s.skip('}')
		}
	}
}

// quoted reads a string and returns what is between its quotes as it stands, and whether that has to be decoded.
func (s *scanner) quoted() (inner []byte, escaped, ok bool) {
	if !s.skip('"') {
		return nil, false, false
	}
	for begin := s.at; s.at < len(s.raw); s.at++ {
		switch b := s.raw[s.at]; {
		case b == '"':
			s.at++
			return s.raw[begin : s.at-1], escaped, true
		case b == '\\':
			escaped = true
			s.at++
		case b < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// text reads a string.
func (s *scanner) text(out *string) bool {
	s.peek()
	begin := s.at
	inner, escaped, ok := s.quoted()
	if !ok || !utf8.Valid(inner) {
		return false
	}
	if escaped {
		return json.Unmarshal(s.raw[begin:s.at], out) == nil
	}
	*out = string(inner)
	return true
}

// plain passes over a string without escapes, a whole number or a null.
func (s *scanner) plain() bool {
	switch b := s.peek(); {
	case b == '"':
		_, escaped, ok := s.quoted()
		return ok && !escaped
	case '1' <= b && b <= '9':
		for s.at < len(s.raw) && '0' <= s.raw[s.at] && s.raw[s.at] <= '9' {
			s.at++
		}
		return true
	}
	return s.null()
}
