package demo

import (
	"net/url"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// catalog finds products by id.
type catalog map[string]*catalogv1.Product

func catalogOf(d Dataset) catalog {
	c := make(catalog, len(d.Products))
	for _, p := range d.Products {
		c[p.GetProductId()] = p
	}
	return c
}

// variant returns a variant, or nil.
func (c catalog) variant(productID, variantID string) *catalogv1.Variant {
	for _, v := range c[productID].GetVariants() {
		if v.GetVariantId() == variantID {
			return v
		}
	}
	return nil
}

func TestProductsAreManyAndVaried(t *testing.T) {
	d := mainStore(t)
	categories := make(map[string]bool)
	soldOut, markdowns, partly := 0, 0, 0
	for _, p := range d.Products {
		path := p.GetCategoryPath()
		categories[path[len(path)-1]] = true
		in, out := 0, 0
		for _, v := range p.GetVariants() {
			if v.GetListPrice() != nil {
				markdowns++
			}
			if v.GetStock() == 0 {
				out++
			} else {
				in++
			}
		}
		if in == 0 {
			soldOut++
		} else if out > 0 {
			partly++
		}
	}
	if len(d.Products) < 150 || len(categories) < 12 {
		t.Errorf("%d products in %d categories; want at least 150 in 12", len(d.Products), len(categories))
	}
	if soldOut < 3 || partly < 20 || markdowns < 20 {
		t.Errorf("%d products sold out, %d partly, %d variants marked down", soldOut, partly, markdowns)
	}
}

func TestProductsAreWhatTheContractAsksFor(t *testing.T) {
	for _, d := range datasets(t) {
		ids, titles, texts := make(map[string]bool), make(map[string]bool), make(map[string]bool)
		for _, p := range d.Products {
			id := p.GetProductId()
			if !idForm.MatchString(id) || ids[id] || titles[p.GetTitle()] || texts[p.GetDescription()] {
				t.Errorf("%s: id, title or description is bad or not the only one", id)
			}
			ids[id], titles[p.GetTitle()], texts[p.GetDescription()] = true, true, true
			if n := utf8.RuneCountInString(p.GetTitle()); n < 1 || n > 300 {
				t.Errorf("%s: title of %d characters", id, n)
			}
			if n := utf8.RuneCountInString(p.GetDescription()); n < 60 || n > 600 {
				t.Errorf("%s: description of %d characters", id, n)
			}
			if len(p.GetCategoryPath()) != 2 || p.GetBrand() == "" {
				t.Errorf("%s: category %v, brand %q", id, p.GetCategoryPath(), p.GetBrand())
			}
			if u, err := url.Parse(p.GetUrl()); err != nil || !u.IsAbs() {
				t.Errorf("%s: url %q", id, p.GetUrl())
			}
			checkAttributes(t, p)
			checkVariants(t, p)
		}
	}
}

func checkAttributes(t *testing.T, p *catalogv1.Product) {
	t.Helper()
	names := make(map[string]bool)
	for _, a := range p.GetAttributes() {
		if a.GetName() == "" || names[a.GetName()] || a.GetValue() == nil {
			t.Errorf("%s: attribute %v", p.GetProductId(), a)
		}
		names[a.GetName()] = true
	}
	if len(names) == 0 {
		t.Errorf("%s has no attributes", p.GetProductId())
	}
}

func checkVariants(t *testing.T, p *catalogv1.Product) {
	t.Helper()
	ids := make(map[string]bool)
	for _, v := range p.GetVariants() {
		if !idForm.MatchString(v.GetVariantId()) || ids[v.GetVariantId()] {
			t.Errorf("%s: variant id %q is bad or not the only one", p.GetProductId(), v.GetVariantId())
		}
		ids[v.GetVariantId()] = true
		if v.GetPrice().GetAmountMinor() <= 0 || v.GetStock() < 0 {
			t.Errorf("%s %s: price %v, stock %d", p.GetProductId(), v.GetVariantId(), v.GetPrice(), v.GetStock())
		}
		if l := v.GetListPrice(); l != nil && l.GetAmountMinor() <= v.GetPrice().GetAmountMinor() {
			t.Errorf("%s %s: list price %v is not above %v", p.GetProductId(), v.GetVariantId(), l, v.GetPrice())
		}
		if len(p.GetVariants()) > 1 && len(v.GetOptions()) == 0 {
			t.Errorf("%s %s: several variants, and this one has no options", p.GetProductId(), v.GetVariantId())
		}
	}
	if len(ids) == 0 {
		t.Errorf("%s has no variants", p.GetProductId())
	}
}

func TestComplementsExist(t *testing.T) {
	for _, d := range datasets(t) {
		c := catalogOf(d)
		for _, p := range d.Products {
			for _, id := range p.GetComplementIds() {
				if c[id] == nil || id == p.GetProductId() {
					t.Errorf("%s: complement %s", p.GetProductId(), id)
				}
			}
		}
	}
}

func TestTrailRunningShoesInSize42AreInStock(t *testing.T) {
	found := 0
	for _, p := range mainStore(t).Products {
		if !slices.Contains(p.GetCategoryPath(), "Trail running shoes") {
			continue
		}
		if slices.ContainsFunc(p.GetVariants(), func(v *catalogv1.Variant) bool {
			return v.GetOptions()["size"] == "42" && v.GetStock() > 0
		}) {
			found++
		}
	}
	if found < 3 {
		t.Errorf("%d trail running shoes are in stock in size 42; want at least 3", found)
	}
}

// A question for the cheapest or dearest of a category must have one right answer, with and without sold-out variants.
func TestCheapestAndDearestOfACategoryAreOneProduct(t *testing.T) {
	for _, d := range datasets(t) {
		for _, inStock := range []bool{false, true} {
			low, high := make(map[string]extreme), make(map[string]extreme)
			for _, p := range d.Products {
				for _, v := range p.GetVariants() {
					if inStock && v.GetStock() == 0 {
						continue
					}
					price := v.GetPrice().GetAmountMinor()
					for _, category := range p.GetCategoryPath() {
						low[category] = low[category].with(-price, p.GetProductId())
						high[category] = high[category].with(price, p.GetProductId())
					}
				}
			}
			for category := range low {
				if len(low[category].ids) != 1 || len(high[category].ids) != 1 {
					t.Errorf("%s, in stock %v: cheapest %v, dearest %v", category, inStock, low[category].ids, high[category].ids)
				}
			}
		}
	}
}

// extreme is the largest value seen and which products have it.
type extreme struct {
	value int64
	ids   []string
}

func (e extreme) with(value int64, id string) extreme {
	switch {
	case len(e.ids) == 0 || value > e.value:
		return extreme{value, []string{id}}
	case value == e.value && !slices.Contains(e.ids, id):
		e.ids = append(slices.Clone(e.ids), id)
	}
	return e
}

func TestCartsHoldWhatCanBeBought(t *testing.T) {
	for _, d := range datasets(t) {
		c := catalogOf(d)
		ids := make(map[string]bool)
		for _, cart := range d.Carts {
			if cart.GetStoreId() != d.Store.GetStoreId() || !idForm.MatchString(cart.GetCartId()) || ids[cart.GetCartId()] {
				t.Errorf("cart %s of store %s among those of %s", cart.GetCartId(), cart.GetStoreId(), d.Store.GetStoreId())
			}
			ids[cart.GetCartId()] = true
			for _, item := range cart.GetItems() {
				v := c.variant(item.GetProductId(), item.GetVariantId())
				if v == nil || item.GetQuantity() < 1 || v.GetStock() < item.GetQuantity() {
					t.Errorf("cart %s: %v, of which there is %v", cart.GetCartId(), item, v)
				}
				bare := &cartv1.CartItem{ProductId: item.GetProductId(), VariantId: item.GetVariantId(), Quantity: item.GetQuantity()}
				if diff := cmp.Diff(bare, item, protocmp.Transform()); diff != "" {
					t.Errorf("cart %s sets what the service sets: %s", cart.GetCartId(), diff)
				}
			}
		}
		if !ids["ava"] || len(ids) < 4 {
			t.Errorf("store %s has the carts %v", d.Store.GetStoreId(), ids)
		}
	}
}
