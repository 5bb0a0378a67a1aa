// Package retrieval is what the search of products and that of documents have in common: how lists of hits are joined, how
// many letters of a word may be wrong, and how long an endpoint is waited for. What they differ in, which is what a hit is and
// when there is one, each keeps to itself. The package imports no service.
package retrieval

import "strings"

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
	case n < 5 || strings.ContainsAny(stem, "0123456789"):
		return 0
	case n < 8:
		return 1
	}
	return 2
}
