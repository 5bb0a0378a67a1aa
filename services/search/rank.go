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

// ranking is what a query's words alone select.
type ranking struct {
	// need is what its candidates have.
	need need
	// matched is true when there are candidates.
	matched bool
	// partial is true when no product had enough of the words, and the nearest were taken instead.
	partial bool
	// missing are the words that must be met and that no candidate has. They are told only of what is partial.
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

// best orders candidates by score and then by title.
func best(candidates []candidate) {
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), byTitle(a.entry, b.entry))
	})
}

// attempt is one way to choose among products.
type attempt struct {
	within  bool // the category that the query names
	atLeast int  // terms
	partial bool // the bar is lower than it should be
}

// rank says what products must have to meet the words of q: enough of them, within the category that the query names if it
// names one. Each further attempt lowers the bar; the first that any product meets counts. When nothing has the word that
// says what the thing is, nothing is left: a store without laptops has no nearest laptop. Without words, all is chosen.
func (v *view) rank(ctx context.Context, q query, p pool) (ranking, error) {
	if len(q.terms) == 0 {
		return ranking{matched: v.facts.products > 0}, nil
	}
	named, name := v.namedCategories(q)
	if named != nil {
		complete, err := complete(ctx, p, q, named)
		if err != nil {
			return ranking{}, fmt.Errorf("rank: %w", err)
		}
		if !complete {
			named, name = nil, ""
		}
	}
	n := q.firm()
	attempts := []attempt{{within: true, atLeast: share(n, enough)}}
	if named != nil {
		attempts = append(attempts, attempt{within: false, atLeast: share(n, enough)})
	}
	met, err := p.any(ctx, append(q.needs(attempts, named), need{strong: TermSet(0).with(q.head)})...)
	if err != nil {
		return ranking{}, fmt.Errorf("rank: %w", err)
	}
	called := q.head >= 0 && met[len(met)-1]
	known := named != nil || q.head < 0 || called
	for range 2 {
		for i, a := range attempts {
			if met[2*i] {
				return q.chosen(ctx, p, a, named, name, called, met[2*i+1])
			}
		}
		if !known {
			break
		}
		attempts = []attempt{{within: true, atLeast: share(n, nearest), partial: true}, {within: true, atLeast: 1, partial: true}}
		if met, err = p.any(ctx, q.needs(attempts, named)...); err != nil {
			return ranking{}, fmt.Errorf("rank: %w", err)
		}
		known = false
	}
	return ranking{partial: true}, nil
}

// complete reports whether the categories hold what they are named after, and not just a stray product of many.
func complete(ctx context.Context, p pool, q query, named map[string]bool) (bool, error) {
	if q.head < 0 {
		return true, nil
	}
	thing := need{strong: TermSet(0).with(q.head)}
	called, err := p.count(ctx, thing)
	if err != nil {
		return false, err
	}
	inside, err := p.count(ctx, thing.and(need{within: named}))
	return float64(inside) >= completeShare*float64(called), err
}

// needs are those of attempts, each by itself and then with the word that says what the thing is.
func (q query) needs(attempts []attempt, named map[string]bool) []need {
	var out []need
	for _, a := range attempts {
		n := a.need(named)
		out = append(out, n, n.and(need{strong: TermSet(0).with(q.head)}))
	}
	return out
}

func (a attempt) need(named map[string]bool) need {
	n := need{atLeast: a.atLeast, anyStrong: a.partial}
	if a.within {
		n.within = named
	}
	return n
}

// chosen narrows the products of an attempt down. called is true when there are products of that name in the store, are when
// there are some among the attempt's.
func (q query) chosen(
	ctx context.Context, p pool, a attempt, named map[string]bool, name string, called, are bool,
) (ranking, error) {
	r := ranking{need: a.need(named), matched: true, partial: a.partial}
	if a.within {
		r.category = name
	}
	if q.head >= 0 {
		r.mentioned = !are && !called && (named == nil || !a.within)
		if are {
			r.need = r.need.and(need{strong: TermSet(0).with(q.head)})
		}
	}
	for _, narrow := range []func(context.Context, pool, query) error{r.focus, r.restrict, r.miss} {
		if err := narrow(ctx, p, q); err != nil {
			return ranking{}, fmt.Errorf("rank: %w", err)
		}
	}
	return r, nil
}

// focus drops candidates that lack the numbers of what was asked for when others have them.
func (r *ranking) focus(ctx context.Context, p pool, q query) error {
	var counted []need
	if len(q.measures) > 0 {
		counted = append(counted, need{measured: true})
	}
	var all TermSet
	for _, i := range q.numbers {
		all = all.Add(i)
	}
	if all != 0 {
		counted = append(counted, need{terms: all})
	}
	return r.keep(ctx, p, counted...)
}

// maxModifiers bounds the words that must all be met if they can be. Of longer descriptions most must be.
const maxModifiers = 3

// restrict drops the candidates that lack a modifier when others have all that anything has: "down jackets" are not
// those of other fillings. What stands before the thing says what kind it is, which a description merely mentions; a
// feature behind it ("with a hood") may stand anywhere.
func (r *ranking) restrict(ctx context.Context, p pool, q query) error {
	var modifiers []int
	var needs []need
	for i := range q.terms {
		if i == q.head || slices.Contains(q.numbers, i) || slices.Contains(q.loose, i) {
			continue
		}
		modifiers = append(modifiers, i)
		one := TermSet(0).Add(i)
		needs = append(needs, r.need.and(need{strong: one}), r.need.and(need{terms: one}))
	}
	if len(modifiers) == 0 {
		return nil
	}
	met, err := p.any(ctx, needs...)
	if err != nil {
		return err
	}
	var all need
	for n, i := range modifiers {
		switch {
		case i < q.head && met[2*n]:
			all.strong = all.strong.Add(i)
		case met[2*n+1]:
			all.terms = all.terms.Add(i)
		}
	}
	switch n := all.strong.Len() + all.terms.Len(); {
	case n > maxModifiers || n == 0:
		return nil
	case n == 1: // and some have it
		r.need = r.need.and(all)
		return nil
	}
	return r.keep(ctx, p, all)
}

// miss notes the words that no candidate has.
func (r *ranking) miss(ctx context.Context, p pool, q query) error {
	if !r.partial {
		return nil
	}
	var needs []need
	for i := range q.terms {
		one := need{terms: TermSet(0).Add(i)}
		needs = append(needs, r.need.and(one), one)
	}
	met, err := p.any(ctx, needs...)
	if err != nil {
		return err
	}
	r.unknown = true
	for i := range q.terms {
		if slices.Contains(q.loose, i) || met[2*i] {
			continue
		}
		r.missing = append(r.missing, q.measured(i))
		r.unknown = r.unknown && !met[2*i+1]
	}
	return nil
}

// keep asks for more of the candidates: for the first of the further needs that any of them meets.
func (r *ranking) keep(ctx context.Context, p pool, further ...need) error {
	if len(further) == 0 {
		return nil
	}
	needs := make([]need, len(further))
	for i, n := range further {
		needs[i] = r.need.and(n)
	}
	met, err := p.any(ctx, needs...)
	if err != nil {
		return err
	}
	for i, ok := range met {
		if ok {
			r.need = needs[i]
			return nil
		}
	}
	return nil
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
