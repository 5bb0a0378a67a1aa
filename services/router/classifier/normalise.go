package classifier

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// word is one word of a text.
type word struct {
	start, end int     // bytes in the text
	norm       string  // folded
	stem       string  // norm without common endings
	senses     *senses // nil: the word is in no vocabulary
	class      class
	gap        gap  // what stands between the word before and this one
	upper      bool // begins with a capital letter
	asked      bool // a question mark follows before the next word
}

// gap is what stands between two words.
type gap uint8

const (
	gapNone  gap = iota // white space, hyphens and the like
	gapComma            // a comma, a colon, a dash, a bracket: a sentence may go on
	gapHard             // the end of a sentence or a line
)

// content reports whether the word is a content word: no function word and no politeness.
func (w word) content() bool { return w.class&(function|greeting|filler) == 0 }

// is reports whether the word is of one of the classes.
func (w word) is(c class) bool { return w.class&c != 0 }

// splitWords finds the words of a message.
func splitWords(message string) []word {
	found := text.Words(message)
	ws := make([]word, len(found))
	for i, f := range found {
		first, _ := utf8.DecodeRuneInString(message[f.Start:])
		w := word{start: f.Start, end: f.End, norm: f.Text, stem: stem(f.Text), senses: meanings[f.Text], upper: unicode.IsUpper(first)}
		if w.senses != nil {
			w.class = w.senses.any()
		}
		if shape := shapeOf(message, f.Start, f.End); shape != "" {
			w.stem = shape
		}
		if i > 0 {
			before := &ws[i-1]
			w.gap = gapBetween(message, *before, f.Start)
			before.asked = w.gap == gapHard && strings.ContainsAny(message[before.end:f.Start], "?？؟")
		}
		ws[i] = w
	}
	if n := len(ws); n > 0 {
		ws[n-1].asked = strings.ContainsAny(message[ws[n-1].end:], "?？؟")
	}
	return ws
}

// gapBetween returns the kind of the gap between a word and the next one, which starts at next.
func gapBetween(text string, prev word, next int) gap {
	between := text[prev.end:next]
	if between == " " || between == "" {
		return gapNone
	}
	if between == ", " {
		return gapComma
	}
	if strings.ContainsAny(between, "?!;？！。；…؟¿¡") {
		return gapHard
	}
	if strings.Contains(between, "..") || strings.HasPrefix(between, ".") && len(between) > 1 && !abbreviations[prev.norm] {
		return gapHard
	}
	if strings.ContainsAny(between, "\n\r") && !prev.is(determiner|preposition|conjunction|possessive) {
		return gapHard // a line that breaks after "the" or "in" is only wrapped
	}
	if strings.ContainsAny(between, ",:()–—、，") || strings.Contains(between, " - ") {
		return gapComma
	}
	return gapNone
}

// abbreviations are words whose full stop ends no sentence.
var abbreviations = map[string]bool{
	"approx": true, "no": true, "nr": true, "num": true, "mr": true, "mrs": true, "dr": true, "vs": true, "etc": true,
	"ca": true, "z": true, "b": true, "e": true, "g": true, "i": true, "p": true, "ej": true, "max": true, "min": true,
	"incl": true, "inkl": true, "bzw": true, "art": true,
}

// stem cuts common endings off a folded word, so that its forms in English, Spanish, German and French meet. It needs no
// language, because keywords and examples are too short to tell theirs. Stems are compared only with stems.
func stem(s string) string {
	if len(s) < 4 || s[0] <= '9' {
		return s
	}
	switch {
	case len(s) > 4 && strings.HasSuffix(s, "ies"):
		return s[:len(s)-3] + "y"
	case len(s) > 7 && strings.HasSuffix(s, "ungen"):
		return s[:len(s)-2]
	case len(s) > 6 && strings.HasSuffix(s, "ing"):
		return undouble(s[:len(s)-3])
	case len(s) > 5 && strings.HasSuffix(s, "ed") && !strings.HasSuffix(s, "eed"):
		return undouble(s[:len(s)-2])
	case len(s) > 5 && (strings.HasSuffix(s, "sses") || strings.HasSuffix(s, "shes") || strings.HasSuffix(s, "ches") ||
		strings.HasSuffix(s, "xes")):
		return s[:len(s)-2]
	case s[len(s)-1] == 's' && !strings.HasSuffix(s, "ss") && !strings.HasSuffix(s, "us") && !strings.HasSuffix(s, "is"):
		s = s[:len(s)-1]
	}
	if len(s) > 6 && (strings.HasSuffix(s, "rlo") || strings.HasSuffix(s, "rla")) {
		return s[:len(s)-2] // "devolverla", "devolverlos"
	}
	if len(s) > 4 && s[len(s)-1] == 'e' {
		s = s[:len(s)-1]
	}
	return s
}

// undouble turns "shipp" into "ship", and takes a final e off as stem does.
func undouble(s string) string {
	n := len(s)
	if n > 3 && s[n-1] == s[n-2] && s[n-1] != 'l' && s[n-1] != 's' {
		return s[:n-1]
	}
	if n > 4 && s[n-1] == 'e' {
		return s[:n-1]
	}
	return s
}

// oneEdit reports whether a and b are one typing error apart: a letter too many, one too few, two swapped, or, in words of
// six letters and more, one wrong.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(b) == len(a)+1 {
		return a[i:] == b[i+1:]
	}
	if len(a) != len(b) || i == len(a) {
		return false
	}
	if i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] {
		return true
	}
	return len(a) >= 6 && a[i+1:] == b[i+1:]
}

// keyboardRows are the rows of letters on a keyboard.
var keyboardRows = [...]string{"qwertyuiop", "asdfghjkl", "zxcvbnm"}

// gibberish reports whether a folded word is a run of neighbouring keys, one letter over and over, or has no vowel.
func gibberish(s string) bool {
	if len(s) < 3 || s[0] <= '9' {
		return false
	}
	for _, row := range keyboardRows {
		if strings.Contains(row, s[:min(4, len(s))]) {
			return true
		}
	}
	if strings.Count(s, s[:1]) == len(s) {
		return true
	}
	return s[0] < utf8.RuneSelf && len(s) >= 4 && !strings.ContainsAny(s, "aeiouy0123456789")
}

// Stems of words that are known by their shape. They stand for all such words in examples and messages.
const (
	codeShape   = "<code>"   // "SAVE20": three capitals and more, then digits
	numberShape = "<number>" // the "10031" of "QT-10031" and "#10031"
	shareShape  = "<share>"  // the "20" of "20%"
)

// shapeOf returns the stem of a word that is known by its shape, or "".
func shapeOf(text string, start, end int) string {
	w := text[start:end]
	if last := w[len(w)-1]; last < '0' || last > '9' {
		return ""
	}
	letters := strings.TrimRight(w, "0123456789")
	switch anyNumber := len(w) - len(letters); {
	case len(letters) == 0 && (strings.HasPrefix(text[end:], "%") || strings.HasPrefix(text[end:], " %")):
		return shareShape
	case len(letters) >= 3 && strings.Trim(letters, capitals) == "":
		return codeShape
	case len(letters) > 0 || anyNumber < 4 || start == 0:
		return ""
	case text[start-1] == '#' || text[start-1] == '-' && start > 1 && strings.IndexByte(capitals, text[start-2]) >= 0:
		return numberShape
	}
	return ""
}

const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Terms returns the stems of a text's content words, or of all words if there are no content words: sorted, each once.
func Terms(text string) []string { return termsOf(splitWords(text)) }

// ContentTerms returns the stems of a text's content words: sorted, each once. May be empty.
func ContentTerms(text string) []string { return contentTerms(splitWords(text)) }

func termsOf(ws []word) []string {
	if stems := contentTerms(ws); len(stems) > 0 {
		return stems
	}
	return stemsOf(ws, func(word) bool { return true })
}

func contentTerms(ws []word) []string { return stemsOf(ws, word.content) }

func stemsOf(ws []word, counts func(word) bool) []string {
	stems := make([]string, 0, len(ws))
	for _, w := range ws {
		if counts(w) {
			stems = append(stems, w.stem)
		}
	}
	slices.Sort(stems)
	return slices.Compact(stems)
}

// Normalise returns the words of a text in lower case, without accents and marks, joined by spaces.
func Normalise(text string) string {
	var b strings.Builder
	for i, w := range splitWords(text) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.norm)
	}
	return b.String()
}

// HasPronoun reports whether a text has a word that stands for something said before, such as "it" or "those".
func HasPronoun(text string) bool {
	return slices.ContainsFunc(splitWords(text), func(w word) bool { return w.is(pronoun) })
}
