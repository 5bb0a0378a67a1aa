package recommend

import (
	"context"
	_ "embed" // the prompt and the examples
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

//go:embed prompt.md
var prompt string

// examples are requests that are this specialist's, one a line, the most telling first. They were invented for this: they
// are no shopper's, and none is of the sets that the router is measured with.
//
//go:embed examples.txt
var examples string

// definition is the recommend specialist.
func (s *Service) definition() specialist.Definition {
	return specialist.Definition{
		Name: "recommend",
		Purpose: "Recommends what goes with the cart or a product, alternatives, gift ideas. Also says what is in the cart and what it " +
			"comes to.",
		Examples:      strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords:      vocabulary,
		Prompt:        prompt,
		Tools:         s.tools,
		FitTools:      s.fitTools,
		Unavailable:   s.unavailable,
		DisabledTools: s.disabledTools,
		ToolReads:     map[string][]scope.Read{carttool.Name: {scope.ReadCarts}, similarTool: {scope.ReadCatalog}, catalogTool: {scope.ReadCatalog}},
		ReadsCart:     true,
	}
}

// unavailable says whether the store has anything to recommend.
func (s *Service) unavailable(ctx context.Context, sc scope.Scope) (string, error) {
	if !sc.Allows(scope.ReadCatalog) {
		return "The product catalog cannot be read here, so there is nothing to recommend.", nil
	}
	resp, err := s.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: sc.StoreID, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("read catalog: %w", err)
	}
	if resp.GetTotalCount() == 0 {
		return "This store has no product catalog here yet, so there is nothing to recommend.", nil
	}
	return "", nil
}

// disabledTools switches off what a store without a cart does not have.
func (s *Service) disabledTools(ctx context.Context, sc scope.Scope) (map[string]string, error) {
	none, err := s.noCart(ctx, sc.StoreID)
	if err != nil || !none {
		return nil, err
	}
	return map[string]string{
		carttool.Name: "Carts cannot be seen here: this store has none connected. Asked about the cart, say so. Do not offer to put " +
			"anything into it.",
	}, nil
}

// noCart reports whether a store has no cart, according to the service that keeps its carts.
func (s *Service) noCart(ctx context.Context, storeID string) (bool, error) {
	if s.cart != nil {
		return cartclient.Lacking(ctx, s.cart, storeID)
	}
	settings, err := s.carts.Settings(ctx, storeID)
	return settings.GetNoCart(), err
}

// readCart reads a cart from the service that keeps it.
func (s *Service) readCart(ctx context.Context, storeID, cartID string) (*cartv1.Cart, error) {
	if s.cart != nil {
		return cartclient.Read(ctx, s.cart, storeID, cartID)
	}
	return s.carts.Get(ctx, storeID, cartID)
}

const similarTool = "similar_products"

const similarDescription = `Finds products that go with others, or could replace them.`

// cartAnchor stands among product_ids for what is in the cart.
const cartAnchor = "cart"

const (
	defaultListed = 4 // as many as the prompt recommends
	maxListed     = 20
	maxAnchors    = 50
	maxQuery      = 1_000
)

// similarArgs are the arguments of similar_products.
type similarArgs struct {
	ProductIDs []string `json:"product_ids,omitempty" jsonschema:"ids or titles, or cart"`
	Query      string   `json:"query,omitempty" jsonschema:"further wishes"`
	Relation   string   `json:"relation,omitempty" jsonschema:"complement, alternative; default both"`
	MaxPrice   *float64 `json:"max_price,omitempty"`
	Cheaper    bool     `json:"cheaper,omitempty" jsonschema:"than product_ids"`
	Limit      int      `json:"limit,omitempty"`

	fromCart bool // product_ids name the cart
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
	cart    *specialist.Memo[carttool.Cart]
}

// Why a cart is not seen.
const (
	reasonNoCart  = "This store's carts cannot be seen here."
	reasonUnknown = "The shopper's cart is not known here."
	reasonFailed  = "The cart cannot be read now."
)

// tools makes the tools of one turn.
func (s *Service) tools(t *specialist.Turn) []agentloop.Tool {
	u := &turn{Turn: t, service: s}
	u.cart = specialist.Memoise(u.readCart)
	return []agentloop.Tool{
		carttool.New(t, carttool.Config{Read: u.cart.Get, Catalog: s.catalog}),
		agentloop.NewTool(similarTool, similarDescription, u.similar),
		agentloop.NewTool(catalogTool, catalogDescription, u.searchCatalog),
	}
}

// readCart returns the shopper's cart: the one that all specialists of the turn see, if the assignment came with it.
func (t *turn) readCart(ctx context.Context) (carttool.Cart, error) {
	switch {
	case !t.Scope.Allows(scope.ReadCarts):
		return carttool.Cart{Unseen: reasonNoCart}, nil
	case t.Cart != nil:
		return carttool.Cart{Cart: t.Cart}, nil
	case t.Disabled(carttool.Name):
		return carttool.Cart{Unseen: reasonNoCart}, nil
	case t.Scope.CartID == "":
		return carttool.Cart{Unseen: reasonUnknown}, nil
	}
	cart, err := t.service.readCart(ctx, t.Scope.StoreID, t.Scope.CartID)
	switch {
	case cartclient.None(err):
		return carttool.Cart{Unseen: reasonNoCart}, nil
	case err != nil:
		return carttool.Cart{}, t.service.forModel(ctx, err, reasonFailed+" Say so, and do not guess what is in it.")
	}
	return carttool.Cart{Cart: cart}, nil
}

// forModel logs the cause and returns an error text for the model, which must not see internals.
func (s *Service) forModel(ctx context.Context, cause error, words string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.logger.WarnContext(ctx, "recommend tool failed", slog.Any("error", cause))
	return errors.New(words)
}

// similar runs similar_products. It needs no cart when the arguments say what the shopper looks for.
func (t *turn) similar(ctx context.Context, in similarArgs) (similarResult, error) {
	if err := in.check(); err != nil {
		return similarResult{}, err
	}
	in.ProductIDs = slices.DeleteFunc(in.ProductIDs, func(id string) bool {
		in.fromCart = in.fromCart || strings.EqualFold(strings.TrimSpace(id), cartAnchor)
		return strings.EqualFold(strings.TrimSpace(id), cartAnchor)
	})
	cart, err := t.cart.Get(ctx)
	if in.Query = strings.TrimSpace(in.Query); in.Query == "" && len(in.ProductIDs) == 0 && !in.fromCart && t.seeksGift() {
		in.Query, in.Relation = "gift", ""
	}
	if err != nil && (ctx.Err() != nil || len(in.ProductIDs) == 0 && (in.Query == "" || in.fromCart)) {
		return similarResult{}, err
	} else if err != nil {
		cart.Unseen = reasonFailed
	}
	hits, note, err := t.search(ctx, in, cart)
	if err != nil {
		return similarResult{}, t.service.forModel(ctx, err, "the catalog cannot be searched now; say so, and name no product")
	}
	return t.present(hits, in.Query, note), nil
}

// search finds what the arguments ask for, with a note on what is missing.
func (t *turn) search(ctx context.Context, in similarArgs, cart carttool.Cart) ([]*catalogv1.Hit, string, error) {
	w, err := t.request(ctx, in, cart)
	if err != nil {
		return nil, "", err
	}
	return w.run(ctx)
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

// similarResult is what similar_products returns.
type similarResult struct {
	Products []productview.View `json:"products"`
	Note     string             `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r similarResult) Summary() string { return text.Count(len(r.Products), "product") }

// present puts the hits before the model and into the findings.
func (t *turn) present(hits []*catalogv1.Hit, query, note string) similarResult {
	_, own := text.Written(t.Language)
	var items []productview.Item
	for _, h := range hits {
		variants := matched(h)
		if len(variants) == 0 {
			continue
		}
		reason, product := h.GetReason(), productview.Localized(h.GetProduct(), t.Language)
		items = append(items, productview.Item{Product: product, Variants: variants, Reason: reason})
		if !own {
			reason = "" // it is English
		}
		t.AddProducts(productview.Choice(product, variants, reason))
	}
	t.Found(len(items))
	views := productview.List(items, query, t.SubQuery)
	for i := range views {
		if views[i].Reason != "" {
			views[i].About = "" // the reason says why
		}
	}
	return similarResult{Products: views, Note: note}
}

// matched returns the variants of a hit that passed the filter.
func matched(h *catalogv1.Hit) []*catalogv1.Variant {
	var out []*catalogv1.Variant
	for _, v := range h.GetProduct().GetVariants() {
		if slices.Contains(h.GetMatchedVariantIds(), v.GetVariantId()) {
			out = append(out, v)
		}
	}
	return out
}
