package search

import (
	"strings"
	"unicode"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// titleHead returns the words of the title that say what the product is: one, or two where the first is too broad. The
// product "Kestrel keyboard cover, black" is a cover, "Kestrel keyboard black" a keyboard. Nil: the title does not say.
//
// In English that is the last word of the first part of the title, once the words are gone that only say how it is. Where nouns
// come first it is the first.
func titleHead(p *catalogv1.Product, l *language, values [][]string) []string {
	known := qualities(p, values)
	quality := func(w string) bool { return known[w] || l.words.qualifiers[w] }
	for _, part := range titleParts(p.GetTitle(), l.words.prepositions) {
		ws := words(withoutModels(part))
		for l.nounFirst && len(ws) > 0 && quality(ws[0]) {
			ws = ws[1:]
		}
		if l.nounFirst && len(ws) > 0 {
			return ws[:1]
		}
		for len(ws) > 0 && endsInQuality(ws, quality) {
			ws = ws[:len(ws)-1]
		}
		switch n := len(ws); {
		case n > 1 && broad[ws[n-1]]:
			return ws[n-2:]
		case n > 0:
			return ws[n-1:]
		}
	}
	return nil
}

// titleParts cuts a title at punctuation and at prepositions.
func titleParts(title string, prepositions map[string]bool) []string {
	var out []string
	for _, part := range strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(",()[]–—|;:", r) }) {
		ws, start := strings.Fields(part), 0
		for i, w := range ws {
			if w == "-" || prepositions[strings.ToLower(w)] {
				out = append(out, strings.Join(ws[start:i], " "))
				start = i + 1
			}
		}
		out = append(out, strings.Join(ws[start:], " "))
	}
	return out
}

// withoutModels puts one word in place of those in which letters and digits run together or are joined, as they do in the
// names of models.
func withoutModels(part string) string {
	ws := strings.Fields(part)
	for i, w := range ws {
		if strings.ContainsAny(w, "0123456789") && strings.ContainsFunc(w, unicode.IsLetter) {
			ws[i] = "model0"
		}
	}
	return strings.Join(ws, " ")
}

// endsInQuality reports whether the last word says how a thing is and not what: a number, its unit, a model's name, a
// colour, or whatever the product's data tells to be its quality.
func endsInQuality(ws []string, quality func(string) bool) bool {
	last := ws[len(ws)-1]
	measures := len(ws) > 1 && allDigits(ws[len(ws)-2])
	return measures || len(last) == 1 || strings.ContainsAny(last, "0123456789") || quality(last)
}

// longestQuality is the number of words in an attribute that is a quality. Longer ones describe, in words of any sort.
const longestQuality = 3

// qualities are the words that say whose and how a product is: those of its brand, its options and its short attributes
// other than its type.
func qualities(p *catalogv1.Product, values [][]string) map[string]bool {
	known := make(map[string]bool)
	add := func(ws []string) {
		if len(ws) <= longestQuality {
			for _, w := range ws {
				known[w] = true
			}
		}
	}
	add(words(p.GetBrand()))
	for i, a := range p.GetAttributes() {
		if _, isText := a.GetValue().(*catalogv1.Attribute_Text); isText && !strings.HasSuffix(a.GetName(), "type") {
			add(values[i])
		}
	}
	for _, v := range p.GetVariants() {
		for _, value := range v.GetOptions() {
			add(words(value))
		}
	}
	return known
}

// broad are things so broad that the word before says as much: a notebook PC is a notebook.
var broad = map[string]bool{
	"pc": true, "computer": true, "device": true, "system": true, "unit": true, "set": true, "kit": true, "pack": true,
	"bundle": true, "series": true, "edition": true,
}
