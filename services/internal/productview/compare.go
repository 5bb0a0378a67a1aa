package productview

import (
	"slices"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// maxFacts bounds the facts of a comparison.
const maxFacts = 20

// Compare puts products side by side: their price and rating, then their attributes in the order of the first product that has each,
// those in which the products differ first.
func Compare(items []Item) *specialistv1.Comparison {
	c := new(specialistv1.Comparison)
	byName := make(map[string]*specialistv1.ComparedFact)
	set := func(product int, name, value string) {
		if value == "" {
			return
		}
		f := byName[name]
		if f == nil {
			f = &specialistv1.ComparedFact{Name: name, Values: make([]string, len(items))}
			byName[name] = f
			c.Facts = append(c.Facts, f)
		}
		f.Values[product] = value
	}
	for i, item := range items {
		c.Products = append(c.Products, Choice(item.Product, item.Variants, item.Reason))
		v := newView(item)
		price := v.Price
		if v.HighestPrice != "" {
			price += " to " + v.HighestPrice
		}
		set(i, "price", price)
		set(i, "rating", v.Rating)
		set(i, "for", v.For)
		for _, a := range item.Product.GetAttributes() {
			set(i, a.GetName(), valueOf(a))
		}
	}
	for _, f := range c.GetFacts() {
		f.Differs = slices.ContainsFunc(f.GetValues(), func(v string) bool { return v != f.GetValues()[0] })
	}
	slices.SortStableFunc(c.Facts, func(a, b *specialistv1.ComparedFact) int {
		switch {
		case a.GetDiffers() == b.GetDiffers():
			return 0
		case a.GetDiffers():
			return -1
		}
		return 1
	})
	c.Facts = c.GetFacts()[:min(maxFacts, len(c.GetFacts()))]
	return c
}
