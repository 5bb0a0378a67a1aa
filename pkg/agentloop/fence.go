package agentloop

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a tool returns comes from outside: a review, a web page, another program's error. It must neither be taken for the
// loop's or the user's words nor hold what a person would not see. So the model reads it cleaned and within a fence:
//
//	<tool_result name="search" id="call_0_0">
//	{"products":[]}
//	</tool_result>

// attributeBytes bounds a name or an id in a fence.
const attributeBytes = 100

// attribute makes a text fit to stand between quotes.
var attribute = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\t", " ")

// fenced returns what the model reads of a result. The content is harmless already; the name and the id are as the model
// wrote them.
func fenced(c ToolCall, content string) string {
	name, id := cut(harmless(c.Name), attributeBytes), cut(harmless(c.ID), attributeBytes)
	return `<tool_result name="` + attribute.Replace(name) + `" id="` + attribute.Replace(id) + "\">\n" + content + "\n</tool_result>"
}

// noted adds the loop's own words to a result, outside the fence, in a form that no result can take on.
func noted(result, words string) string { return result + "\n<loop_note text=\"" + words + "\"/>" }

// harmless takes out what a reader does not see, and disarms what looks like the fence, a call or a mark of a chat
// template. JSON stays JSON. Harmless text comes back as it is.
func harmless(s string) string { return disarm(visible(s)) }

// visible takes out control characters save line feeds and tabs, and all that has no shape: zero-width, bidirectional and
// tag characters, variation selectors. Bytes that are no UTF-8 become U+FFFD.
func visible(s string) string {
	for i := range len(s) {
		if b := s[i]; b >= utf8.RuneSelf || hidden(rune(b)) {
			return strings.Map(func(r rune) rune {
				if hidden(r) {
					return -1
				}
				return r
			}, strings.ToValidUTF8(s, "\uFFFD"))
		}
	}
	return s
}

func hidden(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r < 0x300: // most of Europe's letters, for speed
		return r < 0xa0 || r == 0xad
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // some Arabic and other signs, which do have a shape
}

// disarm puts a round bracket in place of each angle bracket that opens a look-alike. One pass is enough: a round bracket
// is part of no look-alike, and what is read of the text around it stays the same.
func disarm(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if !suspect(s[i]) {
			i++
			continue
		}
		r, n := decode(s[i:])
		if strings.ContainsRune(openers, r) && isMark(s[i+n:]) {
			b.WriteString(s[done:i])
			b.WriteByte('(')
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// suspect reports whether a byte may begin an opener.
func suspect(b byte) bool { return b == '<' || b == '&' || b == '\\' || b == '%' || b >= utf8.RuneSelf }

// openers are the characters that may pass for "<".
const openers = "<‹«〈〈《⟨⟪❮❬❰˂ᐸ≺⧼"

// marks are what must not follow an opener, without what may stand between the letters.
var marks = []string{"toolresult", "toolcall", "toolresponse", "tooloutput", "functioncall", "functionresult", "loopnote"}

// longestMark is the length of the longest of marks.
const longestMark = len("functionresult")

// isMark reports whether a text reads as one of the marks after its opener, whatever the case, the script's width, the
// spaces and slashes. It never looks beyond the next opener, so that all calls together take linear time.
func isMark(s string) bool {
	letters := make([]byte, 0, longestMark)
	for i := 0; i < len(s); {
		r, n := decode(s[i:])
		i += n
		switch {
		case r == '|' && len(letters) == 0:
			return true // "<|" begins the marks of most chat templates
		case 'a' <= r && r <= 'z':
			letters = append(letters, byte(r))
			if slices.Contains(marks, string(letters)) {
				return true
			}
			if len(letters) == longestMark {
				return false
			}
		case !mayStandBetween(r):
			return false
		}
	}
	return false
}

func mayStandBetween(r rune) bool {
	return unicode.IsSpace(r) || hidden(r) || unicode.Is(unicode.Mn, r) || strings.ContainsRune(`/\_-.:‐‑–—⁄∕`, r)
}

// decode returns the first character of a text as a lenient reader takes it, in lower case and plain width, and its
// length in bytes. The escapes of JSON, HTML and URLs stand for their character.
func decode(s string) (rune, int) {
	switch s[0] {
	case '\\':
		return decodeBackslash(s)
	case '&':
		return decodeEntity(s)
	case '%':
		return decodeHex(s, 1, 2)
	}
	r, n := utf8.DecodeRuneInString(s)
	return plainLetter(r), n
}

// decodeHex reads a character written as so many digits after a prefix. Failing that it returns the first byte.
func decodeHex(s string, prefix, digits int) (rune, int) {
	if len(s) >= prefix+digits {
		if v, err := strconv.ParseUint(s[prefix:prefix+digits], 16, 32); err == nil {
			return plainLetter(rune(v)), prefix + digits
		}
	}
	return rune(s[0]), 1
}

func decodeBackslash(s string) (rune, int) {
	if len(s) == 1 {
		return '\\', 1
	}
	switch s[1] {
	case 'u':
		return decodeHex(s, 2, 4)
	case 'x':
		return decodeHex(s, 2, 2)
	case 'n', 'r', 't', 'b', 'f':
		return ' ', 2
	case '\\', '/':
		return rune(s[1]), 2
	}
	return '\\', 1
}

func decodeEntity(s string) (rune, int) {
	end := strings.IndexByte(s[:min(len(s), 10)], ';')
	switch {
	case len(s) >= 3 && strings.EqualFold(s[:3], "&lt"):
		if end == 3 {
			return '<', 4
		}
		return '<', 3
	case end > 3 && (s[1:3] == "#x" || s[1:3] == "#X"):
		if v, err := strconv.ParseUint(s[3:end], 16, 21); err == nil {
			return plainLetter(rune(v)), end + 1
		}
	case end > 2 && s[1] == '#':
		if v, err := strconv.ParseUint(s[2:end], 10, 21); err == nil {
			return plainLetter(rune(v)), end + 1
		}
	}
	return '&', 1
}

// plainLetter returns the lower-case ASCII letter or sign that a character may pass for, or its lower case.
func plainLetter(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	case 0xFF01 <= r && r <= 0xFF5E: // full width
		return plainLetter(r - 0xFEE0)
	case r == 0xFE64: // small "<"
		return '<'
	case 0x1D400 <= r && r <= 0x1D6A3: // mathematical
		return 'a' + (r-0x1D400)%26
	case 0x24B6 <= r && r <= 0x24E9: // circled
		return 'a' + (r-0x24B6)%26
	}
	if latin, ok := doubles[r]; ok {
		return latin
	}
	return unicode.ToLower(r)
}

// doubles are letters of other scripts that can not be told from those of the marks.
var doubles = map[rune]rune{
	'а': 'a', 'А': 'a', 'α': 'a', 'Α': 'a', 'с': 'c', 'С': 'c', 'ϲ': 'c', 'е': 'e', 'Е': 'e', 'Ε': 'e', 'ƒ': 'f',
	'і': 'i', 'І': 'i', 'ι': 'i', 'Ι': 'i', 'ı': 'i', 'ӏ': 'l', 'Ӏ': 'l', 'ⅼ': 'l', 'п': 'n', 'ո': 'n', 'Ν': 'n',
	'о': 'o', 'О': 'o', 'ο': 'o', 'Ο': 'o', 'р': 'p', 'Р': 'p', 'ρ': 'p', 'Ρ': 'p', 'ѕ': 's', 'Ѕ': 's', 'ſ': 's',
	'т': 't', 'Т': 't', 'τ': 't', 'Τ': 't', 'υ': 'u', 'ս': 'u',
}
