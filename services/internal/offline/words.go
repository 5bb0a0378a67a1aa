package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// word is one word of a text.
type word struct {
	raw        string // as written
	norm       string // lower case, without accents and clitics
	start, end int    // bytes in the text
	// gloss holds the English words for it: itself in an English text, a translation elsewhere; none for a word that
	// says nothing by itself.
	gloss []string
}

// span is a part of a text, in bytes.
type span struct{ start, end int }

func (s span) covers(w word) bool { return w.start < s.end && s.start < w.end }

func covered(spans []span, w word) bool {
	for _, s := range spans {
		if s.covers(w) {
			return true
		}
	}
	return false
}

// split finds the words of text. "t-shirt", "QT-10021", "7.5" and "what's" are one word each; "l'ordre" is two.
func split(text string) []word {
	var out []word
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) {
			i += size
			continue
		}
		end := wordEnd(text, i)
		out = append(out, clitics(text, i, end)...)
		i = end
	}
	return out
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if wordRune(r) {
			i += size
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[i+size:])
		prev, _ := utf8.DecodeLastRuneInString(text[:i])
		joins := r == '-' || r == '_' || r == '\'' || r == '’' || (r == '.' || r == ',') && unicode.IsDigit(prev) && unicode.IsDigit(next)
		if !joins || !wordRune(next) {
			return i
		}
		i += size
	}
	return i
}

// elided are the French words that lose their vowel before an apostrophe.
const elided = " l d j qu n s c m t jusqu lorsqu "

func clitics(text string, start, end int) []word {
	raw := text[start:end]
	at := strings.IndexAny(raw, "'’")
	if at < 0 {
		return []word{{raw: raw, norm: fold(raw), start: start, end: end}}
	}
	head := fold(raw[:at])
	_, size := utf8.DecodeRuneInString(raw[at:])
	if strings.Contains(elided, " "+head+" ") {
		first := word{raw: raw[:at], norm: head, start: start, end: start + at}
		return append([]word{first}, clitics(text, start+at+size, end)...)
	}
	if strings.HasSuffix(head, "n") && fold(raw[at+size:]) == "t" {
		head += "t" // "don't" must not become "don"
	}
	return []word{{raw: raw, norm: head, start: start, end: end}}
}

// fold returns s in lower case, without accents and apostrophes.
func fold(s string) string { return plaintext.Fold(s) }

// stem returns the stem of a folded English word.
func stem(s string) string { return plaintext.Stem("en", s) }

// stems returns the stem of a folded word, and of the parts when it has hyphens or underscores.
func stems(norm string) []string {
	out := []string{stem(norm)}
	if parts := strings.FieldsFunc(norm, func(r rune) bool { return r == '-' || r == '_' }); len(parts) > 1 {
		for _, p := range parts {
			if len(p) > 2 {
				out = append(out, stem(p))
			}
		}
	}
	return out
}

// sameRoot reports whether two different stems look like forms of one word, such as "deliver" and "delivery".
func sameRoot(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= 6 && 4*n >= 3*max(len(a), len(b))
}

// nameWords splits snake_case, kebab-case and camelCase names into folded words.
func nameWords(name string) []string {
	var b strings.Builder
	prev := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(prev) {
			b.WriteByte(' ')
		}
		if !wordRune(r) {
			r = ' '
		}
		b.WriteRune(r)
		prev = r
	}
	return strings.Fields(fold(b.String()))
}

// sentences cuts text at sentence ends and line breaks, keeping the marks.
func sentences(text string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range text {
		switch r {
		case '\n', ';':
			cut(i)
			start = i + 1
		case '.', '?', '!', '…':
			end := i + utf8.RuneLen(r)
			next, _ := utf8.DecodeRuneInString(text[end:])
			aside := strings.HasPrefix(strings.TrimLeft(text[end:], " "), "(")
			if end == len(text) || unicode.IsSpace(next) && !aside && !abbreviated(text[start:i]) {
				cut(end)
			}
		}
	}
	cut(len(text))
	return out
}

// abbreviated reports whether a dot after s belongs to its last word.
func abbreviated(s string) bool {
	at := strings.LastIndexAny(s, " (\n")
	last := fold(s[at+1:])
	return strings.Contains(" no nr approx e.g i.e eg ie etc mr mrs ms dr st vs incl max min num ", " "+last+" ") && last != ""
}
