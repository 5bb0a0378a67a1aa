package search

import (
	"slices"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// The score of a product is BM25F: the occurrences of a term in all fields are weighed and added up before they saturate,
// so that a word in title and description is not counted as two. The shares were set as the weights of the fields were.
const (
	// saturation is BM25's k1: the more, the more a repeated word is worth.
	saturation = 1.2
	// synonymShare is what a synonym is worth beside the word itself.
	synonymShare = 0.6
	// typoShare is what a word that was taken for a typo is worth.
	typoShare = 0.6
	// headShare of the rarity of the word that says what is wanted goes to products that are it by their title.
	headShare = 0.5
	// pairShare of the mean rarity of two neighbours goes to products where they are neighbours too.
	pairShare = 0.5
	// shortestCompound is the length of a word that may have been two, in bytes.
	shortestCompound = 5
)

// joinedWorth is what a word is worth that the product writes as two.
var joinedWorth = fields[titleField].weight

func saturated(worth float64) float64 { return worth * (saturation + 1) / (worth + saturation) }

// form is one way in which a product may have a term.
type form struct {
	stems  []string // all of them in one field
	share  float64  // of what the term itself is worth
	strong bool     // only in strong fields
	joined bool     // as neighbours that make the one word when they are joined
}

// formsOf are the forms of term i but for typos, in each language of the products: the word, the word written as two or
// together with a neighbour, and what means the same.
func formsOf(terms []Term, i int) []form {
	t := terms[i]
	var out []form
	for _, s := range t.stems(t.Text) {
		out = append(out, form{stems: []string{s}, share: 1})
		if len(t.Text) >= shortestCompound {
			out = append(out, form{stems: []string{s}, share: 1, joined: true})
		}
	}
	for at := max(1, i); at <= i+1 && at < len(terms); at++ {
		for _, s := range t.stems(terms[at-1].Text + terms[at].Text) {
			out = append(out, form{stems: []string{s}, share: 1})
		}
	}
	for _, alternative := range t.Alternatives {
		for _, stems := range t.phrases(words(alternative)) {
			out = append(out, form{stems: stems, share: synonymShare})
		}
	}
	return out
}

// headStems are those of the word and of the words that mean the same.
func (t Term) headStems() []string {
	out := t.stems(t.Text)
	for _, alternative := range t.Alternatives {
		if ws := words(alternative); len(ws) == 1 {
			for _, s := range t.stems(ws[0]) {
				if !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// doubtful are the stems of a word that may be another, misspelt, when nothing has it.
func (t Term) doubtful() []string {
	if t.Known {
		return nil
	}
	return slices.DeleteFunc(t.stems(t.Text), func(s string) bool { return retrieval.Typos(s) == 0 })
}
