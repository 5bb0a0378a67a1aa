package index

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// Term is one content word of a query.
type Term struct {
	// Text is the word as the shopper wrote it, in lower case.
	Text string
	// Alternatives are words and phrases that mean the same. All words of a phrase must be in one field.
	Alternatives []string
	// Known is true for a word that is spelled right, and is therefore no other word.
	Known bool
	// Head is true for the head noun of the query.
	Head bool
	// Languages are those of the products. Nil: English.
	Languages []*Language
}

// Stems returns the stems of a word in the languages of the products, each once.
func (t Term) Stems(word string) []string {
	if len(t.Languages) == 0 {
		return []string{English.Stem(word)}
	}
	out := make([]string, 0, len(t.Languages))
	for _, l := range t.Languages {
		if s := l.Stem(word); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Phrases returns the stems of a phrase in each language of the products.
func (t Term) Phrases(ws []string) [][]string {
	spoken := t.Languages
	if len(spoken) == 0 {
		spoken = Languages[:1]
	}
	var out [][]string
	for _, l := range spoken {
		stems := make([]string, len(ws))
		for i, w := range ws {
			stems[i] = l.Stem(w)
		}
		if !slices.ContainsFunc(out, func(other []string) bool { return slices.Equal(other, stems) }) {
			out = append(out, stems)
		}
	}
	return out
}

// Query is what a shopper asks for, parsed.
type Query struct {
	// language is the query's. Nil: English.
	language *Language
	// Terms are the content words, each once. Empty: the text has no word that distinguishes products.
	Terms []Term
	// Head is the position of the term that says what the thing is: the tent of "light tent for two". -1: none does.
	Head int
	// numbers are the positions of terms that are numbers, such as the 2 of "2 person tent".
	numbers []int
	// measures are those numbers that count something: the 2 of "2 person tent", the 30 of "30 l".
	measures []Measure
	// Optional are the positions of terms that affect the order of products and exclude none: the "light" of "light tent".
	// Never all terms.
	Optional []int
	// Negated is what products must not have, as the shopper wrote it, and what is not looked for: "without lid".
	Negated []string
	// headPhrases are folded phrases that name what is wanted, the most specific first: "trail run shoe", "run shoe",
	// "shoe", and their synonyms.
	headPhrases []string
}

// Measure is a number with what it counts.
type Measure struct {
	term   int
	number float64
	unit   string // as written
}

// maxTerms bounds the content words of a query: more make no difference to a search, only to its cost.
const maxTerms = 16

// longestPhrase is the number of words in the longest synonym phrase.
const longestPhrase = 2

// Parse reads a query to products of these languages.
func (x *lexicon) Parse(text string, spoken []*Language) Query {
	ws := withDigits(catalog.Words(text))
	q := Query{language: x.Language, Head: -1}
	content := x.contentWords(ws)
	for i, w := range content {
		if len(q.Terms) == maxTerms {
			break
		}
		if q.position(w) >= 0 {
			continue
		}
		if isNumber(w) {
			q.numbers = append(q.numbers, len(q.Terms))
		}
		q.Terms = append(q.Terms, Term{
			Text: w, Alternatives: x.alternatives(content, i), Known: x.isKnown(x.Stem(w)), Languages: spoken,
		})
	}
	q.measure(ws)
	head := x.contentWords(ws[:x.headEnd(ws)])
	if len(head) == 0 {
		head = content
	}
	q.markOptional(content, head)
	head = x.headNoun(head)
	q.headPhrases = x.headPhrases(head)
	if len(head) > 0 {
		q.Head = q.position(head[len(head)-1])
	}
	if q.Head >= 0 {
		q.Terms[q.Head].Head = true
	}
	if slices.Contains(q.Optional, q.Head) { // "a gift for a camper" may be anything
		q.Head, q.headPhrases = -1, nil
	}
	return q
}

// headNoun cuts off what stands beside the head noun: the "30 l" of "rucksack 30 l", the "men" of "jacket men", and, in
// languages where the noun comes first, everything behind it.
func (x *lexicon) headNoun(head []string) []string {
	beside := func(w string) bool { return isNumber(w) || x.words.qualifiers[w] }
	if x.nounFirst {
		for len(head) > 1 && (beside(head[0]) || x.words.vague[head[0]]) {
			head = head[1:]
		}
		return head[:min(1, len(head))]
	}
	for len(head) > 1 && beside(head[len(head)-1]) {
		head = head[:len(head)-1]
	}
	return head
}

// Language returns the language of the query.
func (q Query) Language() *Language {
	if q.language == nil {
		return English
	}
	return q.language
}

// position is where a word stands among the terms. -1: it does not.
func (q Query) position(word string) int {
	l := q.Language()
	return slices.IndexFunc(q.Terms, func(t Term) bool { return l.Stem(t.Text) == l.Stem(word) })
}

// measure notes the numbers that count something.
func (q *Query) measure(ws []string) {
	for i := range len(ws) - 1 {
		if n, err := strconv.ParseFloat(ws[i], 64); err == nil && !isNumber(ws[i+1]) && !q.Language().words.prepositions[ws[i+1]] {
			if at := q.position(ws[i]); at >= 0 {
				q.measures = append(q.measures, Measure{at, n, ws[i+1]})
			}
		}
	}
}

// markOptional notes the optional terms. When all terms are optional, none is.
func (q *Query) markOptional(content, head []string) {
	for i, w := range content {
		last := len(head) > 0 && i == len(head)-1 && nounsAtEnd[w]
		free := gifts[w] && (i+1 == len(content) || !giftNouns[content[i+1]])
		if at := q.position(w); at >= 0 && (q.Language().words.vague[w] && !last || colourWords[q.Terms[at].Text] || free) && !slices.Contains(q.Optional, at) {
			q.Optional = append(q.Optional, at)
		}
	}
	if len(q.Optional) == len(q.Terms) {
		q.Optional = nil
	}
}

// required returns how many terms are required.
func (q Query) required() int { return len(q.Terms) - len(q.Optional) }

// meets returns how many of the required terms a match has.
func (q Query) meets(m Match) int {
	n := m.Terms.Len()
	for _, i := range q.Optional {
		if m.Terms.Has(i) {
			n--
		}
	}
	return n
}

// withoutGifts returns the words less those that only say that it is to be given away.
func withoutGifts(ws []string) []string {
	var out []string
	for i, w := range ws {
		if !gifts[w] || i+1 < len(ws) && giftNouns[ws[i+1]] {
			out = append(out, w)
		}
	}
	return out
}

// Phrase is the required terms as the shopper wrote them.
func (q Query) Phrase() string {
	var out []string
	for i := range q.Terms {
		if !slices.Contains(q.Optional, i) {
			out = append(out, q.measured(i))
		}
	}
	return strings.Join(out, " ")
}

// measured is a term with what it counts, if that is not a term itself.
func (q Query) measured(i int) string {
	for _, m := range q.measures {
		if m.term == i && q.position(m.unit) < 0 {
			return q.Terms[i].Text + " " + m.unit
		}
	}
	return q.Terms[i].Text
}

// withDigits writes numbers that count people as digits: "two-person tent", "tent for two".
func withDigits(ws []string) []string {
	out := slices.Clone(ws)
	for i, w := range ws {
		n, ok := numerals[w]
		before := i+1 < len(ws) && peopleUnits[ws[i+1]]
		last := i > 0 && i+1 == len(ws) && ws[i-1] == "for"
		if ok && (before || last) {
			out[i] = n
		}
	}
	return out
}

// alternatives returns the synonyms of every phrase that covers word i: either half of "rain jacket" may be met by a
// raincoat.
func (x *lexicon) alternatives(content []string, i int) []string {
	var out []string
	for n := 1; n <= longestPhrase; n++ {
		for start := max(0, i-n+1); start <= i && start+n <= len(content); start++ {
			out = append(out, x.synonymsOf(x.CategoryKey(strings.Join(content[start:start+n], " ")))...)
		}
	}
	return append(out, x.Implied[x.Stem(content[i])]...)
}

// contentWords returns the words that tell products apart. Prices and sizes do not: they are conditions, not words.
func (x *lexicon) contentWords(ws []string) []string {
	var out []string
	for i, w := range ws {
		people := peopleUnits[w] && i > 0 && isNumber(ws[i-1]) && !x.isAmount(ws, i-1)
		stops := x.stop[w] && !(colourWords[w] && x.isModifier(ws, i)) && !(w == "down" && x.Language == English && x.isMaterial(ws, i))
		if !stops && !x.words.prepositions[w] && !x.isAmount(ws, i) && !people {
			out = append(out, w)
		}
	}
	return out
}

// isAmount reports whether word i is a number that is a price or a size.
func (x *lexicon) isAmount(ws []string, i int) bool {
	return isNumber(ws[i]) && (i > 0 && x.words.beforeAmount[ws[i-1]] || i+1 < len(ws) && x.words.afterAmount[ws[i+1]])
}

// isMaterial reports whether "down" is a filling and not a direction: it is before a noun or after a preposition.
func (x *lexicon) isMaterial(ws []string, i int) bool {
	return i > 0 && x.words.prepositions[ws[i-1]] || x.isModifier(ws, i)
}

// isModifier reports whether word i stands beside a noun, on the side where the language has what the noun is like.
func (x *lexicon) isModifier(ws []string, i int) bool {
	if x.nounFirst {
		return i > 0 && x.isNoun(ws[i-1])
	}
	return i+1 < len(ws) && x.isNoun(ws[i+1])
}

// isNoun reports whether a word may be a noun: it is no number and none of the small words.
func (x *lexicon) isNoun(w string) bool {
	return !x.stop[w] && !x.words.prepositions[w] && !isNumber(w)
}

// headEnd returns where the noun phrase ends: at the first preposition that is not the first word.
func (x *lexicon) headEnd(ws []string) int {
	for i, w := range ws {
		if i > 0 && x.words.prepositions[w] {
			return i
		}
	}
	return len(ws)
}

// headPhrases returns the folded ends of a head, the longest first, with synonyms after each.
func (x *lexicon) headPhrases(head []string) []string {
	var out []string
	for i := range head {
		key := CategoryKey(strings.Join(head[i:], " "))
		out = append(out, key)
		for _, synonym := range x.synonymsOf(key) {
			out = append(out, CategoryKey(synonym))
		}
	}
	return out
}
