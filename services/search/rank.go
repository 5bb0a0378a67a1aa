package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/productview"
)

// candidate is a product that meets a query's words, before any filter.
type candidate struct {
	*entry
	Match
	score float64
}

// ranking is what a query's words alone select, best first.
type ranking struct {
	candidates []candidate
	// partial is true when no product had enough of the words, and the nearest were taken instead.
	partial bool
	// missing are the words that must be met and that no candidate has.
	missing []string
	// unknown is true when no other product has any of the missing words either.
	unknown bool
	// mentioned is true when no candidate is what the query asks for; they merely mention it.
	mentioned bool
	// category is the name of the category that the query named and was restricted to. Empty: none of that very name.
	category string
}

const (
	// enough is the share of a query's words that a match must have.
	enough = 0.6
	// nearest is the share that serves when no product has enough.
	nearest = 0.5
)

// rank selects the products that meet the words of q. Without words, that is all of them, by title.
func (v *view) rank(ctx context.Context, q query) (ranking, error) {
	if len(q.terms) == 0 {
		all := v.all()
		r := ranking{candidates: make([]candidate, 0, len(all))}
		for _, e := range all {
			r.candidates = append(r.candidates, candidate{entry: e})
		}
		return r, nil
	}
	matches, err := v.index.Search(ctx, q.terms)
	if err != nil {
		return ranking{}, fmt.Errorf("rank: %w", err)
	}
	r := v.choose(q, matches)
	slices.SortFunc(r.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), byTitle(a.entry, b.entry))
	})
	r.miss(q, matches)
	return r, nil
}

// miss notes the words that no candidate has.
func (r *ranking) miss(q query, matches []Match) {
	r.unknown = true
	for i := range q.terms {
		has := func(m Match) bool { return m.Terms.Has(i) }
		if slices.Contains(q.loose, i) || slices.ContainsFunc(r.candidates, func(c candidate) bool { return has(c.Match) }) {
			continue
		}
		r.missing = append(r.missing, q.measured(i))
		r.unknown = r.unknown && !slices.ContainsFunc(matches, has)
	}
}

// attempt is one way to choose among matches.
type attempt struct {
	within  bool // the category that the query names
	atLeast int  // terms
	partial bool // the bar is lower than it should be
}

// choose keeps the matches that have enough of the words, within the category that the query names if it names one.
// Each further attempt lowers the bar; the first that leaves anything counts. When nothing has the word that says what
// the thing is, nothing is left: a store without laptops has no nearest laptop.
func (v *view) choose(q query, matches []Match) ranking {
	n := q.firm()
	named, name := v.namedCategories(q)
	if !v.complete(named, q, matches) {
		named, name = nil, ""
	}
	called := slices.ContainsFunc(matches, func(m Match) bool { return m.Strong.Has(q.head) })
	known := named != nil || q.head < 0 || called
	for _, a := range []attempt{
		{within: true, atLeast: share(n, enough)},
		{within: false, atLeast: share(n, enough)},
		{within: true, atLeast: share(n, nearest), partial: true},
		{within: true, atLeast: 1, partial: true},
	} {
		if a.partial && !known {
			break
		}
		r := ranking{partial: a.partial}
		if a.within {
			r.category = name
		}
		for _, m := range matches {
			e := v.entries[m.ProductID]
			if e == nil || q.meets(m) < a.atLeast || a.partial && m.Strong.Len() == 0 {
				continue
			}
			if a.within && named != nil && !inCategories(named)(e) {
				continue
			}
			r.candidates = append(r.candidates, candidate{entry: e, score: relevance(m, len(q.terms)), Match: m})
		}
		if len(r.candidates) > 0 {
			r.focus(q, called || named != nil && a.within)
			r.restrict(q)
			return r
		}
	}
	return ranking{partial: true}
}

// focus drops candidates that merely have to do with what was asked for when others are it: those that only mention
// the thing, and those that lack its numbers. called is true when there are products of that name.
func (r *ranking) focus(q query, called bool) {
	if q.head >= 0 {
		found := r.keep(func(c candidate) bool { return c.Strong.Has(q.head) })
		r.mentioned = !found && !called
	}
	if len(q.measures) > 0 && r.keep(func(c candidate) bool {
		return !slices.ContainsFunc(q.measures, func(m measure) bool { return !c.measures(m) })
	}) {
		return
	}
	if len(q.numbers) > 0 {
		r.keep(func(c candidate) bool {
			return !slices.ContainsFunc(q.numbers, func(i int) bool { return !c.Terms.Has(i) })
		})
	}
}

// maxModifiers bounds the words that must all be met if they can be. Of longer descriptions most must be.
const maxModifiers = 3

// restrict drops the candidates that lack a modifier when others have all that anything has: "down jackets" are not
// those of other fillings. What stands before the thing says what kind it is, which a description merely mentions; a
// feature behind it ("with a hood") may stand anywhere.
func (r *ranking) restrict(q query) {
	has := make(map[int]func(candidate) bool)
	for i := range q.terms {
		if i == q.head || slices.Contains(q.numbers, i) || slices.Contains(q.loose, i) {
			continue
		}
		strong := func(c candidate) bool { return c.Strong.Has(i) }
		weak := func(c candidate) bool { return c.Terms.Has(i) }
		switch {
		case i < q.head && slices.ContainsFunc(r.candidates, strong):
			has[i] = strong
		case slices.ContainsFunc(r.candidates, weak):
			has[i] = weak
		}
	}
	if len(has) > maxModifiers {
		return
	}
	r.keep(func(c candidate) bool {
		for _, met := range has {
			if !met(c) {
				return false
			}
		}
		return true
	})
}

// keep drops the candidates that are not wanted, unless none is. It reports whether any is.
func (r *ranking) keep(wanted func(candidate) bool) bool {
	if !slices.ContainsFunc(r.candidates, wanted) {
		return false
	}
	r.candidates = slices.DeleteFunc(r.candidates, func(c candidate) bool { return !wanted(c) })
	return true
}

// relevance weighs a match by how many of the query's words it has. A product that has them all, one of them where it
// counts, comes before any that lacks one.
func relevance(m Match, n int) float64 {
	coverage := float64(m.Terms.Len()) / float64(n)
	score := m.Score * coverage * coverage
	if m.Terms.Len() == n && m.Strong.Len() > 0 {
		score += completeBonus
	}
	return score
}

// completeBonus is more than any sum of BM25 scores comes to in a catalog.
const completeBonus = 1000

// share returns how many of n words make up at least the given part.
func share(n int, part float64) int {
	return max(1, int(math.Ceil(float64(n)*part-1e-9)))
}

// namedCategories returns the categories that the query names: all of them that end in the longest head of the query.
func (v *view) namedCategories(q query) (map[string]bool, string) {
	for _, head := range q.heads {
		if found := v.categoriesEndingIn(head); found != nil {
			return found, v.facts.categories[head]
		}
	}
	return nil, ""
}

// completeShare is the least part of the products called by a category's name that must be in it, for others not to be
// left out.
const completeShare = 0.1

// complete reports whether the categories hold what they are named after, and not just a stray product of many.
func (v *view) complete(named map[string]bool, q query, matches []Match) bool {
	called, inside := 0, 0
	for _, m := range matches {
		if e := v.entries[m.ProductID]; e != nil && m.Strong.Has(q.head) {
			called++
			if inCategories(named)(e) {
				inside++
			}
		}
	}
	return float64(inside) >= completeShare*float64(called)
}

// reason says which words a candidate has, as the shopper wrote them.
func (q query) reason(c candidate) string {
	if c.Terms == 0 {
		return ""
	}
	var texts []string
	for i, t := range q.terms {
		if c.Terms.Has(i) {
			texts = append(texts, t.Text)
		}
	}
	return "matches " + strings.Join(texts, ", ")
}

// hit is a candidate that passed a filter.
type hit struct {
	candidate
	variants []*catalogv1.Variant
	near     bool // found by its meaning alone
}

// hits applies the filter to the candidates and keeps their order.
func (f filter) hits(candidates []candidate) []hit {
	var out []hit
	for _, c := range candidates {
		if variants := f.admit(c.entry); len(variants) > 0 {
			out = append(out, hit{candidate: c, variants: variants})
		}
	}
	return out
}

// order sorts hits by price if asked to. The order among equals stays.
func order(hits []hit, by catalogv1.Sort) {
	switch by {
	case catalogv1.Sort_SORT_PRICE_ASCENDING:
		slices.SortStableFunc(hits, func(a, b hit) int {
			return cmp.Compare(productview.Lowest(a.variants).GetAmountMinor(), productview.Lowest(b.variants).GetAmountMinor())
		})
	case catalogv1.Sort_SORT_PRICE_DESCENDING:
		slices.SortStableFunc(hits, func(a, b hit) int {
			return cmp.Compare(productview.Highest(b.variants).GetAmountMinor(), productview.Highest(a.variants).GetAmountMinor())
		})
	}
}
