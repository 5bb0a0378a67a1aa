package memory

import (
	"hash/maphash"
	"slices"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// variantIndex has the products of variants by hashes of the VariantKey, which are smaller than the keys.
type variantIndex map[uint64]variantOwner

// variantOwner is how many products have a variant with a key, and which if there is one: "" if it is one of those that are left of
// several.
type variantOwner struct {
	products int
	product  string
}

var hashSeed = maphash.MakeSeed()

func hashOf(key string) uint64 { return maphash.String(hashSeed, key) }

// add adds the variants of a product, or with by -1 takes them out again.
func (x variantIndex) add(e *index.Entry, by int) {
	own := catalog.IDKey(e.ID())
	for _, v := range e.Product.GetVariants() {
		key := index.VariantKey(v.GetVariantId())
		if key == "" || key == own { // the product is found by it in any case
			continue
		}
		h := hashOf(key)
		o := x[h]
		switch o.products += by; {
		case o.products <= 0:
			delete(x, h)
			continue
		case by > 0 && o.products == 1:
			o.product = e.ID()
		case by < 0 && o.product == e.ID():
			o.product = ""
		}
		x[h] = o
	}
}

// replace takes a product in the place of another with the same id. A new price or stock, which is the usual change, costs nothing.
func (x variantIndex) replace(old, e *index.Entry) {
	same := func(a, b *catalogv1.Variant) bool { return a.GetVariantId() == b.GetVariantId() }
	if !slices.EqualFunc(old.Product.GetVariants(), e.Product.GetVariants(), same) {
		x.add(old, -1)
		x.add(e, 1)
	}
}
