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

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
)

// Match is one product that has some of the terms.
type Match struct {
	// Score is the relevance, comparable within one result; higher is better.
	Score float64
	// Terms are the positions of the terms that it has.
	Terms TermSet
	// Strong are the positions of those terms that say what the product is: all but those that only its description has.
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
	// Read calls fn with the store's catalog, at least as new as it was when asOf was called. With a nil asOf, it is as new
	// as when Read was called. A backend that is always up to date does not call asOf. The view is valid within fn only. The
	// backend calls fn again when it finds that what it read was incomplete.
	Read(ctx context.Context, storeID string, asOf VersionFunc, fn func(v *View) error) error
	// VectorLeg names the state of the vectors of a store: LegVector, with LegBuilding or LegFailed added when they cannot
	// be searched.
	VectorLeg(ctx context.Context, storeID string) string
	// Close frees what the backend holds. Reads in progress finish first; later ones fail with ErrClosed.
	Close() error
}

// VersionFunc returns the version of a store's catalog.
type VersionFunc func(context.Context) (int64, error)

// ErrClosed is the error of reads after Close.
var ErrClosed = errors.New("search is closed")

// Index finds the products of one store, as one read sees them. It is valid within the read.
type Index interface {
	// Match evaluates the terms of a query.
	Match(ctx context.Context, q Query) (Matches, error)
	// Products returns the products of identifiers as models write them, in order, nil where there is none.
	Products(ctx context.Context, ids []string) ([]*Entry, error)
	// Variant returns the product that has a variant whose VariantKey is key. Nil: none has, or several have.
	Variant(ctx context.Context, key string) (*Entry, error)
	// SimilarIDs returns identifiers of products that differ little from an unknown one. Nil: the backend finds none.
	SimilarIDs(id string) []string
}

// Matches are the products that have terms of one query. It is valid within the read.
type Matches interface {
	// Any reports for each constraint whether a product meets it.
	Any(ctx context.Context, needs ...Constraint) ([]bool, error)
	// Count returns how many products meet a constraint, among the best of the query where a backend ranks no more.
	Count(ctx context.Context, n Constraint) (int, error)
	// Candidates returns the products that meet a constraint, in no particular order. It may leave out products that the
	// filter does not admit. With more, there are others, which come later in the order.
	Candidates(ctx context.Context, n Constraint, f Filter, by catalogv1.Sort) (found []Candidate, more bool, err error)
	// Best returns the n products with the highest scores that have a term and pass the filter, whatever other terms they lack.
	Best(ctx context.Context, f Filter, n int) ([]Candidate, error)
	// Grams are the counts of a sample of the store's products, at least those of the n-grams of the query. Nil: none are counted.
	Grams() *GramCounts
	// Similarities compares the vectors of the hits, which meet the constraint, with the vector of a query. Hits without a
	// vector have no similarity. With others, it adds the nearest products that pass the filter to the hits.
	Similarities(ctx context.Context, n Constraint, hits []Hit, query embed.Vector, admits Filter, others bool) ([]Hit, []Similarity, error)
}

// Constraint is what a product must have. The zero value admits every product.
type Constraint struct {
	// MinTerms is how many of the required terms of the query the product has.
	MinTerms int
	// AnyStrong asks for one term that says what the product is.
	AnyStrong bool
	// Terms are terms that the product has; Strong are terms that say what it is.
	Terms, Strong TermSet
	// Categories are folded categories. The product is in one of them. Nil: in any.
	Categories map[string]bool
	// Measures asks for all measures of the query as attributes.
	Measures bool
	// ProductIDs are the products to choose from. Nil: all.
	ProductIDs []string
	// SimilarTo asks for products that share a tag or the narrowest category with one of these, or that have all terms. It
	// is a hint, which a backend may ignore. Nil: all.
	SimilarTo []*Entry
}

// and returns the constraint that asks for both.
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

// Met reports whether a product with that match meets the constraint. It ignores SimilarTo.
func (n Constraint) Met(q Query, e *Entry, m Match) bool {
	return m.Terms&n.Terms == n.Terms && m.Strong&n.Strong == n.Strong && q.meets(m) >= n.MinTerms &&
		(!n.AnyStrong || m.Strong != 0) &&
		(n.Categories == nil || inCategories(n.Categories)(e)) &&
		(n.ProductIDs == nil || slices.Contains(n.ProductIDs, e.ID())) &&
		(!n.Measures || !slices.ContainsFunc(q.measures, func(m Measure) bool { return !e.measures(m) }))
}

// NeedsNoTerm reports whether a product without any of the terms may meet the constraint.
func (n Constraint) NeedsNoTerm() bool {
	return n.MinTerms == 0 && !n.AnyStrong && n.Terms|n.Strong == 0
}
