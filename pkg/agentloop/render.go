package agentloop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// render writes a tool's value for the model, made harmless and cut to limit bytes, and says whether it was cut.
func render(value any, limit int) (shown string, short bool, err error) {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case json.RawMessage:
		text = string(v)
	default:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // a model reads "<" better than "\u003c"
		if err := enc.Encode(v); err != nil {
			return "", false, err
		}
		text = strings.TrimSuffix(b.String(), "\n")
	}
	if text = harmless(text); len(text) <= limit {
		return text, false, nil
	}
	head, isText := "", false
	if _, isText = value.(string); !isText {
		head = cutJSON(text, limit)
	}
	if head == "" {
		head = cut(text, limit)
	}
	return fmt.Sprintf("%s\n[cut: %d of %d bytes shown]", head, len(head), len(text)), true, nil
}

// cut returns the start of s, at most limit bytes, without half a character at its end.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// cutJSON returns the start of a JSON text as JSON of its own, at most limit bytes: what was left open is closed. It
// ends after a whole element of the outermost list or object that leaves at least half of what may be shown; failing
// that within a string. It returns "" if there is no such place.
func cutJSON(text string, limit int) string {
	c := cutter{limit: limit, depth: -1}
	for i := 0; i < len(text) && i < limit; i++ {
		switch b := text[i]; {
		case c.inString:
			c.within(i, b)
			if b == '\\' {
				if i++; i < len(text) && text[i] == 'u' {
					i += 4
				}
			}
		case b == '"':
			c.inString = true
			c.isKey = c.inObject() && !strings.HasSuffix(strings.TrimRight(text[:i], " \t\r\n"), ":")
		case b == '{':
			c.open = append(c.open, '}')
		case b == '[':
			c.open = append(c.open, ']')
		case b == '}' || b == ']':
			if len(c.open) == 0 {
				return "" // not JSON
			}
			c.open = c.open[:len(c.open)-1]
		case b == ',':
			if depth := len(c.open); c.fits(i, depth) && (c.depth < 0 || depth <= c.depth) {
				c.end, c.depth, c.quote, c.tail = i, depth, "", append(c.tail[:0], c.open...)
			}
		}
	}
	slices.Reverse(c.tail)
	return text[:c.end] + c.quote + string(c.tail)
}

// cutter is the state of cutJSON: where it is, and the best place to cut so far.
type cutter struct {
	limit    int
	open     []byte // the closing bracket of each list and object that is open, the outermost first
	inString bool
	isKey    bool // of an object, so that a cut within it makes no JSON

	end   int
	quote string // closes a string that is cut
	tail  []byte // open, at the cut
	depth int    // len(open) at the cut; -1 for a cut within a string, or none
}

// within goes one byte on in a string.
func (c *cutter) within(i int, b byte) {
	switch {
	case b == '"':
		c.inString = false
	case c.depth < 0 && !c.isKey && utf8.RuneStart(b) && c.fits(i, len(c.open)+1):
		c.end, c.quote, c.tail = i, `"`, append(c.tail[:0], c.open...)
	}
}

// fits reports whether a cut at i that needs so many closing bytes leaves neither too much nor too little.
func (c *cutter) fits(i, closing int) bool { return i >= c.limit/2 && i+closing <= c.limit }

func (c *cutter) inObject() bool { return len(c.open) > 0 && c.open[len(c.open)-1] == '}' }
