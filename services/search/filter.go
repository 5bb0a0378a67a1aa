package search

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/weaviate"
)

// condition is one part of a filter, about a product or about a variant.
type condition struct {
	// name is the path in the filter, such as "options.size".
	name string
	// product admits a product. Nil: the condition is about variants.
	product func(e *entry) bool
	// variant admits the i-th variant of a product.
	variant func(e *entry, i int) bool
	// where is what the rows in a cluster of all products have that it admits, and of others too. Nil: nothing is known.
	where func() weaviate.Where
}

// filter is a list of conditions that must all hold, those on variants for one variant together.
type filter []condition

// newFilter compiles the message. A nil message admits everything.
func newFilter(f *catalogv1.Filter) filter {
	var out filter
	onProduct := func(name string, where func() weaviate.Where, admits func(e *entry) bool) {
		out = append(out, condition{name: name, where: where, product: admits})
	}
	onVariant := func(name string, where func() weaviate.Where, admits func(e *entry, i int) bool) {
		out = append(out, condition{name: name, where: where, variant: admits})
	}
	if len(f.GetCategories()) > 0 {
		names := f.GetCategories()
		onProduct("categories", whereCategories(names), namedCategories(names))
	}
	if len(f.GetBrands()) > 0 {
		brands := keys(f.GetBrands(), fold)
		onProduct("brands", whereKeys(brandKey, brands), func(e *entry) bool { return brands[e.brand] })
	}
	if f.GetMinPrice() != nil {
		onVariant("min_price", wherePrice(weaviate.AtLeast, rowHigh, f.GetMinPrice()), pricedFrom(f.GetMinPrice()))
	}
	if f.GetMaxPrice() != nil {
		onVariant("max_price", wherePrice(weaviate.AtMost, rowLow, f.GetMaxPrice()), pricedTo(f.GetMaxPrice()))
	}
	for _, name := range slices.Sorted(maps.Keys(f.GetOptions())) {
		value := f.GetOptions()[name]
		onVariant("options."+name, whereOption(name, value), hasOption(name, value))
	}
	for _, name := range slices.Sorted(maps.Keys(f.GetAttributes())) {
		value := f.GetAttributes()[name]
		onProduct("attributes."+name, whereAttribute(name, value), hasAttribute(name, value))
	}
	if f.GetInStock() {
		inStock := func() weaviate.Where { return weaviate.Is(rowStock, true) }
		onVariant("in_stock", inStock, func(e *entry, i int) bool { return e.product.GetVariants()[i].GetStock() > 0 })
	}
	if len(f.GetExcludeProductIds()) > 0 {
		excluded := keys(f.GetExcludeProductIds(), idKey)
		onProduct("exclude_product_ids", nil, func(e *entry) bool { return !excluded[idKey(e.id())] })
	}
	return out
}

// admit returns the variants that pass, nil if the product does not. The caller must not change them.
func (f filter) admit(e *entry) []*catalogv1.Variant {
	for _, c := range f {
		if c.product != nil && !c.product(e) {
			return nil
		}
	}
	if !slices.ContainsFunc(f, func(c condition) bool { return c.variant != nil }) {
		return e.product.GetVariants()
	}
	var out []*catalogv1.Variant
	for i, v := range e.product.GetVariants() {
		if !slices.ContainsFunc(f, func(c condition) bool { return c.variant != nil && !c.variant(e, i) }) {
			out = append(out, v)
		}
	}
	return out
}

// without returns the filter less the named condition.
func (f filter) without(name string) filter {
	return slices.DeleteFunc(slices.Clone(f), func(c condition) bool { return c.name == name })
}

// has reports whether there is a condition of that name.
func (f filter) has(name string) bool {
	return slices.ContainsFunc(f, func(c condition) bool { return c.name == name })
}

// blame returns the condition without which the most of the products would pass. When no single condition stands
// alone in the way, it is the one that refuses the most by itself. Conditions named in kept are not blamed. Empty: there
// is no other.
func (f filter) blame(entries []*entry, kept ...string) string {
	var name string
	most, fewest := 0, len(entries)+1
	for _, c := range f {
		if slices.Contains(kept, c.name) {
			continue
		}
		if n := f.without(c.name).count(entries); n > most {
			name, most = c.name, n
		}
		if n := (filter{c}).count(entries); most == 0 && n < fewest {
			name, fewest = c.name, n
		}
	}
	return name
}

func (f filter) count(entries []*entry) int {
	var n int
	for _, e := range entries {
		if len(f.admit(e)) > 0 {
			n++
		}
	}
	return n
}

func keys(values []string, key func(string) string) map[string]bool {
	out := make(map[string]bool, len(values))
	for _, v := range values {
		out[key(v)] = true
	}
	return out
}

// namedCategories admits products of categories that are named as shoppers name them, in the plural of the product's language.
func namedCategories(names []string) func(e *entry) bool {
	byKey := inCategories(keys(names, nameKey))
	return func(e *entry) bool {
		if byKey(e) || e.language == english {
			return byKey(e)
		}
		wanted := keys(names, e.language.nameKey)
		return slices.ContainsFunc(e.product.GetCategoryPath(), func(name string) bool { return wanted[e.language.nameKey(name)] })
	}
}

func inCategories(wanted map[string]bool) func(e *entry) bool {
	return func(e *entry) bool {
		return slices.ContainsFunc(e.categories, func(name string) bool { return wanted[name] })
	}
}

func pricedFrom(low *commonv1.Money) func(e *entry, i int) bool {
	return func(e *entry, i int) bool {
		p := e.product.GetVariants()[i].GetPrice()
		return p.GetCurrencyCode() == low.GetCurrencyCode() && p.GetAmountMinor() >= low.GetAmountMinor()
	}
}

func pricedTo(high *commonv1.Money) func(e *entry, i int) bool {
	return func(e *entry, i int) bool {
		p := e.product.GetVariants()[i].GetPrice()
		return p.GetCurrencyCode() == high.GetCurrencyCode() && p.GetAmountMinor() <= high.GetAmountMinor()
	}
}

// hasOption admits variants with the option. A colour is met by its shades too: "blue" by "glacier blue".
func hasOption(name, value string) func(e *entry, i int) bool {
	name = fold(name)
	value = foldValue(name, value)
	return func(e *entry, i int) bool {
		got, ok := e.options[i][name]
		return ok && (got == value || name == "colour" && hasWords(got, value))
	}
}

// hasWords reports whether part is a run of whole words of text. Both are folded.
func hasWords(text, part string) bool {
	return part != "" && strings.Contains(" "+text+" ", " "+part+" ")
}

// hasAttribute admits products with the attribute, or with a tag that says the same.
func hasAttribute(name, value string) func(e *entry) bool {
	name, value = fold(name), fold(value)
	truth, isTruth := truths[value]
	return func(e *entry) bool {
		a, ok := e.attributes[name]
		if isTruth {
			flag, isFlag := a.GetValue().(*catalogv1.Attribute_Flag)
			set := e.tags[name] || isFlag && flag.Flag
			if isFlag || e.tags[name] || !ok {
				return set == truth
			}
		}
		if name == "gender" && (value == "women" || value == "men") && attributeIs(a, "unisex") {
			return true
		}
		return ok && attributeIs(a, value) || e.tags[value]
	}
}

// truths are the words for yes and no.
var truths = map[string]bool{"true": true, "yes": true, "1": true, "false": false, "no": false, "0": false}

// attributeIs compares an attribute with a folded value. A text is met by any run of its words, a number with or
// without its unit.
func attributeIs(a *catalogv1.Attribute, value string) bool {
	switch v := a.GetValue().(type) {
	case *catalogv1.Attribute_Text:
		return hasWords(fold(v.Text), value)
	case *catalogv1.Attribute_Number:
		number, unit, _ := strings.Cut(value, " ")
		n, err := strconv.ParseFloat(number, 64)
		return err == nil && n == v.Number && (unit == "" || unit == fold(a.GetUnit()))
	case *catalogv1.Attribute_Flag:
		truth, ok := truths[value]
		return ok && truth == v.Flag
	}
	return false
}
