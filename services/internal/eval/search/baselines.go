package search

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/jsonl"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// baseline is BM25 over all text of the products, which the search is measured against. It has no stems, synonyms or fields.
type baseline struct {
	name     string
	tokens   func(text string) []string
	products []Hit
	index    retrieval.Index
}

// baselineLength is b of BM25.
const baselineLength = 0.75

// baselines are plain BM25 over words and over character n-grams.
func baselines() []*baseline {
	return []*baseline{
		{name: "BM25", tokens: words},
		{name: "BM25 over n-grams", tokens: ngrams},
	}
}

// watch hands the products on and adds each to the baselines.
func watch(products iter.Seq2[jsonl.Line[*catalogv1.Product], error], all []*baseline) iter.Seq2[jsonl.Line[*catalogv1.Product], error] {
	return func(yield func(jsonl.Line[*catalogv1.Product], error) bool) {
		for line, err := range products {
			if err == nil {
				for _, b := range all {
					b.add(line.Item)
				}
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

func (b *baseline) add(p *catalogv1.Product) {
	frequencies := make(map[string]float64)
	for _, t := range b.tokens(productText(p)) {
		frequencies[t]++
	}
	b.index.Add(frequencies)
	b.products = append(b.products, Hit{ProductID: p.GetProductId(), Title: p.GetTitle()})
}

// rank ranks the products for each query: the first 2,000 that have a token of it.
func (b *baseline) rank(queries []Query) []Outcome {
	scores := make([]float64, len(b.products))
	out := make([]Outcome, 0, len(queries))
	for _, q := range queries {
		clear(scores)
		tokens := b.tokens(q.Text)
		slices.Sort(tokens)
		for _, t := range slices.Compact(tokens) {
			b.index.Score(scores, baselineLength, retrieval.Form{Term: t, Share: 1})
		}
		var found []int
		for i, s := range scores {
			if s > 0 {
				found = append(found, i)
			}
		}
		slices.SortFunc(found, func(a, c int) int {
			return cmp.Or(cmp.Compare(scores[c], scores[a]), strings.Compare(b.products[a].ProductID, b.products[c].ProductID))
		})
		o := Outcome{Query: q}
		for _, i := range found[:min(maxRanked, len(found))] {
			o.Hits = append(o.Hits, b.products[i])
		}
		out = append(out, o)
	}
	return out
}

// productText is all text of a product.
func productText(p *catalogv1.Product) string {
	parts := slices.Concat([]string{p.GetTitle(), p.GetBrand(), p.GetDescription()}, p.GetCategoryPath(), p.GetTags())
	for _, a := range p.GetAttributes() {
		switch v := a.GetValue().(type) {
		case *catalogv1.Attribute_Text:
			parts = append(parts, v.Text)
		case *catalogv1.Attribute_Number:
			parts = append(parts, fmt.Sprint(v.Number), a.GetUnit())
		}
	}
	for _, v := range p.GetVariants() {
		for _, value := range v.GetOptions() {
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, " ")
}

// words are the words of a text in lower case, without accents.
func words(s string) []string {
	return strings.FieldsFunc(text.Fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// ngrams are the runs of three and four characters of each word, with a space at both ends.
func ngrams(s string) []string {
	var out []string
	for _, w := range words(s) {
		runes := []rune(" " + w + " ")
		for n := 3; n <= 4; n++ {
			for i := range max(0, len(runes)-n+1) {
				out = append(out, string(runes[i:i+n]))
			}
		}
	}
	return out
}
