package index

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// condition is one part of a filter, about a product or about a variant.
type condition struct {
	// name is the path in the filter, such as "options.size".
	name string
	// product admits a product. Nil: the condition is about variants.
	product func(e *Entry) bool
	// variant admits the i-th variant of a product.
	variant func(e *Entry, i int) bool
}

// Filter is a list of conditions that must all hold, those on variants for one variant together. The zero value admits
// everything.
type Filter struct {
	// Message is what the filter was made of, for backends that select by it. Nil: they select nothing by it.
	Message    *catalogv1.Filter
	conditions []condition
}

// NewFilter compiles the message. A nil message admits everything.
func NewFilter(f *catalogv1.Filter) Filter {
	out := Filter{Message: f}
	onProduct := func(name string, admits func(e *Entry) bool) {
		out.conditions = append(out.conditions, condition{name: name, product: admits})
	}
	onVariant := func(name string, admits func(e *Entry, i int) bool) {
		out.conditions = append(out.conditions, condition{name: name, variant: admits})
	}
	if len(f.GetCategories()) > 0 {
		onProduct("categories", namedCategories(f.GetCategories()))
	}
	if len(f.GetBrands()) > 0 {
		brands := KeySet(f.GetBrands(), catalog.NameKey)
		onProduct("brands", func(e *Entry) bool { return brands[e.Brand] })
	}
	if f.GetMinPrice() != nil {
		onVariant("min_price", pricedFrom(f.GetMinPrice()))
	}
	if f.GetMaxPrice() != nil {
		onVariant("max_price", pricedTo(f.GetMaxPrice()))
	}
	for _, name := range slices.Sorted(maps.Keys(f.GetOptions())) {
		onVariant("options."+name, hasOption(name, f.GetOptions()[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(f.GetAttributes())) {
		onProduct("attributes."+name, hasAttribute(name, f.GetAttributes()[name]))
	}
	for _, r := range f.GetAttributeRanges() {
		onProduct("attribute_ranges."+catalog.NameKey(r.GetName()), inRange(r))
	}
	if least := f.GetMinRating(); least > 0 {
		onProduct("min_rating", func(e *Entry) bool { return e.Product.GetRating().GetAverage() >= least })
	}
	if f.GetInStock() {
		onVariant("in_stock", func(e *Entry, i int) bool { return e.Product.GetVariants()[i].GetStock() > 0 })
	}
	if len(f.GetExcludeProductIds()) > 0 {
		excluded := KeySet(f.GetExcludeProductIds(), catalog.IDKey)
		onProduct("exclude_product_ids", func(e *Entry) bool { return !excluded[catalog.IDKey(e.ID())] })
	}
	return out
}

// Admit returns the variants that pass, nil if the product does not. The caller must not change them.
func (f Filter) Admit(e *Entry) []*catalogv1.Variant {
	for _, c := range f.conditions {
		if c.product != nil && !c.product(e) {
			return nil
		}
	}
	if !slices.ContainsFunc(f.conditions, func(c condition) bool { return c.variant != nil }) {
		return e.Product.GetVariants()
	}
	var out []*catalogv1.Variant
	for i, v := range e.Product.GetVariants() {
		if !slices.ContainsFunc(f.conditions, func(c condition) bool { return c.variant != nil && !c.variant(e, i) }) {
			out = append(out, v)
		}
	}
	return out
}

// Without returns the filter less the named condition.
func (f Filter) Without(name string) Filter {
	return Filter{conditions: slices.DeleteFunc(slices.Clone(f.conditions), func(c condition) bool { return c.name == name })}
}

// Has reports whether there is a condition of that name.
func (f Filter) Has(name string) bool {
	return slices.ContainsFunc(f.conditions, func(c condition) bool { return c.name == name })
}

// MostRestrictive returns the condition without which the most of the products would pass. When no single condition stands
// alone in the way, it is the one that refuses the most by itself. Conditions named in kept are not blamed. Empty: there
// is no other.
func (f Filter) MostRestrictive(entries []*Entry, kept ...string) string {
	var name string
	most, fewest := 0, len(entries)+1
	for _, c := range f.conditions {
		if slices.Contains(kept, c.name) {
			continue
		}
		if n := f.Without(c.name).count(entries); n > most {
			name, most = c.name, n
		}
		if n := (Filter{conditions: []condition{c}}).count(entries); most == 0 && n < fewest {
			name, fewest = c.name, n
		}
	}
	return name
}

// NextToDrop returns the condition that a search which nothing passes gives up next: an attribute if that is enough, since catalogs
// often leave attributes out; otherwise the most restrictive condition, but not being in stock. Empty: none is left.
func (f Filter) NextToDrop(entries []*Entry) string {
	var others []string
	for _, c := range f.conditions {
		if !strings.HasPrefix(c.name, "attribute") {
			others = append(others, c.name)
		}
	}
	if name := f.MostRestrictive(entries, others...); name != "" && f.Without(name).count(entries) > 0 {
		return name
	}
	return f.MostRestrictive(entries, "in_stock")
}

func (f Filter) count(entries []*Entry) int {
	var n int
	for _, e := range entries {
		if len(f.Admit(e)) > 0 {
			n++
		}
	}
	return n
}

func KeySet(values []string, key func(string) string) map[string]bool {
	out := make(map[string]bool, len(values))
	for _, v := range values {
		out[key(v)] = true
	}
	return out
}

// namedCategories admits products of categories that are named as shoppers name them, in the plural of the product's language.
func namedCategories(names []string) func(e *Entry) bool {
	byKey := inCategories(KeySet(names, CategoryKey))
	return func(e *Entry) bool {
		if byKey(e) || e.Language == English {
			return byKey(e)
		}
		wanted := KeySet(names, e.Language.CategoryKey)
		return slices.ContainsFunc(e.Product.GetCategoryPath(), func(name string) bool { return wanted[e.Language.CategoryKey(name)] })
	}
}

func inCategories(wanted map[string]bool) func(e *Entry) bool {
	return func(e *Entry) bool {
		return slices.ContainsFunc(e.Categories, func(name string) bool { return wanted[name] })
	}
}

func pricedFrom(low *commonv1.Money) func(e *Entry, i int) bool {
	return func(e *Entry, i int) bool {
		p := e.Product.GetVariants()[i].GetPrice()
		return p.GetCurrencyCode() == low.GetCurrencyCode() && p.GetAmountMinor() >= low.GetAmountMinor()
	}
}

func pricedTo(high *commonv1.Money) func(e *Entry, i int) bool {
	return func(e *Entry, i int) bool {
		p := e.Product.GetVariants()[i].GetPrice()
		return p.GetCurrencyCode() == high.GetCurrencyCode() && p.GetAmountMinor() <= high.GetAmountMinor()
	}
}

// hasOption admits variants with the option. A colour is met by its shades too: "blue" by "glacier blue".
func hasOption(name, value string) func(e *Entry, i int) bool {
	name = catalog.NameKey(name)
	value = catalog.OptionKey(name, value)
	return func(e *Entry, i int) bool {
		got, ok := e.Options[i][name]
		return ok && (got == value || name == "colour" && hasWords(got, value))
	}
}

// inRange admits products whose numeric attribute lies in a range.
func inRange(r *catalogv1.AttributeRange) func(e *Entry) bool {
	name := catalog.NameKey(r.GetName())
	low, unit := productview.Smallest(r.GetMin(), r.GetUnit())
	high, _ := productview.Smallest(r.GetMax(), r.GetUnit())
	return func(e *Entry) bool {
		amount, own, ok := e.quantity(name)
		if unit == "" && ok { // then the bounds are in the product's unit
			amount = e.Attributes[name].GetNumber()
		} else if own != unit {
			ok = false
		}
		return ok && (r.Min == nil || amount >= low) && (r.Max == nil || amount <= high)
	}
}

// hasWords reports whether part is a run of whole words of text. Both are folded.
func hasWords(text, part string) bool {
	return part != "" && strings.Contains(" "+text+" ", " "+part+" ")
}

// hasAttribute admits products with the attribute, or with a tag that says the same.
func hasAttribute(name, value string) func(e *Entry) bool {
	name, value = catalog.NameKey(name), catalog.NameKey(value)
	truth, isTruth := TruthWords[value]
	return func(e *Entry) bool {
		a, ok := e.Attributes[name]
		if isTruth {
			flag, isFlag := a.GetValue().(*catalogv1.Attribute_Flag)
			set := e.Tags[name] || isFlag && flag.Flag
			if isFlag || e.Tags[name] || !ok {
				return set == truth
			}
		}
		if name == "gender" && (value == "women" || value == "men") && attributeIs(a, "unisex") {
			return true
		}
		return ok && attributeIs(a, value) || e.Tags[value]
	}
}

// TruthWords are the words for yes and no.
var TruthWords = map[string]bool{"true": true, "yes": true, "1": true, "false": false, "no": false, "0": false}

// attributeIs compares an attribute with a folded value. A text is met by any run of its words, a number with or
// without its unit.
func attributeIs(a *catalogv1.Attribute, value string) bool {
	switch v := a.GetValue().(type) {
	case *catalogv1.Attribute_Text:
		return hasWords(catalog.NameKey(v.Text), value)
	case *catalogv1.Attribute_Number:
		number, unit, _ := strings.Cut(value, " ")
		n, err := strconv.ParseFloat(number, 64)
		return err == nil && n == v.Number && (unit == "" || unit == catalog.NameKey(a.GetUnit()))
	case *catalogv1.Attribute_Flag:
		truth, ok := TruthWords[value]
		return ok && truth == v.Flag
	}
	return false
}
