package gateway

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

const (
	// factShare is the part of a section's facts that a merged text must repeat. A merge may drop the weaker half of a
	// list; one that drops more has dropped the section.
	factShare = 0.5
	// wordShare is the part of a section's longer words that must come back when it holds no facts. Rewording is fine, so
	// it is low.
	wordShare = 0.25
	// longWord is the length, in letters, from which a word says what a text is about.
	longWord = 5
)

// covers reports whether a merged text still holds an answer: enough of its key facts, which are product titles, codes,
// order numbers and the numbers in its text; or, for an answer without any, enough of its words.
func covers(merged string, a *specialistv1.Answer) bool {
	text := fold(a.GetText())
	inMerged := fold(merged)
	facts, kept := 0, 0
	count := func(found bool) {
		facts++
		if found {
			kept++
		}
	}
	for _, name := range names(a) {
		if name = fold(name); name != "" && strings.Contains(text, name) {
			count(strings.Contains(inMerged, name))
		}
	}
	have := numbers(merged)
	for _, n := range numbers(a.GetText()) {
		count(slices.Contains(have, n))
	}
	if facts > 0 {
		return float64(kept) >= factShare*float64(facts)
	}
	long := longWords(text)
	for _, w := range long {
		if strings.Contains(inMerged, " "+w+" ") {
			kept++
		}
	}
	return float64(kept) >= wordShare*float64(len(long))
}

// names are the names that code put beside the text.
func names(a *specialistv1.Answer) []string {
	var out []string
	for _, p := range a.GetProducts() {
		out = append(out, p.GetTitle())
	}
	if code := a.GetPromotion().GetCode(); code != "" {
		out = append(out, code)
	}
	if id := a.GetOrder().GetOrderId(); id != "" {
		out = append(out, id)
	}
	return out
}

// number matches an amount, a count, or the digits of a code.
var number = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

// unseparated takes the separators out of a number.
var unseparated = strings.NewReplacer(".", "", ",", "")

// numbers returns the different numbers of two digits or more, in a form that does not depend on how a language writes
// them: 1,299.50 and 1.299,50 are both 129950, and 40.00 is 40. Single digits are often written as words.
func numbers(text string) []string {
	var out []string
	for _, n := range number.FindAllString(text, -1) {
		for _, zeros := range []string{".00", ",00"} {
			n = strings.TrimSuffix(n, zeros)
		}
		n = unseparated.Replace(n)
		if len(n) > 1 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// fold turns a text into lower-case words between single spaces, with a space at either end, so that whole words can be
// looked for.
func fold(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ") + " "
}

// longWords returns the different long words of a folded text.
func longWords(folded string) []string {
	var out []string
	for _, w := range strings.Fields(folded) {
		if len([]rune(w)) >= longWord && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
