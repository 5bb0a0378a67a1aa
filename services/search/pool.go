package search

import (
	"context"
	"fmt"
	"slices"
)

// shelf finds the products of one store. There are two: one in memory, over an Index, and one in a cluster. What a search is,
// what it counts and in which order it lists is above them and the same for both.
type shelf interface {
	// pool reads the words of a query.
	pool(ctx context.Context, q query) (pool, error)
	// lookup returns the products of identifiers as models write them, nil where there is none.
	lookup(ctx context.Context, ids []string) ([]*entry, error)
}

// pool tells what the words of one query select.
type pool interface {
	// any reports for each need whether a product meets it.
	any(ctx context.Context, needs ...need) ([]bool, error)
	// count returns how many products meet a need.
	count(ctx context.Context, n need) (int, error)
	// fetch returns the products that meet the need, in no particular order. It may leave out those that the filter does not
	// admit.
	fetch(ctx context.Context, n need, f filter) ([]candidate, error)
}

// need says what a product must have. The zero value asks for nothing.
type need struct {
	// atLeast is how many of the words that must be met it has.
	atLeast int
	// anyStrong wants one word that says what it is.
	anyStrong bool
	// terms and strong are words that it has, and that say what it is.
	terms, strong TermSet
	// within are folded categories, of which it is in one. Nil: all.
	within map[string]bool
	// measured wants all numbers with what they count as attributes.
	measured bool
	// ids are products. Nil: all.
	ids []string
	// kin are products, to one of which it is akin: in a tag or in its narrowest category, or by having all the words. It is a
	// hint. Nil: all.
	kin []*entry
}

// and returns what meets both.
func (n need) and(m need) need {
	n.atLeast = max(n.atLeast, m.atLeast)
	n.anyStrong = n.anyStrong || m.anyStrong
	n.terms, n.strong = n.terms|m.terms, n.strong|m.strong
	n.measured = n.measured || m.measured
	if n.within == nil {
		n.within = m.within
	}
	return n
}

// met reports whether a product with that match meets the need, but for its kin.
func (n need) met(q query, e *entry, m Match) bool {
	return m.Terms&n.terms == n.terms && m.Strong&n.strong == n.strong && q.meets(m) >= n.atLeast &&
		(!n.anyStrong || m.Strong != 0) &&
		(n.within == nil || inCategories(n.within)(e)) &&
		(n.ids == nil || slices.Contains(n.ids, e.id())) &&
		(!n.measured || !slices.ContainsFunc(q.measures, func(m measure) bool { return !e.measures(m) }))
}

// wordless reports whether products may meet the need that have none of the words.
func (n need) wordless() bool { return n.atLeast == 0 && !n.anyStrong && n.terms|n.strong == 0 }

// memory is the shelf of a view that holds all products.
type memory struct{ view *view }

func (s memory) lookup(_ context.Context, ids []string) ([]*entry, error) {
	out := make([]*entry, len(ids))
	for i, id := range ids {
		out[i] = s.view.find(id)
	}
	return out, nil
}

func (s memory) pool(ctx context.Context, q query) (pool, error) {
	p := &memoryPool{view: s.view, query: q}
	if len(q.terms) == 0 {
		return p, nil
	}
	matches, err := s.view.index.Search(ctx, q.terms)
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	for _, m := range matches {
		if e := s.view.entries[m.ProductID]; e != nil {
			p.matches = append(p.matches, candidate{entry: e, Match: m})
		}
	}
	return p, nil
}

// memoryPool holds all matches.
type memoryPool struct {
	view    *view
	query   query
	matches []candidate
}

func (p *memoryPool) any(_ context.Context, needs ...need) ([]bool, error) {
	out := make([]bool, len(needs))
	for i, n := range needs {
		out[i] = slices.ContainsFunc(p.matches, func(c candidate) bool { return n.met(p.query, c.entry, c.Match) })
	}
	return out, nil
}

func (p *memoryPool) count(_ context.Context, n need) (int, error) {
	var out int
	for _, c := range p.matches {
		if n.met(p.query, c.entry, c.Match) {
			out++
		}
	}
	return out, nil
}

func (p *memoryPool) fetch(_ context.Context, n need, _ filter) ([]candidate, error) {
	var out []candidate
	for _, c := range p.matches {
		if n.met(p.query, c.entry, c.Match) {
			c.score = relevance(c.Match, len(p.query.terms))
			out = append(out, c)
		}
	}
	if !n.wordless() {
		return out, nil
	}
	seen := make(map[*entry]bool, len(p.matches))
	for _, c := range p.matches {
		seen[c.entry] = true
	}
	for _, e := range p.others(n) {
		if !seen[e] && n.met(p.query, e, Match{}) {
			out = append(out, candidate{entry: e})
		}
	}
	return out, nil
}

// others are products that may meet the need without any of the words.
func (p *memoryPool) others(n need) []*entry {
	if n.ids == nil {
		return p.view.all()
	}
	var out []*entry
	for _, id := range n.ids {
		if e := p.view.entries[id]; e != nil && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
