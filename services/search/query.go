package search

import (
	"slices"
	"strings"
)

// Term is one content word of a query.
type Term struct {
	// Text is the word as the shopper wrote it, in lower case.
	Text string
	// Alternatives are words and phrases that mean the same. All words of a phrase must be in one field.
	Alternatives []string
}

// query is a shopper's wish taken apart.
type query struct {
	// terms are the content words, each once. Empty: nothing that tells products apart was said.
	terms []Term
	// head is the position of the term that says what the thing is: the tent of "light tent for two". -1: none does.
	head int
	// numbers are the positions of terms that are numbers, such as the 2 of "2 person tent".
	numbers []int
	// heads are folded names that the wanted thing may go by, the most telling first: "trail run shoe", "run shoe",
	// "shoe" and what they are synonyms of.
	heads []string
}

// maxTerms bounds the content words of a query: more make no difference to a search, only to its cost.
const maxTerms = 16

// longestPhrase is the number of words in the longest synonym phrase.
const longestPhrase = 2

// parse reads a query.
func (v *vocabulary) parse(text string) query {
	ws := words(text)
	q := query{head: -1}
	content := v.content(ws)
	for i, w := range content {
		if len(q.terms) == maxTerms {
			break
		}
		if slices.ContainsFunc(q.terms, func(t Term) bool { return stem(t.Text) == stem(w) }) {
			continue
		}
		if allDigits(w) {
			q.numbers = append(q.numbers, len(q.terms))
		}
		q.terms = append(q.terms, Term{Text: w, Alternatives: v.alternatives(content, i)})
	}
	head := v.content(ws[:headEnd(ws)])
	if len(head) == 0 {
		head = content
	}
	for len(head) > 1 && (allDigits(head[len(head)-1]) || qualifiers[head[len(head)-1]]) {
		head = head[:len(head)-1] // the "30 l" of "rucksack 30 l", the "men" of "jacket men"
	}
	q.heads = v.namesOf(head)
	q.head = slices.IndexFunc(q.terms, func(t Term) bool {
		return len(head) > 0 && stem(t.Text) == stem(head[len(head)-1])
	})
	return q
}

// alternatives returns the synonyms of every phrase that covers word i: either half of "rain jacket" may be met by a
// raincoat.
func (v *vocabulary) alternatives(content []string, i int) []string {
	var out []string
	for n := 1; n <= longestPhrase; n++ {
		for start := max(0, i-n+1); start <= i && start+n <= len(content); start++ {
			out = append(out, v.synonyms[nameKey(strings.Join(content[start:start+n], " "))]...)
		}
	}
	return out
}

// content returns the words that tell products apart. Prices and sizes do not: they are conditions, not words.
func (v *vocabulary) content(ws []string) []string {
	var out []string
	for i, w := range ws {
		measured := allDigits(w) && (i > 0 && beforeAmount[ws[i-1]] || i+1 < len(ws) && afterAmount[ws[i+1]])
		unit := len(w) == 1 && !allDigits(w)
		if !v.stop[w] && !prepositions[w] && !measured && !unit {
			out = append(out, w)
		}
	}
	return out
}

// headEnd returns where the part ends that says what the thing is: at the first preposition that is not the first word.
func headEnd(ws []string) int {
	for i, w := range ws {
		if i > 0 && prepositions[w] {
			return i
		}
	}
	return len(ws)
}

// namesOf returns the folded ends of a head, the longest first, with synonyms after each.
func (v *vocabulary) namesOf(head []string) []string {
	var out []string
	for i := range head {
		key := nameKey(strings.Join(head[i:], " "))
		out = append(out, key)
		for _, synonym := range v.synonyms[key] {
			out = append(out, nameKey(synonym))
		}
	}
	return out
}
