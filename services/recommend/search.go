package recommend

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

const catalogTool = "search_catalog"

const catalogDescription = `Finds products by words: gifts, or one that is named.`

// catalogArgs are the arguments of search_catalog: those of the search specialist's tool that a recommendation needs.
type catalogArgs struct {
	Query    string         `json:"query"`
	Category string         `json:"category,omitempty"`
	MinPrice *float64       `json:"min_price,omitempty"`
	MaxPrice *float64       `json:"max_price,omitempty"`
	Options  map[string]any `json:"options,omitempty"`
	Sort     string         `json:"sort,omitempty" jsonschema:"rating, price_low_to_high or price_high_to_low"`
	Limit    int            `json:"limit,omitempty"`
}

// sorts are the values of the sort argument.
var sorts = map[string]catalogv1.Sort{
	"": catalogv1.Sort_SORT_UNSPECIFIED, "relevance": catalogv1.Sort_SORT_RELEVANCE, "rating": catalogv1.Sort_SORT_RATING,
	"price_low_to_high": catalogv1.Sort_SORT_PRICE_ASCENDING, "price_high_to_low": catalogv1.Sort_SORT_PRICE_DESCENDING,
}

// check refuses what makes no sense, in words that tell the model what to do.
func (in catalogArgs) check() error {
	if _, ok := sorts[in.Sort]; !ok {
		return fmt.Errorf("sort %q is not known; use relevance, rating, price_low_to_high or price_high_to_low", text.Cut(in.Sort, maxNamed))
	}
	if in.Limit < 0 || in.Limit > maxListed {
		return fmt.Errorf("limit is %d; use 1 to %d", in.Limit, maxListed)
	}
	if len([]rune(in.Query)) > maxQuery {
		return fmt.Errorf("query is too long; use a few words")
	}
	if in.MinPrice != nil && *in.MinPrice < 0 || in.MaxPrice != nil && *in.MaxPrice < 0 {
		return fmt.Errorf("prices must be zero or more")
	}
	if in.MinPrice != nil && in.MaxPrice != nil && *in.MinPrice > *in.MaxPrice {
		return fmt.Errorf("min_price is above max_price; swap them")
	}
	return nil
}

// maxNamed bounds the characters of a model's text that an error repeats to the model.
const maxNamed = 50

// searchCatalog runs search_catalog. What is in the cart is found too, and marked.
func (t *turn) searchCatalog(ctx context.Context, in catalogArgs) (similarResult, error) {
	if err := in.check(); err != nil {
		return similarResult{}, err
	}
	cart, err := t.cart.Get(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return similarResult{}, err
		}
		cart.Unseen = reasonFailed
	}
	r := &similarRequest{service: t.service, catalog: t.service.catalog, storeID: t.Scope.StoreID, cart: cart, limit: in.Limit}
	resp, err := r.searchBy(ctx, in)
	if err != nil {
		return similarResult{}, t.service.forModel(ctx, err, "the catalog cannot be searched now; say so, and name no product")
	}
	var notes []string
	if cart.Unseen == reasonFailed {
		notes = append(notes, reasonFailed+" Some of this may be in it already.")
	}
	if len(resp.GetHits()) == 0 {
		note := "Nothing in stock matches."
		if by := resp.GetExcludedMostBy(); by != "" {
			note = fmt.Sprintf("Nothing fits; %s excludes the most.", strings.TrimPrefix(by, "options."))
		}
		notes = append(notes, note)
	}
	for _, h := range resp.GetHits() {
		h.Reason = "" // it repeats the query
	}
	out := t.present(resp.GetHits(), in.Query, strings.Join(notes, " "))
	for i := range out.Products {
		out.Products[i].InCart = r.holds(out.Products[i].ProductID)
	}
	return out, nil
}

// searchBy searches for what the arguments ask for. A category that the store does not have is searched for as words.
func (r *similarRequest) searchBy(ctx context.Context, in catalogArgs) (*catalogv1.SearchProductsResponse, error) {
	filter := &catalogv1.Filter{InStock: true, Options: carttool.Texts(in.Options)}
	if in.MinPrice != nil || in.MaxPrice != nil {
		code, err := r.currency(ctx)
		if err != nil {
			return nil, err
		}
		if in.MinPrice != nil {
			filter.MinPrice = money.FromMajor(*in.MinPrice, code)
		}
		if in.MaxPrice != nil {
			filter.MaxPrice = money.FromMajor(*in.MaxPrice, code)
		}
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultListed
	}
	req := &catalogv1.SearchProductsRequest{Query: in.Query, Filter: filter, Sort: sorts[in.Sort], Limit: int32(limit)}
	if category := strings.TrimSpace(in.Category); category != "" {
		filter.Categories = []string{category}
		resp, err := r.search(ctx, req)
		if err != nil || len(resp.GetHits()) > 0 || resp.GetExcludedMostBy() != "categories" {
			return resp, err
		}
		filter.Categories, req.Query = nil, category+" "+in.Query
	}
	return r.search(ctx, req)
}

// holds reports whether a product is in the cart.
func (r *similarRequest) holds(productID string) bool {
	for _, item := range r.cart.GetItems() {
		if item.GetProductId() == productID {
			return true
		}
	}
	return false
}

// namesAnchor reports whether the query only says what to start from, as "shoes" does in "what goes with the shoes in my cart".
func (r *similarRequest) namesAnchor() bool {
	return slices.ContainsFunc(r.titles, func(title string) bool { return sharesWord(title, r.query) })
}

// heldByQuery lists the titles of products in the cart that have a word of the query, unless the query says what to start from.
func (r *similarRequest) heldByQuery() []string {
	if r.namesAnchor() {
		return nil
	}
	var out []string
	for _, item := range r.cart.GetItems() {
		if sharesWord(item.GetTitle(), r.query) && !slices.Contains(out, item.GetTitle()) {
			out = append(out, item.GetTitle())
		}
	}
	return out
}

// sharesWord reports whether a title has a word of a query, in the singular or the plural.
func sharesWord(title, query string) bool {
	have := words(title)
	for i, w := range have {
		have[i] = text.Singular(w)
	}
	return slices.ContainsFunc(contentWords(query), func(w string) bool { return slices.Contains(have, text.Singular(w)) })
}

// preferMatches puts those hits first that match the query, which only affects how related products are ranked. If none does, the
// products that do are added, and the note says so.
func (r *similarRequest) preferMatches(ctx context.Context, hits []*catalogv1.Hit) ([]*catalogv1.Hit, error) {
	resp, err := r.search(ctx, &catalogv1.SearchProductsRequest{Query: r.query, Filter: r.without(r.anchors), Limit: maxMatches})
	if err != nil {
		return nil, err
	}
	var matching, others []*catalogv1.Hit
	for _, h := range hits {
		if slices.ContainsFunc(resp.GetHits(), func(m *catalogv1.Hit) bool { return m.GetProduct().GetProductId() == h.GetProduct().GetProductId() }) {
			matching = append(matching, h)
		} else {
			others = append(others, h)
		}
	}
	switch found := resp.GetHits(); {
	case len(matching) > 0:
	case len(found) == 0:
		r.notes = append(r.notes, fmt.Sprintf("Nothing in stock matches %q; these go by the products alone.", r.query))
	default:
		r.notes = append(r.notes, fmt.Sprintf("Nothing related matches %q; the first listed match these words only.", r.query))
		matching = found[:min(len(found), max(1, r.limit/2))]
		for _, h := range matching {
			h.Reason = "" // it repeats the query
		}
	}
	return slices.Concat(matching, others)[:min(r.limit, len(matching)+len(others))], nil
}

// maxMatches bounds the products that match a query beside products to start from.
const maxMatches = 50

// languagesTTL is how long a model may read languages that a write has changed.
const languagesTTL = 30 * time.Second

// fitTools names the languages of the catalog in the definitions of the tools that take words. If they cannot be read, the definitions
// stay as they are: the tools themselves say so when they are called.
func (s *Service) fitTools(ctx context.Context, storeID string, tools []agentloop.Tool) {
	tags, err := s.languages.Get(ctx, storeID, func(ctx context.Context) ([]string, error) {
		resp, err := s.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: storeID, Limit: 1})
		return resp.GetLanguages(), err
	})
	if err != nil {
		s.logger.WarnContext(ctx, "cannot read what the store's catalog is in", slog.String("store", storeID), slog.Any("error", err))
		return
	}
	var names []string
	for _, tag := range tags {
		names = append(names, display.English.Languages().Name(language.Make(tag)))
	}
	for i := range tools {
		if len(names) > 0 && (tools[i].Name == catalogTool || tools[i].Name == similarTool) {
			tools[i].Description += " The catalog is in " + strings.Join(names, " and ") + "."
		}
	}
}
