package recommend

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// similarRequest is a similar_products call as the catalog can serve it.
type similarRequest struct {
	service  *Service
	catalog  catalogv1.CatalogServiceClient
	storeID  string
	cart     turnCart
	anchors  []string
	unknown  []string // names of anchors that the catalog does not have
	noMatch  bool     // nothing in the catalog is what the query says
	query    string
	relation catalogv1.Relation
	filter   *catalogv1.Filter
	limit    int
}

// request fits the arguments to the shopper's cart. What is in it is never proposed.
func (t *turn) request(ctx context.Context, in similarArgs, cart turnCart) (*similarRequest, error) {
	w := &similarRequest{
		service: t.service, catalog: t.service.catalog, storeID: t.Scope.StoreID, cart: cart, query: in.Query,
		relation: t.relation(in), filter: &catalogv1.Filter{InStock: true}, limit: in.Limit,
	}
	if w.limit == 0 {
		w.limit = defaultListed
	}
	for _, item := range cart.GetItems() {
		w.filter.ExcludeProductIds = append(w.filter.ExcludeProductIds, item.GetProductId())
	}
	if err := w.resolveAnchors(ctx, in.ProductIDs); err != nil {
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

// resolveAnchors finds the products to start from: those that the model named, else the one that the query names by its title, else
// those of the cart. A query that names none and is to go with nothing is a wish of its own, such as for a gift: then there
// are none, whatever the cart holds.
func (w *similarRequest) resolveAnchors(ctx context.Context, names []string) error {
	if len(names) > 0 {
		return w.resolve(ctx, names)
	}
	if w.relation == catalogv1.Relation_RELATION_COMPLEMENT && w.query != "" ||
		w.relation == catalogv1.Relation_RELATION_ALTERNATIVE && len(contentWords(w.query)) > 1 { // one word is a kind of thing
		if err := w.anchorByTitle(ctx); err != nil {
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
func (w *similarRequest) resolve(ctx context.Context, names []string) error {
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

// anchorByTitle starts from the product that the query names by its title, if it names one: what goes with a teapot is no teapot.
func (w *similarRequest) anchorByTitle(ctx context.Context) error {
	found, err := w.search(ctx, &catalogv1.SearchProductsRequest{Query: w.query, Limit: 1})
	if err != nil {
		return err
	}
	w.noMatch = len(found.GetHits()) == 0
	if hits := found.GetHits(); len(hits) > 0 && namedByTitle(hits[0].GetProduct().GetTitle(), w.query) {
		w.anchors, w.query = []string{hits[0].GetProduct().GetProductId()}, ""
	}
	return nil
}

// currency returns the store's currency, as its prices say.
func (w *similarRequest) currency(ctx context.Context) (string, error) {
	if code := w.cart.GetSubtotal().GetCurrencyCode(); code != "" {
		return code, nil
	}
	resp, err := w.search(ctx, &catalogv1.SearchProductsRequest{Limit: 1})
	return resp.GetMinPrice().GetCurrencyCode(), err
}

func (w *similarRequest) search(
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

// run returns what the wish comes to, and a note when that is not what was asked for.
func (w *similarRequest) run(ctx context.Context) ([]*catalogv1.Hit, string, error) {
	switch {
	case len(w.unknown) > 0 && len(w.anchors) == 0:
		return nil, "The store has no product called " + strings.Join(w.unknown, ", ") + ".", nil
	case len(w.anchors) == 0 && w.query == "":
		return nil, w.cart.status() + " No product was named. Ask what the shopper has in mind, or search with a query.", nil
	}
	var hits []*catalogv1.Hit
	if len(w.anchors) > 0 {
		var known []*catalogv1.Companion
		if w.relation != catalogv1.Relation_RELATION_ALTERNATIVE {
			known = w.service.coPurchases(ctx, w.storeID, w.anchors)
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
func (w *similarRequest) without(ids []string) *catalogv1.Filter {
	return &catalogv1.Filter{
		InStock: w.filter.GetInStock(), MaxPrice: w.filter.GetMaxPrice(),
		ExcludeProductIds: slices.Concat(w.filter.GetExcludeProductIds(), ids),
	}
}

// status says in a sentence why there is nothing to start from.
func (s turnCart) status() string {
	if s.unavailable != "" {
		return s.unavailable
	}
	return "The cart is empty."
}

// note says what the result lacks.
func (w *similarRequest) note(hits []*catalogv1.Hit) string {
	var parts []string
	if w.cart.unavailable == reasonFailed {
		parts = append(parts, reasonFailed+" Some of this may be in it already.")
	}
	if len(w.unknown) > 0 {
		parts = append(parts, "The store has no product called "+strings.Join(w.unknown, ", ")+".")
	}
	if w.noMatch && len(hits) > 0 {
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

const (
	// maxCoPurchaseTime bounds the look at what was bought together, but never to more than a tenth of what is left of the call.
	// Then the recommendation goes without.
	maxCoPurchaseTime = 300 * time.Millisecond
	// maxCoPurchaseAnchors are the products whose orders are counted, and maxBought those asked for.
	maxCoPurchaseAnchors = 10
	maxCoPurchases       = 20
	// coPurchaseRelation is how shoppers read that two products were bought together.
	coPurchaseRelation = "often bought with"
)

// CoPurchases counts what was bought together. An orderv1.OrderServiceClient is one.
type CoPurchases interface {
	ListCoPurchases(context.Context, *orderv1.ListCoPurchasesRequest, ...grpc.CallOption) (*orderv1.ListCoPurchasesResponse, error)
}

// coPurchases returns what customers bought together with products, best first; nothing when that cannot be told in time. Of
// many products it looks at the last ones.
func (s *Service) coPurchases(ctx context.Context, storeID string, products []string) []*catalogv1.Companion {
	if s.orders == nil || len(products) == 0 {
		return nil
	}
	within := maxCoPurchaseTime
	if due, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(due)/10)
	}
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	resp, err := s.orders.ListCoPurchases(asking, &orderv1.ListCoPurchasesRequest{
		StoreId: storeID, ProductIds: products[max(0, len(products)-maxCoPurchaseAnchors):], Limit: maxCoPurchases,
	})
	if err != nil {
		if ctx.Err() == nil {
			s.logger.WarnContext(ctx, "not known what was bought together", "store", storeID, "error", err)
		}
		return nil
	}
	var out []*catalogv1.Companion
	for _, p := range resp.GetCoPurchases() {
		out = append(out, &catalogv1.Companion{
			ProductId: p.GetProductId(), WithProductId: p.GetWithProductId(), Relation: coPurchaseRelation,
		})
	}
	return out
}

// relation is what the model asked for. When it left that open, the shopper's own words decide.
func (t *turn) relation(in similarArgs) catalogv1.Relation {
	if in.Relation == "" && asksForComplement(t.SubQuery) {
		return catalogv1.Relation_RELATION_COMPLEMENT
	}
	return relations[in.Relation]
}

// complementPhrases are the turns of phrase that ask for what goes with a thing, never for another of it.
var complementPhrases = [...]string{
	"go with", "goes with", "go well with", "goes well with", "going with", "pair with", "pairs with", "pairs well with",
	"passt zu", "passend zu", "passen zu", "va con", "van con", "va bien con", "combina con", "combinan con", "va avec",
	"vont avec", "va bien avec", "together with", "bought with", "buy with", "zusammen mit", "junto con",
}

// asksForComplement reports whether the shopper asks for what goes with something.
func asksForComplement(query string) bool {
	query = " " + strings.Join(words(query), " ") + " "
	return slices.ContainsFunc(complementPhrases[:], func(phrase string) bool { return strings.Contains(query, " "+phrase+" ") })
}

// words are the folded words of a text.
func words(s string) []string {
	var out []string
	for _, w := range text.Words(s) {
		out = append(out, w.Text)
	}
	return out
}

// gifts are the words for what is to be given away, which says nothing of the cart.
var gifts = map[string]bool{
	"gift": true, "present": true, "geschenk": true, "geschenkidee": true, "regalo": true, "cadeau": true, "regali": true,
	"cadeaux": true, "geschenke": true,
}

// seeksGift reports whether the shopper looks for something to give away, and not for what goes with it.
func (t *turn) seeksGift() bool { return asksForGift(t.SubQuery) && !asksForComplement(t.SubQuery) }

func asksForGift(query string) bool {
	return slices.ContainsFunc(words(query), func(word string) bool { return gifts[text.Singular(word)] || gifts[word] })
}

// namedByTitle reports whether every word of the query is one of the title, in the singular or the plural. Articles do not count.
func namedByTitle(title, query string) bool {
	have := words(title)
	for i := range have {
		have[i] = text.Singular(have[i])
	}
	words := contentWords(query)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, text.Singular(w)) })
}

// contentWords are the words of a query that may name something.
func contentWords(query string) []string {
	return slices.DeleteFunc(words(query), func(w string) bool { return articles[w] })
}

// articles are words that name nothing.
var articles = map[string]bool{"a": true, "an": true, "the": true, "my": true, "your": true, "this": true, "that": true}
