package recommend

import (
	"fmt"
	"slices"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/productview"
)

// cartResult is what get_cart_context returns.
type cartResult struct {
	Items      []itemView `json:"items"`
	Subtotal   string     `json:"subtotal,omitempty"`
	Categories []string   `json:"categories,omitempty"`
	Note       string     `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r cartResult) Summary() string { return counted(len(r.Items), "item") }

// itemView is an item of the cart as a model reads it.
type itemView struct {
	ProductID string            `json:"product_id"`
	VariantID string            `json:"variant_id,omitempty"`
	Title     string            `json:"title"`
	Quantity  int32             `json:"quantity"`
	Price     string            `json:"price,omitempty"`
	Category  string            `json:"category,omitempty"`
	Options   map[string]string `json:"options,omitempty"`
}

// cartView is the cart as a model reads it.
func cartView(cart seen) cartResult {
	out := cartResult{Items: []itemView{}, Subtotal: money.Text(cart.GetSubtotal())}
	gone := 0
	for _, item := range cart.GetItems() {
		if !item.GetAvailable() {
			gone++
			continue
		}
		category := last(item.GetCategoryPath())
		if category != "" && !slices.Contains(out.Categories, category) {
			out.Categories = append(out.Categories, category)
		}
		out.Items = append(out.Items, itemView{
			ProductID: item.GetProductId(), VariantID: item.GetVariantId(), Title: item.GetTitle(),
			Quantity: item.GetQuantity(), Price: money.Text(item.GetUnitPrice()), Category: category, Options: item.GetOptions(),
		})
	}
	switch {
	case cart.why != "":
		out.Note = cart.why
	case gone > 0:
		out.Note = counted(gone, "item") + " of the cart can no longer be bought."
	case len(out.Items) == 0:
		out.Note = "The cart is empty."
	}
	return out
}

// similarResult is what similar_products returns.
type similarResult struct {
	Products []productview.View `json:"products"`
	Note     string             `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r similarResult) Summary() string { return counted(len(r.Products), "product") }

// result puts the hits before the model and into the findings. Some are proposed for the cart, if there can be one.
func (t *turn) result(hits []*catalogv1.Hit, note string, propose bool) similarResult {
	out := similarResult{Products: []productview.View{}, Note: note}
	for i, h := range hits {
		variants := matched(h)
		if len(variants) == 0 {
			continue
		}
		choice := productview.Choice(h.GetProduct(), variants, h.GetReason())
		t.AddProducts(choice)
		if propose && i < maxProposed {
			t.AddActions(&specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_AddToCart{
				AddToCart: &specialistv1.AddToCart{ProductId: choice.GetProductId(), VariantId: choice.GetVariantId(), Quantity: 1},
			}})
		}
		out.Products = append(out.Products, productview.New(h.GetProduct(), variants, h.GetReason()))
	}
	t.Found(len(out.Products))
	return out
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

func last(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
