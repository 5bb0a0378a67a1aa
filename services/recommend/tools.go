package recommend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/carts"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// cartTool is the name of the tool that a store without a cart does not have.
const cartTool = "get_cart_context"

const cartDescription = `Returns the shopper's cart: items with title, quantity, price, category and options, the subtotal ` +
	`and the categories in it. Call it for any question about the cart, and before recommending something that goes with it.`

const similarDescription = `Finds products that go with, or could replace, some products: those named in product_ids, else ` +
	`those in the cart. For a gift or another wish that has nothing to do with the cart, give a query and no product_ids: it ` +
	`searches the catalog. What is in the cart already and what is sold out is left out. Every product comes with a reason.`

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
	Query      string   `json:"query,omitempty" jsonschema:"Further wishes in a few English words, such as: for rain. Or what to look for, when it is no company for the cart."`
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
	cart    *specialist.Once[seen]
}

// seen is the shopper's cart as the turn sees it.
type seen struct {
	*cartv1.Cart        // empty if there is none
	why          string // why it is not seen, in a sentence for the shopper; "" when it is
	none         bool   // the store has no cart
}

// Why a cart is not seen.
const (
	whyNone    = "This store's carts can not be seen here."
	whyUnknown = "The shopper's cart is not known here."
	whyFailed  = "The cart can not be read now."
)

// tools makes the tools of one turn.
func (s *Service) tools(t *specialist.Turn) []agentloop.Tool {
	u := &turn{Turn: t, service: s}
	u.cart = specialist.NewOnce(u.look)
	return []agentloop.Tool{
		agentloop.NewTool(cartTool, cartDescription, func(ctx context.Context, _ struct{}) (cartResult, error) {
			return u.cartContext(ctx)
		}),
		agentloop.NewTool("similar_products", similarDescription, u.similar),
	}
}

// look returns the shopper's cart: the one that all specialists of the turn see, if the assignment came with it.
func (t *turn) look(ctx context.Context) (seen, error) {
	id := t.cartID()
	switch {
	case t.Cart != nil:
		return seen{Cart: t.Cart}, nil
	case t.Lacks(cartTool):
		return seen{why: whyNone, none: true}, nil
	case id == "":
		return seen{why: whyUnknown}, nil
	}
	cart, err := t.service.readCart(ctx, t.Scope.StoreID, id)
	switch {
	case carts.None(err):
		return seen{why: whyNone, none: true}, nil
	case err != nil:
		return seen{}, t.service.forModel(ctx, err, whyFailed+" Say so, and do not guess what is in it.")
	}
	return seen{Cart: cart}, nil
}

// cartID is the shopper's cart: the one that the backend named, or else the one named after the customer.
func (t *turn) cartID() string {
	if t.Scope.CartID != "" {
		return t.Scope.CartID
	}
	return t.Scope.CustomerID
}

// forModel logs the cause and returns words for the model, which must not see how the house is built.
func (s *Service) forModel(ctx context.Context, cause error, words string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.logger.WarnContext(ctx, "recommend tool failed", slog.Any("error", cause))
	return errors.New(words)
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
	return cartView(cart), nil
}

// similar runs similar_products. A cart that can not be read stops nobody who has said what they look for.
func (t *turn) similar(ctx context.Context, in similarArgs) (similarResult, error) {
	if err := in.check(); err != nil {
		return similarResult{}, err
	}
	cart, err := t.cart.Get(ctx)
	if in.Query = strings.TrimSpace(in.Query); in.Query == "" && len(in.ProductIDs) == 0 && t.wantsGift() {
		in.Query, in.Relation = "gift", ""
	}
	if err != nil && (ctx.Err() != nil || len(in.ProductIDs) == 0 && in.Query == "") {
		return similarResult{}, err
	} else if err != nil {
		cart.why = whyFailed
	}
	hits, note, err := t.search(ctx, in, cart)
	if err != nil {
		return similarResult{}, t.service.forModel(ctx, err, "the catalog can not be searched now; say so, and name no product")
	}
	return t.result(hits, note, !cart.none), nil
}

// search finds what the arguments ask for, with a note on what is missing.
func (t *turn) search(ctx context.Context, in similarArgs, cart seen) ([]*catalogv1.Hit, string, error) {
	w, err := t.wish(ctx, in, cart)
	if err != nil {
		return nil, "", err
	}
	return w.find(ctx)
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
