package index

import (
	"context"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// leastVariantKey is the length from which on the id of a variant identifies a product. "42" and "xl" are sizes.
const leastVariantKey = 4

// VariantKey returns the folded id of a variant, by which its product is found. It is empty for an id that is no article number: without
// a digit, or too short.
func VariantKey(id string) string {
	key := catalog.IDKey(id)
	if len(key) < leastVariantKey || !strings.ContainsAny(key, "0123456789") {
		return ""
	}
	return key
}

// Exact returns the product that an identifier names, and the variant if it is the identifier of one. Nil: it names none.
func (v *View) Exact(ctx context.Context, id string) (*Entry, *catalogv1.Variant, error) {
	if id = catalog.CleanID(id); id == "" || strings.ContainsAny(id, " \t\n") {
		return nil, nil, nil
	}
	found, err := v.Index.Products(ctx, []string{id})
	if err != nil {
		return nil, nil, err
	}
	if found[0] != nil {
		return found[0], nil, nil
	}
	key := VariantKey(id)
	if key == "" {
		return nil, nil, nil
	}
	e, err := v.Index.Variant(ctx, key)
	if err != nil || e == nil {
		return nil, nil, err
	}
	return e, e.Variant(key), nil
}

// Variant returns the variant with a VariantKey. Nil: there is none.
func (e *Entry) Variant(key string) *catalogv1.Variant {
	for _, v := range e.Product.GetVariants() {
		if VariantKey(v.GetVariantId()) == key {
			return v
		}
	}
	return nil
}

// PutFirst makes the product that the whole query names the first hit, if it passes the filter. Of a variant that is named, it is the
// hit, if that passes. An order by value stays.
func (f *Result) PutFirst(e *Entry, named *catalogv1.Variant, admits Filter, by catalogv1.Sort) {
	variants := admits.Admit(e)
	if len(variants) == 0 {
		if len(f.Counted()) == 0 {
			f.excludedBy = admits.MostRestrictive([]*Entry{e})
		}
		return
	}
	for _, v := range variants {
		if v == named {
			variants = []*catalogv1.Variant{v}
			break
		}
	}
	hits := []Hit{{Candidate: Candidate{Entry: e}, Variants: variants}}
	hits[0].Score = 1
	for _, h := range f.Hits {
		if h.ID() != e.ID() {
			hits = append(hits, h)
		}
	}
	if len(hits) > 1 {
		hits[0].Score = max(1, hits[1].Score)
	}
	f.Hits, f.excludedBy = hits, ""
	SortBy(f.Hits, by)
}
