package search

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// entry is a product with its names folded for comparison. It is immutable.
type entry struct {
	product    *catalogv1.Product
	categories []string // folded, broadest first
	brand      string
	tags       map[string]bool
	attributes map[string]*catalogv1.Attribute
	options    []map[string]string // of each variant
	language   *language
}

func newEntry(p *catalogv1.Product) *entry {
	e := &entry{
		product:    p,
		brand:      fold(p.GetBrand()),
		tags:       make(map[string]bool, len(p.GetTags())),
		attributes: make(map[string]*catalogv1.Attribute, len(p.GetAttributes())),
		options:    make([]map[string]string, len(p.GetVariants())),
		language:   languageOf(p),
	}
	for _, name := range p.GetCategoryPath() {
		e.categories = append(e.categories, nameKey(name))
	}
	for _, tag := range p.GetTags() {
		e.tags[fold(tag)] = true
	}
	for _, a := range p.GetAttributes() {
		e.attributes[fold(a.GetName())] = a
	}
	for i, v := range p.GetVariants() {
		e.options[i] = make(map[string]string, len(v.GetOptions()))
		for name, value := range v.GetOptions() {
			name = fold(name)
			e.options[i][name] = foldValue(name, value)
		}
	}
	return e
}

// id is the product's identifier.
func (e *entry) id() string { return e.product.GetProductId() }

// measures reports whether the product has an attribute of that number, by its name or by its unit.
func (e *entry) measures(m measure) bool {
	unit := fold(m.unit)
	for name, a := range e.attributes {
		n, ok := a.GetValue().(*catalogv1.Attribute_Number)
		people := counted[m.unit] && slices.ContainsFunc(words(name), func(w string) bool { return counted[w] })
		if ok && n.Number == m.number && (people || fold(a.GetUnit()) == unit || stem(name) == stem(unit)) {
			return true
		}
	}
	return false
}

// narrowest is the folded name of the product's last category.
func (e *entry) narrowest() string {
	if len(e.categories) == 0 {
		return ""
	}
	return e.categories[len(e.categories)-1]
}

// view is one store's catalog in memory, as of one version. Readers hold it read-locked; see catalog.read.
type view struct {
	version int64
	entries map[string]*entry
	folded  map[string]string // idKey -> product id
	index   Index
	facts   facts
	shelf   shelf
	titles  atomic.Pointer[[]*entry] // all, when they were last asked for; nil after a change
}

// newView returns the view of an empty catalog over an empty index.
func newView(index Index) *view {
	v := &view{entries: make(map[string]*entry), folded: make(map[string]string), index: index, facts: newFacts()}
	v.shelf = memory{v}
	return v
}

// facts are what the whole catalog says about itself. They are counted as products come and go.
type facts struct {
	products   int
	currency   string            // of most variants
	categories map[string]string // folded -> as written
	presents   int               // products that a tag or a category says to make presents
	tags       map[string]int    // folded -> products
	attributes map[string]int    // folded names -> products
	options    map[string]int    // folded names -> variants
	paths      map[string]int    // folded categories -> products
	broadest   map[string]int    // categories as written that are first in their path -> products
	currencies map[string]int    // -> variants
	languages  map[string]int    // tags -> products
}

func newFacts() facts {
	return facts{
		categories: make(map[string]string), tags: make(map[string]int), attributes: make(map[string]int),
		options: make(map[string]int), paths: make(map[string]int), broadest: make(map[string]int), currencies: make(map[string]int),
		languages: make(map[string]int),
	}
}

// count adds a product, or with by -1 takes it out again.
func (f *facts) count(e *entry, by int) {
	for i, key := range e.categories {
		if adjust(f.paths, key, by) {
			f.categories[key] = e.product.GetCategoryPath()[i]
		} else {
			delete(f.categories, key)
		}
	}
	f.products += by
	if path := e.product.GetCategoryPath(); len(path) > 0 {
		adjust(f.broadest, path[0], by)
	}
	for name := range e.attributes {
		adjust(f.attributes, name, by)
	}
	for tag := range e.tags {
		adjust(f.tags, tag, by)
	}
	for i, v := range e.product.GetVariants() {
		adjust(f.currencies, v.GetPrice().GetCurrencyCode(), by)
		for name := range e.options[i] {
			adjust(f.options, name, by)
		}
	}
	adjust(f.languages, e.language.tag, by)
	if e.present() {
		f.presents += by
	}
}

// settle finds the currency, once all products are counted.
func (f *facts) settle() {
	f.currency = ""
	for code, n := range f.currencies {
		if best := f.currencies[f.currency]; n > best || n == best && code < f.currency {
			f.currency = code
		}
	}
}

// adjust changes a count, and reports whether anything is left of it.
func adjust(counts map[string]int, key string, by int) bool {
	counts[key] += by
	if counts[key] == 0 {
		delete(counts, key)
		return false
	}
	return true
}

// present reports whether a tag or a category says that the product makes a present.
func (e *entry) present() bool {
	says := func(text string) bool { return slices.ContainsFunc(words(text), present) }
	for tag := range e.tags {
		if says(tag) {
			return true
		}
	}
	return slices.ContainsFunc(e.product.GetCategoryPath(), says)
}

func present(word string) bool { return presents[word] }

// query reads a query to this store: where no product is marked as a present, any may be one.
func (v *view) query(vocabulary *vocabulary, text string) query {
	if v.facts.presents == 0 {
		text = strings.Join(withoutPresents(words(text)), " ")
	}
	return vocabulary.parse(text, v.facts.spoken()...)
}

// find looks a product up by an identifier as models write it. Nil: there is none.
func (v *view) find(id string) *entry {
	for _, exact := range [...]string{id, cleanID(id)} {
		if e := v.entries[exact]; e != nil {
			return e
		}
	}
	return v.entries[v.folded[idKey(id)]]
}

// all returns every product, ordered by title and then by identifier. The caller must not change it.
func (v *view) all() []*entry {
	if sorted := v.titles.Load(); sorted != nil {
		return *sorted
	}
	out := make([]*entry, 0, len(v.entries))
	for _, e := range v.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, byTitle)
	v.titles.Store(&out)
	return out
}

func byTitle(a, b *entry) int {
	return cmp.Or(
		strings.Compare(a.product.GetTitle(), b.product.GetTitle()),
		strings.Compare(a.id(), b.id()),
	)
}

// categoriesEndingIn returns the folded categories that hold the named things or kinds of them: "shoe" is met by
// "trail run shoe", but "tent" not by "tent peg".
func (v *view) categoriesEndingIn(key string) map[string]bool {
	var out map[string]bool
	for folded, name := range v.facts.categories {
		for _, kind := range kinds(name) {
			if k := nameKey(kind); k == key || strings.HasSuffix(k, " "+key) {
				if out == nil {
					out = make(map[string]bool)
				}
				out[folded] = true
			}
		}
	}
	return out
}
