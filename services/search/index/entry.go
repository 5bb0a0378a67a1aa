package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unique"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// Entry is a product with its names folded for comparison. It is immutable.
type Entry struct {
	Product    *catalogv1.Product
	Categories []string // folded, broadest first
	Brand      string
	Tags       map[string]bool
	Attributes map[string]*catalogv1.Attribute
	Options    []map[string]string // of each variant
	Language   *Language

	grams                  []uint32 // of what names it; nil: not kept
	title, brand, category string   // as they are written, the last of the categories: here a search of many products is quicker to read them
}

// intern returns one copy of a text that many products have, since what is in memory once is read and marked faster.
func intern(s string) string { return unique.Make(s).Value() }

func NewEntry(p *catalogv1.Product) *Entry {
	e := &Entry{
		Product:    p,
		Brand:      intern(catalog.NameKey(p.GetBrand())),
		Tags:       make(map[string]bool, len(p.GetTags())),
		Attributes: make(map[string]*catalogv1.Attribute, len(p.GetAttributes())),
		Options:    make([]map[string]string, len(p.GetVariants())),
		Language:   LanguageOf(p),
		title:      p.GetTitle(),
		brand:      intern(p.GetBrand()),
	}
	for _, name := range p.GetCategoryPath() {
		e.Categories = append(e.Categories, intern(CategoryKey(name)))
		e.category = intern(name)
	}
	for _, tag := range p.GetTags() {
		e.Tags[intern(catalog.NameKey(tag))] = true
	}
	for _, a := range p.GetAttributes() {
		e.Attributes[intern(catalog.NameKey(a.GetName()))] = a
	}
	for i, v := range p.GetVariants() {
		e.Options[i] = make(map[string]string, len(v.GetOptions()))
		for name, value := range v.GetOptions() {
			name = intern(catalog.NameKey(name))
			e.Options[i][name] = intern(catalog.OptionKey(name, value))
		}
	}
	return e
}

// Id is the product's identifier.
func (e *Entry) ID() string { return e.Product.GetProductId() }

// HasOption reports whether a variant has an option of a folded name.
func (e *Entry) HasOption(name string) bool {
	return slices.ContainsFunc(e.Options, func(options map[string]string) bool { _, ok := options[name]; return ok })
}

// measures reports whether the product has an attribute of that number, by its name or by its unit.
func (e *Entry) measures(m Measure) bool {
	unit := catalog.NameKey(m.unit)
	for name, a := range e.Attributes {
		n, ok := a.GetValue().(*catalogv1.Attribute_Number)
		people := peopleUnits[m.unit] && slices.ContainsFunc(catalog.Words(name), func(w string) bool { return peopleUnits[w] })
		if ok && n.Number == m.number && (people || catalog.NameKey(a.GetUnit()) == unit || English.Stem(name) == English.Stem(unit)) {
			return true
		}
	}
	return false
}

// Category is the folded name of the product's last category.
func (e *Entry) Category() string {
	if len(e.Categories) == 0 {
		return ""
	}
	return e.Categories[len(e.Categories)-1]
}

// View is one store's catalog as one read sees it. It is valid within the read.
type View struct {
	Statistics Statistics
	Index      Index
}

// Statistics count what the products of a store have. They are kept up to date as products come and go.
type Statistics struct {
	Products         int
	Currency         string            // of most variants
	Categories       map[string]string // folded -> as written
	Gifts            int               // products that a tag or a category says to make presents
	Tags             map[string]int    // folded -> products
	Attributes       map[string]int    // folded names -> products
	Options          map[string]int    // folded names -> variants
	CategoryProducts map[string]int    // folded categories -> products
	TopCategories    map[string]int    // categories as written that are first in their path -> products
	Currencies       map[string]int    // -> variants
	Languages        map[string]int    // tags -> products that have texts in the language
	Brands           map[string]int    // words of brands -> products
}

func NewStatistics() Statistics {
	return Statistics{
		Categories: make(map[string]string), Tags: make(map[string]int), Attributes: make(map[string]int),
		Options: make(map[string]int), CategoryProducts: make(map[string]int), TopCategories: make(map[string]int), Currencies: make(map[string]int),
		Languages: make(map[string]int), Brands: make(map[string]int),
	}
}

// Add adds a product, or with by -1 takes it out again.
func (f *Statistics) Add(e *Entry, by int) {
	for i, key := range e.Categories {
		written, known := f.Categories[key], f.CategoryProducts[key] > 0
		if !adjust(f.CategoryProducts, key, by) {
			delete(f.Categories, key)
		} else if name := e.Product.GetCategoryPath()[i]; by > 0 && (!known || name < written) {
			f.Categories[key] = name // of several spellings the first, whatever the order of the products
		}
	}
	f.Products += by
	if path := e.Product.GetCategoryPath(); len(path) > 0 {
		adjust(f.TopCategories, path[0], by)
	}
	for name := range e.Attributes {
		adjust(f.Attributes, name, by)
	}
	for tag := range e.Tags {
		adjust(f.Tags, tag, by)
	}
	for i, v := range e.Product.GetVariants() {
		adjust(f.Currencies, v.GetPrice().GetCurrencyCode(), by)
		for name := range e.Options[i] {
			adjust(f.Options, name, by)
		}
	}
	for tag := range e.languages() {
		adjust(f.Languages, tag, by)
	}
	if brand := brandKey(catalog.Words(e.Product.GetBrand())); brand != "" {
		adjust(f.Brands, brand, by)
	}
	if e.isGift() {
		f.Gifts += by
	}
}

// languages are the tags of the languages that the product has texts in.
func (e *Entry) languages() map[string]bool {
	out := map[string]bool{e.Language.Tag: true}
	for _, t := range e.Product.GetTranslations() {
		out[languageOfTag(t.GetLanguage()).Tag] = true
	}
	return out
}

// SetCurrency finds the currency, once all products are counted.
func (f *Statistics) SetCurrency() {
	f.Currency = ""
	for code, n := range f.Currencies {
		if best := f.Currencies[f.Currency]; n > best || n == best && code < f.Currency {
			f.Currency = code
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

// isGift reports whether a tag or a category of the product says that it is a gift.
func (e *Entry) isGift() bool {
	says := func(text string) bool { return slices.ContainsFunc(catalog.Words(text), isGift) }
	for tag := range e.Tags {
		if says(tag) {
			return true
		}
	}
	return slices.ContainsFunc(e.Product.GetCategoryPath(), says)
}

func isGift(word string) bool { return gifts[word] }

// Query parses a query to this store. In a store that marks no product as a gift, words for gifts are left out.
func (v *View) Query(vocabulary *Vocabulary, text string) Query {
	if v.Statistics.Gifts == 0 {
		text = strings.Join(withoutGifts(catalog.Words(text)), " ")
	}
	return vocabulary.parse(text, v.Statistics.CatalogLanguages(), v.Statistics.Brands)
}

// Compare orders by score, the higher first, and then by title.
func Compare(a *Entry, scoreA float64, b *Entry, scoreB float64) int {
	if scoreA != scoreB { // in most cases, so that titles need not be compared
		return cmp.Compare(scoreB, scoreA)
	}
	return ByTitle(a, b)
}

func ByTitle(a, b *Entry) int {
	return cmp.Or(
		strings.Compare(a.title, b.title),
		strings.Compare(a.ID(), b.ID()),
	)
}

// CategoriesEndingIn returns the folded categories whose name ends in a folded name: "shoe" finds "trail run shoe", and
// "tent" does not find "tent peg". Nil: there is none.
func (v *View) CategoriesEndingIn(key string) map[string]bool {
	var out map[string]bool
	for folded, name := range v.Statistics.Categories {
		for _, kind := range CategoryNames(name) {
			if k := CategoryKey(kind); k == key || strings.HasSuffix(k, " "+key) {
				if out == nil {
					out = make(map[string]bool)
				}
				out[folded] = true
			}
		}
	}
	return out
}

// EmptyView returns the view of a store that has no products.
func EmptyView() *View { return &View{Statistics: NewStatistics(), Index: emptyIndex{}} }

// emptyIndex is the Index and the Matches of a store that has no products.
type emptyIndex struct{}

func (emptyIndex) Match(context.Context, Query) (Matches, error) { return emptyIndex{}, nil }
func (emptyIndex) Products(_ context.Context, ids []string) ([]*Entry, error) {
	return make([]*Entry, len(ids)), nil
}
func (emptyIndex) Variant(context.Context, string) (*Entry, error) { return nil, nil }
func (emptyIndex) SimilarIDs(string) []string                      { return nil }
func (emptyIndex) Any(_ context.Context, needs ...Constraint) ([]bool, error) {
	return make([]bool, len(needs)), nil
}
func (emptyIndex) Count(context.Context, Constraint) (int, error) { return 0, nil }
func (emptyIndex) Candidates(context.Context, Constraint, Filter, catalogv1.Sort) ([]Candidate, bool, error) {
	return nil, false, nil
}
func (emptyIndex) Grams() *GramCounts                                     { return nil }
func (emptyIndex) Best(context.Context, Filter, int) ([]Candidate, error) { return nil, nil }
func (emptyIndex) Similarities(_ context.Context, _ Constraint, hits []Hit, _ embed.Vector, _ Filter, _ bool) ([]Hit, []Similarity, error) {
	return hits, nil, nil
}
