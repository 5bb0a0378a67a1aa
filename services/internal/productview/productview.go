// Package productview shows a product with some of its variants: as a model reads it in a tool result, and as it travels
// beside an answer's text. Both are made here, so that what a model says and what a backend shows are the same price,
// stock and options, from whichever specialist they come.
//
// It must not import a service. Variants are the ones that fit what was asked for, at least one; the rest of the
// product's are never shown.
package productview

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
)

// View is a product as a model reads it. Price is the lowest of the variants; HighestPrice is there when another costs
// more. VariantID is there when there is only one to choose. Stock counts units over the variants.
type View struct {
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

// New returns the view of a product. reason says why it is shown and may be empty.
func New(p *catalogv1.Product, variants []*catalogv1.Variant, reason string) View {
	low, high := Lowest(variants), Highest(variants)
	v := View{
		ProductID: p.GetProductId(), Title: p.GetTitle(), Brand: p.GetBrand(),
		Price: money.Text(low), Options: optionsOf(variants), Stock: stockOf(variants),
		Details: detailsOf(p), Reason: reason, URL: p.GetUrl(),
	}
	if path := p.GetCategoryPath(); len(path) > 0 {
		v.Category = path[len(path)-1]
	}
	if high.GetAmountMinor() != low.GetAmountMinor() {
		v.HighestPrice = money.Text(high)
	}
	if len(variants) == 1 {
		v.VariantID = variants[0].GetVariantId()
	}
	return v
}

// Choice returns the product as it travels beside the answer's text, with the options that all of the variants share: the
// size that was asked for, say, and not the colour that is still to be chosen.
func Choice(p *catalogv1.Product, variants []*catalogv1.Variant, reason string) *specialistv1.ProductChoice {
	c := &specialistv1.ProductChoice{
		ProductId: p.GetProductId(), Title: p.GetTitle(), Brand: p.GetBrand(), Price: Lowest(variants),
		Stock: int32(min(stockOf(variants), math.MaxInt32)), Reason: reason, Url: p.GetUrl(),
		Options: make(map[string]string),
	}
	for name, values := range optionsOf(variants) {
		if len(values) == 1 && everyHas(variants, name) {
			c.Options[name] = values[0]
		}
	}
	if len(variants) == 1 {
		c.VariantId = variants[0].GetVariantId()
	}
	return c
}

func everyHas(variants []*catalogv1.Variant, option string) bool {
	return !slices.ContainsFunc(variants, func(v *catalogv1.Variant) bool {
		_, ok := v.GetOptions()[option]
		return !ok
	})
}

// Lowest returns the lowest price of variants, which must not be empty. What sorts by price takes it from here, so that
// the order agrees with the prices shown.
func Lowest(variants []*catalogv1.Variant) *commonv1.Money {
	return slices.MinFunc(variants, byPrice).GetPrice()
}

// Highest returns the highest price of variants, which must not be empty.
func Highest(variants []*catalogv1.Variant) *commonv1.Money {
	return slices.MaxFunc(variants, byPrice).GetPrice()
}

func byPrice(a, b *catalogv1.Variant) int {
	return cmp.Compare(a.GetPrice().GetAmountMinor(), b.GetPrice().GetAmountMinor())
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
	out := make(map[string][]string)
	for _, v := range variants {
		for name, value := range v.GetOptions() {
			if !slices.Contains(out[name], value) {
				out[name] = append(out[name], value)
			}
		}
	}
	for _, values := range out {
		slices.SortFunc(values, Naturally)
	}
	return out
}

// Naturally compares values of an option: numbers by value, with or without a unit, letter sizes by size and everything
// else by letters. "500 g" comes before "1 kg".
func Naturally(a, b string) int {
	x, unitX, okX := quantity(a)
	y, unitY, okY := quantity(b)
	if okX && okY && unitX == unitY {
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
	}
	i, j := slices.Index(letterSizes[:], strings.ToLower(a)), slices.Index(letterSizes[:], strings.ToLower(b))
	if i >= 0 && j >= 0 {
		return cmp.Compare(i, j)
	}
	return strings.Compare(a, b)
}

// quantity takes a value such as "250 g" apart, in the smallest unit of its kind. ok is false when it is none.
func quantity(value string) (amount float64, unit string, ok bool) {
	value = strings.ToLower(strings.TrimSpace(value))
	end := strings.IndexFunc(value, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != ',' })
	switch end {
	case -1:
		end = len(value)
	case 0:
		return 0, "", false
	}
	amount, err := strconv.ParseFloat(strings.Replace(value[:end], ",", ".", 1), 64)
	if err != nil {
		return 0, "", false
	}
	unit = strings.TrimSpace(value[end:])
	if strings.HasPrefix(unit, "-") || strings.HasPrefix(unit, "–") {
		return amount, "", true // a range, by its start
	}
	if m, known := measures[unit]; known {
		return amount * m.factor, m.unit, true
	}
	return amount, unit, true
}

type measure struct {
	factor float64
	unit   string
}

// measures brings units of one kind down to the smallest of them.
var measures = map[string]measure{
	"kg": {1000, "g"}, "l": {1000, "ml"}, "cl": {10, "ml"}, "m": {1000, "mm"}, "cm": {10, "mm"},
}

// letterSizes are in order.
var letterSizes = [...]string{"xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl"}

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
