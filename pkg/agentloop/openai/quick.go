package openai

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// quick takes in the events that plain streams are made of: a few characters of text, a piece of a tool call, the finish
// reason, the usage. It reports whether the event is one; if not, nothing has happened, and decode is to read it. Where it
// says yes, it has done what decode does, in a tenth of the time: most of what streaming costs is else spent on JSON.
func (a *answer) quick(raw []byte) (c agentloop.Chunk, ok bool) {
	s := scanner{raw: raw}
	p := piece{model: a.model}
	if !p.read(&s) || !s.end() {
		return agentloop.Chunk{}, false
	}
	if p.model != "" && p.model != a.model {
		a.model, c.Model = p.model, p.model
	}
	if u := p.usage.count(); u != nil {
		a.usage = u
	}
	a.choices = a.choices || p.choice
	a.text = a.text || p.text != ""
	a.calls = a.calls || len(p.calls) > 0
	if p.finish != "" && a.finish == "" {
		a.finish = finishOf(p.finish)
	}
	c.Text, c.ToolCalls = p.text, p.calls
	return c, true
}

// piece is a plain event.
type piece struct {
	model, text, finish string
	calls               []agentloop.ToolCallDelta
	usage               *usage
	choice              bool // there was one
}

// keys are those of an object that were met. A second one of the same name is for the decoder to settle.
type keys uint8

const (
	keyModel keys = 1 << iota
	keyChoices
	keyUsage
	keyDelta
	keyFinish
	keyContent
	keyCalls
)

// first reports whether a key is met for the first time, and notes it.
func (k *keys) first(key keys) bool {
	met := *k&key != 0
	*k |= key
	return !met
}

func (p *piece) read(s *scanner) bool {
	var met keys
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			return met.first(keyChoices) && s.skip('[') && (s.skip(']') || p.readChoice(s) && s.skip(']'))
		case "model":
			return met.first(keyModel) && s.text(&p.model)
		case "id", "object", "system_fingerprint", "service_tier", "obfuscation", "provider", "created":
			return s.plain()
		case "usage":
			return met.first(keyUsage) && (s.null() || p.readUsage(s))
		case "error":
			return s.null()
		}
		return false
	}) && met&keyChoices != 0
}

// readUsage reads the counts. Details that are more than a null are left to the decoder.
func (p *piece) readUsage(s *scanner) bool {
	p.usage = &usage{}
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "prompt_tokens":
			return s.count(&p.usage.PromptTokens)
		case "completion_tokens":
			return s.count(&p.usage.CompletionTokens)
		case "total_tokens":
			return s.count(&p.usage.TotalTokens)
		case "prompt_tokens_details", "completion_tokens_details":
			return s.null()
		}
		return false
	})
}

// readChoice reads the first and only choice of an event.
func (p *piece) readChoice(s *scanner) bool {
	var met keys
	p.choice = true
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			return s.skip('0')
		case "delta":
			return met.first(keyDelta) && p.readDelta(s)
		case "finish_reason":
			return met.first(keyFinish) && (s.null() || s.text(&p.finish))
		case "logprobs":
			return s.null()
		}
		return false
	}) && met&keyDelta != 0
}

func (p *piece) readDelta(s *scanner) bool {
	var met keys
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "content":
			return met.first(keyContent) && (s.null() || s.text(&p.text))
		case "tool_calls":
			return met.first(keyCalls) && (s.null() || p.readCalls(s))
		case "role":
			return s.plain()
		case "refusal", "reasoning", "reasoning_content", "function_call":
			return s.null()
		}
		return false
	})
}

// readCalls reads a list of one piece of a tool call.
func (p *piece) readCalls(s *scanner) bool {
	call := agentloop.ToolCallDelta{Index: -1}
	if !s.skip('[') || !s.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			var index int64
			ok := call.Index < 0 && s.count(&index)
			call.Index = int(index)
			return ok
		case "id":
			return call.ID == "" && (s.null() || s.text(&call.ID))
		case "type":
			return s.plain()
		case "function":
			return call.Name == "" && call.Arguments == "" && s.object(func(key []byte) bool {
				switch string(key) {
				case "name":
					return call.Name == "" && (s.null() || s.text(&call.Name))
				case "arguments":
					return call.Arguments == "" && s.text(&call.Arguments)
				}
				return false
			})
		}
		return false
	}) || !s.skip(']') {
		return false
	}
	p.calls = append(p.calls, call)
	return true
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
		*out, ok = unescaped(s.raw[begin:s.at])
		return ok
	}
	if *out != string(inner) { // or else it is the model's name, which comes with every event
		*out = string(inner)
	}
	return true
}

// unescaped decodes a string. It is a function of its own so that no other string has to live on the heap.
func unescaped(raw []byte) (out string, ok bool) {
	err := json.Unmarshal(raw, &out)
	return out, err == nil
}

// maxDigits is how many digits every int64 has room for.
const maxDigits = 18

// count reads a whole number from zero on.
func (s *scanner) count(out *int64) bool {
	s.peek()
	begin := s.at
	*out = 0
	for ; s.at < len(s.raw) && '0' <= s.raw[s.at] && s.raw[s.at] <= '9'; s.at++ {
		*out = *out*10 + int64(s.raw[s.at]-'0')
	}
	digits := s.at - begin
	if digits == 0 || digits > maxDigits || digits > 1 && s.raw[begin] == '0' {
		return false
	}
	return s.at == len(s.raw) || s.raw[s.at] != '.' && s.raw[s.at] != 'e' && s.raw[s.at] != 'E'
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
