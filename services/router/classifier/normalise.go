package classifier

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// word is one word of a message.
type word struct {
	start, end int    // bytes in the message
	norm       string // folded; numbers and codes by their shape
	gap        gap    // what stands between the word before and this one
	asked      bool   // a question mark follows before the next word
	quoted     bool   // stands in quotation marks or a quoted mail
}

// gap is what stands between two words.
type gap uint8

const (
	gapSpace    gap = iota // white space, hyphens and the like
	gapComma               // a comma, a colon, a dash, a bracket: a sentence may go on
	gapStop                // the end of a sentence
	gapQuestion            // the end of a question
	gapLine                // the end of a line
)

// splitWords finds the words of a message.
func splitWords(message string) []word {
	found := text.Words(message)
	ws := make([]word, len(found))
	for i, f := range found {
		ws[i] = word{start: f.Start, end: f.End, norm: shape(f.Text)}
		if i > 0 {
			between := message[ws[i-1].end:f.Start]
			ws[i].gap = gapOf(between)
			ws[i-1].asked = ws[i].gap == gapQuestion
			if w := &ws[i-1]; (between == "-" || between == "_") && w.end-w.start <= longestPrefix && !isNumber(w.norm) && isNumber(ws[i].norm) {
				w.norm = prefix
			}
		}
	}
	if n := len(ws); n > 0 {
		ws[n-1].asked = strings.ContainsAny(message[ws[n-1].end:], questionMarks)
	}
	markQuoted(message, ws)
	return ws
}

const questionMarks = "?？؟"

func gapOf(between string) gap {
	switch {
	case between == " " || between == "":
		return gapSpace
	case strings.ContainsAny(between, questionMarks+"¿"):
		return gapQuestion
	case strings.ContainsAny(between, "\n\r"):
		return gapLine
	case strings.ContainsAny(between, "!;！。；…¡") || strings.HasPrefix(between, ".") && len(between) > 1:
		return gapStop
	case strings.ContainsAny(between, ",:()[]/–—、，\"“”„«»") || strings.Contains(between, " - "):
		return gapComma
	}
	return gapSpace
}

// Shapes of words with digits.
const (
	number      = "0"
	longNumber  = "0000"  // an order number, a year
	measure     = "0a"    // 40cm, 30x50
	modelNumber = "a00"   // X200
	code        = "a0"    // SAVE20
	longCode    = "a0000" // a parcel's number
	prefix      = "a-"    // any letters before the number of AB-1234
)

// longestPrefix is how many bytes a prefix has at most.
const longestPrefix = 3

func isNumber(norm string) bool { return norm == number || norm == longNumber }

var measureRE = regexp.MustCompile(`^\d+([.,]\d+)?(x\d+([.,]\d+)?)*\pL*$`)

// isID reports whether the word is an order number, which follows a '-' or '#', or a code in capital letters.
func (w word) isID(message string) bool {
	switch w.norm {
	case longNumber:
		return w.start > 0 && (message[w.start-1] == '-' || message[w.start-1] == '#')
	case code, longCode:
		written := message[w.start:w.end]
		return written == strings.ToUpper(written)
	}
	return false
}

// shape returns a word without digits as it is, and else what stands for all words with such digits.
func shape(w string) string {
	digits, others := 0, 0
	for _, r := range w {
		if text.IsDigit(r) {
			digits++
		} else {
			others++
		}
	}
	switch {
	case digits == 0:
		return w
	case others == 0 && digits >= 4:
		return longNumber
	case others == 0:
		return number
	case others > digits:
		return code
	case measureRE.MatchString(w):
		return measure
	case digits >= 5:
		return longCode
	}
	return modelNumber
}

// minQuote is how many words a quotation has at least. Fewer may be a name, as in "a sign that says SALE".
const minQuote = 4

// markQuoted marks the words in quotation marks and on lines that begin with '>'.
func markQuoted(message string, ws []word) {
	mark := func(from, to int) {
		before := func(w word, at int) int { return w.start - at }
		lo, _ := slices.BinarySearchFunc(ws, from, before)
		hi, _ := slices.BinarySearchFunc(ws, to, before)
		for i := lo; i < hi && hi-lo >= minQuote; i++ {
			ws[i].quoted = true
		}
	}
	for at := 0; at < len(message); {
		open := strings.IndexAny(message[at:], "\"“„«")
		if open < 0 {
			break
		}
		open += at
		end := strings.IndexAny(message[open+1:], "\"”“»")
		if end < 0 {
			break
		}
		mark(open, open+1+end)
		at = open + 2 + end
	}
	at := 0
	for line := range strings.Lines(message) {
		if strings.HasPrefix(strings.TrimSpace(line), ">") {
			mark(at, at+len(line))
		}
		at += len(line)
	}
}

// ContentTerms returns the stems of a text's words that are no stop words of the text's language: sorted, each once. May be
// empty.
func ContentTerms(s string) []string {
	var out []string
	tag := text.Language(s)
	for _, w := range text.Words(s) {
		if !text.IsStopWord(tag, w.Text) && !text.IsStopWord("en", w.Text) {
			out = append(out, stem(w.Text))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stem is text.Stem for words whose language is not known, such as keywords. Stems are compared with stems only.
func stem(w string) string { return text.Stem("en", w) }

// Normalise returns the words of a text in lower case, without accents and marks, joined by spaces.
func Normalise(s string) string {
	var words []string
	for _, w := range text.Words(s) {
		words = append(words, w.Text)
	}
	return strings.Join(words, " ")
}

// pronouns stand for something said before.
var pronouns = wordSet(`it its them they those these that this one ones es ihn ihm sie diese dieser dieses davon dafur damit
	lo la los las ese esa eso esto esta il elle le les ca cela celui celle ceci y`)

// hasPronoun reports whether a text has a word that may stand for something said before, such as "it" or "those". After the first comma,
// such a word stands for something in the text itself.
func hasPronoun(s string) bool {
	s, _, _ = strings.Cut(s, ",")
	return slices.ContainsFunc(text.Words(s), func(w text.Word) bool { return pronouns[w.Text] })
}

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
