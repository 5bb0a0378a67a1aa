package engine

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// line is a quantity of one product at one price.
type line struct {
	at         int // position in the basket
	productID  string
	quantity   int64
	price      int64 // of one unit, in minor units
	brand      string
	categories []string // brand and categories are folded, once for all promotions
}

func newLine(item *cartv1.CartItem) line {
	l := line{
		productID: item.GetProductId(), quantity: int64(item.GetQuantity()), price: item.GetUnitPrice().GetAmountMinor(),
		brand: text.Fold(text.OneLine(item.GetBrand())), categories: make([]string, len(item.GetCategoryPath())),
	}
	for i, name := range item.GetCategoryPath() {
		l.categories[i] = singular(name)
	}
	return l
}

// total returns the cost of the line.
func (l *line) total() int64 { return times(l.price, l.quantity) }

// totals returns the cost and the number of units of some lines.
func totals(lines []*line) (sum, units int64) {
	for _, l := range lines {
		sum = add(sum, l.total())
		units = add(units, l.quantity)
	}
	return sum, units
}

// add and times return at most the largest amount instead of overflowing, so that an absurd price does not become a negative sum.
// Both take numbers of zero or more.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// qualifying returns the lines that count for a promotion, the cheapest first: those in its scope, and for a bundle only
// products of the set. The caller must not change them.
func qualifying(p *promotionv1.Promotion, b Basket) []*line {
	if known, ok := b.counting[p]; ok {
		return known
	}
	wanted := newScope(p.GetScope())
	in := make([]*line, 0, len(b.lines))
	for i := range b.lines {
		l := &b.lines[i]
		if set := p.GetBundle(); set != nil && !slices.Contains(set.GetProductIds(), l.productID) {
			continue
		}
		if wanted.contains(l) {
			in = append(in, l)
		}
	}
	b.counting[p] = in
	return in
}

// itemScope is a promotion's scope with its names folded.
type itemScope struct {
	*promotionv1.Scope
	brands, categories []string
}

func newScope(s *promotionv1.Scope) itemScope {
	w := itemScope{Scope: s}
	for _, name := range s.GetBrands() {
		if brand := text.Fold(text.OneLine(name)); brand != "" {
			w.brands = append(w.brands, brand)
		}
	}
	for _, name := range s.GetCategories() {
		w.categories = append(w.categories, singular(name))
	}
	return w
}

// contains reports whether any list names the line's product and no exclusion does. Without lists, everything is named.
func (w itemScope) contains(l *line) bool {
	if slices.Contains(w.GetExcludeProductIds(), l.productID) {
		return false
	}
	return namesNothing(w.Scope) || slices.Contains(w.GetProductIds(), l.productID) || slices.Contains(w.brands, l.brand) ||
		overlap(w.categories, l.categories)
}

func namesNothing(s *promotionv1.Scope) bool {
	return len(s.GetProductIds()) == 0 && len(s.GetCategories()) == 0 && len(s.GetBrands()) == 0
}

// singular folds case, accents, white space and English plurals, so that "Rain Jackets" and "rain jacket" name one category.
func singular(name string) string {
	words := strings.Fields(text.Fold(name))
	for i, w := range words {
		words[i] = text.Singular(w)
	}
	return strings.Join(words, " ")
}
