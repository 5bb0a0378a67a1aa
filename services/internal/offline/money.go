package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	numberRE   = `(\d+(?:[.,]\d{1,2})?)`
	currencyRE = `(€|\$|£|eur\b|euros?\b|usd\b|dollars?\b|bucks\b|gbp\b|pounds?\b|yen\b|jpy\b|¥|chf\b|francs?\b|quid\b)`
)

// A price phrase gives a bound when a currency stands beside the number, or when the cue alone is clear enough.
var (
	mostRE  = regexp.MustCompile(`(?:^|[^\p{L}])(under|below|less than|cheaper than|not more than|no more than|at most|not over|up to|max\.?|maximum(?: of)?|within|budget(?: of| is|:)?|spend(?: up to| at most| about| around)?|menos de|por debajo de|hasta|máximo|maximo|como mucho|por|presupuesto de|unter|weniger als|bis zu|bis|maximal|höchstens|hoechstens|moins de|jusqu['’]à|au maximum|pas plus de|for|für|pour)\s+(?:de\s+)?` + currencyRE + `?\s*` + numberRE + `\s*` + currencyRE + `?`)
	leastRE = regexp.MustCompile(`(?:^|[^\p{L}])(over|above|more than|at least|starting at|from|minimum|not under|más de|mas de|desde|mínimo|minimo|über|ueber|mehr als|ab|mindestens|plus de|à partir de|au moins)\s+` + currencyRE + `?\s*` + numberRE + `\s*` + currencyRE + `?`)
	rangeRE = regexp.MustCompile(`(?:between|from|entre|zwischen|von|de)?\s*` + currencyRE + `?\s*` + numberRE + `\s*` + currencyRE + `?\s*(?:and|to|-|–|y|und|bis|et|à|a)\s*` + currencyRE + `?\s*` + numberRE + `\s*` + currencyRE + `?`)
	orLess  = regexp.MustCompile(currencyRE + `?\s*` + numberRE + `\s*` + currencyRE + `?\s*(?:or less|or under|or below|max\b|maximum|tops|at most|to spend|budget|o menos|como máximo|oder weniger|ou moins|maximum)`)
	less    = regexp.MustCompile(`^<\s*` + currencyRE + `?\s*` + numberRE)
)

// clearCues bound a price even without a currency; the others only with one.
var clearCues = set("under below less cheaper not no up max max. maximum budget spend menos por_debajo hasta maximo unter weniger bis maximal hochstens moins jusqu over above more mas uber mehr plus")

// priceBounds finds "under 120" and its like, in major units of money, and where they stand.
func priceBounds(t text) (low, high *float64, where []span) {
	lower := t.lower
	for _, m := range rangeRE.FindAllStringSubmatchIndex(lower, -1) {
		named := strings.HasPrefix(strings.TrimSpace(lower[m[0]:m[1]]), "between") || strings.HasPrefix(strings.TrimSpace(lower[m[0]:m[1]]), "entre") || strings.HasPrefix(strings.TrimSpace(lower[m[0]:m[1]]), "zwischen")
		money := m[2] >= 0 || m[6] >= 0 || m[8] >= 0 || m[12] >= 0
		if (named || money) && !measured(lower, m[1]) {
			return number(lower[m[4]:m[5]]), number(lower[m[10]:m[11]]), []span{{m[0], m[1]}}
		}
	}
	if v, s := bound(mostRE, lower); v != nil {
		high, where = v, append(where, s)
	} else if m := orLess.FindStringSubmatchIndex(lower); m != nil && (m[2] >= 0 || m[6] >= 0 || strings.HasSuffix(lower[m[0]:m[1]], "budget")) {
		high, where = number(lower[m[4]:m[5]]), append(where, span{m[0], m[1]})
	} else if m := less.FindStringSubmatchIndex(lower); m != nil {
		high, where = number(lower[m[4]:m[5]]), append(where, span{m[0], m[1]})
	}
	if v, s := bound(leastRE, lower); v != nil {
		low, where = v, append(where, s)
	}
	return low, high, where
}

func bound(re *regexp.Regexp, lower string) (*float64, span) {
	for _, m := range re.FindAllStringSubmatchIndex(lower, -1) {
		money := m[4] >= 0 || m[8] >= 0
		cue, _, _ := strings.Cut(fold(lower[m[2]:m[3]]), " ")
		cue, _, _ = strings.Cut(cue, "'")
		if (money || clearCues[cue]) && !measured(lower, m[1]) {
			return number(lower[m[6]:m[7]]), span{m[2], m[1]}
		}
	}
	return nil, span{}
}

// notMoney are words after a number that measure something else.
var notMoney = set(`kg g gram grams gr kilo kilos lb lbs oz l litre litres liter liters litros liter ml cm m mm km mile miles metre metres meter inch inches cl
	day days week weeks month months year years hour hours minute minutes min night nights person persons people adults adult guests guest degrees degree c celsius watt w
	dias dia semanas meses anos horas personas tage tag wochen monate jahre stunden personen jours semaines mois ans heures personnes stars star items item pieces percent
	th st nd rd pm am oclock km/h mah gb pages copies`)

// measured reports whether the text after a number names a unit other than money, or goes on with the number.
func measured(lower string, at int) bool {
	rest := lower[at:]
	if rest == "" {
		return false
	}
	if rest[0] == '%' || rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9' {
		return true
	}
	if strings.HasPrefix(rest, "°") {
		return true
	}
	ws := split(rest[:min(len(rest), 24)])
	return len(ws) > 0 && ws[0].start <= 1 && notMoney[ws[0].norm]
}

func number(s string) *float64 {
	v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	if err != nil {
		return nil
	}
	return &v
}

// looseMoneyRE finds any amount of money.
var looseMoneyRE = regexp.MustCompile(currencyRE + `\s*` + numberRE + `|` + numberRE + `\s*` + currencyRE)

// money finds every amount with a currency.
func money(t text) []span {
	var out []span
	for _, m := range looseMoneyRE.FindAllStringIndex(t.lower, -1) {
		out = append(out, span{m[0], m[1]})
	}
	return out
}

var currencyCodes = map[string]string{"€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR", "$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "bucks": "USD",
	"£": "GBP", "gbp": "GBP", "pound": "GBP", "pounds": "GBP", "quid": "GBP", "yen": "JPY", "jpy": "JPY", "¥": "JPY", "chf": "CHF", "franc": "CHF", "francs": "CHF"}

var isoCodeRE = regexp.MustCompile(`^[A-Z]{3}$`)

// currencies returns the ISO 4217 codes that t names, in order.
func currencies(t text) []string {
	var out []string
	for i := range t.words {
		if code := currencyOf(t, i); code != "" {
			out = append(out, code)
		}
	}
	return out
}

// currencyOf returns the code of the currency that the word at i is, or that a sign beside it stands for; "" for none.
func currencyOf(t text, i int) string {
	w := t.words[i]
	if code := currencyCodes[w.norm]; code != "" {
		return code
	}
	if i > 0 && len(w.raw) == 3 && isoCodeRE.MatchString(w.raw) {
		return w.raw
	}
	before, _ := utf8.DecodeLastRuneInString(t.raw[:w.start])
	after, _ := utf8.DecodeRuneInString(t.raw[w.end:])
	return orElse(currencyCodes[string(before)], currencyCodes[string(after)])
}

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
