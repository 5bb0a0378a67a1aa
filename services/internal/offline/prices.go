package offline

import (
	"regexp"
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
