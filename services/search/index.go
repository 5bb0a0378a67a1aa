package search

import (
	"context"
	"math/bits"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// Index finds products in memory by words. It knows nothing of filters, prices or stock: those are evaluated
// over everything that it returns, so that counts and extremes are exact.
//
// Search may be called concurrently; Update never runs beside another call.
type Index interface {
	// Update adds or replaces products and removes others. Removing what is not there succeeds.
	Update(ctx context.Context, put []*catalogv1.Product, remove []string) error
	// Search returns every product that has at least one of the terms, in no particular order.
	Search(ctx context.Context, terms []Term) ([]Match, error)
	// Close frees what the index holds. It is called once, after the last Search.
	Close() error
}

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
