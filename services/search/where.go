package search

import (
	"slices"
	"strconv"
	"strings"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/weaviate"
)

// Conditions of filters, as far as rows can tell. What they let through is looked at again, product by product: rows do not say
// which variant has what.

func whereKeys(key func(string) string, names map[string]bool) func() weaviate.Where {
	return func() weaviate.Where {
		var all []string
		for name := range names {
			all = append(all, key(name))
		}
		slices.Sort(all)
		return weaviate.HasAny(rowKeys, all...)
	}
}

// whereCategories knows categories as products of each language name them.
func whereCategories(names []string) func() weaviate.Where {
	return func() weaviate.Where {
		all := make(map[string]bool)
		for _, l := range languages {
			for _, name := range names {
				all[l.categoryKey(name)] = true
			}
		}
		return weaviate.HasAny(rowKeys, sorted(all)...)
	}
}

func wherePrice(compare func(string, float64) weaviate.Where, property string, bound *commonv1.Money) func() weaviate.Where {
	return func() weaviate.Where {
		return weaviate.All(
			weaviate.HasAny(rowKeys, currencyKey(bound.GetCurrencyCode())), compare(property, float64(bound.GetAmountMinor())),
		)
	}
}

func whereOption(name, value string) func() weaviate.Where {
	name = fold(name)
	value = foldValue(name, value)
	if name == "colour" {
		value = firstRun(value)
	}
	return func() weaviate.Where { return weaviate.HasAny(rowKeys, optionKey(name, value)) }
}

// whereAttribute knows nothing of facts that must not hold: they need not be recorded.
func whereAttribute(name, value string) func() weaviate.Where {
	name, value = fold(name), fold(value)
	if truth, ok := truths[value]; ok && !truth {
		return nil
	}
	return func() weaviate.Where {
		all := []string{attributeKey(name, firstRun(value)), tagKey(value)}
		if truths[value] {
			all = append(all, attributeKey(name, "true"), tagKey(name))
		}
		number, _, _ := strings.Cut(value, " ")
		if n, err := strconv.ParseFloat(number, 64); err == nil {
			all = append(all, attributeKey(name, numberText(n)))
		}
		if name == "gender" {
			all = append(all, attributeKey(name, "unisex"))
		}
		return weaviate.HasAny(rowKeys, all...)
	}
}

// where is what all rows have that the filter admits.
func (f filter) where() weaviate.Where {
	var all []weaviate.Where
	for _, c := range f {
		if c.where != nil {
			all = append(all, c.where())
		}
	}
	return weaviate.All(all...)
}

// termWheres are the conditions of the terms of a query, as tokens of rows.
type termWheres struct {
	has, strong []weaviate.Where
	// rough are the terms whose conditions hold for rows, too, that lack them.
	rough TermSet
}

// newTermWheres makes conditions of forms. Rows tell the phrases that all stores have; of those of one store, which may change at
// any time, they only tell the words.
func newTermWheres(forms [][]form, told phrases) termWheres {
	var out termWheres
	for i, fs := range forms {
		var all, strong []string // tokens
		var apart, strongApart []weaviate.Where
		for _, f := range fs {
			if len(f.stems) > 1 && !told.has(f.stems) {
				apart, strongApart = append(apart, hasAll(rowWords, f.stems)), append(strongApart, hasAll(rowStrong, f.stems))
				out.rough = out.rough.Add(i)
				continue
			}
			token := f.token()
			strong = append(strong, token)
			if !f.strong {
				all = append(all, token)
			}
		}
		isStrong := weaviate.Any(append(strongApart, weaviate.HasAny(rowStrong, strong...))...)
		out.strong = append(out.strong, isStrong)
		has := append(apart, weaviate.HasAny(rowWords, all...))
		if len(all) < len(strong) {
			has = append(has, isStrong)
		}
		out.has = append(out.has, weaviate.Any(has...))
	}
	return out
}

func hasAll(property string, tokens []string) weaviate.Where {
	var all []weaviate.Where
	for _, token := range tokens {
		all = append(all, weaviate.HasAny(property, token))
	}
	return weaviate.All(all...)
}

func (f form) token() string {
	switch {
	case f.joined:
		return joinedToken(f.stems[0])
	case len(f.stems) == 1:
		return f.stems[0]
	}
	return phraseToken(f.stems)
}

// maxWays bounds the clauses that say "so many of these".
const maxWays = 64

// need is what all rows have that meet a need. It is exact when no others have.
func (t termWheres) need(q query, n need) (w weaviate.Where, exact bool) {
	var all []weaviate.Where
	for i := range t.has {
		switch {
		case n.strong.Has(i):
			all = append(all, t.strong[i])
		case n.terms.Has(i):
			all = append(all, t.has[i])
		}
	}
	if n.anyStrong {
		all = append(all, weaviate.Any(t.strong...))
	}
	if n.within != nil {
		all = append(all, whereKeys(categoryKey, n.within)())
	}
	if n.ids != nil {
		all = append(all, weaviate.HasAny(rowProduct, n.ids...))
	}
	if n.kin != nil {
		all = append(all, t.kin(n.kin))
	}
	ways, exact := t.atLeast(q, n)
	return weaviate.All(append(all, ways)...), exact && !n.measured && !t.guesses(n)
}

// guesses reports whether a term is part of the need whose conditions are rough.
func (t termWheres) guesses(n need) bool {
	return t.rough != 0 && (n.anyStrong || n.atLeast > 0 || t.rough&(n.terms|n.strong) != 0)
}

// atLeast says that a row has so many of the words that must be met. Where that takes too many clauses it says less: of any group
// of words that is one larger than what may be missing, a row has one.
func (t termWheres) atLeast(q query, n need) (w weaviate.Where, exact bool) {
	var open []weaviate.Where
	k := n.atLeast
	for i := range t.has {
		switch {
		case slices.Contains(q.loose, i):
		case n.strong.Has(i) || n.terms.Has(i):
			k--
		default:
			open = append(open, t.has[i])
		}
	}
	if k <= 0 {
		return weaviate.Where{}, true
	}
	if ways(len(open), k) <= maxWays {
		return some(open, k), true
	}
	group := len(open) - k + 1
	var all []weaviate.Where
	for i := range open {
		all = append(all, weaviate.Any(append(slices.Clone(open[i:min(i+group, len(open))]), open[:max(0, i+group-len(open))]...)...))
	}
	return weaviate.All(all...), false
}

// ways is how many choices there are of k out of n.
func ways(n, k int) int {
	out := 1
	for i := range k {
		out = out * (n - i) / (i + 1)
	}
	return out
}

// some says that k of the conditions hold: the first and k-1 of the others, or k of the others.
func some(ws []weaviate.Where, k int) weaviate.Where {
	switch {
	case k == 0:
		return weaviate.Where{}
	case len(ws) == k:
		return weaviate.All(ws...)
	case k == 1:
		return weaviate.Any(ws...)
	case len(ws) < k:
		return weaviate.HasAny(rowWords)
	}
	return weaviate.Any(weaviate.All(ws[0], some(ws[1:], k-1)), some(ws[1:], k))
}

// kin says that a row shares a tag or the narrowest category with one of the products, or has all the words.
func (t termWheres) kin(of []*entry) weaviate.Where {
	all := make(map[string]bool)
	for _, e := range of {
		all[narrowestKey(e.narrowest())] = true
		for tag := range e.tags {
			all[tagKey(tag)] = true
		}
	}
	shared := weaviate.HasAny(rowKeys, sorted(all)...)
	if len(t.has) == 0 {
		return shared
	}
	return weaviate.Any(shared, weaviate.All(t.has...))
}
