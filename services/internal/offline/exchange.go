package offline

import (
	"slices"
	"strings"
)

// moneyWord is a currency that a text names.
type moneyWord struct {
	code string // ISO 4217
	sum  bool   // it stands beside a number
	asks bool   // it is what a sum is wanted in: "in dollars", "how many euros"
}

var (
	// intoWords stand before the currency that money is to be changed to.
	intoWords   = set("in into to as many en a nach viele cuantos combien de")
	sourceNames = set("from source base origin")
	targetNames = set("to into target")
	sumNames    = set("amount sum price cost fare")
)

// moneyWords returns the currencies that t names, in order.
func moneyWords(t text) []moneyWord {
	var out []moneyWord
	sums := money(t)
	for i, w := range t.words {
		code := currencyOf(t, i)
		if code == "" {
			continue
		}
		m := moneyWord{code: code, sum: covered(sums, w)}
		m.asks = !m.sum && i > 0 && intoWords[t.words[i-1].norm]
		out = append(out, m)
	}
	return out
}

// exchanges reports whether t names a sum and another currency, and so needs nothing that was said before.
func exchanges(t text) bool {
	ms := moneyWords(t)
	at := slices.IndexFunc(ms, func(m moneyWord) bool { return m.sum })
	return at >= 0 && slices.ContainsFunc(ms, func(m moneyWord) bool { return m.code != ms[at].code })
}

// asksCurrency reports whether t wants a sum in a currency.
func asksCurrency(t text) bool {
	return slices.ContainsFunc(moneyWords(t), func(m moneyWord) bool { return m.asks })
}

// currency fills a currency: the one that a sum is in, the one that it is wanted in, or the first that is named.
func (f *filler) currency(p property) string {
	var sums, others []string
	for _, m := range moneyWords(f.ask) {
		if m.sum {
			sums = append(sums, m.code)
		} else {
			others = append(others, m.code)
		}
	}
	ws := nameWords(p.name)
	is := func(names map[string]bool) bool {
		return slices.ContainsFunc(ws, func(w string) bool { return names[w] })
	}
	switch all := append(slices.Clone(sums), others...); {
	case is(targetNames) && len(others) > 0:
		return others[len(others)-1]
	case is(targetNames) && len(sums) > 1:
		return sums[len(sums)-1]
	case is(targetNames):
		return ""
	case is(sourceNames) && len(sums) == 0 && len(others) < 2:
		if _, code := f.price(); code != "" {
			f.fromResults = true
			return code
		}
		return ""
	case len(all) > 0:
		return all[0]
	}
	return ""
}

// sum is the amount of money that the question names; when it names no number at all, that of the results.
func (f *filler) sum(free []counted) (float64, bool) {
	for _, n := range free {
		if covered(money(f.ask), word{start: n.start, end: n.end}) {
			f.take(n.span)
			return n.value, true
		}
	}
	if slices.ContainsFunc(free, func(n counted) bool { return !strings.EqualFold(f.ask.raw[n.start:n.end], "one") }) {
		return 0, false // "the first one" names no number
	}
	v, code := f.price()
	f.fromResults = f.fromResults || code != ""
	return v, code != ""
}

// price is what the item of the results costs that the question points at, "" without a currency when there is none.
func (f *filler) price() (v float64, code string) {
	if f.found == nil {
		return 0, ""
	}
	for _, r := range slices.Backward(f.found.results) {
		latest := findings{results: []result{r}}
		for _, name := range priceNames {
			text, item := latest.best(name, f.ask)
			if dir := direction(f.ask); dir != "" && item != nil {
				var all []object
				for _, c := range latest.named(name) {
					all = append(all, c.item)
				}
				item = all[extreme(all, dir)]
				text = scalarField(item, name)
			}
			if codes := currencies(read(text)); len(codes) > 0 && amount(text) > 0 {
				f.chosen = item
				return amount(text), codes[0]
			}
		}
	}
	return 0, ""
}
