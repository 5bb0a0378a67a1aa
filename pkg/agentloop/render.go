package agentloop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// render writes a tool's value for the model, sanitized and at most limit bytes long, and reports whether it was cut.
func render(value any, limit int) (content string, cut bool, err error) {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case json.RawMessage:
		text = string(v)
	default:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // models read "<" better than "\u003c"
		if err := enc.Encode(v); err != nil {
			return "", false, err
		}
		text = strings.TrimSuffix(b.String(), "\n")
	}
	if text = sanitize(text); len(text) <= limit {
		return text, false, nil
	}
	head := ""
	if _, isText := value.(string); !isText {
		head = cutJSON(text, limit)
	}
	if head == "" {
		head = truncate(text, limit)
	}
	return fmt.Sprintf("%s\n[cut: %d of %d bytes shown]", head, len(head), len(text)), true, nil
}

// truncate returns the start of s, at most limit bytes, without a partial character at its end.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// cutJSON returns the start of a JSON text as valid JSON of at most limit bytes. It cuts after an element of the outermost
// list or object that leaves at least half of limit, or else inside a string. It returns "" if there is no such place.
func cutJSON(text string, limit int) string {
	var (
		open     []byte // closing brackets of the open lists and objects, the outermost first
		afterKey bool
		best     int         // end of the best cut; 0: none yet
		tail     []byte      // what is open there
		depth    = len(text) // of the best cut
	)
	cut := func() string {
		if best == 0 {
			return ""
		}
		return closed(text[:best], tail)
	}
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		start := int(dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return cut()
		}
		_, isString := token.(string)
		switch {
		case token == json.Delim('{'):
			open, afterKey = append(open, '}'), false
			continue
		case token == json.Delim('['):
			open, afterKey = append(open, ']'), false
			continue
		case token == json.Delim('}') || token == json.Delim(']'):
			open = open[:len(open)-1]
		case isString && !afterKey && len(open) > 0 && open[len(open)-1] == '}':
			afterKey = true
			continue
		}
		afterKey = false
		end := int(dec.InputOffset())
		if end+len(open) > limit { // as is everything that follows
			if isString && best == 0 {
				return cutJSONString(text, start, limit, open)
			}
			return cut()
		}
		if end >= limit/2 && len(open) <= depth {
			best, tail, depth = end, append(tail[:0], open...), len(open)
		}
	}
}

// cutJSONString cuts inside the string that follows start and goes beyond limit.
func cutJSONString(text string, start, limit int, open []byte) string {
	last := limit - len(open) - len(`"`)
	cut := -1
	for i := start + strings.IndexByte(text[start:], '"') + 1; i <= last; {
		if i >= limit/2 {
			cut = i
		}
		switch _, size := utf8.DecodeRuneInString(text[i:]); {
		case strings.HasPrefix(text[i:], `\u`):
			i += len(`\u0000`)
		case text[i] == '\\':
			i += len(`\n`)
		default:
			i += size
		}
	}
	if cut < 0 {
		return ""
	}
	return closed(text[:cut]+`"`, open)
}

// closed appends closing brackets, the innermost first.
func closed(text string, open []byte) string {
	tail := slices.Clone(open)
	slices.Reverse(tail)
	return text + string(tail)
}
