package recommend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
)

// wish is a similar_products call as the catalog can serve it.
type wish struct {
	service  *Service
	catalog  catalogv1.CatalogServiceClient
	storeID  string
	cart     seen
	anchors  []string
	unknown  []string // names of anchors that the catalog does not have
	unmet    bool     // nothing in the catalog is what the query says
	query    string
	relation catalogv1.Relation
	filter   *catalogv1.Filter
	limit    int
}

// wish fits the arguments to the shopper's cart. What is in it is never proposed.
func (t *turn) wish(ctx context.Context, in similarArgs, cart seen) (*wish, error) {
	w := &wish{
		service: t.service, catalog: t.service.catalog, storeID: t.Scope.StoreID, cart: cart, query: in.Query,
		relation: t.relation(in), filter: &catalogv1.Filter{InStock: true}, limit: in.Limit,
	}
	if w.limit == 0 {
		w.limit = defaultListed
	}
	for _, item := range cart.GetItems() {
		w.filter.ExcludeProductIds = append(w.filter.ExcludeProductIds, item.GetProductId())
	}
	if err := w.start(ctx, in.ProductIDs); err != nil {
		return nil, err
	}
	if in.MaxPrice != nil {
		code, err := w.currency(ctx)
		if err != nil {
			return nil, err
		}
		w.filter.MaxPrice = money.FromMajor(*in.MaxPrice, code)
	}
	return w, nil
}

// start finds the products to start from: those that the model named, else the one that the query names by its title, else
// those of the cart. A query that names none and is to go with nothing is a wish of its own, such as for a gift: then there
// are none, whatever the cart holds.
func (w *wish) start(ctx context.Context, names []string) error {
	if len(names) > 0 {
		return w.resolve(ctx, names)
	}
	if w.relation == catalogv1.Relation_RELATION_COMPLEMENT && w.query != "" ||
		w.relation == catalogv1.Relation_RELATION_ALTERNATIVE && len(naming(w.query)) > 1 { // one word is a kind of thing
		if err := w.anchor(ctx); err != nil {
			return err
		}
	}
	if len(w.anchors) == 0 && (w.query == "" || w.relation == catalogv1.Relation_RELATION_COMPLEMENT) {
		held := w.filter.GetExcludeProductIds()
		w.anchors = held[max(0, len(held)-maxAnchors):] // the latest additions
	}
	return nil
}

// resolve finds the products that the model named, by id or else by title.
func (w *wish) resolve(ctx context.Context, names []string) error {
	resp, err := w.catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: w.storeID, ProductIds: names})
	if err != nil {
		return fmt.Errorf("look up products: %w", err)
	}
	for _, p := range resp.GetProducts() {
		w.anchors = append(w.anchors, p.GetProductId())
	}
	for _, name := range resp.GetMissingProductIds() {
		found, err := w.search(ctx, &catalogv1.SearchProductsRequest{Query: name, Limit: 1})
		if err != nil {
			return err
		}
		if hits := found.GetHits(); len(hits) > 0 {
			w.anchors = append(w.anchors, hits[0].GetProduct().GetProductId())
		} else {
			w.unknown = append(w.unknown, name)
		}
	}
	return nil
}

// anchor starts from the product that the query names by its title, if it names one: what goes with a teapot is no teapot.
func (w *wish) anchor(ctx context.Context) error {
	found, err := w.search(ctx, &catalogv1.SearchProductsRequest{Query: w.query, Limit: 1})
	if err != nil {
		return err
	}
	w.unmet = len(found.GetHits()) == 0
	if hits := found.GetHits(); len(hits) > 0 && titled(hits[0].GetProduct().GetTitle(), w.query) {
		w.anchors, w.query = []string{hits[0].GetProduct().GetProductId()}, ""
	}
	return nil
}

// currency returns the store's currency, as its prices say.
func (w *wish) currency(ctx context.Context) (string, error) {
	if code := w.cart.GetSubtotal().GetCurrencyCode(); code != "" {
		return code, nil
	}
	resp, err := w.search(ctx, &catalogv1.SearchProductsRequest{Limit: 1})
	return resp.GetMinPrice().GetCurrencyCode(), err
}

func (w *wish) search(
	ctx context.Context, req *catalogv1.SearchProductsRequest,
) (*catalogv1.SearchProductsResponse, error) {
	req.StoreId = w.storeID
	if r := []rune(req.GetQuery()); len(r) > maxQuery {
		req.Query = string(r[:maxQuery])
	}
	resp, err := w.catalog.SearchProducts(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("search products: %w", err)
	}
	return resp, nil
}

// find returns what the wish comes to, and a note when that is not what was asked for.
func (w *wish) find(ctx context.Context) ([]*catalogv1.Hit, string, error) {
	switch {
	case len(w.unknown) > 0 && len(w.anchors) == 0:
		return nil, "The store has no product called " + strings.Join(w.unknown, ", ") + ".", nil
	case len(w.anchors) == 0 && w.query == "":
		return nil, w.cart.state() + " No product was named. Ask what the shopper has in mind, or search with a query.", nil
	}
	var hits []*catalogv1.Hit
	if len(w.anchors) > 0 {
		var known []*catalogv1.Companion
		if w.relation != catalogv1.Relation_RELATION_ALTERNATIVE {
			known = w.service.bought(ctx, w.storeID, w.anchors)
		}
		resp, err := w.catalog.FindSimilarProducts(ctx, &catalogv1.FindSimilarProductsRequest{
			StoreId: w.storeID, ProductIds: w.anchors, Relation: w.relation, Query: w.query, Filter: w.filter, Limit: int32(w.limit),
			Companions: known,
		})
		if err != nil {
			return nil, "", fmt.Errorf("find similar products: %w", err)
		}
		hits = resp.GetHits()
	}
	if len(hits) == 0 && w.query != "" {
		resp, err := w.search(ctx, &catalogv1.SearchProductsRequest{Query: w.query, Filter: w.without(w.anchors), Limit: int32(w.limit)})
		if err != nil {
			return nil, "", err
		}
		hits = resp.GetHits()
	}
	return hits, w.note(hits), nil
}

// without returns the filter with more products left out.
func (w *wish) without(ids []string) *catalogv1.Filter {
	return &catalogv1.Filter{
		InStock: w.filter.GetInStock(), MaxPrice: w.filter.GetMaxPrice(),
		ExcludeProductIds: slices.Concat(w.filter.GetExcludeProductIds(), ids),
	}
}

// state says in a sentence why there is nothing to start from.
func (s seen) state() string {
	if s.why != "" {
		return s.why
	}
	return "The cart is empty."
}

// note says what the result lacks.
func (w *wish) note(hits []*catalogv1.Hit) string {
	var parts []string
	if w.cart.why == whyFailed {
		parts = append(parts, whyFailed+" Some of this may be in it already.")
	}
	if len(w.unknown) > 0 {
		parts = append(parts, "The store has no product called "+strings.Join(w.unknown, ", ")+".")
	}
	if w.unmet && len(hits) > 0 {
		parts = append(parts, fmt.Sprintf("The store has nothing for %q; this goes with what is in the cart.", w.query))
	}
	if len(hits) == 0 {
		text := "Nothing suitable is in stock"
		if w.filter.GetMaxPrice() != nil {
			text += " at or below " + money.Text(w.filter.GetMaxPrice())
		}
		parts = append(parts, text+".")
	}
	return strings.Join(parts, " ")
}
