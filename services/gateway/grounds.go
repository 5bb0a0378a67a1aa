package gateway

import (
	"slices"
	"strconv"
	"strings"
)

// grounds are what a merged text may rest on: the facts of the answers, and what the shopper wrote where it only quotes
// that.
type grounds struct {
	base     string // the language's, for what does not show its own
	keys     map[string]bool
	counts   map[string]bool // how many products, items and prices an answer has, which a text may say of itself
	units    map[string]bool // what the answers give numbers of
	shoppers []fact
}

// newGrounds returns the grounds of a turn's merge.
func newGrounds(t *turn, branches []*branch) *grounds {
	g := &grounds{base: t.language(), keys: map[string]bool{}, counts: map[string]bool{}, units: map[string]bool{}}
	for _, b := range branches {
		g.shoppers = append(g.shoppers, g.read(b.assignment.GetSubQuery())...)
		if b.err != nil {
			continue
		}
		g.learn(b.answer.GetText())
		g.count(len(b.answer.GetProducts()))
	}
	g.shoppers = append(g.shoppers, g.read(t.message)...)
	if code := t.store.GetCurrencyCode(); code != "" {
		g.keys[moneyKey(code)], g.keys[moneyKey(signOf[code])] = true, true
	}
	return g
}

// read returns the facts of a text.
func (g *grounds) read(text string) []fact {
	facts, _ := factsOf(text, g.languageOf(text))
	return facts
}

// languageOf is the language to read the numbers of a text in.
func (g *grounds) languageOf(text string) string {
	if base := languageOf(text); base != "" {
		return base
	}
	return g.base
}

// learn takes in an answer.
func (g *grounds) learn(text string) {
	facts, words := factsOf(text, g.languageOf(text))
	addAll(g.keys, facts, words)
	items, prices := 0, 0
	for _, f := range facts {
		if f.unit != "" {
			g.units[f.unit] = true
		}
		if f.unit == unitMoney && f.readings[0][0][0] == 'n' {
			prices++
		}
	}
	for line := range strings.Lines(text) {
		if isItem(line) {
			items++
		}
	}
	g.count(items)
	g.count(prices)
}

// count lets a text name a number of things.
func (g *grounds) count(n int) {
	if n > 1 {
		g.counts[numberKey(strconv.Itoa(n))] = true
	}
}

// hold reports whether all facts of a text rest on something.
func (g *grounds) hold(text string) bool {
	for _, f := range g.read(text) {
		if !f.in(g.keys) && !(f.plain && f.in(g.counts)) && !g.quoted(f) {
			return false
		}
	}
	return true
}

// quoted reports whether a fact only repeats what the shopper wrote: a code or an address; or a number that stands as it
// does there, of something that the answers give no number of. What they say of days, prices or dates is not up to the
// shopper.
func (g *grounds) quoted(f fact) bool {
	for _, said := range g.shoppers {
		keys := map[string]bool{}
		if said.addTo(keys); !f.in(keys) {
			continue
		}
		near := f.left != "" && f.left == said.left || f.unit != "" && f.unit == said.unit
		if f.name || near && !g.units[f.unit] {
			return true
		}
	}
	return false
}

// in reports whether one of the readings is among the keys.
func (f fact) in(keys map[string]bool) bool {
	return slices.ContainsFunc(f.readings, func(r []string) bool { return allIn(r, keys) }) ||
		len(f.apart) > 0 && allIn(f.apart, keys)
}

func allIn(reading []string, keys map[string]bool) bool {
	return !slices.ContainsFunc(reading, func(key string) bool { return !keys[key] })
}

// addTo adds all that the fact may say to a set.
func (f fact) addTo(keys map[string]bool) {
	for _, reading := range f.readings {
		for _, key := range reading {
			keys[key] = true
		}
	}
	for _, key := range f.also {
		keys[key] = true
	}
}

// addAll adds all that a text says to a set of keys.
func addAll(keys map[string]bool, facts []fact, words []string) {
	for _, w := range words {
		keys[w] = true
	}
	for _, f := range facts {
		f.addTo(keys)
	}
}
