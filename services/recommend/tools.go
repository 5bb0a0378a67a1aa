package recommend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

const cartDescription = `Returns the shopper's cart: items with title, quantity, price, category and options, the subtotal ` +
	`and the categories in it. Call it for any question about the cart, and before recommending something that goes with it.`

const similarDescription = `Finds products that go with, or could replace, some products: those named in product_ids, else ` +
	`those in the cart. With an empty cart and no product_ids it searches the catalog for query, say for a gift. What is in the ` +
	`cart already and what is sold out is left out. Every product comes with a reason.`

const (
	defaultListed = 5
	maxListed     = 20
	maxAnchors    = 50
	maxProposed   = 2
	maxQuery      = 1_000
)

// similarArgs are the arguments of similar_products.
type similarArgs struct {
	ProductIDs []string `json:"product_ids,omitempty" jsonschema:"Ids or titles of the products to start from. Leave out to start from the cart."`
	Query      string   `json:"query,omitempty" jsonschema:"Further wishes in a few English words, such as: for rain. Or what to look for when the cart is empty."`
	Relation   string   `json:"relation,omitempty" jsonschema:"complement for what goes with them, alternative for what could replace them. Leave out for both."`
	MaxPrice   *float64 `json:"max_price,omitempty" jsonschema:"Highest price, in the store's currency, such as 30."`
	Limit      int      `json:"limit,omitempty" jsonschema:"How many products to list, 1 to 20. 5 unless said otherwise."`
}

// relations are the values of the relation argument.
var relations = map[string]catalogv1.Relation{
	"":            catalogv1.Relation_RELATION_UNSPECIFIED,
	"complement":  catalogv1.Relation_RELATION_COMPLEMENT,
	"alternative": catalogv1.Relation_RELATION_ALTERNATIVE,
}

// turn is one assignment: its scope, its findings and its cart, which is read once.
type turn struct {
	*specialist.Turn
	service *Service
	cart    *specialist.Once[*cartv1.Cart]
}

// tools makes the tools of one turn.
func (s *Service) tools(t *specialist.Turn) []agentloop.Tool {
	u := &turn{Turn: t, service: s}
	u.cart = specialist.NewOnce(u.readCart)
	return []agentloop.Tool{
		agentloop.NewTool("get_cart_context", cartDescription, func(ctx context.Context, _ struct{}) (cartResult, error) {
			return u.cartContext(ctx)
		}),
		agentloop.NewTool("similar_products", similarDescription, u.similar),
	}
}

// readCart returns the shopper's cart, empty if there is none: the one that all specialists of the turn see, if the
// assignment came with it.
func (t *turn) readCart(ctx context.Context) (*cartv1.Cart, error) {
	if t.Cart != nil {
		return t.Cart, nil
	}
	id := t.cartID()
	if id == "" {
		return &cartv1.Cart{}, nil
	}
	cart, err := t.service.carts.get(ctx, t.Scope.StoreID, id)
	if err != nil {
		return nil, fmt.Errorf("read the cart: %w", err)
	}
	return cart, nil
}

// cartID is the shopper's cart: the one that the backend named, or else the one named after the customer.
func (t *turn) cartID() string {
	if t.Scope.CartID != "" {
		return t.Scope.CartID
	}
	return t.Scope.CustomerID
}

// cartContext runs get_cart_context.
func (t *turn) cartContext(ctx context.Context) (cartResult, error) {
	cart, err := t.cart.Get(ctx)
	if err != nil {
		return cartResult{}, err
	}
	if n := len(cart.GetItems()); n > 0 {
		t.Found(n)
	}
	return cartView(cart, t.Cart != nil || t.cartID() != ""), nil
}

// similar runs similar_products.
func (t *turn) similar(ctx context.Context, in similarArgs) (similarResult, error) {
	if err := in.check(); err != nil {
		return similarResult{}, err
	}
	cart, err := t.cart.Get(ctx)
	if err != nil {
		return similarResult{}, err
	}
	w, err := t.wish(ctx, in, cart)
	if err != nil {
		return similarResult{}, err
	}
	hits, note, err := w.find(ctx)
	if err != nil {
		return similarResult{}, err
	}
	return t.result(hits, note), nil
}

// check refuses what makes no sense, in words that tell the model what to do.
func (in similarArgs) check() error {
	if _, ok := relations[in.Relation]; !ok {
		return fmt.Errorf("relation %q is not known; use complement or alternative, or leave it out", in.Relation)
	}
	if in.Limit < 0 || in.Limit > maxListed {
		return fmt.Errorf("limit is %d; use 1 to %d", in.Limit, maxListed)
	}
	if in.MaxPrice != nil && *in.MaxPrice < 0 {
		return fmt.Errorf("max_price must be zero or more")
	}
	if len(in.ProductIDs) > maxAnchors {
		return fmt.Errorf("product_ids has %d ids; use at most %d", len(in.ProductIDs), maxAnchors)
	}
	if len([]rune(in.Query)) > maxQuery {
		return fmt.Errorf("query is too long; use a few words")
	}
	return nil
}

// wish is a similar_products call as the catalog can serve it.
type wish struct {
	service  *Service
	catalog  catalogv1.CatalogServiceClient
	storeID  string
	anchors  []string
	unknown  []string // names of anchors that the catalog does not have
	query    string
	relation catalogv1.Relation
	filter   *catalogv1.Filter
	limit    int
}

// wish fits the arguments to the shopper's cart. What is in it is never proposed.
func (t *turn) wish(ctx context.Context, in similarArgs, cart *cartv1.Cart) (*wish, error) {
	w := &wish{
		service: t.service, catalog: t.service.catalog, storeID: t.Scope.StoreID, query: strings.TrimSpace(in.Query),
		relation: t.relation(in), filter: &catalogv1.Filter{InStock: true}, limit: in.Limit,
	}
	if w.limit == 0 {
		w.limit = defaultListed
	}
	for _, item := range cart.GetItems() {
		w.filter.ExcludeProductIds = append(w.filter.ExcludeProductIds, item.GetProductId())
	}
	if len(in.ProductIDs) == 0 {
		w.anchors = w.filter.GetExcludeProductIds()
		w.anchors = w.anchors[max(0, len(w.anchors)-maxAnchors):] // the latest additions
	} else if err := w.resolve(ctx, in.ProductIDs); err != nil {
		return nil, err
	}
	if len(in.ProductIDs) == 0 && len(w.anchors) == 0 && w.relation == catalogv1.Relation_RELATION_COMPLEMENT {
		if err := w.anchor(ctx); err != nil {
			return nil, err
		}
	}
	if in.MaxPrice != nil {
		code, err := w.currency(ctx, cart)
		if err != nil {
			return nil, err
		}
		w.filter.MaxPrice = money.FromMajor(*in.MaxPrice, code)
	}
	return w, nil
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
	if w.query == "" {
		return nil
	}
	found, err := w.search(ctx, &catalogv1.SearchProductsRequest{Query: w.query, Limit: 1})
	if err != nil {
		return err
	}
	if hits := found.GetHits(); len(hits) > 0 && titled(hits[0].GetProduct().GetTitle(), w.query) {
		w.anchors, w.query = []string{hits[0].GetProduct().GetProductId()}, ""
	}
	return nil
}

// currency returns the store's currency, as its prices say.
func (w *wish) currency(ctx context.Context, cart *cartv1.Cart) (string, error) {
	if code := cart.GetSubtotal().GetCurrencyCode(); code != "" {
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
		return nil, "The cart is empty and no product was named. Ask what the shopper has in mind, or search with a query.", nil
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

// note says what the result lacks.
func (w *wish) note(hits []*catalogv1.Hit) string {
	var parts []string
	if len(w.unknown) > 0 {
		parts = append(parts, "The store has no product called "+strings.Join(w.unknown, ", ")+".")
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
