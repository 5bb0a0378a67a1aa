package index

import (
	"slices"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// The score of a product is BM25F: the occurrences of a term in all fields are weighed and added up before they saturate,
// so that a word in title and description is not counted as two. The shares were set as the weights of the fields were.
const (
	// synonymShare is what a synonym is worth beside the word itself.
	synonymShare = 0.6
	// TypoShare is what a word that was taken for a typo is worth.
	TypoShare = 0.6
	// HeadShare of the rarity of the word that says what is wanted goes to products that are it by their title. 0.5
	// ranks worse, 1.5 and 2 as 1 does.
	HeadShare = 1
	// shortestCompound is the length of a word that may have been two, in bytes.
	shortestCompound = 5
)

// JoinedWeight is what a word is worth that the product writes as two.
var JoinedWeight = Fields[titleField].Weight

// Expansion is one way in which a product may have a term.
type Expansion struct {
	Stems  []string // all of them in one field
	Weight float64  // of what the term itself is worth
	Strong bool     // only in strong fields
	Joined bool     // as neighbours that make the one word when they are joined
}

// Expansions are the forms of term i but for typos, in each language of the products: the word, the word written as two or
// together with a neighbour, and what means the same.
func Expansions(terms []Term, i int) []Expansion {
	t := terms[i]
	var out []Expansion
	for _, s := range t.Stems(t.Text) {
		out = append(out, Expansion{Stems: []string{s}, Weight: 1})
		if len(t.Text) >= shortestCompound {
			out = append(out, Expansion{Stems: []string{s}, Weight: 1, Joined: true})
		}
	}
	for at := max(1, i); at <= i+1 && at < len(terms); at++ {
		for _, s := range t.Stems(terms[at-1].Text + terms[at].Text) {
			out = append(out, Expansion{Stems: []string{s}, Weight: 1})
		}
	}
	for _, alternative := range t.Alternatives {
		for _, stems := range t.Phrases(catalog.Words(alternative)) {
			out = append(out, Expansion{Stems: stems, Weight: synonymShare})
		}
	}
	return out
}

// HeadStems are those of the word and of the words that mean the same.
func (t Term) HeadStems() []string {
	out := t.Stems(t.Text)
	for _, alternative := range t.Alternatives {
		if ws := catalog.Words(alternative); len(ws) == 1 {
			for _, s := range t.Stems(ws[0]) {
				if !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// Correctable are the stems of a word that may be another, misspelt, when nothing has it.
func (t Term) Correctable() []string {
	if t.Known {
		return nil
	}
	return slices.DeleteFunc(t.Stems(t.Text), func(s string) bool { return retrieval.Typos(s) == 0 })
}

// TermWeight is BM25F's weight of a word in a field. The length is in mean lengths.
func (f Field) TermWeight(frequency, length float64) float64 {
	return f.Weight * frequency / retrieval.LengthNorm(f.length, length)
}
