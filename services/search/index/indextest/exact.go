package indextest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// What is counted, cheapest, dearest and left over is compared with what a plain walk over all products finds, which
// shares no code with the search.

func (x suite) testFiltersCountsAndExtremesAreExact(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	products := Stocked(PublicProducts(t))
	if x.most > 0 {
		products = products[:min(x.most, len(products))]
	}
	t.Run("over everything", func(t *testing.T) { x.exactOverEverything(t, products) })
	t.Run("over what words select", func(t *testing.T) { x.exactOverWords(t, products) })
}

func (x suite) exactOverEverything(t *testing.T, products []*catalogv1.Product) {
	v := x.view(t, products)
	r := rand.New(rand.NewPCG(1, 2))
	answered := 0
	for range 40 {
		f := RandomFilter(r, products)
		if wantExact(t, v, index.Query{Head: -1}, f, walk(products, f)) {
			answered++
		}
	}
	if answered < 20 {
		t.Errorf("only %d filters leave anything; the test says little", answered)
	}
}

func (x suite) exactOverWords(t *testing.T, products []*catalogv1.Product) {
	var some []*catalogv1.Product
	for i := 0; i < len(products); i += max(1, len(products)/2_400) {
		some = append(some, products[i])
	}
	v := x.view(t, some)
	r := rand.New(rand.NewPCG(3, 4))
	answered := 0
	for _, text := range PublicQueries(t) {
		q := v.Query(TestVocabulary(t), text)
		all, err := v.Search(t.Context(), q, index.Filter{}, catalogv1.Sort_SORT_UNSPECIFIED)
		if err != nil {
			t.Fatal(err)
		}
		var selected []*catalogv1.Product
		for _, h := range all.Counted() {
			selected = append(selected, h.Product)
		}
		if len(selected) == 0 || all.More {
			continue
		}
		for range 2 {
			f := RandomFilter(r, selected)
			if wantExact(t, v, q, f, walk(selected, f)) {
				answered++
			}
		}
	}
	if answered < 50 {
		t.Errorf("only %d filters leave anything; the test says little", answered)
	}
}

// Stocked gives every third product a second variant and takes some out of stock, for the collection has neither.
func Stocked(products []*catalogv1.Product) []*catalogv1.Product {
	for i, p := range products {
		first := p.GetVariants()[0]
		first.Stock = int32(i % 4)
		if i%3 == 0 {
			second := proto.CloneOf(first)
			second.VariantId, second.Stock = "second", int32(i%2)
			second.Price.AmountMinor += int64(i % 5000)
			first.Options = map[string]string{"size": "S", "finish": "matt"}
			second.Options = map[string]string{"size": "L", "finish": "matt"}
			p.Variants = append(p.Variants, second)
		}
	}
	return products
}

// RandomFilter makes conditions that one of the products meets.
func RandomFilter(r *rand.Rand, products []*catalogv1.Product) *catalogv1.Filter {
	p := products[r.IntN(len(products))]
	v := p.GetVariants()[r.IntN(len(p.GetVariants()))]
	price := v.GetPrice().GetAmountMinor()
	bound := func(minor int64) *commonv1.Money {
		return &commonv1.Money{AmountMinor: max(0, minor), CurrencyCode: v.GetPrice().GetCurrencyCode()}
	}
	f := &catalogv1.Filter{Options: map[string]string{}, Attributes: map[string]string{}, InStock: r.IntN(2) == 0}
	if r.IntN(3) == 0 && plainWords(p.GetBrand()) {
		f.Brands = []string{strings.ToUpper(p.GetBrand())}
	}
	if r.IntN(2) == 0 {
		f.MaxPrice = bound(price + r.Int64N(3)*r.Int64N(1000))
	}
	if r.IntN(3) == 0 {
		f.MinPrice = bound(price - r.Int64N(3)*r.Int64N(1000))
	}
	if r.IntN(3) == 0 {
		maps.Copy(f.Options, v.GetOptions())
	}
	if n := len(p.GetAttributes()); n > 0 && r.IntN(2) == 0 {
		a := p.GetAttributes()[r.IntN(n)]
		_, isText := a.GetValue().(*catalogv1.Attribute_Text)
		value := attributeValue(a)
		// A number in a text may run into its unit, which only the search takes apart.
		if plainWords(a.GetName()) && (!isText || plainWords(value) && !strings.ContainsAny(value, "0123456789")) {
			f.Attributes[a.GetName()] = value
		}
	}
	if r.IntN(5) == 0 {
		f.ExcludeProductIds = []string{p.GetProductId()}
	}
	return f
}

func attributeValue(a *catalogv1.Attribute) string {
	switch v := a.GetValue().(type) {
	case *catalogv1.Attribute_Number:
		return fmt.Sprint(v.Number)
	case *catalogv1.Attribute_Flag:
		return fmt.Sprint(v.Flag)
	}
	return a.GetText()
}

// plainWords reports whether a text is spelled one way only, so that a walk may compare letters.
func plainWords(text string) bool {
	for _, w := range letters(text) {
		for from, to := range catalog.Spellings {
			if w == from || w == to {
				return false
			}
		}
	}
	return text != "" && strings.Join(letters(text), " ") == strings.ToLower(text)
}

func letters(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.'
	})
}

// walked is what a plain walk finds.
type walked struct {
	variants map[string][]string // of each product, those that pass
	prices   []int64             // of them, per product the lowest, ascending
	low, top int64
	brands   map[string]int32
}

func walk(products []*catalogv1.Product, f *catalogv1.Filter) walked {
	w := walked{variants: make(map[string][]string), brands: make(map[string]int32)}
	for _, p := range products {
		lowest := int64(-1)
		for _, v := range p.GetVariants() {
			if !passes(p, v, f) {
				continue
			}
			price := v.GetPrice().GetAmountMinor()
			if len(w.variants) == 0 {
				w.low, w.top = price, price
			}
			w.low, w.top = min(w.low, price), max(w.top, price)
			if lowest < 0 || price < lowest {
				lowest = price
			}
			w.variants[p.GetProductId()] = append(w.variants[p.GetProductId()], v.GetVariantId())
		}
		if lowest >= 0 {
			w.prices = append(w.prices, lowest)
			w.brands[p.GetBrand()]++
		}
	}
	slices.Sort(w.prices)
	return w
}

func passes(p *catalogv1.Product, v *catalogv1.Variant, f *catalogv1.Filter) bool {
	price := v.GetPrice().GetAmountMinor()
	if f.GetInStock() && v.GetStock() == 0 || slices.Contains(f.GetExcludeProductIds(), p.GetProductId()) ||
		f.GetMinPrice() != nil && price < f.GetMinPrice().GetAmountMinor() ||
		f.GetMaxPrice() != nil && price > f.GetMaxPrice().GetAmountMinor() ||
		len(f.GetBrands()) > 0 && !strings.EqualFold(p.GetBrand(), f.GetBrands()[0]) {
		return false
	}
	for name, value := range f.GetOptions() {
		if v.GetOptions()[name] != value {
			return false
		}
	}
	for name, value := range f.GetAttributes() {
		if !has(p, name, value) {
			return false
		}
	}
	return true
}

// has reports whether the attribute has the value, and for a flag that is not set whether it is absent.
func has(p *catalogv1.Product, name, value string) bool {
	for _, a := range p.GetAttributes() {
		if a.GetName() != name {
			continue
		}
		if _, ok := a.GetValue().(*catalogv1.Attribute_Text); !ok {
			return attributeValue(a) == value
		}
		return strings.Contains(" "+strings.Join(letters(a.GetText()), " ")+" ", " "+strings.Join(letters(value), " ")+" ")
	}
	return value == "false"
}

// wantExact compares the response to a search with a walk, in both orders of price, and reports whether anything is left.
func wantExact(t *testing.T, v *index.View, q index.Query, f *catalogv1.Filter, want walked) bool {
	t.Helper()
	cheapest := Respond(t, v, q, f, catalogv1.Sort_SORT_PRICE_ASCENDING)
	more := cheapest.GetMoreMatches() // then counts are of the first ones
	if got := int(cheapest.GetTotalCount()); !more && got != len(want.variants) || got > len(want.variants) {
		t.Errorf("%v: %d products, want %d", f, got, len(want.variants))
		return true
	}
	if len(want.variants) == 0 {
		return false
	}
	dearest := Respond(t, v, q, f, catalogv1.Sort_SORT_PRICE_DESCENDING)
	if low, top := cheapest.GetMinPrice().GetAmountMinor(), dearest.GetMaxPrice().GetAmountMinor(); low != want.low || top != want.top {
		t.Errorf("%v: prices from %d to %d, want %d to %d", f, low, top, want.low, want.top)
	}
	var prices []int64
	for _, h := range cheapest.GetHits() {
		if diff := gocmp.Diff(want.variants[h.GetProduct().GetProductId()], h.GetMatchedVariantIds()); diff != "" {
			t.Errorf("%v: variants of %s (-want +got):\n%s", f, h.GetProduct().GetProductId(), diff)
		}
		prices = append(prices, lowest(h))
	}
	if diff := gocmp.Diff(want.prices[:len(prices)], prices); diff != "" {
		t.Errorf("%v: the cheapest (-want +got):\n%s", f, diff)
	}
	if !more {
		wantFacets(t, f, cheapest.GetFacets(), want)
	}
	return true
}

// wantFacets compares the facets: the one category that all have, and the most frequent brands.
func wantFacets(t *testing.T, f *catalogv1.Filter, got []*catalogv1.Facet, want walked) {
	t.Helper()
	facets := []*catalogv1.Facet{{Name: "category", Value: "Products", Count: int32(len(want.variants))}}
	for brand, n := range want.brands {
		facets = append(facets, &catalogv1.Facet{Name: "brand", Value: brand, Count: n})
	}
	slices.SortFunc(facets, func(a, b *catalogv1.Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(b.Name, a.Name), strings.Compare(a.Value, b.Value))
	})
	if diff := gocmp.Diff(facets[:min(20, len(facets))], got, protocmp.Transform()); diff != "" {
		t.Errorf("%v: facets (-want +got):\n%s", f, diff)
	}
}

func Respond(t *testing.T, v *index.View, q index.Query, f *catalogv1.Filter, by catalogv1.Sort) *catalogv1.SearchProductsResponse {
	t.Helper()
	found, err := v.Search(t.Context(), q, index.NewFilter(f), by)
	if err != nil {
		t.Fatal(err)
	}
	return found.Response(by, 30, nil)
}

// lowest is the lowest price among the matched variants of a hit.
func lowest(h *catalogv1.Hit) int64 {
	best := int64(-1)
	for _, v := range h.GetProduct().GetVariants() {
		price := v.GetPrice().GetAmountMinor()
		if slices.Contains(h.GetMatchedVariantIds(), v.GetVariantId()) && (best < 0 || price < best) {
			best = price
		}
	}
	return best
}
