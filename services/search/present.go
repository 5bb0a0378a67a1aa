package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// searchResult is what search_catalog returns.
type searchResult struct {
	Products   []productView `json:"products"`
	Total      int           `json:"total"`
	PriceRange string        `json:"price_range,omitempty"`
	Note       string        `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r searchResult) Summary() string {
	switch {
	case r.Total == 0:
		return "no products"
	case r.Total == 1:
		return "1 product"
	}
	return fmt.Sprintf("%d products", r.Total)
}

// productView is a product as a model reads it: only what the matched variants have.
type productView struct {
	ProductID    string              `json:"product_id"`
	Title        string              `json:"title"`
	Brand        string              `json:"brand,omitempty"`
	Category     string              `json:"category,omitempty"`
	Price        string              `json:"price"`
	HighestPrice string              `json:"highest_price,omitempty"`
	VariantID    string              `json:"variant_id,omitempty"`
	Options      map[string][]string `json:"options,omitempty"`
	Stock        int64               `json:"stock"`
	Details      string              `json:"details,omitempty"`
	Reason       string              `json:"reason,omitempty"`
	URL          string              `json:"url,omitempty"`
}

func viewOf(l listed) productView {
	p := l.product
	v := productView{
		ProductID: p.GetProductId(), Title: p.GetTitle(), Brand: p.GetBrand(),
		Price: priceText(lowest(l.variants)), Options: optionsOf(l.variants), Stock: stockOf(l.variants),
		Details: detailsOf(p), Reason: l.reason, URL: p.GetUrl(),
	}
	if path := p.GetCategoryPath(); len(path) > 0 {
		v.Category = path[len(path)-1]
	}
	if high := highest(l.variants); high.GetAmountMinor() != lowest(l.variants).GetAmountMinor() {
		v.HighestPrice = priceText(high)
	}
	if len(l.variants) == 1 {
		v.VariantID = l.variants[0].GetVariantId()
	}
	return v
}

// choiceOf is the product as it travels beside the answer's text.
func choiceOf(l listed) *specialistv1.ProductChoice {
	c := &specialistv1.ProductChoice{
		ProductId: l.id(), Title: l.product.GetTitle(), Price: lowest(l.variants),
		Stock: int32(min(stockOf(l.variants), maxStock)), Reason: l.reason, Url: l.product.GetUrl(),
	}
	if len(l.variants) == 1 {
		c.VariantId = l.variants[0].GetVariantId()
		c.Options = l.variants[0].GetOptions()
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

// detailsOf lists the product's typed facts: "waterproof no; weight 289 g".
func detailsOf(p *catalogv1.Product) string {
	var out []string
	for _, a := range p.GetAttributes() {
		text := a.GetName() + " "
		switch v := a.GetValue().(type) {
		case *catalogv1.Attribute_Text:
			text += v.Text
		case *catalogv1.Attribute_Number:
			text += strings.TrimSpace(strconv.FormatFloat(v.Number, 'f', -1, 64) + " " + a.GetUnit())
		case *catalogv1.Attribute_Flag:
			text += map[bool]string{true: "yes", false: "no"}[v.Flag]
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// rangeText says between which prices the hits are.
func rangeText(hits []hit) string {
	low, high := prices(hits)
	if low.GetAmountMinor() == high.GetAmountMinor() {
		return priceText(low)
	}
	return priceText(low) + " to " + priceText(high)
}

// naturally orders numbers by value, letter sizes by size and everything else by letters.
func naturally(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	sizes := []string{"xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl"}
	i, j := slices.Index(sizes, strings.ToLower(a)), slices.Index(sizes, strings.ToLower(b))
	if i >= 0 && j >= 0 {
		return cmp.Compare(i, j)
	}
	return strings.Compare(a, b)
}
