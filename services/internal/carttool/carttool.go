// Package carttool is the tool by which the specialists read the shopper's cart: as it is, or as it would be with changes.
//
// The package must not import a service. It reads carts and products through their clients.
package carttool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Name of the tool.
const Name = "get_cart_context"

const description = `The shopper's cart.`

// Of a cart of more than maxFull items, a model reads the titles, numbers and prices of the first maxItems.
const (
	maxFull  = 5
	maxItems = 10
)

// Cart is the shopper's cart as a turn sees it.
type Cart struct {
	// Cart is nil if there is none.
	*cartv1.Cart
	// Unseen says why the cart cannot be seen, in a sentence for the model. Empty: it can.
	Unseen string
}

// Config says what the tool works with.
type Config struct {
	// Read returns the cart. Its errors are for the model. Nil: the cart that came with the assignment.
	Read func(context.Context) (Cart, error)
	// Catalog prices what changes add. Nil: the tool takes no changes.
	Catalog catalogv1.CatalogServiceClient
}

// args are the arguments of the tool.
type args struct {
	Changes []Change `json:"changes,omitempty" jsonschema:"what if"`
}

// Result is what the tool returns.
type Result struct {
	Items     []Item            `json:"items"`
	Subtotals map[string]string `json:"category_subtotals,omitempty"`
	Subtotal  string            `json:"subtotal,omitempty"`
	Note      string            `json:"note,omitempty"`
}

// Item is an item of the cart as a model reads it.
type Item struct {
	ProductID string            `json:"product_id,omitempty"`
	VariantID string            `json:"variant_id,omitempty"`
	Title     string            `json:"title"`
	Quantity  int32             `json:"quantity"`
	Price     string            `json:"price,omitempty"`
	Category  string            `json:"category,omitempty"`
	Options   map[string]string `json:"options,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r Result) Summary() string { return text.Count(len(r.Items), "item") }

// New returns the tool of one turn.
func New(t *specialist.Turn, cfg Config) agentloop.Tool {
	if cfg.Read == nil {
		cfg.Read = func(context.Context) (Cart, error) { return Cart{Cart: t.Cart}, nil }
	}
	run := func(ctx context.Context, in args) (Result, error) {
		cart, err := cfg.Read(ctx)
		if err != nil {
			return Result{}, err
		}
		changed := cart.Cart
		if len(in.Changes) > 0 {
			if changed, err = With(ctx, cfg.Catalog, t, cart.Cart, in.Changes); err != nil {
				return Result{}, err
			}
		}
		if n := len(changed.GetItems()); n > 0 {
			t.Found(n)
		}
		return view(changed, cart.Unseen, len(in.Changes) > 0), nil
	}
	if cfg.Catalog == nil {
		return agentloop.NewTool(Name, description, func(ctx context.Context, _ struct{}) (Result, error) { return run(ctx, args{}) })
	}
	return agentloop.NewTool(Name, description, run)
}

// view is a cart as a model reads it.
func view(cart *cartv1.Cart, unseen string, changed bool) Result {
	out := Result{Items: []Item{}, Subtotal: money.Text(cart.GetSubtotal())}
	sums := make(map[string][]*cartv1.CartItem)
	items := slices.DeleteFunc(slices.Clone(cart.GetItems()), func(item *cartv1.CartItem) bool { return !item.GetAvailable() })
	gone, more := len(cart.GetItems())-len(items), 0
	for _, item := range items {
		category := last(item.GetCategoryPath())
		sums[category] = append(sums[category], item)
		if len(out.Items) == maxItems {
			more++
			continue
		}
		shown := Item{Title: item.GetTitle(), Quantity: item.GetQuantity(), Price: money.Text(item.GetUnitPrice())}
		if len(items) <= maxFull {
			shown.ProductID, shown.VariantID, shown.Category, shown.Options = item.GetProductId(), item.GetVariantId(), category, item.GetOptions()
		}
		out.Items = append(out.Items, shown)
	}
	if len(sums) > 1 && len(sums) <= maxFull {
		out.Subtotals = make(map[string]string, len(sums))
		for category, items := range sums {
			out.Subtotals[category] = money.Text(cartclient.Subtotal(items))
		}
	}
	var notes []string
	note := func(when bool, sentence string) {
		if when {
			notes = append(notes, sentence)
		}
	}
	note(unseen != "", unseen)
	note(changed, "This is the cart with the changes. The shopper's cart is as before.")
	note(unseen == "" && gone > 0, text.Count(gone, "item")+" of the cart can no longer be bought.")
	note(unseen == "" && gone == 0 && len(out.Items) == 0, "The cart is empty.")
	note(more > 0, fmt.Sprintf("The cart has %s more, which are in the subtotal.", text.Count(more, "item")))
	out.Note = strings.Join(notes, " ")
	return out
}

// Lines lists the items of a cart that can be bought, one text each, such as "2 x Fell boot, 169.95 EUR each".
func Lines(cart *cartv1.Cart) []string {
	var lines []string
	for _, item := range cart.GetItems() {
		if !item.GetAvailable() || len(lines) == maxItems {
			continue
		}
		line := fmt.Sprintf("%d x %s, %s", item.GetQuantity(), item.GetTitle(), money.Text(item.GetUnitPrice()))
		if item.GetQuantity() > 1 {
			line += " each, " + money.Text(times(item.GetUnitPrice(), item.GetQuantity()))
		}
		lines = append(lines, line)
	}
	return lines
}

func times(m *commonv1.Money, n int32) *commonv1.Money {
	return &commonv1.Money{AmountMinor: m.GetAmountMinor() * int64(n), CurrencyCode: m.GetCurrencyCode()}
}

func last(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}
