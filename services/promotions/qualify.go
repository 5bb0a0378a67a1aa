package promotions

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// line is a quantity of one product at one price.
type line struct {
	productID string
	quantity  int64
	price     int64 // of one unit, in minor units
}

func linesOf(items []*cartv1.CartItem) []line {
	lines := make([]line, len(items))
	for i, item := range items {
		lines[i] = line{item.GetProductId(), int64(item.GetQuantity()), item.GetUnitPrice().GetAmountMinor()}
	}
	return lines
}

// totals returns what the lines cost together and how many units they are.
func totals(lines []line) (sum, units int64) {
	for _, l := range lines {
		sum = add(sum, times(l.price, l.quantity))
		units = add(units, l.quantity)
	}
	return sum, units
}

// add and times stay at the largest amount instead of wrapping around: a price that no shop asks must not turn into a
// negative sum. Both take numbers of zero or more.
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

// qualifying returns the items that count for a promotion: those in its scope, and for a bundle only those of the set.
func qualifying(p *promotionv1.Promotion, items []*cartv1.CartItem) []*cartv1.CartItem {
	var in []*cartv1.CartItem
	for _, item := range items {
		if set := p.GetBundle(); set != nil && !slices.Contains(set.GetProductIds(), item.GetProductId()) {
			continue
		}
		if inScope(p.GetScope(), item) {
			in = append(in, item)
		}
	}
	return in
}

// inScope reports whether any list names the item and no exclusion does. Without lists, everything is named.
func inScope(s *promotionv1.Scope, item *cartv1.CartItem) bool {
	if slices.Contains(s.GetExcludeProductIds(), item.GetProductId()) {
		return false
	}
	if namesNothing(s) || slices.Contains(s.GetProductIds(), item.GetProductId()) {
		return true
	}
	for _, brand := range s.GetBrands() {
		if item.GetBrand() != "" && strings.EqualFold(strings.TrimSpace(brand), strings.TrimSpace(item.GetBrand())) {
			return true
		}
	}
	for _, category := range s.GetCategories() {
		wanted := singular(category)
		if slices.ContainsFunc(item.GetCategoryPath(), func(name string) bool { return singular(name) == wanted }) {
			return true
		}
	}
	return false
}

func namesNothing(s *promotionv1.Scope) bool {
	return len(s.GetProductIds()) == 0 && len(s.GetCategories()) == 0 && len(s.GetBrands()) == 0
}

// singular folds case, space and English plurals, so that "Rain Jackets" and "rain jacket" name one category. Both
// sides of a comparison go through it, so a word that it mangles still equals itself.
func singular(name string) string {
	words := strings.Fields(strings.ToLower(name))
	for i, w := range words {
		switch {
		case strings.HasSuffix(w, "ies") && len(w) > 4:
			words[i] = w[:len(w)-3] + "y"
		case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
			words[i] = w[:len(w)-2]
		case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && len(w) > 2:
			words[i] = w[:len(w)-1]
		}
	}
	return strings.Join(words, " ")
}
