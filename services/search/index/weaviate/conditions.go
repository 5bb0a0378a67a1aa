package weaviate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// filterCondition is a condition that every object of a product meets which the filter admits. It lets others through, since
// objects do not say which variant has what. The products are filtered afterwards.
func filterCondition(of index.Filter) weaviate.Where {
	f := of.Message
	var all []weaviate.Where
	if len(f.GetCategories()) > 0 { // as products of each language name them
		names := make(map[string]bool)
		for _, l := range index.Languages {
			for _, name := range f.GetCategories() {
				names[categoryKeyIn(l, name)] = true
			}
		}
		all = append(all, weaviate.HasAny(propKeys, sorted(names)...))
	}
	if len(f.GetBrands()) > 0 {
		all = append(all, keysCondition(brandKey, index.KeySet(f.GetBrands(), catalog.NameKey)))
	}
	if low := f.GetMinPrice(); low != nil {
		all = append(all, weaviate.HasAny(propKeys, currencyKey(low.GetCurrencyCode())), weaviate.AtLeast(propHigh, float64(low.GetAmountMinor())))
	}
	if high := f.GetMaxPrice(); high != nil {
		all = append(all, weaviate.HasAny(propKeys, currencyKey(high.GetCurrencyCode())), weaviate.AtMost(propLow, float64(high.GetAmountMinor())))
	}
	for _, name := range slices.Sorted(maps.Keys(f.GetOptions())) {
		all = append(all, optionCondition(catalog.NameKey(name), f.GetOptions()[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(f.GetAttributes())) {
		all = append(all, attributeCondition(catalog.NameKey(name), catalog.NameKey(f.GetAttributes()[name])))
	}
	if f.GetInStock() {
		all = append(all, weaviate.Is(propStock, true))
	}
	return weaviate.All(all...)
}

func keysCondition(key func(string) string, names map[string]bool) weaviate.Where {
	var all []string
	for name := range names {
		all = append(all, key(name))
	}
	slices.Sort(all)
	return weaviate.HasAny(propKeys, all...)
}

func optionCondition(name, value string) weaviate.Where {
	value = catalog.OptionKey(name, value)
	if name == "colour" {
		value = firstRun(value)
	}
	return weaviate.HasAny(propKeys, optionKey(name, value))
}

// attributeCondition is empty for attributes that must not hold: they need not be recorded.
func attributeCondition(name, value string) weaviate.Where {
	if truth, ok := index.TruthWords[value]; ok && !truth {
		return weaviate.Where{}
	}
	all := []string{attributeKey(name, firstRun(value)), tagKey(value)}
	if index.TruthWords[value] {
		all = append(all, attributeKey(name, "true"), tagKey(name))
	}
	number, _, _ := strings.Cut(value, " ")
	if n, err := strconv.ParseFloat(number, 64); err == nil {
		all = append(all, attributeKey(name, numberText(n)))
	}
	if name == "gender" {
		all = append(all, attributeKey(name, "unisex"))
	}
	return weaviate.HasAny(propKeys, all...)
}

// termConditions are the conditions of the terms of a query, as tokens of objects.
type termConditions struct {
	// has and strong hold for all objects that have the term. For a phrase, they hold for objects, too, that have its words apart.
	has, strong []weaviate.Where
	// words are the tokens of each, for the cluster to rank by.
	words [][]string
}

// newTermConditions makes conditions of expansions, for objects whose other tokens than the strong ones are in the property weak. Without
// phrases, no object meets them that lacks the term.
func newTermConditions(expansions [][]index.Expansion, weak string, phrases bool) termConditions {
	var out termConditions
	for _, fs := range expansions {
		var words, all, strong []string // tokens
		var apart, strongApart []weaviate.Where
		for _, f := range fs {
			words = append(words, f.Stems...)
			switch {
			case len(f.Stems) > 1 && !phrases:
			case len(f.Stems) > 1:
				apart, strongApart = append(apart, hasAll(f.Stems, propStrong, weak)), append(strongApart, hasAll(f.Stems, propStrong))
			case f.Joined:
				joined := joinedToken(f.Stems[0])
				strong, words = append(strong, joined), append(words, joined)
			case f.Strong:
				strong = append(strong, f.Stems[0])
			default:
				strong, all = append(strong, f.Stems[0]), append(all, f.Stems[0])
			}
		}
		isStrong := weaviate.Any(append(strongApart, weaviate.HasAny(propStrong, strong...))...)
		out.words, out.strong = append(out.words, words), append(out.strong, isStrong)
		out.has = append(out.has, weaviate.Any(append(apart, isStrong, weaviate.HasAny(weak, all...))...))
	}
	return out
}

// hasAll holds for objects that have each token in one of the properties.
func hasAll(tokens []string, properties ...string) weaviate.Where {
	var all []weaviate.Where
	for _, token := range tokens {
		var any []weaviate.Where
		for _, p := range properties {
			any = append(any, weaviate.HasAny(p, token))
		}
		all = append(all, weaviate.Any(any...))
	}
	return weaviate.All(all...)
}

// maxWays bounds the clauses that say "so many of these".
const maxWays = 64

// constraint is a condition that every object of a product meets which meets the constraint.
func (t termConditions) constraint(q index.Query, n index.Constraint) weaviate.Where {
	var all []weaviate.Where
	for i := range t.has {
		switch {
		case n.Strong.Has(i):
			all = append(all, t.strong[i])
		case n.Terms.Has(i):
			all = append(all, t.has[i])
		}
	}
	if n.AnyStrong {
		all = append(all, weaviate.Any(t.strong...))
	}
	if n.Categories != nil {
		all = append(all, keysCondition(categoryKey, n.Categories))
	}
	if n.SimilarTo != nil {
		all = append(all, t.similarTo(n.SimilarTo))
	}
	return weaviate.All(append(all, t.atLeast(q, n))...)
}

// atLeast is the condition that an object has so many of the required terms. Where that takes too many clauses, it asks for
// less: one of every group of terms that is one larger than the number that may be missing.
func (t termConditions) atLeast(q index.Query, n index.Constraint) weaviate.Where {
	var open []weaviate.Where
	k := n.MinTerms
	for i := range t.has {
		switch {
		case slices.Contains(q.Optional, i):
		case n.Strong.Has(i) || n.Terms.Has(i):
			k--
		default:
			open = append(open, t.has[i])
		}
	}
	if k <= 0 {
		return weaviate.Where{}
	}
	if choices(len(open), k) <= maxWays {
		return atLeastOf(open, k)
	}
	group := len(open) - k + 1
	var all []weaviate.Where
	for i := range open {
		all = append(all, weaviate.Any(append(slices.Clone(open[i:min(i+group, len(open))]), open[:max(0, i+group-len(open))]...)...))
	}
	return weaviate.All(all...)
}

// choices is how many choices there are of k out of n.
func choices(n, k int) int {
	out := 1
	for i := range k {
		out = out * (n - i) / (i + 1)
	}
	return out
}

// atLeastOf says that k of the conditions hold: the first and k-1 of the others, or k of the others.
func atLeastOf(ws []weaviate.Where, k int) weaviate.Where {
	switch {
	case k == 0:
		return weaviate.Where{}
	case len(ws) == k:
		return weaviate.All(ws...)
	case k == 1:
		return weaviate.Any(ws...)
	case len(ws) < k:
		return weaviate.HasAny(propStrong)
	}
	return weaviate.Any(weaviate.All(ws[0], atLeastOf(ws[1:], k-1)), atLeastOf(ws[1:], k))
}

// similarTo says that a object shares a tag or the narrowest category with one of the products, or has all the words.
func (t termConditions) similarTo(of []*index.Entry) weaviate.Where {
	all := make(map[string]bool)
	for _, e := range of {
		all[narrowestKey(e.Category())] = true
		for tag := range e.Tags {
			all[tagKey(tag)] = true
		}
	}
	shared := weaviate.HasAny(propKeys, sorted(all)...)
	if len(t.has) == 0 {
		return shared
	}
	return weaviate.Any(shared, weaviate.All(t.has...))
}
