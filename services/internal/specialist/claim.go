package specialist

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"
)

// claim is something in a text that is true only as it stands: a number with what belongs to it, a date, a code, an id, an
// address. Numbers in words, months and weekdays without a day, and names in plain words are none.
type claim struct {
	text       string // that it stands in
	start, end int    // of it, in bytes, with what belongs to it: a currency, a percent sign, a month
	numStart   int    // of its digits, if it is a number
	numEnd     int
	kind       claimKind
	values     [2]int64 // of an amount, a share or a number, in thousandths: 1.299 has two readings
	readings   int
	currency   string // of an amount, as currencyOf has it
}

type claimKind byte

const (
	claimOther  claimKind = iota // a code, an id, an address, a date, a time
	claimNumber                  // a plain number, with or without a unit
	claimAmount                  // with a currency
	claimShare                   // a percentage
)

// surface is the claim as it stands in its text.
func (c *claim) surface() string { return c.text[c.start:c.end] }

// digits is what a number's claim has of digits, with the signs between them.
func (c *claim) digits() string { return c.text[c.numStart:c.numEnd] }

// number takes the word for a number if it is one, with or without a unit that is glued to it.
func (c *claim) number() bool {
	word := c.surface()
	n := 0
	for n < len(word) && (isASCIIDigit(word[n]) || n > 0 && strings.IndexByte(".,'", word[n]) >= 0 && n+1 < len(word) && isASCIIDigit(word[n+1])) {
		n++
	}
	switch unit := word[n:]; {
	case n == 0:
		return false
	case unit == "":
	case len(unit) > 1 && unit[0] == '-' && isSmall(unit[1:]), len(unit) <= 3 && isSmall(unit): // 30-day, 212g
	default:
		return false
	}
	c.numStart, c.numEnd = c.start, c.start+n
	if c.values, c.readings = readNumber(word[:n]); c.readings == 0 {
		return false
	}
	c.kind = claimNumber
	return true
}

func isASCIIDigit(b byte) bool { return '0' <= b && b <= '9' }

func isSmall(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return s != ""
}

// maxDigits bounds numbers that are reckoned with. Longer ones are ids.
const maxDigits = 12

// readNumber returns what digits with dots, commas and quotes between them may stand for, in thousandths. Nothing: they are
// not one number, or too long a one.
func readNumber(s string) (values [2]int64, readings int) {
	first := strings.IndexAny(s, ".,'")
	last := strings.LastIndexAny(s, ".,'")
	if first < 0 {
		return one(s, "")
	}
	after := len(s) - last - 1
	switch {
	case first == last && s[last] != '\'' && after != 3:
		return one(s[:last], s[last+1:])
	case first == last && s[last] != '\'' && first <= 3 && s[0] != '0': // 1.299
		values, readings = one(s[:last], s[last+1:])
		if other, n := one(s[:last]+s[last+1:], ""); n+readings == 2 {
			return [2]int64{values[0], other[0]}, 2
		}
		return values, readings
	case s[last] != s[first]: // 1,299.50
		if whole, ok := ungrouped(s[:last]); ok {
			return one(whole, s[last+1:])
		}
		return values, 0
	}
	if whole, ok := ungrouped(s); ok {
		return one(whole, "")
	}
	return values, 0
}

func one(whole, rest string) (values [2]int64, readings int) {
	if len(whole) > maxDigits || len(rest) > 3 {
		return values, 0
	}
	n, err := strconv.ParseInt(whole+(rest + "000")[:3], 10, 64)
	if err != nil {
		return values, 0
	}
	return [2]int64{n}, 1
}

// ungrouped takes out the signs between groups of three digits.
func ungrouped(s string) (string, bool) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ',' || r == '\'' })
	for i, p := range parts {
		if i > 0 && len(p) != 3 || len(p) > 3 {
			return "", false
		}
	}
	return strings.Join(parts, ""), true
}

// belongings extends a number by its currency or percent sign, and by further groups of digits.
func (c *claim) belongings() {
	if c.end == c.numEnd && c.numEnd-c.numStart <= 3 { // 1 299,50
		for c.group() {
		}
	}
	after, end := c.next(c.end)
	if percentEnd := c.percentEnd(after, end); percentEnd > 0 {
		c.kind, c.end = claimShare, percentEnd
		return
	}
	before, start := c.previous()
	if code := currencyOf(after); code != "" {
		c.kind, c.currency, c.end = claimAmount, code, end
	} else if code = currencyOf(before); code != "" {
		c.kind, c.currency, c.start = claimAmount, code, start
	}
}

// percentEnd returns where the percent sign or word ends that stands behind a number, or 0 if none does.
func (c *claim) percentEnd(after string, end int) int {
	switch after {
	case "percent", "prozent", "Prozent", "pourcent":
		return end
	case "per", "por", "pour":
		if word, end := c.next(end); word == "cent" || word == "ciento" {
			return end
		}
		return 0
	}
	if strings.HasPrefix(after, "%") {
		return end - len(after) + 1
	}
	return 0
}

// group takes in the next three digits of a number that is written in groups with spaces between them.
func (c *claim) group() bool {
	r, n := utf8.DecodeRuneInString(c.text[c.end:])
	if r != ' ' && r != '\u00a0' && r != '\u202f' && r != '\u2009' {
		return false
	}
	start, end, l := nextWord(c.text, c.end+n)
	if start != c.end+n || l.letters > 0 || end-start < 3 || end-start > 6 {
		return false
	}
	word := c.text[start:end]
	for i := range len(word) {
		if i != 3 && !isASCIIDigit(word[i]) || i == 3 && word[i] != ',' && word[i] != '.' {
			return false
		}
	}
	whole := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, c.digits())
	rest := ""
	if len(word) > 4 {
		rest = word[4:]
	}
	values, readings := one(whole+word[:3], rest)
	if readings == 0 {
		return false
	}
	c.values, c.readings, c.end, c.numEnd = values, readings, end, end
	return len(word) == 3
}

// next returns the word or sign after i if only a space or nothing is between, and where it ends.
func (c *claim) next(i int) (string, int) {
	rest := strings.TrimLeft(c.text[i:], " \u00a0\u202f\u2009")
	begin := len(c.text) - len(rest)
	n := 0
	for n < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[n:])
		if n > 0 && unicode.Is(unicode.Sc, r) || separates(r) && r != '$' || strings.ContainsRune(".,:!?", r) {
			break
		}
		if n += size; unicode.Is(unicode.Sc, r) {
			break
		}
	}
	return rest[:n], begin + n
}

// previous returns the word or sign before the claim if only a space or nothing is between, and where it starts.
func (c *claim) previous() (string, int) {
	rest := strings.TrimRight(c.text[:c.start], " \u00a0\u202f\u2009")
	n := len(rest)
	for n > 0 {
		r, size := utf8.DecodeLastRuneInString(rest[:n])
		if n < len(rest) && unicode.Is(unicode.Sc, r) || separates(r) && r != '$' || strings.ContainsRune(".,:!?", r) {
			break
		}
		if n -= size; unicode.Is(unicode.Sc, r) {
			break
		}
	}
	return rest[n:], n
}

// currencyOf returns the ISO 4217 code of the currency that a word or sign is, the sign itself where several share it, or "".
func currencyOf(word string) string {
	if word == "" || len(word) > len("dólares") {
		return ""
	}
	switch word {
	case "€", "euro", "euros", "Euro", "Euros":
		return "EUR"
	case "dollar", "dollars", "Dollar", "dólar", "dólares":
		return "$"
	case "zł":
		return "PLN"
	case "kč", "Kč":
		return "CZK"
	}
	if r, n := utf8.DecodeRuneInString(word); n == len(word) {
		if unicode.Is(unicode.Sc, r) {
			return word
		}
		return ""
	}
	if len(word) != 3 || strings.ToUpper(word) != word {
		return ""
	}
	if _, err := currency.ParseISO(word); err != nil {
		return ""
	}
	return word
}
