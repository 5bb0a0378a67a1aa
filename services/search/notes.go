package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// maxNearest bounds the products that are listed when none fits.
const maxNearest = 3

// nearestProducts says why nothing fits, and lists what comes nearest: products that meet all but the conditions that had to be
// dropped for anything to be left.
func nearestProducts(ctx context.Context, v *index.View, f index.Result, p plan) (outcome, error) {
	candidates, err := f.Candidates(ctx)
	if err != nil {
		return outcome{}, err
	}
	if len(candidates) == 0 {
		return nothingMatches(ctx, v, f)
	}
	all := index.NewFilter(p.filter)
	relaxed, hits := all, []index.Hit(nil)
	var dropped []string
	for len(hits) == 0 {
		name := relaxed.NextToDrop(index.Entries(candidates))
		if name == "" {
			break
		}
		relaxed = relaxed.Without(name)
		dropped = append(dropped, name)
		hits = relaxed.Hits(candidates)
	}
	sortNearest(hits, dropped)
	var notes []string
	gone := all.Without("in_stock").Hits(candidates)
	soldOut := len(gone) > 0 && all.Has("in_stock")
	if soldOut {
		notes = append(notes, soldOutNote(gone, p.filter))
	} else if len(dropped) > 0 {
		notes = append(notes, subject(f)+" "+p.describe(dropped, hits)+".")
	}
	out := outcome{}
	out.listed = hits[:min(maxNearest, len(hits))]
	if len(out.listed) > 0 {
		notes = append(notes, p.otherwise(dropped, len(hits), soldOut))
	} else if len(notes) == 0 {
		notes = append(notes, subject(f)+" in stock.")
	}
	out.note = strings.Join(notes, " ")
	return out, nil
}

// otherwise says how many products there would be without the conditions that were dropped, which a note names already unless
// it says what is sold out.
func (p plan) otherwise(dropped []string, n int, soldOut bool) string {
	products, but := "products", "otherwise"
	if n == 1 {
		products = "product"
	}
	if soldOut {
		but = "if not " + p.phrases(dropped)
	}
	return fmt.Sprintf("%d %s would fit %s. The products listed are the nearest alternatives and do not meet that.", n, products, but)
}

// sortNearest puts those that miss a price bound by the least first.
func sortNearest(hits []index.Hit, dropped []string) {
	switch {
	case slices.Contains(dropped, "max_price"):
		index.SortBy(hits, catalogv1.Sort_SORT_PRICE_ASCENDING)
	case slices.Contains(dropped, "min_price"):
		index.SortBy(hits, catalogv1.Sort_SORT_PRICE_DESCENDING)
	}
}

// nothingMatches says which of the words some product has, and what the store sells.
func nothingMatches(ctx context.Context, v *index.View, f index.Result) (outcome, error) {
	if v.Statistics.Products == 0 {
		return outcome{note: "The catalog is empty.", absent: true}, nil
	}
	known, err := f.Known(ctx)
	if err != nil {
		return outcome{}, err
	}
	names := slices.Sorted(maps.Keys(v.Statistics.TopCategories))
	note := "Nothing in the catalog matches " + quote([]string{f.Query.Phrase()})
	if len(known) > 0 {
		note += "; some products match only " + quote(known)
	}
	note += ". The store sells: " + strings.Join(names[:min(12, len(names))], ", ") + "."
	return outcome{note: note, absent: len(known) == 0}, nil
}

// soldOutNote names what fits but is sold out.
func soldOutNote(hits []index.Hit, f *catalogv1.Filter) string {
	var titles []string
	for _, h := range hits[:min(maxNearest, len(hits))] {
		titles = append(titles, h.Product.GetTitle())
	}
	in := ""
	for _, name := range slices.Sorted(maps.Keys(f.GetOptions())) {
		in += " in " + name + " " + f.GetOptions()[name]
	}
	return fmt.Sprintf("Sold out%s: %s.", in, strings.Join(titles, ", "))
}

// subject begins a sentence about what was looked for.
func subject(f index.Result) string {
	if f.Category != "" && saysOnly(f.Query, f.Category) {
		return "No " + strings.ToLower(f.Category)
	}
	if len(f.Query.Terms) == 0 {
		return "No product"
	}
	return "Nothing for " + quote([]string{f.Query.Phrase()})
}

// saysOnly reports whether the query asks for nothing beyond the category.
func saysOnly(q index.Query, category string) bool {
	names := strings.Fields(index.CategoryKey(category))
	for i, t := range q.Terms {
		if i != q.Head && !slices.Contains(q.Optional, i) && !slices.Contains(names, index.CategoryKey(t.Text)) {
			return false
		}
	}
	return true
}

// describe says what was dropped, and for the first of it what there is instead.
func (p plan) describe(dropped []string, hits []index.Hit) string {
	text := p.phrases(dropped)
	if len(hits) == 0 {
		return text
	}
	low, high := index.Prices(hits)
	kind, name, _ := strings.Cut(dropped[0], ".")
	switch kind {
	case "options":
		if values := optionValues(hits, name); values != "" {
			text += fmt.Sprintf("; %ss in stock are %s", name, values)
		}
	case "max_price":
		text += "; the lowest price is " + money.Text(low)
	case "min_price":
		text += "; the highest price is " + money.Text(high)
	case "brands":
		text += "; there are some by " + facetNames(hits, "brand")
	case "categories":
		text += "; there are some in " + facetNames(hits, "category")
	}
	return text
}

// phrases puts conditions into words.
func (p plan) phrases(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = p.phrase(n)
	}
	return strings.Join(out, " and ")
}

func (p plan) phrase(condition string) string {
	kind, name, _ := strings.Cut(condition, ".")
	switch kind {
	case "options":
		return "in " + name + " " + p.filter.GetOptions()[name]
	case "attributes":
		if value := p.filter.GetAttributes()[name]; !index.TruthWords[catalog.NameKey(value)] {
			return "with " + name + " " + value
		}
		return "known to be " + name
	case "attribute_ranges":
		return "within the bounds of " + name
	case "max_price":
		return "at or below " + money.Text(p.filter.GetMaxPrice())
	case "min_price":
		return "at or above " + money.Text(p.filter.GetMinPrice())
	case "brands":
		return "by " + strings.Join(p.filter.GetBrands(), " or ")
	case "categories":
		return "in the category " + strings.Join(p.filter.GetCategories(), " or ")
	}
	return "in stock"
}

// maxNamed bounds the values that a sentence lists.
const maxNamed = 8

// optionValues says which values of an option the hits have: "38 to 47", or a list.
func optionValues(hits []index.Hit, name string) string {
	values := make(map[string]bool)
	for _, h := range hits {
		for _, v := range h.Variants {
			for n, value := range v.GetOptions() {
				if catalog.NameKey(n) == name {
					values[value] = true
				}
			}
		}
	}
	sorted := slices.SortedFunc(maps.Keys(values), productview.Naturally)
	if len(sorted) > 2 && number(sorted[0]) && number(sorted[len(sorted)-1]) {
		return sorted[0] + " to " + sorted[len(sorted)-1]
	}
	return strings.Join(sorted[:min(maxNamed, len(sorted))], ", ")
}

// facetNames lists the most frequent values of a facet.
func facetNames(hits []index.Hit, name string) string {
	var out []string
	for _, f := range index.Facets(hits) {
		if f.GetName() == name && len(out) < maxNamed {
			out = append(out, f.GetValue())
		}
	}
	return strings.Join(out, ", ")
}

func number(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func quote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, ", ")
}
