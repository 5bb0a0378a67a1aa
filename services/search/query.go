package search

import (
	"slices"
	"strconv"
	"strings"
)

// Term is one content word of a query.
type Term struct {
	// Text is the word as the shopper wrote it, in lower case.
	Text string
	// Alternatives are words and phrases that mean the same. All words of a phrase must be in one field.
	Alternatives []string
	// Known is true for a word that is spelled right, and is therefore no other word.
	Known bool
	// Head is true for the word that says what the thing is.
	Head bool
	// languages are those of the products. Nil: English.
	languages []*language
}

// stems returns the stems of a word in the languages of the products, each once.
func (t Term) stems(word string) []string {
	if len(t.languages) == 0 {
		return []string{stem(word)}
	}
	out := make([]string, 0, len(t.languages))
	for _, l := range t.languages {
		if s := l.stem(word); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// phrases returns the stems of a phrase in each language of the products.
func (t Term) phrases(ws []string) [][]string {
	spoken := t.languages
	if len(spoken) == 0 {
		spoken = languages[:1]
	}
	var out [][]string
	for _, l := range spoken {
		stems := make([]string, len(ws))
		for i, w := range ws {
			stems[i] = l.stem(w)
		}
		if !slices.ContainsFunc(out, func(other []string) bool { return slices.Equal(other, stems) }) {
			out = append(out, stems)
		}
	}
	return out
}

// query is a shopper's wish taken apart.
type query struct {
	// language is the query's. Nil: English.
	language *language
	// terms are the content words, each once. Empty: nothing that tells products apart was said.
	terms []Term
	// head is the position of the term that says what the thing is: the tent of "light tent for two". -1: none does.
	head int
	// numbers are the positions of terms that are numbers, such as the 2 of "2 person tent".
	numbers []int
	// measures are those numbers that count something: the 2 of "2 person tent", the 30 of "30 l".
	measures []measure
	// loose are the positions of terms that order products and leave none out: the light of "light tent". Never all.
	loose []int
	// heads are folded names that the wanted thing may go by, the most telling first: "trail run shoe", "run shoe",
	// "shoe" and what they are synonyms of.
	heads []string
}

// measure is a number with what it counts.
type measure struct {
	term   int
	number float64
	unit   string // as written
}

// maxTerms bounds the content words of a query: more make no difference to a search, only to its cost.
const maxTerms = 16

// longestPhrase is the number of words in the longest synonym phrase.
const longestPhrase = 2

// parse reads a query to products of these languages.
func (x *lexicon) parse(text string, spoken []*language) query {
	ws := digits(words(text))
	q := query{language: x.language, head: -1}
	content := x.content(ws)
	for i, w := range content {
		if len(q.terms) == maxTerms {
			break
		}
		if q.position(w) >= 0 {
			continue
		}
		if allDigits(w) {
			q.numbers = append(q.numbers, len(q.terms))
		}
		q.terms = append(q.terms, Term{
			Text: w, Alternatives: x.alternatives(content, i), Known: x.known[x.stem(w)], languages: spoken,
		})
	}
	q.measure(ws)
	head := x.content(ws[:x.headEnd(ws)])
	if len(head) == 0 {
		head = content
	}
	q.loosen(content, head)
	head = x.thing(head)
	q.heads = x.namesOf(head)
	if len(head) > 0 {
		q.head = q.position(head[len(head)-1])
	}
	if q.head >= 0 {
		q.terms[q.head].Head = true
	}
	if slices.Contains(q.loose, q.head) { // "a gift for a camper" may be anything
		q.head, q.heads = -1, nil
	}
	return q
}

// thing cuts off what merely goes with the thing: the "30 l" of "rucksack 30 l", the "men" of "jacket men", and where the thing
// comes first all that is behind it.
func (x *lexicon) thing(head []string) []string {
	beside := func(w string) bool { return allDigits(w) || x.words.qualifiers[w] }
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

// in returns the language of the query.
func (q query) in() *language {
	if q.language == nil {
		return english
	}
	return q.language
}

// position is where a word stands among the terms. -1: it does not.
func (q query) position(word string) int {
	l := q.in()
	return slices.IndexFunc(q.terms, func(t Term) bool { return l.stem(t.Text) == l.stem(word) })
}

// measure notes the numbers that count something.
func (q *query) measure(ws []string) {
	for i := range len(ws) - 1 {
		if n, err := strconv.ParseFloat(ws[i], 64); err == nil && !allDigits(ws[i+1]) && !q.in().words.prepositions[ws[i+1]] {
			if at := q.position(ws[i]); at >= 0 {
				q.measures = append(q.measures, measure{at, n, ws[i+1]})
			}
		}
	}
}

// loosen notes the terms that leave no product out. When nothing else was said they have to select after all.
func (q *query) loosen(content, head []string) {
	for i, w := range content {
		last := len(head) > 0 && i == len(head)-1 && nouns[w]
		free := presents[w] && (i+1 == len(content) || !wrapped[content[i+1]])
		if at := q.position(w); at >= 0 && (q.in().words.vague[w] && !last || free) && !slices.Contains(q.loose, at) {
			q.loose = append(q.loose, at)
		}
	}
	if len(q.loose) == len(q.terms) {
		q.loose = nil
	}
}

// firm returns how many of the terms must be met.
func (q query) firm() int { return len(q.terms) - len(q.loose) }

// meets returns how many of the terms that must be met a match has.
func (q query) meets(m Match) int {
	n := m.Terms.Len()
	for _, i := range q.loose {
		if m.Terms.Has(i) {
			n--
		}
	}
	return n
}

// withoutPresents returns the words less those that only say that it is to be given away.
func withoutPresents(ws []string) []string {
	var out []string
	for i, w := range ws {
		if !presents[w] || i+1 < len(ws) && wrapped[ws[i+1]] {
			out = append(out, w)
		}
	}
	return out
}

// phrase is what must be met, as the shopper wrote it.
func (q query) phrase() string {
	var out []string
	for i := range q.terms {
		if !slices.Contains(q.loose, i) {
			out = append(out, q.measured(i))
		}
	}
	return strings.Join(out, " ")
}

// measured is a term with what it counts, if that is not a term itself.
func (q query) measured(i int) string {
	for _, m := range q.measures {
		if m.term == i && q.position(m.unit) < 0 {
			return q.terms[i].Text + " " + m.unit
		}
	}
	return q.terms[i].Text
}

// digits writes numbers that count people as digits: "two-person tent", "tent for two".
func digits(ws []string) []string {
	out := slices.Clone(ws)
	for i, w := range ws {
		n, ok := numerals[w]
		before := i+1 < len(ws) && counted[ws[i+1]]
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
			out = append(out, x.synonyms[x.nameKey(strings.Join(content[start:start+n], " "))]...)
		}
	}
	return append(out, x.implied[x.stem(content[i])]...)
}

// content returns the words that tell products apart. Prices and sizes do not: they are conditions, not words.
func (x *lexicon) content(ws []string) []string {
	var out []string
	for i, w := range ws {
		unit := len(w) == 1 && !allDigits(w) || counted[w] && i > 0 && allDigits(ws[i-1]) && !x.measured(ws, i-1)
		stops := x.stop[w] && !(w == "down" && x.language == english && x.material(ws, i))
		if !stops && !x.words.prepositions[w] && !x.measured(ws, i) && !unit {
			out = append(out, w)
		}
	}
	return out
}

// measured reports whether word i is a number that is a price or a size.
func (x *lexicon) measured(ws []string, i int) bool {
	return allDigits(ws[i]) && (i > 0 && x.words.beforeAmount[ws[i-1]] || i+1 < len(ws) && x.words.afterAmount[ws[i+1]])
}

// material reports whether a "down" is the filling and not the direction: it is before a thing or after a preposition.
func (x *lexicon) material(ws []string, i int) bool {
	if i > 0 && x.words.prepositions[ws[i-1]] {
		return true
	}
	return i+1 < len(ws) && !x.stop[ws[i+1]] && !x.words.prepositions[ws[i+1]] && !allDigits(ws[i+1])
}

// headEnd returns where the part ends that says what the thing is: at the first preposition that is not the first word.
func (x *lexicon) headEnd(ws []string) int {
	for i, w := range ws {
		if i > 0 && x.words.prepositions[w] {
			return i
		}
	}
	return len(ws)
}

// namesOf returns the folded ends of a head, the longest first, with synonyms after each.
func (x *lexicon) namesOf(head []string) []string {
	var out []string
	for i := range head {
		key := nameKey(strings.Join(head[i:], " "))
		out = append(out, key)
		for _, synonym := range x.synonyms[key] {
			out = append(out, nameKey(synonym))
		}
	}
	return out
}
