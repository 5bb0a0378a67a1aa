package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// Candidate is a product that the terms of a query select, before any filter.
type Candidate struct {
	*Entry
	Match
}

// Selection is what the terms of a query select.
type Selection struct {
	// Constraint is what its candidates have.
	Constraint Constraint
	// matched is true when there are candidates.
	matched bool
	// Partial is true when no product has enough of the terms. The candidates then have fewer.
	Partial bool
	// Missing are the required terms that no candidate has. Only a partial selection has them.
	Missing []string
	// Unknown is true when no other product has any of the missing terms either.
	Unknown bool
	// Mentioned is true when only the descriptions of the candidates have the head noun.
	Mentioned bool
	// Category is the name of the category that the query names and that the selection is restricted to. Empty: none.
	Category string
}

const (
	// enough is the share of a query's words that a match must have.
	enough = 0.6
	// nearest is the share that serves when no product has enough.
	nearest = 0.5
)

// sortByScore orders candidates by score and then by title.
func sortByScore(candidates []Candidate) {
	slices.SortFunc(candidates, func(a, b Candidate) int {
		return Compare(a.Entry, a.Score, b.Entry, b.Score)
	})
}

// relaxation is one way to choose among products.
type relaxation struct {
	within  bool // the category that the query names
	atLeast int  // terms
	partial bool // the bar is lower than it should be
}

// rank chooses the constraint on the products: enough of the terms, within the category that the query names if it names
// one. Each further relaxation asks for less; the first one that any product meets is used. When no product has the head
// noun, nothing is selected: the nearest thing to a laptop is no answer in a store without laptops. A query without terms
// selects everything.
func (v *View) rank(ctx context.Context, q Query, p Matches) (Selection, error) {
	if len(q.Terms) == 0 {
		return Selection{matched: v.Statistics.Products > 0}, nil
	}
	named, name := v.namedCategories(q)
	if named != nil {
		complete, err := isComplete(ctx, p, q, named)
		if err != nil {
			return Selection{}, fmt.Errorf("rank: %w", err)
		}
		if !complete {
			named, name = nil, ""
		}
	}
	n := q.required()
	attempts := []relaxation{{within: true, atLeast: minTerms(n, enough)}}
	if named != nil {
		attempts = append(attempts, relaxation{within: false, atLeast: minTerms(n, enough)})
	}
	met, err := p.Any(ctx, append(q.constraints(attempts, named), Constraint{Strong: TermSet(0).with(q.Head)})...)
	if err != nil {
		return Selection{}, fmt.Errorf("rank: %w", err)
	}
	called := q.Head >= 0 && met[len(met)-1]
	known := named != nil || q.Head < 0 || called
	for range 2 {
		for i, a := range attempts {
			if met[2*i] {
				return q.narrowed(ctx, p, a, named, name, called, met[2*i+1])
			}
		}
		if !known {
			break
		}
		attempts = []relaxation{{within: true, atLeast: minTerms(n, nearest), partial: true}, {within: true, atLeast: 1, partial: true}}
		if met, err = p.Any(ctx, q.constraints(attempts, named)...); err != nil {
			return Selection{}, fmt.Errorf("rank: %w", err)
		}
		known = false
	}
	return Selection{Partial: true}, nil
}

// isComplete reports whether the categories hold enough of the products that have the head noun. One stray product does not
// make a category of its kind.
func isComplete(ctx context.Context, p Matches, q Query, named map[string]bool) (bool, error) {
	if q.Head < 0 {
		return true, nil
	}
	thing := Constraint{Strong: TermSet(0).with(q.Head)}
	called, err := p.Count(ctx, thing)
	if err != nil {
		return false, err
	}
	inside, err := p.Count(ctx, thing.and(Constraint{Categories: named}))
	return float64(inside) >= completeShare*float64(called), err
}

// constraints returns two constraints for each relaxation: its own, and its own with the head noun.
func (q Query) constraints(attempts []relaxation, named map[string]bool) []Constraint {
	var out []Constraint
	for _, a := range attempts {
		n := a.constraint(named)
		out = append(out, n, n.and(Constraint{Strong: TermSet(0).with(q.Head)}))
	}
	return out
}

func (a relaxation) constraint(named map[string]bool) Constraint {
	n := Constraint{MinTerms: a.atLeast, AnyStrong: a.partial}
	if a.within {
		n.Categories = named
	}
	return n
}

// narrowed narrows the products of a relaxation. called is true when some product of the store has the head noun, are when
// some product of the relaxation has it.
func (q Query) narrowed(
	ctx context.Context, p Matches, a relaxation, named map[string]bool, name string, called, are bool,
) (Selection, error) {
	r := Selection{Constraint: a.constraint(named), matched: true, Partial: a.partial}
	if a.within {
		r.Category = name
	}
	if q.Head >= 0 {
		r.Mentioned = !are && !called && (named == nil || !a.within)
		if are {
			r.Constraint = r.Constraint.and(Constraint{Strong: TermSet(0).with(q.Head)})
		}
	}
	for _, narrow := range []func(context.Context, Matches, Query) error{r.requireNumbers, r.requireModifiers, r.noteMissing} {
		if err := narrow(ctx, p, q); err != nil {
			return Selection{}, fmt.Errorf("rank: %w", err)
		}
	}
	return r, nil
}

// requireNumbers asks for the numbers of the query when some candidate has them.
func (r *Selection) requireNumbers(ctx context.Context, p Matches, q Query) error {
	var counted []Constraint
	if len(q.measures) > 0 {
		counted = append(counted, Constraint{Measures: true})
	}
	var all TermSet
	for _, i := range q.numbers {
		all = all.Add(i)
	}
	if all != 0 {
		counted = append(counted, Constraint{Terms: all})
	}
	return r.addFirstMet(ctx, p, counted...)
}

// maxModifiers bounds the words that must all be met if they can be. Of longer descriptions most must be.
const maxModifiers = 3

// requireModifiers asks for the modifiers when some candidate has all that any candidate has: "down jackets" are not jackets
// with other fillings. A modifier before the head noun must say what the product is; one behind it ("with a hood") may be
// anywhere.
func (r *Selection) requireModifiers(ctx context.Context, p Matches, q Query) error {
	var modifiers []int
	var needs []Constraint
	for i := range q.Terms {
		if i == q.Head || slices.Contains(q.numbers, i) || slices.Contains(q.Optional, i) {
			continue
		}
		modifiers = append(modifiers, i)
		one := TermSet(0).Add(i)
		needs = append(needs, r.Constraint.and(Constraint{Strong: one}), r.Constraint.and(Constraint{Terms: one}))
	}
	if len(modifiers) == 0 {
		return nil
	}
	met, err := p.Any(ctx, needs...)
	if err != nil {
		return err
	}
	var all Constraint
	for n, i := range modifiers {
		switch {
		case i < q.Head && met[2*n]:
			all.Strong = all.Strong.Add(i)
		case met[2*n+1]:
			all.Terms = all.Terms.Add(i)
		}
	}
	switch n := all.Strong.Len() + all.Terms.Len(); {
	case n > maxModifiers || n == 0:
		return nil
	case n == 1: // and some have it
		r.Constraint = r.Constraint.and(all)
		return nil
	}
	return r.addFirstMet(ctx, p, all)
}

// noteMissing notes the terms that no candidate has.
func (r *Selection) noteMissing(ctx context.Context, p Matches, q Query) error {
	if !r.Partial {
		return nil
	}
	var needs []Constraint
	for i := range q.Terms {
		one := Constraint{Terms: TermSet(0).Add(i)}
		needs = append(needs, r.Constraint.and(one), one)
	}
	met, err := p.Any(ctx, needs...)
	if err != nil {
		return err
	}
	r.Unknown = true
	for i := range q.Terms {
		if slices.Contains(q.Optional, i) || met[2*i] {
			continue
		}
		r.Missing = append(r.Missing, q.measured(i))
		r.Unknown = r.Unknown && !met[2*i+1]
	}
	return nil
}

// addFirstMet adds the first of the further constraints that some candidate meets.
func (r *Selection) addFirstMet(ctx context.Context, p Matches, further ...Constraint) error {
	if len(further) == 0 {
		return nil
	}
	needs := make([]Constraint, len(further))
	for i, n := range further {
		needs[i] = r.Constraint.and(n)
	}
	met, err := p.Any(ctx, needs...)
	if err != nil {
		return err
	}
	for i, ok := range met {
		if ok {
			r.Constraint = needs[i]
			return nil
		}
	}
	return nil
}

// minTerms returns how many of n words make up at least the given part.
func minTerms(n int, part float64) int {
	return max(1, int(math.Ceil(float64(n)*part-1e-9)))
}

// namedCategories returns the categories that the query names: all of them that end in the longest head of the query.
func (v *View) namedCategories(q Query) (map[string]bool, string) {
	for _, head := range q.headPhrases {
		if found := v.CategoriesEndingIn(head); found != nil {
			return found, v.Statistics.Categories[head]
		}
	}
	return nil, ""
}

// completeShare is the least part of the products called by a category's name that must be in it, for others not to be
// left out.
const completeShare = 0.1

// reason says which words a candidate has, as the shopper wrote them.
func (q Query) reason(c Candidate) string {
	if c.Terms == 0 {
		return ""
	}
	var texts []string
	for i, t := range q.Terms {
		if c.Terms.Has(i) {
			texts = append(texts, t.Text)
		}
	}
	return "matches " + strings.Join(texts, ", ")
}

// Hit is a candidate that passed a filter.
type Hit struct {
	Candidate
	Variants   []*catalogv1.Variant
	VectorOnly bool // found by its meaning alone
	Loose      bool // does not meet the words of the query
}

// Hits applies the filter to the candidates and keeps their order.
func (f Filter) Hits(candidates []Candidate) []Hit {
	out := make([]Hit, 0, len(candidates))
	for _, c := range candidates {
		if variants := f.Admit(c.Entry); len(variants) > 0 {
			out = append(out, Hit{Candidate: c, Variants: variants})
		}
	}
	return out
}

// SortBy sorts hits by price or by rating if asked to. The order among equals stays.
func SortBy(hits []Hit, by catalogv1.Sort) {
	switch by {
	case catalogv1.Sort_SORT_PRICE_ASCENDING:
		slices.SortStableFunc(hits, func(a, b Hit) int {
			return cmp.Compare(productview.Lowest(a.Variants).GetAmountMinor(), productview.Lowest(b.Variants).GetAmountMinor())
		})
	case catalogv1.Sort_SORT_PRICE_DESCENDING:
		slices.SortStableFunc(hits, func(a, b Hit) int {
			return cmp.Compare(productview.Highest(b.Variants).GetAmountMinor(), productview.Highest(a.Variants).GetAmountMinor())
		})
	case catalogv1.Sort_SORT_RATING:
		slices.SortStableFunc(hits, func(a, b Hit) int {
			x, y := a.Product.GetRating(), b.Product.GetRating()
			return cmp.Or(cmp.Compare(y.GetAverage(), x.GetAverage()), cmp.Compare(y.GetCount(), x.GetCount()))
		})
	}
}

// SortByAttribute sorts hits by a numeric attribute if asked to. Those without it come last. It returns how many have it.
func SortByAttribute(hits []Hit, by catalogv1.Sort, name string) int {
	sign := 1
	switch by {
	case catalogv1.Sort_SORT_ATTRIBUTE_ASCENDING:
	case catalogv1.Sort_SORT_ATTRIBUTE_DESCENDING:
		sign = -1
	default:
		return 0
	}
	name = catalog.NameKey(name)
	have := 0
	for _, h := range hits {
		if _, _, ok := h.quantity(name); ok {
			have++
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		x, _, okA := a.quantity(name)
		y, _, okB := b.quantity(name)
		switch {
		case okA && okB:
			return sign * cmp.Compare(x, y)
		case okA:
			return -1
		case okB:
			return 1
		}
		return 0
	})
	return have
}

// quantity returns the number of an attribute by its folded name, in the smallest unit of its kind.
func (e *Entry) quantity(name string) (float64, string, bool) {
	a := e.Attributes[name]
	n, ok := a.GetValue().(*catalogv1.Attribute_Number)
	if !ok {
		return 0, "", false
	}
	amount, unit := productview.Smallest(n.Number, a.GetUnit())
	return amount, unit, true
}
