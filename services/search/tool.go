package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// searchArgs are the arguments of search_catalog.
type searchArgs struct {
	Query      string         `json:"query" jsonschema:"What is wanted, in a few English words without sizes, colours and prices, such as: trail running shoes. Or a product id."`
	Category   string         `json:"category,omitempty" jsonschema:"Only this category of the store, if one is known."`
	Brand      string         `json:"brand,omitempty" jsonschema:"Only this brand."`
	MinPrice   *float64       `json:"min_price,omitempty" jsonschema:"Lowest price, in the store's currency, such as 50."`
	MaxPrice   *float64       `json:"max_price,omitempty" jsonschema:"Highest price, in the store's currency, such as 120."`
	Options    map[string]any `json:"options,omitempty" jsonschema:"Options that one variant must have together, such as size 42 and colour blue: {\"size\": \"42\", \"colour\": \"blue\"}."`
	Attributes map[string]any `json:"attributes,omitempty" jsonschema:"Facts that must hold, such as {\"waterproof\": \"true\"} or {\"material\": \"merino wool\"}."`
	InStock    *bool          `json:"in_stock,omitempty" jsonschema:"Only what can be bought now. True unless said otherwise."`
	Sort       string         `json:"sort,omitempty" jsonschema:"Order of the products: relevance (the default), price_low_to_high for the cheapest, price_high_to_low for the most expensive."`
	Limit      int            `json:"limit,omitempty" jsonschema:"How many products to list, 1 to 20. 5 unless said otherwise; total counts all of them in any case."`
}

const searchDescription = `Searches the store's whole catalog. Returns the best products with price, options in stock and ` +
	`a reason, the total number of matches and their price range; so it also answers "the cheapest", "how many" and ` +
	`"between which prices". The catalog is in English: translate the query to English. Look for one kind of product per call. ` +
	`Only products in stock are returned unless in_stock is false. When nothing fits, note says why and the nearest products are listed.`

const (
	defaultListed = 5
	maxListed     = 20
)

// sorts are the values of the sort argument.
var sorts = map[string]catalogv1.Sort{
	"": catalogv1.Sort_SORT_UNSPECIFIED, "relevance": catalogv1.Sort_SORT_RELEVANCE,
	"price_low_to_high": catalogv1.Sort_SORT_PRICE_ASCENDING, "price_high_to_low": catalogv1.Sort_SORT_PRICE_DESCENDING,
}

// tools makes the tools of one turn, bound to its store. They see at least what was written before the turn began: what the
// catalog's version is, which takes a round trip, is asked for while the model thinks.
func (s *Service) tools(t *specialist.Turn) []agentloop.Tool {
	version := s.catalog.versionOf(t.Scope.StoreID)
	if s.catalog.cluster == nil {
		version = specialist.Ahead(t, version).Get
	}
	return []agentloop.Tool{
		agentloop.NewTool("search_catalog", searchDescription, func(ctx context.Context, in searchArgs) (searchResult, error) {
			return s.searchTool(ctx, t, version, in)
		}),
	}
}

// searchTool runs one search and leaves its products in the turn's findings.
func (s *Service) searchTool(
	ctx context.Context, t *specialist.Turn, version func(context.Context) (int64, error), in searchArgs,
) (searchResult, error) {
	in.tidy()
	if err := in.check(); err != nil {
		return searchResult{}, err
	}
	var out outcome
	m := s.hybrid.meaning(ctx, s.catalog, t.Scope.StoreID, in.Query, sorts[in.Sort])
	err := s.catalog.readAsOf(ctx, t.Scope.StoreID, version, func(v *view) (err error) {
		if out, err = s.look(ctx, v, s.vocabulary.of(t.Scope.StoreID), in, &m); err == nil {
			out.note = strings.TrimSpace(v.idNote(in.Query, out) + " " + out.note)
		}
		return err
	})
	if err != nil {
		return searchResult{}, fmt.Errorf("search the catalog: %w", err)
	}
	if out.relevant {
		s.rerankListed(ctx, in.Query, out.listed)
	}
	limit := min(orDefault(int32(in.Limit), defaultListed), len(out.listed))
	result := searchResult{Products: []productview.View{}, Total: out.total, PriceRange: out.priceRange, Note: out.note}
	for _, l := range out.listed[:limit] {
		result.Products = append(result.Products, productview.New(l.product, l.variants, l.reason))
		t.AddProducts(productview.Choice(l.product, l.variants, l.reason))
	}
	t.Found(out.total)
	return result, nil
}

// tidy takes out what nobody sees, and what stands around an identifier.
func (in *searchArgs) tidy() {
	in.Query, in.Category, in.Brand = tidied(in.Query), tidied(in.Category), tidied(in.Brand)
	if id := asID(in.Query); id != "" {
		in.Query = id
	}
}

// check refuses what no search can be made of, in words that tell the model what to do.
func (in searchArgs) check() error {
	if _, ok := sorts[in.Sort]; !ok {
		return fmt.Errorf("sort %q is not known; use relevance, price_low_to_high or price_high_to_low", in.Sort)
	}
	if in.Limit < 0 || in.Limit > maxListed {
		return fmt.Errorf("limit is %d; use 1 to %d", in.Limit, maxListed)
	}
	if n := utf8.RuneCountInString(in.Query); n > maxQuery {
		return fmt.Errorf("query is too long, %d characters; use a few words", n)
	}
	for name, value := range map[string]string{"category": in.Category, "brand": in.Brand} {
		if n := utf8.RuneCountInString(value); n > maxName {
			return fmt.Errorf("%s is too long, %d characters; give its name alone", name, n)
		}
	}
	if err := checkWanted("options", in.Options); err != nil {
		return err
	}
	if err := checkWanted("attributes", in.Attributes); err != nil {
		return err
	}
	if in.MinPrice != nil && *in.MinPrice < 0 || in.MaxPrice != nil && *in.MaxPrice < 0 {
		return fmt.Errorf("prices must be zero or more")
	}
	if in.MinPrice != nil && in.MaxPrice != nil && *in.MinPrice > *in.MaxPrice {
		return fmt.Errorf("min_price %v is above max_price %v; swap them", *in.MinPrice, *in.MaxPrice)
	}
	return nil
}

// listed is a product to show, and why.
type listed struct {
	hit
	reason string
}

// outcome is what a search comes to.
type outcome struct {
	listed     []listed
	total      int
	priceRange string
	note       string
	relevant   bool // the products are in the order of relevance
}

// look runs the search that the arguments ask for.
func (s *Service) look(ctx context.Context, v *view, words *vocabulary, in searchArgs, m *meaning) (outcome, error) {
	p := v.plan(in)
	if es, err := v.shelf.lookup(ctx, []string{in.Query}); err != nil {
		return outcome{}, err
	} else if es[0] != nil {
		return named(es[0], p), nil
	}
	f, err := s.hybrid.find(ctx, v, v.query(words, p.text), newFilter(p.filter), sorts[in.Sort], m)
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	if counted := f.counted(); len(counted) > 0 {
		out = outcome{total: len(counted), priceRange: rangeText(counted), note: f.shortfall()}
	} else {
		if out, err = v.nearest(ctx, f, p); err != nil {
			return outcome{}, err
		}
	}
	if len(out.listed) == 0 {
		out.relevant = !byPrice(sorts[in.Sort])
		for _, h := range f.hits {
			out.listed = append(out.listed, listed{h, f.reason(h)})
		}
		if f.near() {
			out.note = strings.TrimSpace(out.note + " " + nearNote)
		}
	}
	out.note = strings.TrimSpace(strings.Join(append(p.notes, out.note), " "))
	return out, nil
}

// nearNote says what products are that no word has found.
const nearNote = `Those listed as "near in meaning" are not counted in total; they may not be what was asked for.`

// rerankListed puts the products in the reranker's order, if there is one.
func (s *Service) rerankListed(ctx context.Context, text string, all []listed) {
	products := make([]*catalogv1.Product, len(all))
	for i, l := range all {
		products[i] = l.product
	}
	order, _ := s.hybrid.rerank(ctx, text, products)
	before := slices.Clone(all)
	for i, at := range order {
		all[i] = before[at]
	}
}

// named is the outcome of a look-up by product id: the product, in any stock.
func named(e *entry, p plan) outcome {
	variants := newFilter(p.filter).admit(e)
	var note string
	if len(variants) == 0 {
		variants = e.product.GetVariants()
		note = "The product is listed with all its variants: none of them meets every condition."
	}
	h := hit{candidate: candidate{entry: e}, variants: variants}
	return outcome{listed: []listed{{h, "has this product id"}}, total: 1, priceRange: rangeText([]hit{h}), note: note}
}

// shortfall says how the hits fall short of the words. Empty: they do not.
func (f found) shortfall() string {
	switch {
	case f.partial && len(f.missing) > 0 && f.unknown:
		return fmt.Sprintf("Nothing in the catalog matches %s; the products listed match only the other words.", quote(f.missing))
	case f.partial && len(f.missing) > 0:
		return fmt.Sprintf("None of the products listed matches %s; they match only the other words.", quote(f.missing))
	case f.partial:
		return "No product matches all of the words; the products listed match some of them."
	case f.mentioned:
		return fmt.Sprintf("No product is called %s; the products listed only mention it.", quote([]string{f.query.terms[f.query.head].Text}))
	}
	return ""
}

// plan is a search as the catalog can run it.
type plan struct {
	text   string
	filter *catalogv1.Filter
	notes  []string // what could not be taken as it was said
}

// plan fits the arguments to what the catalog knows: models name categories and facts that a store does not keep.
func (v *view) plan(in searchArgs) plan {
	p := plan{text: in.Query, filter: &catalogv1.Filter{
		MinPrice: v.price(in.MinPrice),
		MaxPrice: v.price(in.MaxPrice),
		InStock:  in.InStock == nil || *in.InStock,
		Options:  make(map[string]string), Attributes: make(map[string]string),
	}}
	if in.Brand != "" {
		p.filter.Brands = []string{in.Brand}
	}
	v.planCategory(&p, in.Category)
	wanted := make(map[string]string)
	for _, m := range []map[string]any{in.Options, in.Attributes} {
		for name, value := range m {
			if text, _ := wantedText(value); fold(name) != "" && text != "" {
				wanted[fold(name)] = text
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		v.planFact(&p, name, wanted[name])
	}
	return p
}

// price takes an amount as one of the store's currency. Nil stays nil.
func (v *view) price(amount *float64) *commonv1.Money {
	if amount == nil {
		return nil
	}
	return money.FromMajor(*amount, v.facts.currency)
}

// planCategory restricts the search to the category, or to the kinds of it that exist, or else searches for its name.
func (v *view) planCategory(p *plan, category string) {
	parts := strings.FieldsFunc(category, func(r rune) bool { return r == '>' })
	if len(parts) == 0 || strings.TrimSpace(parts[len(parts)-1]) == "" {
		return
	}
	name := strings.TrimSpace(parts[len(parts)-1])
	if exact, ok := v.facts.categories[nameKey(name)]; ok {
		p.filter.Categories = []string{exact}
		return
	}
	several := false
	for key := range v.categoriesEndingIn(nameKey(name)) {
		p.filter.Categories = append(p.filter.Categories, v.facts.categories[key])
		several = several || len(kinds(v.facts.categories[key])) > 1
	}
	slices.Sort(p.filter.Categories)
	if p.filter.Categories == nil {
		p.notes = append(p.notes, fmt.Sprintf("The store has no category %q; it was searched for as words.", name))
	}
	if p.filter.Categories == nil || several || p.text == "" {
		// In front, so that what the query asks for stays what it asks for.
		p.text = strings.TrimSpace(name + " " + p.text)
	}
}

// planFact takes a wanted fact as an option or as an attribute, whichever the catalog keeps it as.
func (v *view) planFact(p *plan, name, value string) {
	switch {
	case v.facts.options[name] > 0:
		p.filter.Options[name] = value
	case v.facts.attributes[name] > 0, v.facts.tags[name] > 0, v.facts.tags[fold(value)] > 0:
		p.filter.Attributes[name] = value
	default:
		p.notes = append(p.notes, fmt.Sprintf("The catalog does not record %q, so it was not checked.", name))
	}
}
