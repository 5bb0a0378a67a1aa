// Package productview shows a product with some of its variants: as a model reads it in a tool result, and as it travels
// beside an answer's text. Both are made here, so that what a model says and what a backend shows are the same price,
// stock and options, from whichever specialist they come.
//
// It must not import a service. Variants are the ones that fit what was asked for, at least one; the rest of the
// product's are never shown.
package productview

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// View is a product as a model reads it. Every byte costs tokens in each call that follows, so it leaves out what is there
// already: the brand and the category that the title names, and what the backend shows beside the text, such as the address.
// Price is the lowest of the variants; HighestPrice is there when another costs more, and then Variants has the prices of the options
// if they are few. VariantID is there when one of several variants is left. Stock counts units over the variants. About is the
// beginning of the description.
type View struct {
	ProductID    string              `json:"product_id"`
	Title        string              `json:"title"`
	Brand        string              `json:"brand,omitempty"`
	Category     string              `json:"category,omitempty"`
	For          string              `json:"for,omitempty"`
	Price        string              `json:"price"`
	ListPrice    string              `json:"list_price,omitempty"`
	HighestPrice string              `json:"highest_price,omitempty"`
	VariantID    string              `json:"variant_id,omitempty"`
	Options      map[string][]string `json:"options,omitempty"`
	Variants     []string            `json:"variants,omitempty"`
	Stock        int64               `json:"stock"`
	InCart       bool                `json:"in_cart,omitempty"`
	Rating       string              `json:"rating,omitempty"`
	Details      string              `json:"details,omitempty"`
	About        string              `json:"about,omitempty"`
	Reason       string              `json:"reason,omitempty"`
}

// Bounds of the views of a list as JSON, in bytes. Few products are shown in full; of many, each gets its share.
const (
	maxListBytes = 2_000
	minViewBytes = 200
	// minAbout and maxAbout bound the beginning of a description. Less says nothing.
	minAbout, maxAbout = 40, 600
	// maxPriced bounds the prices that are listed of one product.
	maxPriced = 6
)

// Item is a product to list. Reason says why and may be empty.
type Item struct {
	Product  *catalogv1.Product
	Variants []*catalogv1.Variant
	Reason   string
}

// List returns the views of products. Facts that do not fit are left out; those that the texts ask about stay longest.
func List(items []Item, asked ...string) []View {
	about := singulars(strings.Join(asked, " "))
	out := make([]View, len(items))
	for i, item := range items {
		out[i] = newView(item)
		facts := facts(item.Product)
		slices.SortStableFunc(facts, func(a, b string) int {
			return cmp.Compare(shared(b, about), shared(a, about))
		})
		most := max(minViewBytes, maxListBytes/len(items))
		out[i].addDetails(facts, most)
		out[i].addAbout(item.Product.GetDescription(), most)
	}
	return out
}

// Localized returns the product with the texts in a language, a BCP 47 tag, if the store has written them. Else it is the product
// itself.
func Localized(p *catalogv1.Product, tag string) *catalogv1.Product {
	var best *catalogv1.LocalizedText
	for _, t := range p.GetTranslations() {
		if strings.EqualFold(t.GetLanguage(), tag) {
			best = t
			break
		}
		if best == nil && sameLanguage(t.GetLanguage(), tag) {
			best = t
		}
	}
	if best == nil {
		return p
	}
	p = proto.CloneOf(p)
	p.Title, p.Description = best.GetTitle(), cmp.Or(best.GetDescription(), p.GetDescription())
	return p
}

// sameLanguage reports whether two tags are of one language, in whatever regions.
func sameLanguage(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return strings.EqualFold(a, b)
}

// newView returns the view of a product without details.
func newView(item Item) View {
	p, variants := item.Product, item.Variants
	low, high := Lowest(variants), Highest(variants)
	v := View{
		ProductID: p.GetProductId(), Title: p.GetTitle(), Price: money.Text(low), Options: optionsOf(variants),
		Stock: stockOf(variants), Reason: item.Reason, For: audienceOf(p), Rating: ratingOf(p),
	}
	for name, values := range v.Options {
		v.Options[name] = joinRuns(values)
	}
	title := singulars(v.Title)
	if brand := p.GetBrand(); shared(brand, title) < len(singulars(brand)) {
		v.Brand = brand
	}
	if path := p.GetCategoryPath(); len(path) > 0 && shared(path[len(path)-1], title) == 0 {
		v.Category = path[len(path)-1]
	}
	if list := listPrice(variants); list != nil {
		v.ListPrice = money.Text(list)
	}
	if high.GetAmountMinor() != low.GetAmountMinor() {
		v.HighestPrice = money.Text(high)
		v.Variants = priced(variants)
	}
	if len(variants) == 1 && len(p.GetVariants()) > 1 {
		v.VariantID = variants[0].GetVariantId()
	}
	return v
}

// addDetails adds the first facts, as many as fit.
func (v *View) addDetails(facts []string, maxBytes int) {
	for n := len(facts); n > 0; n-- {
		v.Details = strings.Join(facts[:n], "; ")
		if data, err := json.Marshal(v); err == nil && len(data) <= maxBytes {
			return
		}
	}
	v.Details = ""
}

// addAbout adds the beginning of a description, as much as fits.
func (v *View) addAbout(description string, maxBytes int) {
	data, err := json.Marshal(v)
	room := min(maxBytes-len(data)-len(`,"about":""`), maxAbout)
	if err != nil || room < minAbout {
		return
	}
	description = strings.Join(strings.Fields(description), " ")
	if len(description) > room {
		description = text.HeadBytes(description, room-len("…"))
		if at := strings.LastIndexByte(description, ' '); at > 0 {
			description = description[:at]
		}
		description = strings.TrimRight(description, " ,;:.") + "…"
	}
	v.About = description
}

// audienceOf says whom a product is for, if not any adult.
func audienceOf(p *catalogv1.Product) string {
	age := ""
	if group := p.GetAgeGroup(); group != catalogv1.AgeGroup_AGE_GROUP_UNSPECIFIED && group != catalogv1.AgeGroup_AGE_GROUP_ADULT {
		age = strings.ToLower(strings.TrimPrefix(group.String(), "AGE_GROUP_"))
	}
	return strings.TrimSpace(age + " " + p.GetAudience())
}

// ratingOf words a rating: "4.6 of 5 (128)".
func ratingOf(p *catalogv1.Product) string {
	r := p.GetRating()
	if r.GetCount() == 0 {
		return ""
	}
	return strconv.FormatFloat(math.Round(r.GetAverage()*10)/10, 'f', -1, 64) + " of 5 (" + strconv.Itoa(int(r.GetCount())) + ")"
}

// listPrice returns the price before a markdown of the variant with the lowest price. Nil: there is no markdown.
func listPrice(variants []*catalogv1.Variant) *commonv1.Money {
	return slices.MinFunc(variants, byPrice).GetListPrice()
}

// priced lists what the options cost where some cost more than others, such as "2 l: 59.00 EUR". Nil: there are too
// many.
func priced(variants []*catalogv1.Variant) []string {
	var out []string
	for _, v := range variants {
		var options []string
		for _, name := range slices.Sorted(maps.Keys(v.GetOptions())) {
			options = append(options, v.GetOptions()[name])
		}
		line := cmp.Or(strings.Join(options, " "), v.GetVariantId()) + ": " + money.Text(v.GetPrice())
		if v.GetStock() == 0 {
			line += ", sold out"
		}
		out = append(out, line)
	}
	if len(out) > maxPriced {
		return nil
	}
	return out
}

// singulars is the set of a text's words, folded and in the singular.
func singulars(s string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range text.Words(s) {
		out[text.Singular(w.Text)] = true
	}
	return out
}

// shared counts the words of a text that are among others.
func shared(s string, others map[string]bool) int {
	n := 0
	for w := range singulars(s) {
		if others[w] {
			n++
		}
	}
	return n
}

// minRun is how many whole numbers in a row are written as a range.
const minRun = 4

// joinRuns writes sorted whole numbers in a row as a range: 36, 37, 38, 39 and 41 become "36–39" and "41".
func joinRuns(values []string) []string {
	var out []string
	for len(values) > 0 {
		n := 1
		for n < len(values) && follows(values[n-1], values[n]) {
			n++
		}
		if n >= minRun {
			out = append(out, values[0]+"–"+values[n-1])
		} else {
			out = append(out, values[:n]...)
		}
		values = values[n:]
	}
	return out
}

// follows reports whether b is the whole number after a.
func follows(a, b string) bool {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	return errX == nil && errY == nil && y == x+1
}

// Bounds of what travels beside the text.
const (
	maxImages = 3
	maxTags   = 10
)

// Choice returns the product as it travels beside the answer's text, with the options that all of the variants share: the
// size that was asked for, say, and not the colour that is still to be chosen.
func Choice(p *catalogv1.Product, variants []*catalogv1.Variant, reason string) *specialistv1.ProductChoice {
	c := &specialistv1.ProductChoice{
		ProductId: p.GetProductId(), Title: p.GetTitle(), Brand: p.GetBrand(), Price: Lowest(variants),
		Stock: int32(min(stockOf(variants), math.MaxInt32)), Reason: reason, Url: p.GetUrl(),
		Options: make(map[string]string), ListPrice: listPrice(variants), Rating: p.GetRating(),
		ImageUrls: p.GetImageUrls()[:min(maxImages, len(p.GetImageUrls()))], Tags: p.GetTags()[:min(maxTags, len(p.GetTags()))],
		AgeGroup: p.GetAgeGroup(), Audience: p.GetAudience(),
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
	amount, unit = Smallest(amount, unit)
	return amount, unit, true
}

// Smallest returns an amount in the smallest unit of its kind, in lower case.
func Smallest(amount float64, unit string) (float64, string) {
	unit = strings.ToLower(unit)
	if m, known := measures[unit]; known {
		return amount * m.factor, m.unit
	}
	return amount, unit
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

// facts lists the product's typed facts, such as "waterproof no" and "weight 289 g".
func facts(p *catalogv1.Product) []string {
	var out []string
	for _, a := range p.GetAttributes() {
		out = append(out, a.GetName()+" "+valueOf(a))
	}
	return out
}

// valueOf words the value of an attribute.
func valueOf(a *catalogv1.Attribute) string {
	switch v := a.GetValue().(type) {
	case *catalogv1.Attribute_Text:
		return v.Text
	case *catalogv1.Attribute_Number:
		return strings.TrimSpace(strconv.FormatFloat(v.Number, 'f', -1, 64) + " " + a.GetUnit())
	case *catalogv1.Attribute_Flag:
		return map[bool]string{true: "yes", false: "no"}[v.Flag]
	}
	return ""
}
