package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// found is everything that a search selects, of which callers show the beginning.
type found struct {
	query query
	ranking
	hits []hit
	pool pool // valid within the read
	// excludedBy is the condition that left nothing of the candidates. Empty: something was left, or no word matched.
	excludedBy string
}

// search ranks the products that meet the text and pass the filter. What it returns stays valid after the view was
// released: entries never change.
func (v *view) search(ctx context.Context, q query, f filter, by catalogv1.Sort) (found, error) {
	p, err := v.shelf.pool(ctx, q)
	if err != nil {
		return found{}, err
	}
	out := found{query: q, pool: p}
	if out.ranking, err = v.rank(ctx, q, p); err != nil || !out.matched {
		return out, err
	}
	admitted, err := p.fetch(ctx, out.need, f)
	if err != nil {
		return found{}, err
	}
	best(admitted)
	out.hits = f.hits(admitted)
	order(out.hits, by)
	if len(out.hits) == 0 {
		all, err := out.candidates(ctx)
		if err != nil {
			return found{}, err
		}
		if out.matched = len(all) > 0; out.matched { // else what had matched was replaced in between
			out.excludedBy = f.blame(entries(all))
		}
	}
	return out, nil
}

// candidates are what the words alone select, best first.
func (f *found) candidates(ctx context.Context) ([]candidate, error) {
	if !f.matched {
		return nil, nil
	}
	all, err := f.pool.fetch(ctx, f.need, nil)
	if err != nil {
		return nil, err
	}
	best(all)
	return all, nil
}

// entries returns the candidates as entries.
func entries(candidates []candidate) []*entry {
	out := make([]*entry, len(candidates))
	for i, c := range candidates {
		out[i] = c.entry
	}
	return out
}

// prices returns the lowest and the highest price among the admitted variants in the currency of the first hit; nil
// when there are none.
func prices(hits []hit) (low, high *commonv1.Money) {
	for _, h := range hits {
		for _, v := range h.variants {
			p := v.GetPrice()
			if low == nil {
				low, high = p, p
			}
			if p.GetCurrencyCode() != low.GetCurrencyCode() {
				continue
			}
			if p.GetAmountMinor() < low.GetAmountMinor() {
				low = p
			}
			if p.GetAmountMinor() > high.GetAmountMinor() {
				high = p
			}
		}
	}
	return low, high
}

// maxFacets bounds the facets of a response.
const maxFacets = 20

// facetsOf counts the narrowest categories and the brands of the hits, most frequent first.
func facetsOf(hits []hit) []*catalogv1.Facet {
	counts := make(map[[2]string]int32)
	for _, h := range hits {
		if path := h.product.GetCategoryPath(); len(path) > 0 {
			counts[[2]string{"category", path[len(path)-1]}]++
		}
		if brand := h.product.GetBrand(); brand != "" {
			counts[[2]string{"brand", brand}]++
		}
	}
	out := make([]*catalogv1.Facet, 0, len(counts))
	for k, n := range counts {
		out = append(out, &catalogv1.Facet{Name: k[0], Value: k[1], Count: n})
	}
	slices.SortFunc(out, func(a, b *catalogv1.Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(b.Name, a.Name), strings.Compare(a.Value, b.Value))
	})
	return out[:min(maxFacets, len(out))]
}

// hitMessage is a hit as callers see it.
func hitMessage(h hit, reason string) *catalogv1.Hit {
	m := &catalogv1.Hit{Product: h.product, Score: h.score, Reason: reason}
	for _, v := range h.variants {
		m.MatchedVariantIds = append(m.MatchedVariantIds, v.GetVariantId())
	}
	return m
}
