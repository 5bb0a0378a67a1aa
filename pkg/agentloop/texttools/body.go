package texttools

import "strings"

// body is what stands in a call that has been opened.
type body struct {
	text       strings.Builder
	scanned    int // bytes of text that were looked at
	quoted     bool
	escaped    bool
	firstClose int // place of the first close tag within quotes, plus 1
}

func (b *body) reset() { *b = body{} }

// write takes a piece in. If a tag ends the call, it returns the tag and the rest of the piece; the text is then what
// stands before the tag. A tag within a JSON string is part of the string.
func (b *body) write(piece string) (tag, rest string) {
	b.text.WriteString(piece)
	text := b.text.String()
	for b.scanned < len(text) {
		c := text[b.scanned]
		if c == '<' {
			ahead := text[b.scanned:]
			closes, opens := strings.HasPrefix(ahead, closeTag), strings.HasPrefix(ahead, openTag)
			switch {
			case closes && b.quoted && b.firstClose == 0:
				b.firstClose = b.scanned + 1
			case closes && !b.quoted:
				return b.cut(text, closeTag)
			case opens && !b.quoted:
				return b.cut(text, openTag)
			case strings.HasPrefix(closeTag, ahead) || strings.HasPrefix(openTag, ahead):
				return "", "" // more must come to tell
			}
		}
		switch {
		case b.escaped:
			b.escaped = false
		case b.quoted && c == '\\':
			b.escaped = true
		case c == '"':
			b.quoted = !b.quoted
		}
		b.scanned++
	}
	return "", ""
}

// cut ends the text before the tag that stands where it was looked at last.
func (b *body) cut(text, tag string) (string, string) {
	at := b.scanned
	b.text.Reset()
	b.text.WriteString(text[:at])
	return tag, text[at+len(tag):]
}
