// Package index is what all backends of the search share: how a query is read, which products it selects and in which order,
// filters, facets and counts, related products, and how the vector and the reranking legs join in. A backend finds products by
// words and vectors; memory and weaviate are the two that there are, and indextest is what both must do.
//
// The package imports catalog for products and their names. It must not import a backend.
package index

import (
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/quartet-commerce/quartet/services/internal/embed"
)

// Match is one product that has some of the terms.
type Match struct {
	// ProductID names the product.
	ProductID string
	// Score is the relevance, comparable within one result; higher is better.
	Score float64
	// Terms are the positions of the terms that it has.
	Terms TermSet
	// Strong are the positions of those terms that say what it is: all but those that are merely mentioned in its
	// description.
	Strong TermSet
}

// TermSet is a set of positions of terms, from 0 to 31. The zero value is empty.
type TermSet uint32

// Has reports whether position i is in the set. No set has a negative one.
func (s TermSet) Has(i int) bool { return i >= 0 && s&(1<<i) != 0 }

// Add returns the set with position i.
func (s TermSet) Add(i int) TermSet { return s | 1<<i }

// with returns the set with position i, or as it is when i is negative.
func (s TermSet) with(i int) TermSet {
	if i < 0 {
		return s
	}
	return s.Add(i)
}

// Len returns how many positions are in the set.
func (s TermSet) Len() int { return bits.OnesCount32(uint32(s)) }

// Backend keeps the catalogs of all stores searchable. It is safe for concurrent use.
type Backend interface {
	// Read calls fn with the store's catalog, at least as new as it was when asOf was called. Nil: as new as when read was
	// called. A backend that is always up to date does not call it. The view may be used only within fn, which may be called again
	// when the backend finds that what it read was incomplete.
	Read(ctx context.Context, storeID string, asOf VersionFunc, fn func(v *View) error) error
	// VectorLeg names the state of the vectors of a store: legVector, with legBuilding or legFailed added when they cannot be
	// searched.
	VectorLeg(ctx context.Context, storeID string) string
	// Close frees what the backend holds. Reads that are under way finish first; later ones fail with errClosed.
	Close() error
}

// VersionFunc returns the version of a store's catalog.
type VersionFunc func(context.Context) (int64, error)

// ErrClosed is what reads get after close.
var ErrClosed = errors.New("search is closed")

// Index finds the products of one store. There are two: one in memory, over an Index, and one in a cluster. What a search is,
// what it counts and in which order it lists is above them and the same for both.
type Index interface {
	// Match reads the words of a query.
	Match(ctx context.Context, q Query) (Matches, error)
	// Products returns the products of identifiers as models write them, nil where there is none.
	Products(ctx context.Context, ids []string) ([]*Entry, error)
	// SimilarIDs returns identifiers of products that an unknown one may have been meant for. Nil: none is known.
	SimilarIDs(id string) []string
}

// Matches tells what the words of one query select.
type Matches interface {
	// Any reports for each need whether a product meets it.
	Any(ctx context.Context, needs ...Constraint) ([]bool, error)
	// Count returns how many products meet a need.
	Count(ctx context.Context, n Constraint) (int, error)
	// Candidates returns the products that meet the need, in no particular order. It may leave out those that the filter does not
	// admit.
	Candidates(ctx context.Context, n Constraint, f Filter) ([]Candidate, error)
	// Similarities returns how near the hits, which meet the need, are to a query, of those that have a vector. With others it
	// adds to the hits what else passes the filter and may be nearest.
	Similarities(ctx context.Context, n Constraint, hits []Hit, query embed.Vector, admits Filter, others bool) ([]Hit, []Similarity, error)
}

// Constraint says what a product must have. The zero value asks for nothing.
type Constraint struct {
	// MinTerms is how many of the words that must be met it has.
	MinTerms int
	// AnyStrong wants one word that says what it is.
	AnyStrong bool
	// Terms and strong are words that it has, and that say what it is.
	Terms, Strong TermSet
	// Categories are folded categories, of which it is in one. Nil: all.
	Categories map[string]bool
	// Measures wants all numbers with what they count as attributes.
	Measures bool
	// ProductIDs are products. Nil: all.
	ProductIDs []string
	// SimilarTo are products, to one of which it is akin: in a tag or in its narrowest category, or by having all the words. It is a
	// hint. Nil: all.
	SimilarTo []*Entry
}

// and returns what meets both.
func (n Constraint) and(m Constraint) Constraint {
	n.MinTerms = max(n.MinTerms, m.MinTerms)
	n.AnyStrong = n.AnyStrong || m.AnyStrong
	n.Terms, n.Strong = n.Terms|m.Terms, n.Strong|m.Strong
	n.Measures = n.Measures || m.Measures
	if n.Categories == nil {
		n.Categories = m.Categories
	}
	return n
}

// Met reports whether a product with that match meets the need, but for its kin.
func (n Constraint) Met(q Query, e *Entry, m Match) bool {
	return m.Terms&n.Terms == n.Terms && m.Strong&n.Strong == n.Strong && q.meets(m) >= n.MinTerms &&
		(!n.AnyStrong || m.Strong != 0) &&
		(n.Categories == nil || inCategories(n.Categories)(e)) &&
		(n.ProductIDs == nil || slices.Contains(n.ProductIDs, e.ID())) &&
		(!n.Measures || !slices.ContainsFunc(q.measures, func(m Measure) bool { return !e.measures(m) }))
}

// NeedsNoTerm reports whether products may meet the need that have none of the words.
func (n Constraint) NeedsNoTerm() bool {
	return n.MinTerms == 0 && !n.AnyStrong && n.Terms|n.Strong == 0
}
