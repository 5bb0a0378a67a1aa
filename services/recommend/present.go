package recommend

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
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

// cartView is the cart as a model reads it. known is false when nobody said which cart is the shopper's.
func cartView(cart *cartv1.Cart, known bool) cartResult {
	out := cartResult{Items: []itemView{}, Subtotal: priceText(cart.GetSubtotal())}
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
			Quantity: item.GetQuantity(), Price: priceText(item.GetUnitPrice()), Category: category, Options: item.GetOptions(),
		})
	}
	switch {
	case !known:
		out.Note = "The shopper's cart is not known here."
	case gone > 0:
		out.Note = counted(gone, "item") + " of the cart can no longer be bought."
	case len(out.Items) == 0:
		out.Note = "The cart is empty."
	}
	return out
}

// similarResult is what similar_products returns.
type similarResult struct {
	Products []productView `json:"products"`
	Note     string        `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r similarResult) Summary() string { return counted(len(r.Products), "product") }

// productView is a product as a model reads it: only what the variants in stock have.
type productView struct {
	ProductID string              `json:"product_id"`
	Title     string              `json:"title"`
	Brand     string              `json:"brand,omitempty"`
	Category  string              `json:"category,omitempty"`
	Price     string              `json:"price"`
	VariantID string              `json:"variant_id,omitempty"`
	Options   map[string][]string `json:"options,omitempty"`
	Stock     int64               `json:"stock"`
	Reason    string              `json:"reason,omitempty"`
	URL       string              `json:"url,omitempty"`
}

// result puts the hits before the model and into the findings.
func (t *turn) result(hits []*catalogv1.Hit, note string) similarResult {
	out := similarResult{Products: []productView{}, Note: note}
	for i, h := range hits {
		variants := matched(h)
		if len(variants) == 0 {
			continue
		}
		choice := choiceOf(h, variants)
		t.AddProducts(choice)
		if i < maxProposed {
			t.AddActions(&specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_AddToCart{
				AddToCart: &specialistv1.AddToCart{ProductId: choice.GetProductId(), VariantId: choice.GetVariantId(), Quantity: 1},
			}})
		}
		p := h.GetProduct()
		out.Products = append(out.Products, productView{
			ProductID: p.GetProductId(), Title: p.GetTitle(), Brand: p.GetBrand(), Category: last(p.GetCategoryPath()),
			Price: priceText(choice.GetPrice()), VariantID: choice.GetVariantId(), Options: optionsOf(variants),
			Stock: stockOf(variants), Reason: h.GetReason(), URL: p.GetUrl(),
		})
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

// choiceOf is the product as it travels beside the answer's text.
func choiceOf(h *catalogv1.Hit, variants []*catalogv1.Variant) *specialistv1.ProductChoice {
	cheapest := slices.MinFunc(variants, func(a, b *catalogv1.Variant) int {
		return cmp.Compare(a.GetPrice().GetAmountMinor(), b.GetPrice().GetAmountMinor())
	})
	c := &specialistv1.ProductChoice{
		ProductId: h.GetProduct().GetProductId(), Title: h.GetProduct().GetTitle(), Price: cheapest.GetPrice(),
		Stock: int32(min(stockOf(variants), math.MaxInt32)), Reason: h.GetReason(), Url: h.GetProduct().GetUrl(),
	}
	if len(variants) == 1 {
		c.VariantId, c.Options = cheapest.GetVariantId(), cheapest.GetOptions()
	}
	return c
}

func stockOf(variants []*catalogv1.Variant) int64 {
	var n int64
	for _, v := range variants {
		n += int64(v.GetStock())
	}
	return n
}

// optionsOf lists the values of each option over the variants.
func optionsOf(variants []*catalogv1.Variant) map[string][]string {
	sets := make(map[string]map[string]bool)
	for _, v := range variants {
		for name, value := range v.GetOptions() {
			if sets[name] == nil {
				sets[name] = make(map[string]bool)
			}
			sets[name][value] = true
		}
	}
	out := make(map[string][]string, len(sets))
	for name, set := range sets {
		out[name] = slices.SortedFunc(maps.Keys(set), naturally)
	}
	return out
}

// naturally orders numbers by value and everything else by letters.
func naturally(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
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
