// Package repair repairs JSON objects that a model almost wrote. It repairs only what has one possible meaning:
//
//   - space around the object, and a code fence around all of it: ```json ... ```
//   - the object written as a JSON string: "{\"city\":\"Oslo\"}"
//   - a comma after the last element of a list or an object
//   - True, False and None, as Python writes them
//   - strings in single quotes that contain no other quotes except escaped ones
//   - \' in a string
//   - unescaped control characters in a string, such as line feeds
//   - unquoted keys that are names: letters, digits, _ and $, not starting with a digit
//   - /* comments */ and // comments between elements
//   - other Unicode space between elements
//
// It refuses everything else, because repairing it would be a guess: text that ends early, missing or extra quotes, commas,
// colons or brackets, unquoted words as values, invalid numbers, unknown escapes, typographic quotes, text around the object,
// two objects, and anything that is not an object. It invents no value and removes nothing but comments.
//
// The package must not import anything beyond the standard library.
package repair

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// maxDepth limits nested lists and objects, so that no text exhausts the stack.
const maxDepth = 200

// Object returns a text as a JSON object, and whether it is one or could be repaired. Valid objects are returned unchanged.
// It takes linear time.
func Object(text string) (string, bool) {
	text = unfenced(strings.TrimSpace(text))
	var inner string
	if strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &inner) == nil {
		text = strings.TrimSpace(inner)
	}
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return text, true
	}
	r := reader{in: text}
	if !r.space() || !strings.HasPrefix(r.in, "{") || !r.value(0) || !r.space() || r.in != "" {
		return "", false
	}
	return r.out.String(), true
}

// fence is a code fence around a whole text.
var fence = regexp.MustCompile("(?s)^```[A-Za-z0-9]*\\s*(\\{.*\\})\\s*```$")

func unfenced(text string) string {
	if m := fence.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// reader reads almost-JSON and writes JSON. Its methods report whether they found what they are named for.
type reader struct {
	in  string // what is still to be read
	out strings.Builder
}

// take skips a prefix if the text has it.
func (r *reader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(r.in, prefix)
	r.in = rest
	return ok
}

// emit copies the next n bytes.
func (r *reader) emit(n int) {
	r.out.WriteString(r.in[:n])
	r.in = r.in[n:]
}

// space skips space and comments. It fails only at a comment without an end.
func (r *reader) space() bool {
	for {
		r.in = strings.TrimLeftFunc(r.in, func(c rune) bool { return unicode.IsSpace(c) || c == '\uFEFF' })
		switch {
		case r.take("//"):
			_, r.in, _ = strings.Cut(r.in, "\n")
		case r.take("/*"):
			var ended bool
			if _, r.in, ended = strings.Cut(r.in, "*/"); !ended {
				return false
			}
		default:
			return true
		}
	}
}

var (
	number = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`)
	word   = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*`)
)

// constants are the keywords of JSON and Python.
var constants = map[string]string{
	"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null",
}

// value reads a value inside depth lists and objects.
func (r *reader) value(depth int) bool {
	if r.in == "" || depth > maxDepth {
		return false
	}
	switch r.in[0] {
	case '{':
		return r.elements('}', func() bool {
			if !r.key() || !r.space() || !r.take(":") || !r.space() {
				return false
			}
			r.out.WriteByte(':')
			return r.value(depth + 1)
		})
	case '[':
		return r.elements(']', func() bool { return r.value(depth + 1) })
	case '"', '\'':
		return r.text()
	}
	if n := len(number.FindString(r.in)); n > 0 {
		r.emit(n)
		return true // the caller requires a comma or a bracket after it
	}
	name := word.FindString(r.in)
	constant, ok := constants[name]
	r.in = r.in[len(name):]
	r.out.WriteString(constant)
	return ok
}

// elements reads the elements between brackets, separated by commas.
func (r *reader) elements(closing byte, element func() bool) bool {
	r.emit(1)
	for n := 0; ; n++ {
		if !r.space() || r.in == "" {
			return false
		}
		if r.in[0] == closing { // also after a trailing comma
			r.emit(1)
			return true
		}
		if n > 0 {
			r.out.WriteByte(',')
		}
		if !element() || !r.space() {
			return false
		}
		if !r.take(",") && (r.in == "" || r.in[0] != closing) {
			return false
		}
	}
}

// key reads the name of a property.
func (r *reader) key() bool {
	if r.in[0] == '"' || r.in[0] == '\'' {
		return r.text()
	}
	n := len(word.FindString(r.in))
	r.out.WriteByte('"')
	r.emit(n)
	r.out.WriteByte('"')
	return n > 0
}

// text reads a string in quotes of either kind.
func (r *reader) text() bool {
	quote := r.in[0]
	r.in = r.in[1:]
	r.out.WriteByte('"')
	for r.in != "" {
		switch c := r.in[0]; {
		case c == quote:
			r.in = r.in[1:]
			r.out.WriteByte('"')
			return true
		case c == '"':
			return false // in single quotes
		case c == '\\':
			if !r.escape() {
				return false
			}
		case c < ' ':
			raw, _ := json.Marshal(string(rune(c))) // never fails for a string
			r.out.Write(raw[1 : len(raw)-1])
			r.in = r.in[1:]
		default:
			r.emit(1)
		}
	}
	return false
}

var escape = regexp.MustCompile(`^\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})`)

// escape reads an escaped character.
func (r *reader) escape() bool {
	if r.take(`\'`) {
		r.out.WriteByte('\'')
		return true
	}
	n := len(escape.FindString(r.in))
	r.emit(n)
	return n > 0
}
