package policies

import (
	"cmp"
	"slices"

	levenshtein "github.com/blevesearch/bleve/v2/search"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// typoShare is what a word that was taken for a typo is worth.
const typoShare = 0.6

// meant is a word of a question as it was probably meant, and the share at which it counts.
type meant struct {
	word  string
	share float64
	// sure is false for what may as well be another word, since the question has one that nothing is known of: it names no
	// topic.
	sure bool
}

// mend takes words that no passage and no topic has for typos of words that titles or topics have, where one is near.
func (x *passageIndex) mend(content []string) []meant {
	out := make([]meant, len(content))
	strange := false
	for i, word := range content {
		out[i] = meant{word, 1, true}
		if x.knows(word) {
			continue
		}
		if near := x.lookalike(word); near != "" {
			out[i] = meant{near, typoShare, false}
		} else {
			strange = true
		}
	}
	for i := range out {
		out[i].sure = out[i].sure || !strange
	}
	return out
}

// knows reports whether a word is spelled right, as far as can be told: a passage has it, or a word for the same topic.
func (x *passageIndex) knows(word string) bool {
	for lang, postings := range x.postings {
		all, isTopic := x.words.variants(word, lang)
		if isTopic || slices.ContainsFunc(all, func(w weighted) bool { return postings[w.term] != nil }) {
			return true
		}
	}
	return false
}

// lookalike is the word that differs least, and not in its first letter, of those that titles, sections and topics have. Among
// all words of all texts, one that looks alike is soon found. It is "" when all differ too much.
func (x *passageIndex) lookalike(word string) string {
	most := retrieval.Typos(x.words.term(word, defaultLanguage))
	best, least := "", most+1
	for _, known := range x.spelled {
		if known[0] != word[0] {
			continue
		}
		if d := distance(word, known, least); d < least {
			best, least = known, d
		}
	}
	return best
}

// distance is how many letters are wrong; two that changed places are one. It is most when there are as many or more.
func distance(a, b string, most int) int {
	if len(a) == len(b) && swapped(a, b) {
		return min(1, most)
	}
	n, _ := levenshtein.LevenshteinDistanceMax(a, b, most)
	return min(n, most)
}

// swapped reports whether two words of one length differ in two neighbours that changed places, and in nothing else.
func swapped(a, b string) bool {
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// sortSpelled makes the choice among words that are as near depend on nothing but the words: shorter ones come first.
func (x *passageIndex) sortSpelled() {
	x.spelled = append(x.spelled, x.words.topicWords...)
	x.spelled = slices.DeleteFunc(x.spelled, func(w string) bool { return retrieval.Typos(x.words.term(w, defaultLanguage)) == 0 })
	slices.SortFunc(x.spelled, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	x.spelled = slices.Compact(x.spelled)
}
