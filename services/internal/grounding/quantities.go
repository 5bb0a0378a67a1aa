package grounding

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	if !strings.HasPrefix(after, ". ") && !strings.HasPrefix(after, ") ") || monthOf[r.next(r.at, ".")] > 0 {
		return false
	}
	line := strings.LastIndexByte(r.text[:t.start()], '\n')
	if line < 0 || strings.Trim(r.text[line:t.start()], "\n\t *_#>-(") != "" {
		return false
	}
	r.at++
	return true
}

// ordinals may stand between a day and its month.
const ordinals = " st nd rd th er º ª de of du d "

// dayThenMonth reads a date such as 3 May, 3rd of May, 3. Mai and 3 de mayo.
func (r *reader) dayThenMonth() bool {
	t := r.tokens[r.at]
	day := small(t.atoms[0].text, 31)
	if len(t.atoms) > 1 || day == 0 {
		return false
	}
	i := r.at
	for skipped := 0; skipped < 2; skipped++ {
		if w := r.next(i, ".-º’'"); w == "" || !strings.Contains(ordinals, " "+w+" ") {
			break
		}
		i++
	}
	month := monthOf[r.next(i, ".-º’'")]
	if month == 0 {
		return false
	}
	r.add(Fact{readings: [][]key{{dayKey(day, month)}}, also: []key{monthKey(month)}, Unit: Date})
	r.at = i + 2
	return true
}

// quantify makes a number a percentage, an amount or a time if that is what stands behind it.
func (r *reader) quantify(f *Fact, atoms []atom) {
	switch {
	case f.Unit == Percent:
		for _, reading := range f.readings {
			for i := range reading {
				if reading[i].kind == number {
					reading[i].kind = percent
				}
			}
		}
	case f.Unit == Money:
		f.Plain = false
		r.currencyAfter()
	default:
		if r.hour(f, atoms) {
			return
		}
		if word := r.next(r.at, ""); len(word) == 3 && r.tokens[r.at+1].all(false) && r.tokens[r.at+1].atoms[0].upper {
			r.currencyAfter() // a code that we do not know
		}
	}
}

// hour reads what follows a time of day: am, pm, Uhr, h.
func (r *reader) hour(f *Fact, atoms []atom) bool {
	minute := "0"
	switch {
	case len(atoms) == 2 && (atoms[1].glue == ":" || atoms[1].glue == "."):
		minute = atoms[1].text
	case len(atoms) != 1:
		return false
	}
	h, m, ok := timeOfDay(atoms[0].text, minute)
	if !ok {
		return false
	}
	mark := r.next(r.at, "")
	if dotted := r.next(r.at+1, "."); (mark == "a" || mark == "p") && dotted == "m" {
		mark += dotted
	}
	if mark == "h" && len(atoms) == 1 { // 18 h 30
		if _, m, ok = timeOfDay("0", r.next(r.at+1, "")); ok {
			f.readings = [][]key{{timeKey(h, m)}}
			r.at += 2
			return true
		}
		m = 0
	}
	digits := countKey(h)
	switch mark {
	case "pm":
		h = h%12 + 12
	case "am":
		h %= 12
	case "uhr", "h":
		f.readings = [][]key{{timeKey(h, m)}}
		if m == 0 {
			f.readings = append(f.readings, []key{digits})
		}
		return true
	default:
		return false
	}
	f.readings, f.Unit, f.Plain = [][]key{{timeKey(h, m)}}, Time, false
	if m == 0 {
		f.also = append(f.also, digits, countKey(h))
	}
	return true
}

// timeOfDay reads an hour and a minute.
func timeOfDay(hour, minute string) (h, m int, ok bool) {
	h, errHour := strconv.Atoi(hour)
	m, errMinute := strconv.Atoi(minute)
	return h, m, errHour == nil && errMinute == nil && h <= 24 && m < 60 && len(hour) <= 2 && len(minute) <= 2
}

// currencyAfter reads the currency behind the number at r.at.
func (r *reader) currencyAfter() {
	after := strings.TrimLeft(r.between(r.at), " \u00a0\u202f\u2009-")
	if sign, n := utf8.DecodeRuneInString(after); unicode.Is(unicode.Sc, sign) {
		r.currency(after[:n])
	} else if word := r.next(r.at, "-"); word != "" {
		r.currency(word)
	}
}

// currencyBefore reads the currency before the i-th token.
func (r *reader) currencyBefore(i int) {
	before := strings.TrimRight(r.text[:r.tokens[i].start()], " \u00a0\u202f\u2009")
	if sign, n := utf8.DecodeLastRuneInString(before); unicode.Is(unicode.Sc, sign) {
		r.currency(before[len(before)-n:])
	} else if i > 0 && r.next(i-1, "") != "" && len(r.tokens[i-1].atoms) == 1 && isCurrency(r.tokens[i-1].atoms[0]) {
		r.currency(r.tokens[i-1].squeezed())
	}
}

// currency adds the currency of an amount. A sign that several share stands for any of them.
func (r *reader) currency(word string) {
	code := currencies[word]
	if code == "" {
		code = strings.ToUpper(word)
	}
	f := Fact{readings: [][]key{{moneyKey(code)}, {codeKey(word)}}, Unit: Money, Plain: true}
	if sign := signOf[code]; sign != "" {
		f.also = append(f.also, moneyKey(sign))
	}
	if code == "$" {
		f.also = append(f.also, moneyKey("USD"))
	}
	r.said.Facts = append(r.said.Facts, f)
}
