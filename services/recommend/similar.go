package recommend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// similarRequest is a similar_products call in terms of the catalog.
type similarRequest struct {
	service  *Service
	catalog  catalogv1.CatalogServiceClient
	storeID  string
	cart     carttool.Cart
	anchors  []string
	titles   []string        // of the anchors, as far as they are known
	lowest   *commonv1.Money // price of the anchors that the model named
	unknown  []string        // names that match no product of the catalog
	noMatch  bool            // the query matches no product of the catalog
	query    string
	relation catalogv1.Relation
	language string // of reasons, one that code writes
	filter   *catalogv1.Filter
	limit    int
	notes    []string // for the model
}

// request combines the arguments with the shopper's cart. Products in the cart are never proposed.
func (t *turn) request(ctx context.Context, in similarArgs, cart carttool.Cart) (*similarRequest, error) {
	r := &similarRequest{
		service: t.service, catalog: t.service.catalog, storeID: t.Scope.StoreID, cart: cart, query: in.Query,
		relation: t.relation(in), filter: &catalogv1.Filter{InStock: true}, limit: in.Limit,
	}
	if r.limit == 0 {
		r.limit = defaultListed
	}
	r.language, _ = text.Written(t.Language)
	for _, item := range cart.GetItems() {
		r.filter.ExcludeProductIds = append(r.filter.ExcludeProductIds, item.GetProductId())
	}
	if in.fromCart {
		r.anchorByCart()
	}
	if len(r.anchors) == 0 || len(in.ProductIDs) > 0 {
		if err := r.resolveAnchors(ctx, in.ProductIDs); err != nil {
			return nil, err
		}
	}
	if in.MaxPrice != nil {
		code, err := r.currency(ctx)
		if err != nil {
			return nil, err
		}
		r.filter.MaxPrice = money.FromMajor(*in.MaxPrice, code)
	}
	if most := r.filter.GetMaxPrice(); in.Cheaper && r.lowest.GetAmountMinor() > 0 && (most == nil || r.lowest.GetAmountMinor() <= most.GetAmountMinor()) {
		r.filter.MaxPrice = &commonv1.Money{AmountMinor: r.lowest.GetAmountMinor() - 1, CurrencyCode: r.lowest.GetCurrencyCode()}
	}
	return r, nil
}

// resolveAnchors finds the products to start from: the products that the model named, else the product that the query names by
// its title, else the products of the cart. A query that names no product and asks for no complement, such as for a gift, has
// no anchors.
func (r *similarRequest) resolveAnchors(ctx context.Context, names []string) error {
	if len(names) > 0 {
		return r.resolve(ctx, names)
	}
	if r.relation == catalogv1.Relation_RELATION_COMPLEMENT && r.query != "" ||
		r.relation == catalogv1.Relation_RELATION_ALTERNATIVE && len(contentWords(r.query)) > 1 { // one word is a kind of thing
		if err := r.anchorByTitle(ctx); err != nil {
			return err
		}
	}
	if len(r.anchors) == 0 && (r.query == "" || r.relation == catalogv1.Relation_RELATION_COMPLEMENT) {
		r.anchorByCart()
	}
	return nil
}

// anchorByCart starts from the latest additions to the cart.
func (r *similarRequest) anchorByCart() {
	held := r.filter.GetExcludeProductIds()
	r.anchors = slices.Clone(held[max(0, len(held)-maxAnchors):])
	for _, item := range r.cart.GetItems() {
		r.titles = append(r.titles, item.GetTitle())
	}
}

// resolve finds the products that the model named, by id or by title.
func (r *similarRequest) resolve(ctx context.Context, names []string) error {
	resp, err := r.catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: r.storeID, ProductIds: names})
	if err != nil {
		return fmt.Errorf("look up products: %w", err)
	}
	for _, p := range resp.GetProducts() {
		r.addAnchor(p)
	}
	for _, name := range resp.GetMissingProductIds() {
		found, err := r.search(ctx, &catalogv1.SearchProductsRequest{Query: name, Limit: 1})
		if err != nil {
			return err
		}
		if hits := found.GetHits(); len(hits) > 0 {
			r.addAnchor(hits[0].GetProduct())
		} else {
			r.unknown = append(r.unknown, name)
		}
	}
	return nil
}

// addAnchor adds a product to start from.
func (r *similarRequest) addAnchor(p *catalogv1.Product) {
	r.anchors, r.titles = append(r.anchors, p.GetProductId()), append(r.titles, p.GetTitle())
	if price := productview.Lowest(p.GetVariants()); r.lowest == nil || price.GetAmountMinor() < r.lowest.GetAmountMinor() {
		r.lowest = price
	}
}

// anchorByTitle makes the product that the query names by its title the anchor: a complement of a teapot is not a teapot.
func (r *similarRequest) anchorByTitle(ctx context.Context) error {
	found, err := r.search(ctx, &catalogv1.SearchProductsRequest{Query: r.query, Limit: 1})
	if err != nil {
		return err
	}
	r.noMatch = len(found.GetHits()) == 0
	if hits := found.GetHits(); len(hits) > 0 && namedByTitle(hits[0].GetProduct().GetTitle(), r.query) {
		r.anchors, r.query = []string{hits[0].GetProduct().GetProductId()}, ""
	}
	return nil
}

// currency returns the currency of the store's prices.
func (r *similarRequest) currency(ctx context.Context) (string, error) {
	if code := r.cart.GetSubtotal().GetCurrencyCode(); code != "" {
		return code, nil
	}
	resp, err := r.search(ctx, &catalogv1.SearchProductsRequest{Limit: 1})
	return resp.GetMinPrice().GetCurrencyCode(), err
}

func (r *similarRequest) search(
	ctx context.Context, req *catalogv1.SearchProductsRequest,
) (*catalogv1.SearchProductsResponse, error) {
	req.StoreId = r.storeID
	req.Query = text.Head(req.GetQuery(), maxQuery)
	resp, err := r.catalog.SearchProducts(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("search products: %w", err)
	}
	resp.Hits = slices.DeleteFunc(resp.Hits, (*catalogv1.Hit).GetPartial)
	return resp, nil
}

// run returns the products for the request, and a note when they are not quite what was asked for.
func (r *similarRequest) run(ctx context.Context) ([]*catalogv1.Hit, string, error) {
	switch {
	case len(r.unknown) > 0 && len(r.anchors) == 0:
		return nil, "The store has no product called " + strings.Join(r.unknown, ", ") + ".", nil
	case len(r.anchors) == 0 && r.query == "":
		return nil, noAnchors(r.cart) + " No product was named. Ask what the shopper has in mind, or search with a query.", nil
	}
	var hits []*catalogv1.Hit
	if len(r.anchors) > 0 {
		var known []*catalogv1.KnownComplement
		if r.relation != catalogv1.Relation_RELATION_ALTERNATIVE {
			known = r.service.coPurchases(ctx, r.storeID, r.anchors, oftenBoughtWith[r.language])
		}
		resp, err := r.catalog.FindSimilarProducts(ctx, &catalogv1.FindSimilarProductsRequest{
			StoreId: r.storeID, ProductIds: r.anchors, Relation: r.relation, Query: r.query, Filter: r.filter, Limit: int32(r.limit),
			KnownComplements: known, Language: r.language,
		})
		if err != nil {
			return nil, "", fmt.Errorf("find similar products: %w", err)
		}
		if hits = resp.GetHits(); len(hits) > 0 && r.query != "" && !r.noMatch && !r.namesAnchor() {
			if hits, err = r.preferMatches(ctx, hits); err != nil {
				return nil, "", err
			}
		}
	}
	if len(hits) == 0 && r.query != "" {
		resp, err := r.search(ctx, &catalogv1.SearchProductsRequest{Query: r.query, Filter: r.without(r.anchors), Limit: int32(r.limit)})
		if err != nil {
			return nil, "", err
		}
		hits = resp.GetHits()
		for _, h := range hits {
			h.Reason = "" // it repeats the query
		}
	}
	return hits, r.note(hits), nil
}

// without returns the filter with more products excluded.
func (r *similarRequest) without(ids []string) *catalogv1.Filter {
	return &catalogv1.Filter{
		InStock: r.filter.GetInStock(), MaxPrice: r.filter.GetMaxPrice(),
		ExcludeProductIds: slices.Concat(r.filter.GetExcludeProductIds(), ids),
	}
}

// noAnchors says in a sentence why a cart has no products to start from.
func noAnchors(cart carttool.Cart) string { return cmp.Or(cart.Unseen, "The cart is empty.") }

// note returns what the result lacks, in sentences.
func (r *similarRequest) note(hits []*catalogv1.Hit) string {
	var parts []string
	if r.cart.Unseen == reasonFailed {
		parts = append(parts, reasonFailed+" Some of this may be in it already.")
	}
	parts = append(parts, r.notes...)
	if held := r.heldByQuery(); len(held) > 0 {
		parts = append(parts, "In the cart already: "+strings.Join(held, ", ")+".")
	}
	if len(r.unknown) > 0 {
		parts = append(parts, "The store has no product called "+strings.Join(r.unknown, ", ")+".")
	}
	if r.noMatch && len(hits) > 0 {
		parts = append(parts, fmt.Sprintf("The store has nothing for %q; this goes with what is in the cart.", r.query))
	}
	if len(hits) == 0 {
		reason := "Nothing suitable is in stock"
		if r.filter.GetMaxPrice() != nil {
			reason += " at or below " + money.Text(r.filter.GetMaxPrice())
		}
		parts = append(parts, reason+".")
	}
	return strings.Join(parts, " ")
}

const (
	// maxCoPurchaseTime bounds the lookup of co-purchases, as does a tenth of the time left of the call. After it, the
	// recommendation does without them.
	maxCoPurchaseTime = 300 * time.Millisecond
	// maxCoPurchaseAnchors bounds the products whose co-purchases are looked up, and maxCoPurchases the results.
	maxCoPurchaseAnchors = 10
	maxCoPurchases       = 20
)

// oftenBoughtWith is the relation of two co-purchased products by language, to stand before the title of one.
var oftenBoughtWith = map[string]string{
	"en": "often bought with", "de": "oft gekauft mit", "es": "se compra a menudo con", "fr": "souvent acheté avec",
}

// CoPurchases lists products that were bought together. An orderv1.OrderServiceClient implements it.
type CoPurchases interface {
	ListCoPurchases(context.Context, *orderv1.ListCoPurchasesRequest, ...grpc.CallOption) (*orderv1.ListCoPurchasesResponse, error)
}

// coPurchases returns products that customers bought together with some products, best first; none when the lookup fails, takes too
// long or is not in the scope. Of many products it uses the last ones.
func (s *Service) coPurchases(ctx context.Context, storeID string, products []string, relation string) []*catalogv1.KnownComplement {
	if s.orders == nil || len(products) == 0 {
		return nil
	}
	if sc, ok := scope.FromContext(ctx); ok && !sc.Allows(scope.ReadCoPurchases) {
		return nil
	}
	timeout := maxCoPurchaseTime
	if due, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(due)/10)
	}
	lookup, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := s.orders.ListCoPurchases(lookup, &orderv1.ListCoPurchasesRequest{
		StoreId: storeID, ProductIds: products[max(0, len(products)-maxCoPurchaseAnchors):], Limit: maxCoPurchases,
	})
	if err != nil {
		if ctx.Err() == nil {
			s.logger.WarnContext(ctx, "cannot look up co-purchases", "store", storeID, "error", err)
		}
		return nil
	}
	var out []*catalogv1.KnownComplement
	for _, p := range resp.GetCoPurchases() {
		out = append(out, &catalogv1.KnownComplement{
			ProductId: p.GetProductId(), WithProductId: p.GetWithProductId(), Relation: relation,
		})
	}
	return out
}

// relation returns the relation that the model asked for. Without one, the shopper's own words decide.
func (t *turn) relation(in similarArgs) catalogv1.Relation {
	if in.Cheaper && in.Relation == "" {
		return catalogv1.Relation_RELATION_ALTERNATIVE
	}
	if in.Relation == "" && asksForComplement(t.SubQuery) {
		return catalogv1.Relation_RELATION_COMPLEMENT
	}
	return relations[in.Relation]
}

// complementPhrases are phrases that ask for a complement of a product, never for an alternative.
var complementPhrases = [...]string{
	"go with", "goes with", "go well with", "goes well with", "going with", "pair with", "pairs with", "pairs well with",
	"passt zu", "passend zu", "passen zu", "va con", "van con", "va bien con", "combina con", "combinan con", "va avec",
	"vont avec", "va bien avec", "together with", "bought with", "buy with", "zusammen mit", "junto con",
}

// asksForComplement reports whether the shopper asks for a complement.
func asksForComplement(query string) bool {
	query = " " + strings.Join(words(query), " ") + " "
	return slices.ContainsFunc(complementPhrases[:], func(phrase string) bool { return strings.Contains(query, " "+phrase+" ") })
}

// words returns the folded words of a text.
func words(s string) []string {
	all := text.Words(s)
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = w.Text
	}
	return out
}

// gifts are words for gifts.
var gifts = map[string]bool{
	"gift": true, "present": true, "geschenk": true, "geschenkidee": true, "regalo": true, "cadeau": true, "regali": true,
	"cadeaux": true, "geschenke": true,
}

// seeksGift reports whether the shopper looks for a gift, which has nothing to do with the cart.
func (t *turn) seeksGift() bool { return asksForGift(t.SubQuery) && !asksForComplement(t.SubQuery) }

func asksForGift(query string) bool {
	return slices.ContainsFunc(words(query), func(word string) bool { return gifts[text.Singular(word)] || gifts[word] })
}

// namedByTitle reports whether the title has every word of the query, in the singular or the plural. Articles do not count.
func namedByTitle(title, query string) bool {
	have := words(title)
	for i := range have {
		have[i] = text.Singular(have[i])
	}
	wanted := contentWords(query)
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(have, text.Singular(w)) })
}

// contentWords returns the words of a query without articles.
func contentWords(query string) []string {
	return slices.DeleteFunc(words(query), func(w string) bool { return articles[w] })
}

// articles are articles and other determiners.
var articles = map[string]bool{"a": true, "an": true, "the": true, "my": true, "your": true, "this": true, "that": true}
