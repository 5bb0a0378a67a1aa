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
	has, strong []weaviate.Where
	// rough are the terms whose conditions hold for objects, too, that lack them.
	rough index.TermSet
}

// newTermConditions makes conditions of expansions. Rows tell the phrases that all stores have; of those of one store, which may change at
// any time, they only tell the words.
func newTermConditions(expansions [][]index.Expansion, told phraseTable) termConditions {
	var out termConditions
	for i, fs := range expansions {
		var all, strong []string // tokens
		var apart, strongApart []weaviate.Where
		for _, f := range fs {
			if len(f.Stems) > 1 && !told.has(f.Stems) {
				apart, strongApart = append(apart, hasAll(propWords, f.Stems)), append(strongApart, hasAll(propStrong, f.Stems))
				out.rough = out.rough.Add(i)
				continue
			}
			token := tokenOf(f)
			strong = append(strong, token)
			if !f.Strong {
				all = append(all, token)
			}
		}
		isStrong := weaviate.Any(append(strongApart, weaviate.HasAny(propStrong, strong...))...)
		out.strong = append(out.strong, isStrong)
		has := append(apart, weaviate.HasAny(propWords, all...))
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

func tokenOf(f index.Expansion) string {
	switch {
	case f.Joined:
		return joinedToken(f.Stems[0])
	case len(f.Stems) == 1:
		return f.Stems[0]
	}
	return phraseToken(f.Stems)
}

// maxWays bounds the clauses that say "so many of these".
const maxWays = 64

// constraint is a condition that every object of a product meets which meets the constraint. exact is true when no other
// object meets it.
func (t termConditions) constraint(q index.Query, n index.Constraint) (w weaviate.Where, exact bool) {
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
	if n.ProductIDs != nil {
		all = append(all, weaviate.HasAny(propProduct, n.ProductIDs...))
	}
	if n.SimilarTo != nil {
		all = append(all, t.similarTo(n.SimilarTo))
	}
	ways, exact := t.atLeast(q, n)
	return weaviate.All(append(all, ways)...), exact && !n.Measures && !t.inexact(n)
}

// inexact reports whether the constraint has a term whose condition is only approximate.
func (t termConditions) inexact(n index.Constraint) bool {
	return t.rough != 0 && (n.AnyStrong || n.MinTerms > 0 || t.rough&(n.Terms|n.Strong) != 0)
}

// atLeast is the condition that an object has so many of the required terms. Where that takes too many clauses, it asks for
// less: one of every group of terms that is one larger than the number that may be missing.
func (t termConditions) atLeast(q index.Query, n index.Constraint) (w weaviate.Where, exact bool) {
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
		return weaviate.Where{}, true
	}
	if choices(len(open), k) <= maxWays {
		return atLeastOf(open, k), true
	}
	group := len(open) - k + 1
	var all []weaviate.Where
	for i := range open {
		all = append(all, weaviate.Any(append(slices.Clone(open[i:min(i+group, len(open))]), open[:max(0, i+group-len(open))]...)...))
	}
	return weaviate.All(all...), false
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
		return weaviate.HasAny(propWords)
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

// phraseTable are the synonyms of several words that the service knows by itself, in the stems of every language. Rows in a cluster
// tell which of them a field has.
type phraseTable struct {
	known map[string]bool
	first map[string][][]string // by their first stems
}

func newPhraseTable() phraseTable {
	out := phraseTable{known: make(map[string]bool), first: make(map[string][][]string)}
	for _, x := range index.NewVocabulary(nil).Lexicons {
		for _, alternatives := range []map[string][]string{x.Synonyms, x.Implied} {
			for _, meaningTheSame := range alternatives {
				for _, phrase := range meaningTheSame {
					out.add(catalog.Words(phrase))
				}
			}
		}
	}
	return out
}

func (p phraseTable) add(ws []string) {
	if len(ws) < 2 {
		return
	}
	for _, stems := range (index.Term{Languages: index.Languages}).Phrases(ws) {
		if !p.has(stems) {
			p.known[phraseToken(stems)] = true
			p.first[stems[0]] = append(p.first[stems[0]], stems)
		}
	}
}

// has reports whether a phrase is one of them.
func (p phraseTable) has(stems []string) bool { return p.known[phraseToken(stems)] }

// in returns those of which a field has all the words.
func (p phraseTable) in(field []string) [][]string {
	there := make(map[string]bool, len(field))
	for _, s := range field {
		there[s] = true
	}
	var out [][]string
	for s := range there {
		for _, stems := range p.first[s] {
			if !slices.ContainsFunc(stems, func(s string) bool { return !there[s] }) {
				out = append(out, stems)
			}
		}
	}
	return out
}
