package search

import (
	"cmp"
	"context"
	_ "embed" // the prompt and the examples
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

//go:embed prompt.md
var prompt string

// examples are requests that are this specialist's, one a line, the most telling first. They were invented for this: they
// are no shopper's, and none is of the sets that the router is measured with.
//
//go:embed examples.txt
var examples string

// definition is the search specialist.
func (s *Service) definition() specialist.Definition {
	return specialist.Definition{
		Name:      "search",
		Purpose:   "Finds products: what the store sells, prices, sizes, colours, stock, facts, the cheapest or dearest, how many there are.",
		Examples:  strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords:  speaksFor,
		Prompt:    prompt,
		Tools:     s.tools,
		FitTools:  s.fitTools,
		ToolReads: map[string][]scope.Read{catalogTool: {scope.ReadCatalog}, compareTool: {scope.ReadCatalog}},
		Unavailable: func(ctx context.Context, sc scope.Scope) (string, error) {
			var reason string
			err := s.backend.Read(ctx, sc.StoreID, nil, func(v *index.View) error {
				if v.Statistics.Products == 0 {
					reason = "This store has no product catalog here yet."
				}
				return nil
			})
			if err != nil {
				return "", fmt.Errorf("read catalog: %w", err)
			}
			return reason, nil
		},
	}
}

// speaksFor lists the words that speak for this specialist, by weight.
var speaksFor = map[float64][]string{
	3: {
		"in stock", "out of stock", "sold out", "cheapest", "most expensive", "en stock", "agotado", "auf lager",
		"vorrätig", "rupture de stock", "back in stock", "what else do you have", "what else have you got",
	},
	2: {
		"search", "catalog", "available", "size", "sizes", "colour", "color", "brand", "waterproof", "how much",
		"how heavy", "how big", "how tall", "how wide", "talla", "tallas", "barato", "disponible", "impermeable",
		"de qué color", "cuánto cuesta", "cuánto pesa", "medidas", "größe", "größen", "farbe", "günstig", "wie groß",
		"wie schwer", "verfügbar", "wasserdicht", "wie viel kostet", "taille", "tailles", "couleur", "pas cher",
		"imperméable", "combien coûte", "quelle taille", "lightest", "warmest", "biggest", "smallest", "largest",
		"loudest", "más barato", "más ligero", "günstigste", "billigste", "leichteste", "le plus léger",
		"le moins cher", "compatible with", "come in", "comes in", "comes with",
	},
	1.5: {
		"price", "prices", "precio", "precios", "preis", "prix", "cheap",
	},
	1: {
		"how many", "under", "below", "item in", "material", "made of", "weigh", "weight", "moins cher", "billiger",
		"cheaper", "gift set", "peso", "gewicht", "poids", "machine washable", "dimensions", "wattage", "batteries",
		"shoes", "boots", "jacket", "tent", "backpack", "sleeping bag", "bottle", "headlamp", "socks", "trousers",
		"zapatillas", "botas", "chaqueta", "mochila", "tienda de campaña", "schuhe", "jacke", "rucksack", "zelt",
		"schlafsack", "chaussures", "veste", "sac à dos", "tente",
	},
}

// searchArgs are the arguments of search_catalog.
type searchArgs struct {
	Query      string         `json:"query" jsonschema:"or a product id"`
	Category   string         `json:"category,omitempty" jsonschema:"of the store"` // categoryText
	Brand      string         `json:"brand,omitempty"`
	MinPrice   *float64       `json:"min_price,omitempty"`
	MaxPrice   *float64       `json:"max_price,omitempty"`
	Options    map[string]any `json:"options,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty" jsonschema:"such as weight: <=300 g"` // attributesText
	InStock    *bool          `json:"in_stock,omitempty" jsonschema:"false: sold out too"`
	Sort       string         `json:"sort,omitempty" jsonschema:"rating, price_low_to_high, weight_high_to_low ..."`
	Limit      int            `json:"limit,omitempty"`
}

// bilingualArgs are the arguments of search_catalog where the catalog is in several languages.
type bilingualArgs struct {
	searchArgs
	Translation string `json:"translation,omitempty" jsonschema:"the query in another language of the catalog"`
}

const catalogTool = "search_catalog"

const searchDescription = `Finds products, with total and price range of all that match, or the nearest.`

const (
	defaultListed = 5
	maxListed     = 20
	maxShown      = 50 // characters of a model's text that an error repeats to the model
)

// sorts are the values of the sort argument.
var sorts = map[string]catalogv1.Sort{
	"": catalogv1.Sort_SORT_UNSPECIFIED, "relevance": catalogv1.Sort_SORT_RELEVANCE,
	"price_low_to_high": catalogv1.Sort_SORT_PRICE_ASCENDING, "price_high_to_low": catalogv1.Sort_SORT_PRICE_DESCENDING,
	"rating": catalogv1.Sort_SORT_RATING,
}

// order returns the order that the sort argument names, and the attribute that it is by. ok is false for what is no order.
func (in searchArgs) order() (by catalogv1.Sort, attribute string, ok bool) {
	if by, ok = sorts[in.Sort]; ok {
		return by, "", true
	}
	if name, up := strings.CutSuffix(in.Sort, "_low_to_high"); up {
		return catalogv1.Sort_SORT_ATTRIBUTE_ASCENDING, catalog.NameKey(name), catalog.NameKey(name) != ""
	}
	name, down := strings.CutSuffix(in.Sort, "_high_to_low")
	return catalogv1.Sort_SORT_ATTRIBUTE_DESCENDING, catalog.NameKey(name), down && catalog.NameKey(name) != ""
}

// tools makes the tools of one turn, bound to its store. They see at least what was written before the turn began: what the
// catalog's version is, which takes a round trip, is asked for while the model thinks.
func (s *Service) tools(t *specialist.Turn) []agentloop.Tool {
	version := func(ctx context.Context) (int64, error) { return s.store.Version(ctx, t.Scope.StoreID) }
	if s.prefetchVersion {
		version = specialist.Prefetch(t, version).Get
	}
	search := agentloop.NewTool(catalogTool, searchDescription, func(ctx context.Context, in bilingualArgs) (searchResult, error) {
		return s.searchTool(ctx, t, version, in)
	})
	search.Parameters = oneLanguage // fitTools offers the translation where there is one to make
	search.OpenEnums = true         // a category that the store does not have is searched for as words
	compare := agentloop.NewTool(compareTool, compareDescription, func(ctx context.Context, in compareArgs) (comparedFacts, error) {
		return s.compare(ctx, t, version, in)
	})
	return []agentloop.Tool{search, compare}
}

// Schemas of search_catalog, for a catalog in one language and for one in several.
var (
	oneLanguage      = schemaOf[searchArgs]()
	severalLanguages = schemaOf[bilingualArgs]()
)

// schemaOf returns the JSON Schema of a tool's arguments.
func schemaOf[In any]() json.RawMessage {
	return agentloop.NewTool(catalogTool, "", func(context.Context, In) (any, error) { return nil, nil }).Parameters
}

// searchTool runs one search and leaves its products in the turn's findings.
func (s *Service) searchTool(
	ctx context.Context, t *specialist.Turn, version index.VersionFunc, in bilingualArgs,
) (searchResult, error) {
	in.tidy()
	if err := in.check(); err != nil {
		return searchResult{}, err
	}
	var out outcome
	by, _, _ := in.order()
	m := s.searcher.VectorQuery(ctx, s.backend, t.Scope.StoreID, in.Query, by)
	err := s.backend.Read(ctx, t.Scope.StoreID, version, func(v *index.View) (err error) {
		if out, err = s.look(ctx, v, s.vocabulary.Of(t.Scope.StoreID), in, t.SubQuery, &m); err == nil {
			out.note = strings.TrimSpace(idNote(v, in.Query, out) + " " + out.note)
			out.absent = out.absent && isReadable(&v.Statistics, in.Query, t) && !hasID(in.Query)
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
	var items []productview.Item
	for _, h := range out.listed[:limit] {
		product := productview.Localized(h.Product, t.Language)
		item := productview.Item{Product: product, Variants: h.Variants}
		if h.VectorOnly {
			item.Reason = index.NearInMeaning
		}
		items = append(items, item)
		t.AddProducts(productview.Choice(product, h.Variants, ""))
	}
	if out.absent && len(items) == 0 {
		t.Absent()
	} else {
		t.Found(out.total)
	}
	if out.note != "" && len(items) > 0 {
		t.Near()
	}
	return searchResult{
		Products: productview.List(items, in.Query, t.SubQuery, strings.Join(slices.Collect(maps.Keys(in.Attributes)), " ")),
		Total:    out.total, PriceRange: out.priceRange, Note: out.note,
	}, nil
}

// tidy removes invisible characters, and what surrounds an identifier.
func (in *bilingualArgs) tidy() {
	in.Query, in.Category, in.Brand = catalog.Clean(in.Query), catalog.Clean(in.Category), catalog.Clean(in.Brand)
	in.Translation = catalog.Clean(in.Translation)
	if id := asID(in.Query); id != "" {
		in.Query = id
	}
}

// check refuses what no search can be made of, in words that tell the model what to do.
func (in bilingualArgs) check() error {
	if _, _, ok := in.order(); !ok {
		return fmt.Errorf("sort %q is not known; use relevance, rating, price_low_to_high, price_high_to_low, or a number that products have, such as weight_low_to_high", text.Cut(in.Sort, maxShown))
	}
	if in.Limit < 0 || in.Limit > maxListed {
		return fmt.Errorf("limit is %d; use 1 to %d", in.Limit, maxListed)
	}
	for name, value := range map[string]string{"query": in.Query, "translation": in.Translation} {
		if n := utf8.RuneCountInString(value); n > maxQuery {
			return fmt.Errorf("%s is too long, %d characters; use a few words", name, n)
		}
	}
	for name, value := range map[string]string{"category": in.Category, "brand": in.Brand} {
		if n := utf8.RuneCountInString(value); n > catalog.MaxName {
			return fmt.Errorf("%s is too long, %d characters; give its name alone", name, n)
		}
	}
	if err := checkArguments("options", in.Options); err != nil {
		return err
	}
	if err := checkArguments("attributes", in.Attributes); err != nil {
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

// outcome is what a search comes to.
type outcome struct {
	listed     []index.Hit
	total      int
	priceRange string
	note       string
	relevant   bool // the products are in the order of relevance
	byID       bool // the product with the identifier that was searched for
	absent     bool // no product has any of the words
}

// look runs the search that the arguments ask for. ask is what the shopper said.
func (s *Service) look(
	ctx context.Context, v *index.View, words *index.Vocabulary, in bilingualArgs, ask string, m *index.VectorQuery,
) (outcome, error) {
	p := newPlan(v, in.searchArgs)
	if e, variant, err := v.Exact(ctx, in.Query); err != nil {
		return outcome{}, err
	} else if e != nil {
		return named(e, variant, p), nil
	}
	f, err := s.searcher.Search(ctx, v, v.Request(words, p.text), index.NewFilter(p.filter), p.by, m)
	if err != nil {
		return outcome{}, err
	}
	if dropped, err := p.dropOptions(ctx, f); err != nil {
		return outcome{}, err
	} else if dropped {
		if f, err = s.searcher.Search(ctx, v, f.Query, index.NewFilter(p.filter), p.by, m); err != nil {
			return outcome{}, err
		}
	}
	if other := otherWords(&v.Statistics, f, in.Translation, ask); other != "" {
		g, err := s.searcher.Search(ctx, v, v.Request(words, other), index.NewFilter(p.filter), p.by, &index.VectorQuery{})
		if err != nil {
			return outcome{}, err
		}
		f = f.Or(g, p.by)
	}
	loose := f.Loose()
	f.DropLoose()
	if n := index.SortByAttribute(f.Hits, p.by, p.attribute); n < len(f.Hits) && p.attribute != "" {
		p.notes = append(p.notes, fmt.Sprintf("%d of these %d products say no %s; they come last.", len(f.Hits)-n, len(f.Hits), p.attribute))
	}
	if f.More {
		p.notes = append(p.notes, fmt.Sprintf("More products match: total and prices are of the first %d.", len(f.Counted())))
	}
	if len(f.Query.Negated) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("The search does not check %s; see what each product says.", quote(f.Query.Negated)))
	}
	var out outcome
	if counted := f.Counted(); len(counted) > 0 {
		out = outcome{total: len(counted), priceRange: rangeText(counted), note: shortfall(f)}
	} else {
		if out, err = nearestProducts(ctx, v, f, p); err != nil {
			return outcome{}, err
		}
	}
	if len(out.listed) == 0 && len(f.Hits) == 0 && len(loose) > 0 {
		out.listed = loose[:min(maxNearest, len(loose))]
		out.note = fmt.Sprintf("%s The products listed have only some of the words, the first not %s.", out.note, quote(f.Lacks(loose[0])))
	}
	if len(out.listed) == 0 {
		out.relevant = !index.ByValue(p.by)
		out.listed = slices.Clone(f.Hits)
		if f.HasVectorOnly() {
			out.note = strings.TrimSpace(out.note + " " + nearNote)
		}
	}
	out.note = strings.TrimSpace(strings.Join(append(p.notes, out.note), " "))
	return out, nil
}

// dropOptions drops the options that nothing has of what was found but excluded: a tent has no sizes as shoes have. Where it is an
// attribute of theirs, it becomes one. It reports whether there were any.
func (p *plan) dropOptions(ctx context.Context, f index.Result) (changed bool, err error) {
	if len(p.filter.Options) == 0 || len(f.Counted()) > 0 {
		return false, nil
	}
	candidates, err := f.Candidates(ctx)
	if err != nil || len(candidates) == 0 {
		return false, err
	}
	var dropped []string
	for _, name := range slices.Sorted(maps.Keys(p.filter.Options)) {
		if slices.ContainsFunc(candidates, func(c index.Candidate) bool { return c.HasOption(name) }) {
			continue
		}
		if slices.ContainsFunc(candidates, func(c index.Candidate) bool { return c.Attributes[name] != nil }) {
			p.filter.Attributes[name] = p.filter.Options[name]
		} else {
			dropped = append(dropped, name)
		}
		delete(p.filter.Options, name)
		changed = true
	}
	if len(dropped) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("None of these products has the option %s, so it was not checked.", quote(dropped)))
	}
	return changed, nil
}

// otherWords returns what to search for beside the query: its translation, or else, since models like to ask in English, the
// shopper's own words if they are in another language of the catalog and the query's are not in the catalog. Empty: nothing.
func otherWords(all *index.Statistics, f index.Result, translation, ask string) string {
	if translation != "" || f.Certain() {
		return translation
	}
	spoken := text.Language(ask)
	if spoken == index.English.Tag || !hasLanguage(all, spoken) {
		return ""
	}
	return text.Head(ask, maxQuery)
}

// isReadable reports whether a query is in a language of the catalog. A query of the shopper's words alone is in the shopper's
// language; any other was put into one of the catalog's by a model.
func isReadable(all *index.Statistics, query string, t *specialist.Turn) bool {
	var asked []string
	for _, w := range text.Words(t.SubQuery) {
		asked = append(asked, w.Text)
	}
	if slices.ContainsFunc(text.Words(query), func(w text.Word) bool { return !slices.Contains(asked, w.Text) }) {
		return true
	}
	spoken, _, _ := strings.Cut(cmp.Or(text.Language(t.SubQuery), t.Language, index.English.Tag), "-")
	return hasLanguage(all, spoken)
}

// hasLanguage reports whether the catalog is in a language, by the tag of its base.
func hasLanguage(all *index.Statistics, tag string) bool {
	return slices.ContainsFunc(all.CatalogLanguages(), func(l *index.Language) bool { return l.Tag == tag })
}

// nearNote says what products are that no word has found.
const nearNote = `Those listed as "` + index.NearInMeaning + `" are not counted in total; they may not be what was asked for.`

// rerankListed puts the products in the reranker's order, if there is one.
func (s *Service) rerankListed(ctx context.Context, text string, all []index.Hit) {
	products := make([]*catalogv1.Product, len(all))
	for i, l := range all {
		products[i] = l.Product
	}
	order, _ := s.searcher.Rerank(ctx, text, products)
	before := slices.Clone(all)
	for i, at := range order {
		all[i] = before[at]
	}
}

// named is the outcome of a look-up by the id of a product, or of a variant unless that is nil: the product, in any stock.
func named(e *index.Entry, variant *catalogv1.Variant, p plan) outcome {
	h := index.Hit{Candidate: index.Candidate{Entry: e}, Variants: index.NewFilter(p.filter).Admit(e)}
	if slices.Contains(h.Variants, variant) {
		h.Variants = []*catalogv1.Variant{variant}
	}
	notes := p.notes // such as that no product of the store has a colour to choose
	if len(h.Variants) == 0 {
		h.Variants = e.Product.GetVariants()
		notes = append(notes, "The product is listed with all its variants: none of them meets every condition.")
		for _, name := range slices.Sorted(maps.Keys(p.filter.GetOptions())) {
			option := index.NewFilter(&catalogv1.Filter{Options: map[string]string{name: p.filter.GetOptions()[name]}})
			if len(option.Admit(e)) > 0 {
				continue
			}
			note := fmt.Sprintf("It does not come in %s %s", name, p.filter.GetOptions()[name])
			if values := optionValues([]index.Hit{h}, name); values != "" {
				note += "; there is " + values
			}
			notes = append(notes, note+".")
		}
	}
	return outcome{
		listed: []index.Hit{h}, total: 1, priceRange: rangeText([]index.Hit{h}), note: strings.Join(notes, " "), byID: true,
	}
}

// shortfall says how the hits fall short of the words. Empty: they do not.
func shortfall(f index.Result) string {
	switch {
	case f.Partial && len(f.Missing) > 0 && f.Unknown:
		return fmt.Sprintf("Nothing in the catalog matches %s; the products listed match only the other words.", quote(f.Missing))
	case f.Partial && len(f.Missing) > 0:
		return fmt.Sprintf("None of the products listed matches %s; they match only the other words.", quote(f.Missing))
	case f.Partial:
		return "No product matches all of the words; the products listed match some of them."
	case f.Mentioned:
		return fmt.Sprintf("No product is called %s; the products listed only mention it.", quote([]string{f.Query.Terms[f.Query.Head].Text}))
	}
	return ""
}

// plan is a search as the catalog can run it.
type plan struct {
	text      string
	filter    *catalogv1.Filter
	by        catalogv1.Sort
	attribute string   // that the order is by
	notes     []string // what could not be taken as it was said
}

// plan fits the arguments to what the catalog knows: models name categories and facts that a store does not keep.
func newPlan(v *index.View, in searchArgs) plan {
	p := plan{text: in.Query, filter: &catalogv1.Filter{
		MinPrice: amount(v, in.MinPrice),
		MaxPrice: amount(v, in.MaxPrice),
		InStock:  in.InStock == nil || *in.InStock,
		Options:  make(map[string]string), Attributes: make(map[string]string),
	}}
	if in.Brand != "" {
		p.filter.Brands = []string{in.Brand}
	}
	p.restrictCategory(v, in.Category)
	wanted := make(map[string]string)
	for _, m := range []map[string]any{in.Options, in.Attributes} {
		for name, value := range m {
			if text, _ := argumentText(value); catalog.NameKey(name) != "" && text != "" {
				wanted[catalog.NameKey(name)] = text
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		p.addFact(v, name, wanted[name])
	}
	if p.by, p.attribute, _ = in.order(); p.attribute != "" && v.Statistics.Attributes[p.attribute] == 0 {
		p.notes = append(p.notes, fmt.Sprintf("The catalog does not record %q, so the order is by relevance.", p.attribute))
		p.by, p.attribute = catalogv1.Sort_SORT_RELEVANCE, ""
	}
	return p
}

// amount takes a number as one of the store's currency. Nil stays nil.
func amount(v *index.View, major *float64) *commonv1.Money {
	if major == nil {
		return nil
	}
	return money.FromMajor(*major, v.Statistics.Currency)
}

// restrictCategory restricts the search to the category, or to the kinds of it that exist, or else searches for its name.
func (p *plan) restrictCategory(v *index.View, category string) {
	parts := strings.FieldsFunc(category, func(r rune) bool { return r == '>' })
	if len(parts) == 0 || strings.TrimSpace(parts[len(parts)-1]) == "" {
		return
	}
	name := strings.TrimSpace(parts[len(parts)-1])
	if exact, ok := v.Statistics.Categories[index.CategoryKey(name)]; ok {
		p.filter.Categories = []string{exact}
		return
	}
	several := false
	for key := range v.CategoriesEndingIn(index.CategoryKey(name)) {
		p.filter.Categories = append(p.filter.Categories, v.Statistics.Categories[key])
		several = several || len(index.CategoryNames(v.Statistics.Categories[key])) > 1
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

// addFact takes a wanted fact as an option or as an attribute, whichever the catalog keeps it as.
func (p *plan) addFact(v *index.View, name, value string) {
	bounds := rangeOf(name, value)
	switch {
	case bounds != nil && v.Statistics.Attributes[name] > 0:
		p.filter.AttributeRanges = append(p.filter.AttributeRanges, bounds)
	case v.Statistics.Options[name] > 0:
		p.filter.Options[name] = value
	case v.Statistics.Attributes[name] > 0, v.Statistics.Tags[name] > 0, v.Statistics.Tags[catalog.NameKey(value)] > 0:
		p.filter.Attributes[name] = value
	default:
		p.notes = append(p.notes, fmt.Sprintf("The catalog does not record %q, so it was not checked.", name))
	}
}

// boundRE is a bound of a number, such as ">=400 lm" or "< 1.5 kg".
var boundRE = regexp.MustCompile(`^([<>≤≥]=?)\s*(-?\d+(?:\.\d+)?)\s*(\S*)$`)

// rangeOf reads a value that bounds a number. Nil: it bounds none.
func rangeOf(name, value string) *catalogv1.AttributeRange {
	m := boundRE.FindStringSubmatch(value)
	if m == nil {
		return nil
	}
	n, _ := strconv.ParseFloat(m[2], 64) // the expression admits numbers only
	r := &catalogv1.AttributeRange{Name: name, Unit: m[3]}
	switch m[1] {
	case ">":
		n = math.Nextafter(n, math.Inf(1))
		fallthrough
	case ">=", "≥", "≥=":
		r.Min = &n
	case "<":
		n = math.Nextafter(n, math.Inf(-1))
		fallthrough
	default:
		r.Max = &n
	}
	return r
}

// argumentText returns what a model gave as the value of an option or an attribute, and false for what is not one value. Null and
// a text of spaces are empty.
func argumentText(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return catalog.Clean(v), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case []any:
		switch len(v) {
		case 0:
			return "", true
		case 1:
			return argumentText(v[0])
		}
	}
	return "", false
}

// checkArguments refuses options or attributes that no search can be made of, in words that tell the model what to do.
func checkArguments(argument string, values map[string]any) error {
	if len(values) > catalog.MaxOptions {
		return fmt.Errorf("%s has %d entries; give at most %d, those that matter most", argument, len(values), catalog.MaxOptions)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, ok := argumentText(values[name])
		switch {
		case !ok:
			return fmt.Errorf("%s: %q is not one text or number; give one value a call, such as {\"size\": \"42\"}", argument, text.Cut(name, maxShown))
		case utf8.RuneCountInString(name) > catalog.MaxName || utf8.RuneCountInString(value) > catalog.MaxName:
			return fmt.Errorf("%s: %q is too long; give a name and a value of at most %d characters", argument, text.Cut(name, maxShown), catalog.MaxName)
		}
	}
	return nil
}

// searchResult is what search_catalog returns.
type searchResult struct {
	Products   []productview.View `json:"products"`
	Total      int                `json:"total"`
	PriceRange string             `json:"price_range,omitempty"`
	Note       string             `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r searchResult) Summary() string {
	switch {
	case r.Total == 0:
		return "no products"
	case r.Total == 1:
		return "1 product"
	}
	return fmt.Sprintf("%d products", r.Total)
}

// rangeText says between which prices the hits are.
func rangeText(hits []index.Hit) string {
	low, high := index.Prices(hits)
	if low.GetAmountMinor() == high.GetAmountMinor() {
		return money.Text(low)
	}
	return money.Text(low) + " to " + money.Text(high)
}

// idLabels are words that people and models put before an identifier.
var idLabels = map[string]bool{
	"the": true, "product": true, "item": true, "article": true, "id": true, "sku": true, "ref": true, "reference": true,
	"number": true, "no": true, "nr": true, "code": true, "-": true,
}

// asID returns the identifier that a text is, without what labels it, or "" when it is no identifier: "product id: SHOE-1" is
// one, "trail shoes" and "tents" are none.
func asID(text string) string {
	parts := strings.FieldsFunc(catalog.CleanID(text), func(r rune) bool { return unicode.IsSpace(r) || r == ':' || r == '=' })
	for len(parts) > 1 && idLabels[catalog.IDKey(parts[0])] {
		parts = parts[1:]
	}
	if len(parts) != 1 {
		return ""
	}
	id := catalog.CleanID(parts[0])
	if !fault.ValidID(id) || !strings.ContainsFunc(id, unicode.IsDigit) || !strings.ContainsFunc(id, unicode.IsLetter) {
		return ""
	}
	return id
}

// hasID reports whether a word of a query is an identifier. That no product has it shows little: it may be an order's.
func hasID(query string) bool {
	return slices.ContainsFunc(strings.Fields(query), func(w string) bool { return asID(w) != "" })
}

// instead suggests identifiers in place of an unknown one, or says what to do.
func instead(v *index.View, id string) string {
	switch near := v.Index.SimilarIDs(id); len(near) {
	case 0:
	case 1:
		return "the nearest id is " + near[0]
	default:
		return "the nearest ids are " + strings.Join(near, ", ")
	}
	return "no id is near it; search by what the product is called"
}

// idNote says that the text is an identifier that no product has. Empty: it is none, or the search went well in any case, for
// the number of a model looks like one too.
func idNote(v *index.View, text string, out outcome) string {
	id := asID(text)
	if id == "" || out.byID || out.total > 0 && out.note == "" {
		return ""
	}
	return fmt.Sprintf("No product has the id %q; %s.", id, instead(v, id))
}
