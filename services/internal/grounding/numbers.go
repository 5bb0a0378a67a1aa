package grounding

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// maxListMark is the highest number that may count the items of a list.
const maxListMark = 20

// CountsItems reports whether the ASCII digits before a dot or a bracket may count the items of a list: 1 to 20.
func CountsItems(digits string) bool { return small(digits, maxListMark) > 0 }

// IsItem reports whether a line, without the space before it, is an item of a list: it begins with a bullet, or with a number
// that counts items and ends in one of the characters of ends, and goes on after a space.
func IsItem(line, ends string) bool {
	for _, bullet := range []string{"- ", "* ", "• ", "– "} {
		if strings.HasPrefix(line, bullet) {
			return true
		}
	}
	mark, _, found := strings.Cut(line, " ")
	last := len(mark) - 1
	return found && last > 0 && strings.IndexByte(ends, mark[last]) >= 0 && CountsItems(mark[:last])
}

// listMark passes over a number that counts an item of a list.
func (r *reader) listMark() bool {
	t := r.tokens[r.at]
	if len(t.atoms) > 1 || !CountsItems(t.atoms[0].text) {
		return false
	}
	after := r.text[t.end():]
	if after == "" || after[0] != '.' && after[0] != ')' || !strings.HasPrefix(strings.TrimLeft(after[1:], "*_"), " ") || monthOf[r.next(r.at, ".")] > 0 {
		return false
	}
	if !strings.HasSuffix(strings.TrimRight(r.text[:t.start()], "\t *_#>-("), "\n") {
		return false
	}
	r.at++
	return true
}

// ordinals may stand between a day and its month.
const ordinals = " st nd rd th er º ª de of du d "

// ordinal passes over a number with an ending that makes it one of a list: "the 2.º parcel", "2e".
func (r *reader) ordinal() bool {
	t := r.tokens[r.at]
	ending, _, _ := strings.Cut(strings.TrimPrefix(text.HeadBytes(r.text[t.end():], maxOrdinal), ".")+" ", " ")
	isOrdinal := strings.HasPrefix(ending, "º") || strings.HasPrefix(ending, "ª") || slices.Contains([]string{"er", "re", "e", "ème"}, ending)
	if len(t.atoms) > 1 || !CountsItems(t.atoms[0].text) || !isOrdinal {
		return false
	}
	r.at++
	return true
}

// maxOrdinal is more than any of these endings has, in bytes.
const maxOrdinal = 6

// dayThenMonth reads a date such as 3 May, 3rd of May, 3. Mai and 3 de mayo.
func (r *reader) dayThenMonth() bool {
	t := r.tokens[r.at]
	return len(t.atoms) == 1 && r.monthBehind(small(t.atoms[0].text, 31))
}

// monthBehind reads the day of a month at a token with the month behind it. Day 0 is none.
func (r *reader) monthBehind(day int) bool {
	i := r.at
	for skipped := 0; day > 0 && skipped < 2; skipped++ {
		if w := r.next(i, ".-º’'"); w == "" || !strings.Contains(ordinals, " "+w+" ") {
			break
		}
		i++
	}
	month := monthOf[r.next(i, ".-º’'")]
	if day == 0 || month == 0 {
		return false
	}
	r.add(Fact{readings: [][]key{{dayKey(day, month)}}, also: []key{monthKey(month)}, Unit: Date}, i+1)
	return true
}

// hour makes a number that ends with the last token a time of day if a mark of one follows: am, pm, Uhr, h. It returns false
// if none does, and else the last token of 18 h 30.
func (r *reader) hour(f *Fact, last int, atoms []atom) (end int, ok bool) {
	minute := "0"
	switch {
	case len(atoms) == 2 && (atoms[1].glue == ":" || atoms[1].glue == ".") && len(atoms[1].text) == 2: // 3.5 h is no time of day
		minute = atoms[1].text
	case len(atoms) != 1:
		return last, false
	}
	h, m, ok := timeOfDay(atoms[0].text, minute)
	if !ok {
		return last, false
	}
	mark, behind := r.next(last, ""), last+1
	if dotted := r.next(last+1, "."); (mark == "a" || mark == "p") && dotted == "m" {
		mark, behind = mark+dotted, last+2
	}
	digits := countKey(h)
	switch mark {
	case "pm":
		h = h%12 + 12
	case "am":
		h %= 12
	case "uhr", "h":
		if _, rest, ok := timeOfDay("0", r.next(behind, "")); ok && mark == "h" && len(atoms) == 1 {
			f.readings = [][]key{{timeKey(h, rest)}}
			return last + 2, true
		}
		f.readings, f.End = [][]key{{timeKey(h, m)}}, r.tokens[behind].end()
		if m == 0 {
			f.readings = append(f.readings, []key{digits})
		}
		return last, true
	default:
		return last, false
	}
	f.readings, f.Unit, f.Plain, f.End = [][]key{{timeKey(h, m)}}, Time, false, r.tokens[behind].end()
	if m == 0 {
		f.also = append(f.also, digits, countKey(h))
	}
	return last, true
}

// timeOfDay reads an hour and a minute.
func timeOfDay(hour, minute string) (h, m int, ok bool) {
	h, errHour := strconv.Atoi(hour)
	m, errMinute := strconv.Atoi(minute)
	return h, m, errHour == nil && errMinute == nil && h <= 24 && m < 60 && len(hour) <= 2 && len(minute) <= 2
}

// amount adds a number with the currencies beside it, if any. A sign that several currencies share stands for any of them.
func (r *reader) amount(f Fact, first, last int) {
	var beside []Fact
	add := func(word, code string, start, end int) {
		c := Fact{Start: start, End: end, Unit: Money, Plain: true, readings: [][]key{{moneyKey(code)}, {codeKey(word)}}}
		if sign := signOf[code]; sign != "" {
			c.also = append(c.also, moneyKey(sign))
		}
		if code == "$" {
			c.also = append(c.also, moneyKey("USD"))
		}
		beside = append(beside, c)
	}
	after := strings.TrimLeft(r.between(last), spaces+"-")
	if sign, n := utf8.DecodeRuneInString(after); unicode.Is(unicode.Sc, sign) {
		start := r.tokens[last].end() + len(r.between(last)) - len(after)
		f.Plain, f.currency, f.End = false, currencyCode(after[:n]), start+n
		add(after[:n], f.currency, start, f.End)
	} else if word := r.next(last, "-"); word != "" {
		t := r.tokens[last+1]
		code := currencyCode(word)
		switch isCapitals := len(t.atoms) == 1 && t.atoms[0].upper && len(word) == 3; {
		case code != "" && f.Unit == Money, code != "" && isCapitals:
			f.Plain, f.currency, f.End = false, code, t.end()
			add(word, code, t.start(), t.end())
		case isCapitals:
			add(word, strings.ToUpper(word), t.start(), t.end()) // a code that is not in any list, or a unit
		}
	}
	if end := r.subunits(&f, last); end > last {
		last = end
	}
	before := strings.TrimRight(r.text[:r.tokens[first].start()], spaces)
	word, start := "", len(before)
	if sign, n := utf8.DecodeLastRuneInString(before); unicode.Is(unicode.Sc, sign) {
		word, start = before[len(before)-n:], len(before)-n
	} else if first > 0 && r.next(first-1, "") != "" && len(r.tokens[first-1].atoms) == 1 && isCurrency(r.tokens[first-1].atoms[0]) {
		word, start = r.tokens[first-1].compact(), r.tokens[first-1].start()
	}
	r.at = first
	at := len(r.out.Facts)
	r.add(f, last)
	if word != "" {
		code := currencyCode(word)
		if number := &r.out.Facts[at]; number.currency == "" {
			number.Plain, number.currency, number.Start = false, code, start
		}
		add(word, code, start, len(before))
	}
	r.out.Facts = append(r.out.Facts, beside...)
}

// subunits adds the hundredths that stand behind the currency of a whole amount that ends with a token: "12 euros con 50 céntimos", "12 € 50".
// It returns their last token, or the same one.
func (r *reader) subunits(f *Fact, last int) int {
	k := f.readings[0][0]
	if f.currency == "" || len(f.readings[0]) != 1 || k.kind != number || len(r.tokens[last].atoms) != 1 {
		return last
	}
	i := last + 1
	if i < len(r.tokens) && currencyCode(r.tokens[i].compact()) != "" {
		i++
	}
	hasJoint := i < len(r.tokens) && subunitJoints[r.tokens[i].compact()] > 0
	if hasJoint {
		i++
	}
	if i >= len(r.tokens) || len(r.tokens[i].atoms) != 1 || !r.tokens[i].all(true) || len(r.tokens[i].compact()) != 2 {
		return last
	}
	if joint := strings.Trim(r.text[f.End:r.tokens[i].start()], spaces); joint != "" && (!hasJoint || subunitJoints[joint] == 0) {
		return last
	}
	f.readings = [][]key{{numberKey(decimal(k.text, r.tokens[i].compact()))}}
	switch next, after := r.next(i, ""), strings.TrimLeft(r.between(i), spaces); {
	case subunitWords[next] > 0:
		i++
	case hasJoint, next != "", after != "" && strings.ContainsAny(after[:1], "%$"), strings.HasPrefix(after, "€"), strings.HasPrefix(after, "£"):
		f.readings = [][]key{{k}}
		return last
	}
	f.End = r.tokens[i].end()
	return i
}

// subunitJoints may stand before hundredths of a currency, and subunitWords behind them.
var (
	subunitJoints = positions([]string{"and et und con y"})
	subunitWords  = positions([]string{"cent cents pence p centime centimes céntimo céntimos rappen"})
)

// subunitUnits are these words as Fact.Unit has them.
var subunitUnits = func() map[string]bool {
	out := map[string]bool{}
	for w := range subunitWords {
		out[unitWord(w)] = true
	}
	return out
}()

// currencyCode returns the ISO 4217 code of a word or sign, the sign itself where several currencies share it, or "".
func currencyCode(word string) string {
	if code := currencies[word]; code != "" {
		return code
	}
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.Is(unicode.Sc, r) {
		return word
	}
	if unit, err := currency.ParseISO(word); err == nil {
		return unit.String()
	}
	return ""
}

// values returns what a number may stand for, as plain decimals: 1,299.50 and 1.299,50 are both 1299.5, and 1.299 may be
// either of two things. It returns nothing for digits that are not one number.
func values(atoms []atom) []string {
	switch len(atoms) {
	case 0:
		return nil
	case 1:
		return []string{decimal(atoms[0].text, "")}
	case 2:
		whole, rest, glue := atoms[0].text, atoms[1].text, atoms[1].glue
		var out []string
		if glue == "." || glue == "," {
			out = append(out, decimal(whole, rest))
		}
		if len(rest) == 3 && len(whole) <= 3 && (whole[0] != '0' || whole == "0") { // 0,495 kg is 495 g
			out = append(out, decimal(whole+rest, ""))
		}
		return out
	}
	glue, last := atoms[1].glue, atoms[len(atoms)-1]
	var digits strings.Builder
	for i, a := range atoms {
		switch {
		case i == len(atoms)-1 && a.glue != glue && (a.glue == "." || a.glue == ","):
			return []string{decimal(digits.String(), last.text)}
		case i > 0 && (len(a.text) != 3 || a.glue != glue):
			return nil
		}
		digits.WriteString(a.text)
	}
	return []string{decimal(digits.String(), "")}
}

// decimal writes a number without zeros that do not count.
func decimal(whole, rest string) string {
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if rest = strings.TrimRight(rest, "0"); rest != "" {
		return whole + "." + rest
	}
	return whole
}

// dates returns the readings of two or three numbers as a date.
func dates(atoms []atom) [][]key {
	if len(atoms) == 3 && len(atoms[0].text) == 4 {
		return onDay(atoms[2].text, atoms[1].text, atoms[0].text)
	}
	year := ""
	switch {
	case len(atoms) == 3 && len(atoms[2].text) == 4:
		year = atoms[2].text
	case len(atoms) == 3 && len(atoms[2].text) == 2:
		year = "20" + atoms[2].text
	case len(atoms) != 2:
		return nil
	}
	return append(onDay(atoms[0].text, atoms[1].text, year), onDay(atoms[1].text, atoms[0].text, year)...)
}

// onDay returns one reading, or none if there is no such day. The year may be empty.
func onDay(day, month, year string) [][]key {
	d, m := small(day, 31), small(month, 12)
	if d == 0 || m == 0 {
		return nil
	}
	reading := []key{dayKey(d, m)}
	if year != "" {
		reading = append(reading, numberKey(year))
	}
	return [][]key{reading}
}

// small returns the value of one or two digits if it is between 1 and limit, and else 0.
func small(digits string, limit int) int {
	if n, err := strconv.Atoi(digits); err == nil && len(digits) <= 2 && n >= 1 && n <= limit {
		return n
	}
	return 0
}

// currencies are the signs and codes that may stand at a number without a space. Signs that several countries use stand
// for themselves.
var currencies = map[string]string{
	"€": "EUR", "£": "GBP", "¥": "¥", "$": "$", "₹": "INR", "₺": "TRY", "₩": "KRW", "₽": "RUB", "zł": "PLN", "kč": "CZK",
	"euro": "EUR", "euros": "EUR", "dollar": "$", "dollars": "$", "dólar": "$", "dólares": "$",
	"franken": "CHF", "franc": "CHF", "francs": "CHF", "peso": "$", "pesos": "$",
	"eur": "EUR", "gbp": "GBP", "usd": "USD", "cad": "CAD", "aud": "AUD", "nzd": "NZD", "mxn": "MXN", "chf": "CHF", "jpy": "JPY",
	"cny": "CNY", "inr": "INR", "krw": "KRW", "pln": "PLN", "czk": "CZK", "sek": "SEK", "nok": "NOK", "dkk": "DKK",
	"huf": "HUF", "ron": "RON", "brl": "BRL",
}

// signOf is the sign that a currency shares with others.
var signOf = map[string]string{
	"USD": "$", "CAD": "$", "AUD": "$", "NZD": "$", "MXN": "$", "JPY": "¥", "CNY": "¥",
}

// isCurrency reports whether letters at a number are a currency's code.
func isCurrency(a atom) bool {
	return !a.digits && a.upper && len(a.text) == 3 && currencies[a.text] != ""
}
