package weaviate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/services/search/index"
)

// What of a query ranks the products that have all of it, in a store of 1,000 products of which 100 were counted.
func TestWordsThatRankProductsWithAllTerms(t *testing.T) {
	counts := map[string]int{countedProducts: 100, countedStem("black"): 40, countedStem("usb"): 10, countedStem("cabl"): 30, countedStem("light"): 50}
	for _, c := range []struct {
		query    string
		want     []string
		expected float64 // products with all terms that are required
	}{
		{"usb cable", []string{"+cabl", "=cabl", "=cord", "cabl", "cord", "usb", "usbcabl"}, 30},
		{"black cable", []string{"+cabl", "=cabl", "=cord", "blackcabl", "cabl", "cord"}, 120},
		{"black", []string{"+black", "=black", "black"}, 0},
		{"light black cable", []string{"+cabl", "=cabl", "=cord", "blackcabl", "cabl", "cord"}, 120},
		{"brass cable", []string{"+brass", "+cabl", "=cabl", "=cord", "brass", "brasscabl", "cabl", "cord"}, 0},
	} {
		q := index.NewVocabulary(nil).Parse(c.query)
		m := &termMatches{query: q, sample: counts, index: &storeIndex{collection: collectionPrefix + "9", statistics: index.Statistics{Products: 1_000}}}
		m.expand()
		if diff := cmp.Diff(c.want, m.rankingWords()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
		if _, got := m.havingAll(); math.Abs(got-c.expected) > 1e-6 {
			t.Errorf("%s: %.1f products are expected to have all terms, want %.1f", c.query, got, c.expected)
		}
		if c.query != "black cable" {
			continue
		}
		m.query.Head, m.sample = -1, map[string]int{countedProducts: 1, countedStem("black"): 1, countedStem("cabl"): 1}
		if diff := cmp.Diff(m.allWords(), m.rankingWords()); diff != "" {
			t.Errorf("%s, both common and without a head noun (-want +got):\n%s", c.query, diff)
		}
	}
}
