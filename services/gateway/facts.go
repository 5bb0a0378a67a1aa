package gateway

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fact is something in a text that is true only as it stands: a number, an amount, a code, a date, an address.
type fact struct {
	readings [][]string // what it may say; each is keys that belong together
	apart    []string   // a reading as parts, which other parts do not make up
	also     []string   // what a text that has it says as well
	left     string     // the word before it
	unit     string     // what it counts or is a kind of
	plain    bool       // a number of one digit, or a number in words: it may be worded away
	name     bool       // a code or an address, which says the same wherever it stands
}

const (
	unitPercent = "%"
	unitMoney   = "¤"
	unitDate    = "date"
	unitTime    = "time"
)

// minCapitals is the length of words in capitals that are taken for codes. Shorter ones are units, sizes and the like.
const minCapitals = 4

// factsOf returns the facts of a text, and the keys of its plain words. Numbers in words are read in the language with
// this base.
func factsOf(text, base string) (facts []fact, words []string) {
	r := reader{text: text, base: base, tokens: tokens(text)}
	for r.at < len(r.tokens) {
		t := r.tokens[r.at]
		switch {
		case t.address:
			whole := strings.ToLower(text[t.start():t.end()])
			whole = strings.TrimPrefix(strings.TrimPrefix(whole, "https://"), "http://")
			r.add(fact{readings: [][]string{{codeKey(strings.TrimPrefix(whole, "www."))}}, name: true})
			r.at++
		case t.all(true):
			r.number()
		case t.all(false):
			r.word(t)
		default:
			r.code(t)
		}
	}
	return r.facts, r.words
}

// reader goes through the tokens of a text.
type reader struct {
	text   string
	base   string
	tokens []token
	at     int
	facts  []fact
	words  []string
}

func (r *reader) add(f fact) {
	if r.at > 0 {
		f.left = r.tokens[r.at-1].squeezed()
	}
	r.facts = append(r.facts, f)
}

// between is what stands between a token and the next one; for the last one, what follows it.
func (r *reader) between(i int) string {
	if i+1 < len(r.tokens) {
		return r.text[r.tokens[i].end():r.tokens[i+1].start()]
	}
	return r.text[r.tokens[i].end():]
}

// next returns the squeezed token after the i-th if only space is between them, or first some of the marks; and else "".
func (r *reader) next(i int, marks string) string {
	if i+1 >= len(r.tokens) || strings.Trim(strings.TrimLeft(r.between(i), marks), " \u00a0\u202f\u2009") != "" {
		return ""
	}
	return r.tokens[i+1].squeezed()
}

// word reads a token of letters: a number in words, a month, a weekday or a code in capitals, and mostly none of them.
func (r *reader) word(t token) {
	whole := t.squeezed()
	hyphened := strings.ToLower(r.text[t.start():t.end()])
	r.words = append(r.words, codeKey(whole))
	for _, a := range t.atoms {
		r.words = append(r.words, codeKey(a.text))
	}
	n, isNumeral := numerals[numeral{r.base, hyphened}]
	weekday := weekdayOf[whole]
	if weekday == 0 {
		weekday = weekdayOf[strings.TrimSuffix(whole, "s")]
	}
	switch {
	case monthOf[whole] > 0 && r.monthThenDay(monthOf[whole]):
		return
	case strings.Contains(alone, " "+whole+" "):
		r.add(fact{readings: [][]string{{monthKey(monthOf[whole])}, {codeKey(whole)}}, unit: unitDate})
	case weekday > 0:
		r.add(fact{readings: [][]string{{weekdayKey(weekday)}, {codeKey(whole)}}, unit: unitDate})
	case isNumeral && n > 1:
		r.add(fact{readings: [][]string{{numberKey(strconv.Itoa(n))}, {codeKey(whole)}}, unit: r.unit(r.at), plain: n < 10})
	case isNumeral:
		r.words = append(r.words, numberKey(strconv.Itoa(n)))
	case inCapitals(t):
		r.add(fact{readings: [][]string{{codeKey(whole)}}, apart: codeParts(t), name: true})
	}
	r.at++
}

// monthThenDay reads a date such as May 3.
func (r *reader) monthThenDay(month int) bool {
	marks := ""
	if shortMonths[r.tokens[r.at].squeezed()] > 0 {
		marks = "."
	}
	if r.next(r.at, marks) == "" {
		return false
	}
	day := r.tokens[r.at+1]
	d := 0
	if len(day.atoms) == 1 && day.atoms[0].digits {
		d = small(day.atoms[0].text, 31)
	}
	if d == 0 {
		return false
	}
	r.add(fact{readings: [][]string{{dayKey(d, month)}}, also: []string{monthKey(month)}, unit: unitDate})
	r.at += 2
	return true
}

func inCapitals(t token) bool {
	letters := 0
	for _, a := range t.atoms {
		if !a.upper {
			return false
		}
		letters += utf8.RuneCountInString(a.text)
	}
	return letters >= minCapitals
}

// code reads a token of letters and digits.
func (r *reader) code(t token) {
	if len(t.atoms) == 3 && t.atoms[1].text == "h" && t.atoms[0].digits { // 18h30
		if h, m, ok := clock(t.atoms[0].text, t.atoms[2].text); ok {
			r.add(fact{readings: [][]string{{timeKey(h, m)}}, unit: unitTime})
			r.at++
			return
		}
	}
	f := fact{readings: [][]string{{codeKey(t.squeezed())}}, apart: codeParts(t), name: true}
	for _, a := range t.atoms {
		if a.digits && (t.atoms[0].digits || len(a.text) > 2 && strings.ContainsAny(r.text[t.start():t.end()], "-_")) {
			f.also = append(f.also, numberKey(decimal(a.text, "")))
		}
		f.also = append(f.also, codeKey(a.text))
	}
	r.add(f)
	r.at++
}

// codeParts returns the keys of a code's parts: a text may write ORD-1001 for ORD 1001 and 256GB for 256 GB. One such as
// SAVE10 is one piece, and has none.
func codeParts(t token) []string {
	if joined := slices.ContainsFunc(t.atoms[1:], func(a atom) bool { return a.glue == "" }); joined && !t.atoms[0].digits {
		return nil
	}
	var apart []string
	for _, a := range t.atoms {
		if a.digits {
			apart = append(apart, numberKey(decimal(a.text, "")))
		} else {
			apart = append(apart, codeKey(a.text))
		}
	}
	return apart
}

// number reads a token of digits with what belongs to it: the month, the percent sign, the currency, the hour's mark.
func (r *reader) number() {
	if r.listMark() || r.dayThenMonth() {
		return
	}
	first, last := r.at, r.at
	atoms := slices.Clone(r.tokens[first].atoms)
	for len(atoms) == last-first+1 && len(atoms[0].text) <= 3 && r.continues(last) { // 1 299,50
		last++
		atoms = append(atoms, r.tokens[last].atoms...)
	}
	f := fact{readings: r.readings(r.tokens[first].atoms), unit: r.unit(last)}
	if last > first {
		f.readings = [][]string{nil}
		for i := first; i <= last; i++ {
			f.readings[0] = append(f.readings[0], r.readings(r.tokens[i].atoms)[0]...)
		}
		for i := first; i < last; i++ {
			atoms[i-first+1].glue = " "
		}
		for _, v := range values(atoms) {
			f.readings = append(f.readings, []string{numberKey(v)})
		}
	}
	if first > 0 && r.between(first-1) == "-" { // a code in small letters
		f.readings = append(f.readings, []string{codeKey(r.tokens[first-1].squeezed() + r.tokens[first].squeezed())})
	}
	f.plain = len(atoms) == 1 && len(atoms[0].text) == 1
	r.at = last
	r.quantify(&f, atoms)
	left := r.at
	r.at = first
	r.add(f)
	r.currencyBefore(first)
	r.at = left + 1
}

// continues reports whether the token after the i-th is the next three digits of a number that is written in groups.
func (r *reader) continues(i int) bool {
	switch r.between(i) {
	case " ", "\u00a0", "\u202f", "\u2009":
	default:
		return false
	}
	if i+1 >= len(r.tokens) {
		return false
	}
	t := r.tokens[i+1]
	return !t.address && t.all(true) && len(t.atoms[0].text) == 3 && len(t.atoms) <= 2
}

// readings returns what a token of digits may say by itself. There is always one.
func (r *reader) readings(atoms []atom) [][]string {
	var out [][]string
	glue := ""
	if len(atoms) > 1 {
		glue = atoms[1].glue
	}
	switch glue {
	case ":":
		if h, m, ok := clock(atoms[0].text, atoms[1].text); ok && len(atoms) == 2 {
			out = append(out, []string{timeKey(h, m)})
			if m == 0 {
				out = append(out, []string{numberKey(strconv.Itoa(h))})
			}
			return out
		}
	case "-", "/":
		out = dates(atoms)
	default:
		for _, v := range values(atoms) {
			out = append(out, []string{numberKey(v)})
		}
		if glue == "." {
			out = append(out, dates(atoms)...)
		}
	}
	if len(out) == 0 || glue == "/" && len(atoms) == 2 {
		var apart []string
		for _, a := range atoms {
			apart = append(apart, numberKey(decimal(a.text, "")))
		}
		out = append(out, apart)
	}
	return out
}

// unit is what the number at the i-th token counts.
func (r *reader) unit(i int) string {
	after := strings.TrimLeft(r.between(i), " \u00a0\u202f\u2009-")
	sign, _ := utf8.DecodeRuneInString(after)
	word := r.next(i, "-")
	switch {
	case sign == '%' || sign == '％' || word == "percent" || word == "prozent" || word == "pourcent":
		return unitPercent
	case (word == "per" || word == "por" || word == "pour") && strings.HasPrefix(r.next(i+1, ""), "cent") ||
		word == "por" && r.next(i+1, "") == "ciento":
		return unitPercent
	case unicode.Is(unicode.Sc, sign), currencies[word] != "":
		return unitMoney
	}
	if runes := []rune(word); len(runes) > 4 {
		return string(runes[:4]) // day and days, Tag and Tagen
	}
	return word
}
