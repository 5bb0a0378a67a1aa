// Package retrieval is what the search of products and that of documents have in common: the formulas of BM25, how ranked lists
// are joined, how many letters of a word may be wrong, and how long an endpoint is waited for. What a hit is, each search decides
// for itself. The package imports no service.
package retrieval

import (
	"math"
	"strings"
)

// Saturation is k1 of BM25: the more, the more a repeated word is worth.
const Saturation = 1.2

// IDF is BM25's inverse document frequency of a word that so many of all documents have: the fewer, the more it says.
func IDF(documents, having float64) float64 {
	return math.Log(1 + max(0, documents-having+0.5)/(having+0.5))
}

// Saturate is BM25's term frequency: it grows with the frequency, and less and less so. The norm is 1 for a document of average
// length and more for a longer one; where the frequency is divided by the lengths of fields already, it is 1.
func Saturate(frequency, norm float64) float64 {
	return frequency * (Saturation + 1) / (frequency + Saturation*norm)
}

// LengthNorm is how much a text is held back for its length, in average lengths. b is from 0, not at all, to 1, in proportion.
func LengthNorm(b, length float64) float64 { return 1 - b + b*length }

// fusionRank is k of reciprocal rank fusion, from the paper that proposes it: Cormack, Clarke and Büttcher, "Reciprocal
// rank fusion outperforms Condorcet and individual rank learning methods", SIGIR 2009, where 60 did well in pilot runs
// and results hardly depended on it.
const fusionRank = 60

// Fused is what a place in one of several lists is worth: the sum over the lists orders what they hold. Places begin at 0.
func Fused(place int) float64 { return 1 / float64(fusionRank+place+1) }

// Typos is how many letters of a word may be wrong: none in short words and numbers, where another word is near. It goes by
// the word's stem, for stems are what is compared.
func Typos(stem string) int {
	n := len([]rune(stem))
	switch {
	case n < 5 || HasDigit(stem):
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// HasDigit reports whether a word is a number or the name of a model. Such words are not corrected, nor is another word taken for one.
func HasDigit(word string) bool { return strings.ContainsAny(word, "0123456789") }
