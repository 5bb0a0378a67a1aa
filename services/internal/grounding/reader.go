package grounding

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// spaces may stand within a number, and between it and its unit.
const spaces = " \u00a0\u202f\u2009"

// minCapitals is the length of words in capitals that are taken for codes. Shorter ones are units, sizes and the like.
const minCapitals = 4

// reader goes through the tokens of a text.
type reader struct {
	text     string
	numerals map[string]int // of the text's language
	atoms    []atom         // the tokens' own
	tokens   []token
	at       int
	out      Text
}

func (r *reader) read() {
	r.out.raw = r.text
	for r.at < len(r.tokens) {
		t := r.tokens[r.at]
		switch {
		case t.address:
			r.add(Fact{readings: [][]key{{codeKey(address(r.text[t.start():t.end()]))}}, Name: true}, r.at)
		case t.all(true):
			r.number()
		case t.all(false):
			r.word(t)
		default:
			r.code(t)
		}
	}
}

// address is a URL, mail address or domain without what may be left out.
func address(s string) string {
	s = strings.ToLower(s)
	s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	return strings.TrimPrefix(s, "www.")
}

// add adds a fact that takes the tokens from r.at to last, and goes on behind them.
func (r *reader) add(f Fact, last int) {
	f.Start = r.tokens[r.at].start()
	f.End = max(f.End, r.tokens[last].end())
	if r.at > 0 {
		f.Left = r.tokens[r.at-1].compact()
	}
	if r.at > 1 && nearJoints[f.Left] > 0 && nearWords[r.tokens[r.at-2].compact()] > 0 { // près de 110 euros
		f.Left = r.tokens[r.at-2].compact()
	}
	r.out.Facts = append(r.out.Facts, f)
	r.at = last + 1
}

// between is what stands between a token and the next one; for the last one, what follows it.
func (r *reader) between(i int) string {
	if i+1 < len(r.tokens) {
		return r.text[r.tokens[i].end():r.tokens[i+1].start()]
	}
	return r.text[r.tokens[i].end():]
}

// next returns the compact token after the i-th if only space is between them, or first some of the marks; and else "".
func (r *reader) next(i int, marks string) string {
	if i+1 >= len(r.tokens) || strings.Trim(strings.TrimLeft(r.between(i), marks), spaces) != "" {
		return ""
	}
	return r.tokens[i+1].compact()
}

// word reads a token of letters: a number in words, a month, a weekday or a code in capitals, and mostly none of them.
func (r *reader) word(t token) {
	whole := t.compact()
	r.out.words = append(r.out.words, codeKey(whole))
	if len(t.atoms) > 1 {
		for _, a := range t.atoms {
			r.out.words = append(r.out.words, codeKey(a.text))
		}
	}
	spelled := r.spelled(t)
	n, isNumeral := r.numerals[spelled]
	if first, unit, found := strings.Cut(spelled, "-"); found && !isNumeral && r.numerals[first] > 1 { // "a ten-year warranty"
		if f := (Fact{readings: [][]key{{countKey(r.numerals[first])}, {codeKey(whole)}}, Unit: unitWord(unit)}); isPeriod(f) {
			r.add(f, r.at)
			return
		}
	}
	if day := r.dayInWords(spelled, n); day > 0 && r.monthBehind(day) {
		return
	}
	m, d := 0, 0
	if calendar[whole] { // few words are
		m, d = monthOf[whole], weekdayNamed(whole)
	}
	switch {
	case m > 0 && r.monthThenDay(m):
		return
	case m > 0 && standaloneMonths[whole] > 0:
		r.add(Fact{readings: [][]key{{monthKey(m)}, {codeKey(whole)}}, Unit: Date}, r.at)
		return
	case d > 0:
		r.add(Fact{readings: [][]key{{weekdayKey(d)}, {codeKey(whole)}}, Unit: Date}, r.at)
		return
	case isNumeral && n > 1:
		f := Fact{readings: [][]key{{countKey(n)}, {codeKey(whole)}}, Plain: n < 10}
		if f.Unit, f.End = r.unit(r.at); f.Unit == Percent { // twenty percent
			f.readings, f.Plain = [][]key{{{percent, countKey(n).text}}}, false
		}
		r.add(f, r.at)
		return
	case isNumeral:
		r.out.words = append(r.out.words, countKey(n))
	case inCapitals(t):
		r.add(Fact{readings: [][]key{{codeKey(whole)}}, parts: codeParts(t), Name: true}, r.at)
		return
	}
	r.at++
}

// dayInWords returns the day of a month that a word, or the number that it is, may count: with "of" behind it, or behind one of daysBefore: "the fourth of March", "am vierten
// März". "Three June orders" have none.
func (r *reader) dayInWords(word string, n int) int {
	day := cmp.Or(ordinalDays[word], n)
	if day == 0 {
		return 0
	}
	behind := r.next(r.at, "")
	isBehind := r.at > 0 && r.next(r.at-1, "") != "" && daysBefore[r.tokens[r.at-1].compact()] > 0
	if behind == "of" || behind == "de" || isBehind && monthOf[behind] > 0 && shortMonths[behind] == 0 {
		return day
	}
	return 0
}

// spelled returns a word in small letters, with its hyphens.
func (r *reader) spelled(t token) string {
	if len(t.atoms) > 1 {
		return strings.ToLower(r.text[t.start():t.end()])
	}
	return t.atoms[0].text
}

// weekdayNamed returns the weekday that a word names, also by its plural, or 0.
func weekdayNamed(word string) int {
	if d := weekdayOf[word]; d > 0 {
		return d
	}
	if singular, ok := strings.CutSuffix(word, "s"); ok {
		return weekdayOf[singular]
	}
	return 0
}

// monthThenDay reads a date such as May 3.
func (r *reader) monthThenDay(month int) bool {
	marks := ""
	if shortMonths[r.tokens[r.at].compact()] > 0 {
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
	r.add(Fact{readings: [][]key{{dayKey(d, month)}}, also: []key{monthKey(month)}, Unit: Date}, r.at+1)
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
		if h, m, ok := timeOfDay(t.atoms[0].text, t.atoms[2].text); ok {
			r.add(Fact{readings: [][]key{{timeKey(h, m)}}, Unit: Time}, r.at)
			return
		}
	}
	f := Fact{readings: [][]key{{codeKey(t.compact())}}, parts: codeParts(t), Name: true}
	for _, a := range t.atoms {
		if a.digits && (t.atoms[0].digits || len(a.text) > 2 && strings.ContainsAny(r.text[t.start():t.end()], "-_")) {
			f.also = append(f.also, numberKey(decimal(a.text, "")))
		}
		f.also = append(f.also, codeKey(a.text))
	}
	if len(t.atoms) == 2 && t.atoms[1].digits && t.atoms[1].glue == "" && len(t.atoms[0].text) == 1 && len(t.atoms[1].text) <= 2 { // W32 is the size 32
		f.readings = append(f.readings, []key{numberKey(decimal(t.atoms[1].text, ""))})
	}
	r.add(f, r.at)
}

// codeParts returns the keys of a code's parts: a text may write ORD-1001 for ORD 1001 and 256GB for 256 GB. One such as
// SAVE10 is one piece, and has none.
func codeParts(t token) []key {
	if joined := slices.ContainsFunc(t.atoms[1:], func(a atom) bool { return a.glue == "" }); joined && !t.atoms[0].digits {
		return nil
	}
	var parts []key
	for _, a := range t.atoms {
		if a.digits {
			parts = append(parts, numberKey(decimal(a.text, "")))
		} else {
			parts = append(parts, codeKey(a.text))
		}
	}
	return parts
}

// number reads a token of digits with what belongs to it: the month, the percent sign, the currency, the hour's mark.
func (r *reader) number() {
	if r.listMark() || r.dayThenMonth() || r.ordinal() {
		return
	}
	first, last := r.at, r.at
	atoms := slices.Clone(r.tokens[first].atoms)
	for len(atoms) == last-first+1 && len(atoms[0].text) <= 3 && r.continues(last) { // 1 299,50
		last++
		atoms = append(atoms, r.tokens[last].atoms...)
	}
	f := Fact{readings: r.readings(r.tokens[first].atoms), Plain: len(atoms) == 1 && len(atoms[0].text) == 1}
	if len(atoms) == 1 && r.isYear(atoms[0].text) {
		date := &r.out.Facts[len(r.out.Facts)-1]
		date.dated = []key{date.readings[0][0], f.readings[0][0]}
		f.dated, f.Plain = date.dated, true
	}
	f.Unit, f.End = r.unit(last)
	if last > first {
		f.readings = [][]key{nil}
		for i := first; i <= last; i++ {
			f.readings[0] = append(f.readings[0], r.readings(r.tokens[i].atoms)[0]...)
		}
		for i := first; i < last; i++ {
			atoms[i-first+1].glue = " "
		}
		for _, v := range values(atoms) {
			f.readings = append(f.readings, []key{numberKey(v)})
		}
	}
	r.joined(&f, first, last)
	if f.Unit == Percent {
		for _, reading := range f.readings {
			for i := range reading {
				if reading[i].kind == number {
					reading[i].kind = percent
				}
			}
		}
		r.add(f, last)
		return
	}
	if f.Unit != Money {
		if end, isTime := r.hour(&f, last, atoms); isTime {
			r.add(f, end)
			return
		}
	}
	r.amount(f, first, last)
}

// isYear reports whether the digits at the token are the year behind a date.
func (r *reader) isYear(digits string) bool {
	n := len(r.out.Facts)
	return len(digits) == 4 && strings.HasPrefix(digits, "20") && n > 0 && isDate(r.out.Facts[n-1]) && r.tokens[r.at].start()-r.out.Facts[n-1].End <= len(" de ")
}

// joined adds the codes that a number may be part of, with the word before or behind it: save-20, ORD 1001, 256 GB. A word in
// small letters before a space makes no code: "save 20 EUR" is not SAVE20.
func (r *reader) joined(f *Fact, first, last int) {
	digits := r.tokens[first].compact()
	if first > 0 && r.tokens[first-1].all(false) {
		before := r.tokens[first-1]
		switch word := before.compact() + digits; r.between(first - 1) {
		case "-":
			f.readings = append(f.readings, []key{codeKey(word)})
		case " ":
			if before.atoms[0].upper {
				f.also = append(f.also, codeKey(word))
			}
		}
	}
	if word := r.next(last, ""); word != "" && r.tokens[last+1].all(false) {
		f.also = append(f.also, codeKey(digits+word))
	}
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
func (r *reader) readings(atoms []atom) [][]key {
	var out [][]key
	glue := ""
	if len(atoms) > 1 {
		glue = atoms[1].glue
	}
	switch glue {
	case ":":
		if h, m, ok := timeOfDay(atoms[0].text, atoms[1].text); ok && len(atoms) == 2 {
			out = append(out, []key{timeKey(h, m)})
			if m == 0 {
				out = append(out, []key{countKey(h)})
			}
			return out
		}
	case "-", "/":
		out = dates(atoms)
	default:
		for _, v := range values(atoms) {
			out = append(out, []key{numberKey(v)})
		}
		if glue == "." {
			out = append(out, dates(atoms)...)
		}
	}
	if len(out) == 0 || glue == "/" && len(atoms) == 2 {
		var parts []key
		for _, a := range atoms {
			parts = append(parts, numberKey(decimal(a.text, "")))
		}
		out = append(out, parts)
	}
	return out
}

// multiplies reports whether a sign of multiplication behind the i-th token has a number behind it.
func (r *reader) multiplies(i int) bool {
	if r.next(i, "") == "x" {
		i++
	}
	return i+1 < len(r.tokens) && r.tokens[i+1].all(true)
}

// unit is what the number at the i-th token counts. For a percentage it also returns where its sign ends in the text.
func (r *reader) unit(i int) (unit string, end int) {
	after := strings.TrimLeft(r.between(i), spaces+"-")
	sign, size := utf8.DecodeRuneInString(after)
	word := r.next(i, "-")
	switch {
	case sign == '%' || sign == '％':
		return Percent, r.tokens[i].end() + len(r.between(i)) - len(after) + size
	case word == "percent" || word == "prozent" || word == "pourcent":
		return Percent, r.tokens[i+1].end()
	case (word == "per" || word == "por" || word == "pour") && strings.HasPrefix(r.next(i+1, ""), "cent") ||
		word == "por" && r.next(i+1, "") == "ciento":
		return Percent, r.tokens[i+2].end()
	case unicode.Is(unicode.Sc, sign), currencies[word] != "":
		return Money, 0
	case (word == "x" || sign == '×') && r.multiplies(i): // 24 x 9 x 7 cm
		unit, _ = r.unit(i + len(word) + 1)
		return unit, 0
	}
	switch {
	case sign == '°':
		word = "°" + r.next(i, "° ")
	case word == "km" && r.next(i+1, "/") == "h":
		word = "km/h"
	}
	switch word {
	case "jours", "jour", "días", "día":
		if workdays[text.Head(text.Fold(r.next(i+1, "")), unitLength)] { // jours ouvrés, días laborables
			return "work", 0
		}
	}
	return unitWord(word), 0
}
