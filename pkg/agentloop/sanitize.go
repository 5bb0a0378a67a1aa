package agentloop

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tool results come from outside: a review, a web page, another program's error. The model must not take them for the loop's
// or the user's words, and they must not hold what a person would not see. So the model reads them sanitized and in a fence:
//
//	<tool_result>
//	{"products":[]}
//	</tool_result>

// fence returns what the model reads of a result, whose content is sanitized. [Message.ToolCallID] says which call it answers.
func fence(content string) string { return "<tool_result>\n" + content + "\n</tool_result>" }

// withNote appends the loop's own words to a fenced result, in a form that no sanitized result can contain.
func withNote(result, note string) string { return result + "\n<loop_note text=\"" + note + "\"/>" }

// sanitize removes invisible characters and disarms look-alikes of the fence, of tool calls and of chat-template marks.
// JSON stays JSON, and sanitizing twice changes nothing more.
func sanitize(s string) string { return disarm(removeInvisible(s)) }

// removeInvisible removes control characters except line feeds and tabs, and characters without a shape: zero-width,
// bidirectional and tag characters, and variation selectors. Invalid UTF-8 becomes U+FFFD.
func removeInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		if Invisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Invisible reports whether a character has no shape: a control character except line feed and tab, a zero-width, bidirectional or
// tag character, a variation selector. Such characters carry text that a model reads and a person does not see.
func Invisible(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r < 0xa0 || r == 0xad: // C1 controls, soft hyphen
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // Arabic and other signs that do have a shape
}

// disarm replaces each angle bracket that opens a look-alike by a round one. One pass is enough: a round bracket is part of
// no look-alike, and the text around it stays the same.
func disarm(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if !mayStartBracket(s[i]) {
			i++
			continue
		}
		r, n := decodeRune(s[i:])
		if strings.ContainsRune(angleBrackets, r) && startsReservedTag(s[i+n:]) {
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

// mayStartBracket skips most bytes cheaply. Without it, a result of 16 KiB takes 0.5 ms, about a fifth of a turn's processor
// time, instead of 0.1 ms.
func mayStartBracket(b byte) bool {
	return b == '<' || b == '&' || b == '\\' || b == '%' || b >= utf8.RuneSelf
}

// angleBrackets are the characters that may pass for "<".
const angleBrackets = "<‹«〈〈《⟨⟪❮❬❰˂ᐸ≺⧼"

// reservedTags must not follow an angle bracket, whatever separates their letters.
var reservedTags = []string{"toolresult", "toolcall", "toolresponse", "tooloutput", "functioncall", "functionresult", "loopnote"}

// longestTag is the length of the longest reserved tag.
const longestTag = len("functionresult")

// startsReservedTag reports whether a text after an angle bracket reads as a reserved tag, in any case and width and with
// separators in it. It never reads beyond the next bracket, so that all calls together take linear time.
func startsReservedTag(s string) bool {
	letters := make([]byte, 0, longestTag)
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		i += n
		switch {
		case r == '|' && len(letters) == 0:
			return true // "<|" starts the marks of most chat templates
		case 'a' <= r && r <= 'z':
			letters = append(letters, byte(r))
			if slices.Contains(reservedTags, string(letters)) {
				return true
			}
			if len(letters) == longestTag {
				return false
			}
		case !isSeparator(r):
			return false
		}
	}
	return false
}

// isSeparator reports whether a lenient reader may skip a character between the letters of a tag.
func isSeparator(r rune) bool {
	return unicode.IsSpace(r) || Invisible(r) || unicode.Is(unicode.Mn, r) || strings.ContainsRune(`/\_-.:‐‑–—⁄∕`, r)
}

// decodeRune returns the first character of a text as a lenient reader takes it, in lower case and normal width, and its
// length in bytes. Escapes of JSON, HTML and URLs stand for their character.
func decodeRune(s string) (rune, int) {
	switch s[0] {
	case '\\':
		return decodeBackslash(s)
	case '&':
		return decodeEntity(s)
	case '%':
		return decodeHex(s, 1, 2)
	}
	r, n := utf8.DecodeRuneInString(s)
	return foldRune(r), n
}

// decodeHex decodes a character written as hexadecimal digits after a prefix, or returns the first byte.
func decodeHex(s string, prefix, digits int) (rune, int) {
	if len(s) >= prefix+digits {
		if v, err := strconv.ParseUint(s[prefix:prefix+digits], 16, 32); err == nil {
			return foldRune(rune(v)), prefix + digits
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
			return foldRune(rune(v)), end + 1
		}
	case end > 2 && s[1] == '#':
		if v, err := strconv.ParseUint(s[2:end], 10, 21); err == nil {
			return foldRune(rune(v)), end + 1
		}
	}
	return '&', 1
}

// foldRune returns the lower-case ASCII letter or sign that a character may pass for, or its lower case.
func foldRune(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	case 0xFF01 <= r && r <= 0xFF5E: // full width
		return foldRune(r - 0xFEE0)
	case r == 0xFE64: // small "<"
		return '<'
	case 0x1D400 <= r && r <= 0x1D6A3: // mathematical
		return 'a' + (r-0x1D400)%26
	case 0x24B6 <= r && r <= 0x24E9: // circled
		return 'a' + (r-0x24B6)%26
	}
	if latin, ok := homoglyphs[r]; ok {
		return latin
	}
	return unicode.ToLower(r)
}

// homoglyphs are letters of other scripts that look like letters of the reserved tags.
var homoglyphs = map[rune]rune{
	'а': 'a', 'А': 'a', 'α': 'a', 'Α': 'a', 'с': 'c', 'С': 'c', 'ϲ': 'c', 'е': 'e', 'Е': 'e', 'Ε': 'e', 'ƒ': 'f',
	'і': 'i', 'І': 'i', 'ι': 'i', 'Ι': 'i', 'ı': 'i', 'ӏ': 'l', 'Ӏ': 'l', 'ⅼ': 'l', 'п': 'n', 'ո': 'n', 'Ν': 'n',
	'о': 'o', 'О': 'o', 'ο': 'o', 'Ο': 'o', 'р': 'p', 'Р': 'p', 'ρ': 'p', 'Ρ': 'p', 'ѕ': 's', 'Ѕ': 's', 'ſ': 's',
	'т': 't', 'Т': 't', 'τ': 't', 'Τ': 't', 'υ': 'u', 'ս': 'u',
}
