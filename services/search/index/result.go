package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// Result is everything that a search selects, of which callers show the beginning.
type Result struct {
	Query Query
	Selection
	Hits []Hit
	// More is true when more products match than Hits has.
	More    bool
	matches Matches // valid within the read
	// excludedBy is the condition that left nothing of the candidates. Empty: something was left, or no word matched.
	excludedBy string
}

// Search ranks the products that meet the text and pass the filter. What it returns stays valid after the view was
// released: entries never change.
func (v *View) Search(ctx context.Context, q Query, f Filter, by catalogv1.Sort) (Result, error) {
	out, err := v.strict(ctx, q, f, by)
	if err != nil || ByValue(by) || len(q.Terms) == 0 {
		return out, err
	}
	best, err := out.matches.Best(ctx, f, bestSize)
	if err != nil {
		return Result{}, err
	}
	out.Hits = Rerank(q, out.Hits, best, f, out.matches.Grams())
	return out, nil
}

// strict ranks the products that meet the query and pass the filter.
func (v *View) strict(ctx context.Context, q Query, f Filter, by catalogv1.Sort) (Result, error) {
	p, err := v.Index.Match(ctx, q)
	if err != nil {
		return Result{}, err
	}
	out := Result{Query: q, matches: p}
	if out.Selection, err = v.rank(ctx, q, p); err != nil {
		return Result{}, err
	}
	if out.matched {
		if err := out.selectHits(ctx, f, by); err != nil {
			return Result{}, err
		}
	}
	return out, nil
}

// Candidates are the products that a search by relevance orders, and their features: what the weights are fitted on.
func (v *View) Candidates(ctx context.Context, q Query, f Filter) ([]Hit, []Features, error) {
	out, err := v.strict(ctx, q, f, catalogv1.Sort_SORT_UNSPECIFIED)
	if err != nil {
		return nil, nil, err
	}
	best, err := out.matches.Best(ctx, f, bestSize)
	if err != nil {
		return nil, nil, err
	}
	hits, features := candidates(q, out.Hits, best, f, out.matches.Grams())
	return hits, features, nil
}

// Known returns the required words of the query that any product of the store has. Stock, price and the filter do not count.
func (out *Result) Known(ctx context.Context) ([]string, error) {
	var required []Term
	var needs []Constraint
	for i, t := range out.Query.Terms {
		if !slices.Contains(out.Query.Optional, i) {
			required, needs = append(required, t), append(needs, Constraint{Terms: TermSet(0).Add(i)})
		}
	}
	met, err := out.matches.Any(ctx, needs...)
	if err != nil {
		return nil, fmt.Errorf("known words: %w", err)
	}
	var known []string
	for i, t := range required {
		if met[i] {
			known = append(known, t.Text)
		}
	}
	return known, nil
}

// selectHits finds the products that meet the words and pass the filter.
func (out *Result) selectHits(ctx context.Context, f Filter, by catalogv1.Sort) error {
	admitted, more, err := out.matches.Candidates(ctx, out.Constraint, f, by)
	if err != nil {
		return err
	}
	out.More = more
	sortByScore(admitted)
	out.Hits = f.Hits(admitted)
	SortBy(out.Hits, by)
	if len(out.Hits) == 0 {
		all, err := out.Candidates(ctx)
		if err != nil {
			return err
		}
		if out.matched = len(all) > 0; out.matched { // else what had matched was replaced in between
			out.excludedBy = f.MostRestrictive(Entries(all))
		}
	}
	return nil
}

// Or returns what either of two searches finds that differ in their words. A search that finds only the nearest products counts for
// nothing beside one that is certain.
func (f Result) Or(g Result, by catalogv1.Sort) Result {
	switch {
	case !g.Certain():
		return f
	case !f.Certain() || len(f.Hits) == 0:
		return g
	}
	f.DropLoose()
	g.DropLoose()
	score := make(map[string]float64)
	for _, hits := range [...][]Hit{f.Hits, g.Hits} {
		for i, h := range hits {
			score[h.ID()] += retrieval.Fused(i)
		}
	}
	found := len(f.Hits)
	f.Hits, f.More = slices.Clone(f.Hits), f.More || g.More
	for _, h := range g.Hits {
		if !slices.ContainsFunc(f.Hits[:found], func(o Hit) bool { return o.ID() == h.ID() }) {
			f.Hits = append(f.Hits, h)
		}
	}
	for i := range f.Hits {
		f.Hits[i].Score = score[f.Hits[i].ID()]
	}
	sortHits(f.Hits)
	SortBy(f.Hits, by)
	return f
}

// Candidates are what the words alone select, best first.
func (f *Result) Candidates(ctx context.Context) ([]Candidate, error) {
	if !f.matched {
		return nil, nil
	}
	all, _, err := f.matches.Candidates(ctx, f.Constraint, Filter{}, catalogv1.Sort_SORT_RELEVANCE)
	if err != nil {
		return nil, err
	}
	sortByScore(all)
	return all, nil
}

// Entries returns the candidates as entries.
func Entries(candidates []Candidate) []*Entry {
	out := make([]*Entry, len(candidates))
	for i, c := range candidates {
		out[i] = c.Entry
	}
	return out
}

// Prices returns the lowest and the highest price among the admitted variants in the currency of the first hit; nil
// when there are none.
func Prices(hits []Hit) (low, high *commonv1.Money) {
	for _, h := range hits {
		for _, v := range h.Variants {
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

// Facets counts the narrowest categories and the brands of the hits, most frequent first.
func Facets(hits []Hit) []*catalogv1.Facet {
	categories, brands := make(map[string]int32), make(map[string]int32)
	for _, h := range hits {
		categories[h.category]++
		brands[h.brand]++
	}
	delete(categories, "")
	delete(brands, "")
	var out []*catalogv1.Facet
	for value, n := range categories {
		out = append(out, &catalogv1.Facet{Name: "category", Value: value, Count: n})
	}
	for value, n := range brands {
		out = append(out, &catalogv1.Facet{Name: "brand", Value: value, Count: n})
	}
	slices.SortFunc(out, func(a, b *catalogv1.Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(b.Name, a.Name), strings.Compare(a.Value, b.Value))
	})
	return out[:min(maxFacets, len(out))]
}

// HitMessage is a hit as callers see it.
func HitMessage(h Hit, reason string) *catalogv1.Hit {
	m := &catalogv1.Hit{Product: h.Product, Score: h.Score, Reason: reason}
	for _, v := range h.Variants {
		m.MatchedVariantIds = append(m.MatchedVariantIds, v.GetVariantId())
	}
	return m
}

// Response is the beginning of what was found, in the words of the contract.
func (f *Result) Response(by catalogv1.Sort, limit int, legs []string) *catalogv1.SearchProductsResponse {
	counted := f.Counted()
	out := &catalogv1.SearchProductsResponse{
		TotalCount:     int32(len(counted)),
		Facets:         Facets(counted),
		ExcludedMostBy: f.excludedBy,
		Legs:           legs,
		MoreMatches:    f.More,
	}
	out.MinPrice, out.MaxPrice = Prices(counted)
	for _, h := range f.Hits[:min(limit, len(f.Hits))] {
		if ByValue(by) {
			h.Score = 0
		}
		m := HitMessage(h, f.Reason(h))
		if h.Loose {
			m.Partial, m.UnmetWords = true, f.Lacks(h)
		}
		out.Hits = append(out.Hits, m)
	}
	return out
}
