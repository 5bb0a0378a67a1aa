package output

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// minCuedDigits is the shortest number that is taken for a phone number behind a word such as "call".
const minCuedDigits = 5

// minPhoneDigits is the shortest phone number that is told from an order number or a price by its form.
const minPhoneDigits = 7

// minVanityDigits is the number of digits of a phone number whose other digits are letters.
const minVanityDigits = 4

// maxPhoneDigits is the longest phone number, by E.164. A longer row of digits is a parcel's or a card's number.
const maxPhoneDigits = 15

// separator is what may stand between the digits of a phone number.
const separator = `[ \t\x{00A0}\x{202F}.\-/()\x{2010}-\x{2015}]`

// anySeparator is what people read over in a number with a plus sign.
const anySeparator = `[ \t\x{00A0}\x{202F}.\-/()\x{2010}-\x{2015}\x{00B7}\x{2022}\x{2219}\x{22C5}\x{30FB}_|*~:]`

var (
	// phoneForms are the ways in which phone numbers are written, the clearest first. Text around a number decides about the rest.
	phoneForms = []*regexp.Regexp{
		regexp.MustCompile(`(?:\+|\b00[ ./-]?[1-9])` + separator + `{0,2}\d(?:` + separator + `{0,3}\d){6,14}`), // +49 30 1234567
		regexp.MustCompile(`\+` + anySeparator + `{0,3}\d(?:` + anySeparator + `{0,4}\d){8,14}`),                // +49 | 30 | 1234567
		regexp.MustCompile(`\((?:0\d{1,4}|\d{3})\)` + separator + `{0,2}\d{2,8}(?:[ \-/]\d{2,8}){0,4}`),         // (030) 1234567
		regexp.MustCompile(`\b0\d{1,4}(?:` + separator + `{1,3}\d{2,8}){1,5}`),                                  // 030 1234567
		regexp.MustCompile(`\b(?:1[ .-])?\d{3}[ .-]\d{3}[ .-]\d{4}`),                                            // 555-010-9999
		regexp.MustCompile(`\b[6789]\d{2}(?:[ .-]\d{3}){2}\b|\b[6789]\d{2}(?:[ .-]\d{2}){3}\b`),                 // 912 345 678
	}
	// vanityNumber is a number in letters: 1-800-FLOWERS.
	vanityNumber = regexp.MustCompile(`\b1[ .-]8(?:00|33|44|55|66|77|88)[ .-][A-Z][A-Z0-9-]{3,}`)
	// cuedPhone is a number behind a word that says what it is for.
	cuedPhone = regexp.MustCompile(`(?i)(?:\b(?:call|phone|dial|tel|telephone|fax|hotline|whatsapp|sms|text|anrufen|anruf|ruf|rufen|rufe|telefon|telefonnummer|` +
		`telefonisch|hotline|llama|llame|llámanos|llámenos|teléfono|telefono|móvil|appelez|appeler|téléphone|composez))([^\d\n]{0,24}?)` +
		`(\d(?:` + separator + `{0,2}\d){4,14})`)
	// otherNumber is a word that says that a number is none to call.
	otherNumber = regexp.MustCompile(`(?i)order|parcel|track|article|item|code|customer|invoice|best|artikel|sendung|kunden|rechnung|pedido|seguimiento|` +
		`artículo|cliente|factura|commande|suivi|colis|facture|[€$£#]`)
	// calendar is a date, a span of dates or times, in digits.
	calendar = regexp.MustCompile(`\b(?:(?:0?[1-9]|[12]\d|3[01])[./ -](?:0?[1-9]|1[0-2])[./ -](?:(?:19|20)\d{2}|\d{2})|` +
		`(?:19|20)\d{2}[./-](?:0[1-9]|1[0-2])[./-](?:0[1-9]|[12]\d|3[01])|` +
		`(?:[01]?\d|2[0-4])[.:h](?:[0-5]\d)?[ ]?(?:-|\x{2013}|to|bis|a|à|y)[ ]?(?:[01]?\d|2[0-4])[.:h][0-5]\d)\b`)
)

// phoneNumbers removes phone numbers that are not the store's.
func (r *redaction) phoneNumbers(s string) string {
	if strings.Contains(s, "1") && countDigits(s, minVanityDigits) == minVanityDigits {
		s = vanityNumber.ReplaceAllString(s, r.removed.NumberRemoved)
	}
	longest := longestNumber(s)
	if longest < minCuedDigits {
		return s
	}
	if longest >= minPhoneDigits {
		s = r.keepDates(s)
	}
	for _, form := range phoneForms {
		if longest < minPhoneDigits {
			break
		}
		s = r.replacePhones(s, form.FindAllStringIndex(s, -1))
	}
	var cued [][]int
	for _, m := range cuedPhone.FindAllStringSubmatchIndex(s, -1) {
		if !otherNumber.MatchString(s[m[2]:m[3]]) {
			cued = append(cued, m[4:6])
		}
	}
	return r.replacePhones(s, cued)
}

// keepDates keeps dates and opening hours from being read as phone numbers. One that runs on in digits is none.
func (r *redaction) keepDates(s string) string {
	var b strings.Builder
	done := 0
	for _, at := range calendar.FindAllStringIndex(s, -1) {
		if runsOn(s[at[1]:]) || at[0] > 0 && strings.ContainsRune("+(./-", rune(s[at[0]-1])) {
			continue
		}
		b.WriteString(s[done:at[0]] + r.keep(s[at[0]:at[1]]))
		done = at[1]
	}
	return b.String() + s[done:]
}

// runsOn reports whether a number goes on behind a separator.
func runsOn(rest string) bool {
	return len(rest) > 1 && strings.IndexByte("./-", rest[0]) >= 0 && isDigit(rest[1])
}

func (r *redaction) replacePhones(s string, found [][]int) string {
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for _, at := range found {
		start, end := at[0], at[1]
		if start < done || !r.isPhone(s, start, end) {
			continue
		}
		b.WriteString(s[done:start])
		if number := s[start:end]; r.allowsPhone(number) {
			b.WriteString(r.keep(number))
		} else {
			b.WriteString(r.removed.NumberRemoved)
		}
		done = end
	}
	return b.String() + s[done:]
}

// isPhone reports whether digits in the form of a phone number are not a part of a code, a price or a longer number.
func (r *redaction) isPhone(s string, start, end int) bool {
	if start > 0 {
		before, _ := utf8.DecodeLastRuneInString(s[:start])
		if before == '#' || before == '_' || before == '-' || before == '/' || before == '.' || before == ',' || isWordRune(before) {
			return false
		}
	}
	if rest := s[end:]; rest != "" {
		after, n := utf8.DecodeRuneInString(rest)
		if after == '_' || isWordRune(after) || strings.ContainsRune(",-", after) && len(rest) > n && isDigit(rest[n]) {
			return false
		}
	}
	number := s[start:end]
	digits := countDigits(number, maxPhoneDigits+1)
	certain := number[0] == '+' && digits > 9 // no price or size is written so
	for _, unit := range []string{"€", "EUR", "USD", "GBP", "$", "£", "%", "g", "mm", "cm", "ml", "lm"} {
		if after, ok := strings.CutPrefix(strings.TrimLeft(s[end:], " \u00a0\u202f"), unit); ok && !certain && (after == "" || !isASCIILetter(after[0])) {
			return false
		}
	}
	if n := digits; n > maxPhoneDigits || n < minCuedDigits || n < minPhoneDigits && number[0] == '(' {
		return false
	}
	return countDigits(number, maxPhoneDigits)+digitsAfter(s[end:])+digitsBefore(s[:start]) <= maxPhoneDigits
}

// digitsAfter counts the digits that follow in groups with single spaces.
func digitsAfter(s string) int {
	n := 0
	for len(s) > 0 && (isDigit(s[0]) || s[0] == ' ' && len(s) > 1 && isDigit(s[1])) {
		if isDigit(s[0]) {
			n++
		}
		s = s[1:]
	}
	return n
}

// digitsBefore counts the digits that go before in groups with single spaces.
func digitsBefore(s string) int {
	n := 0
	for len(s) > 0 && (isDigit(s[len(s)-1]) || s[len(s)-1] == ' ' && len(s) > 1 && isDigit(s[len(s)-2])) {
		if isDigit(s[len(s)-1]) {
			n++
		}
		s = s[:len(s)-1]
	}
	return n
}

// longestNumber returns the number of digits of the longest number that a phone number could be, with all that may stand between
// its digits. It keeps the cost of the expressions off sentences with prices and years.
func longestNumber(s string) int {
	longest, digits, gap := 0, 0, 0
	for _, c := range s {
		switch {
		case '0' <= c && c <= '9':
			digits, gap = digits+1, 0
			longest = max(longest, digits)
		case gap < 4 && (strings.ContainsRune(" \t\u00a0\u202f.-/()·•∙⋅・_|*~:", c) || 0x2010 <= c && c <= 0x2015):
			gap++
		default:
			digits = 0
		}
	}
	return longest
}

// countDigits counts the ASCII digits of a text, and stops at limit.
func countDigits(s string, limit int) int {
	n := 0
	for i := 0; i < len(s) && n < limit; i++ {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isASCIILetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWordRune(r rune) bool { return r < firstKept && (text.IsLetter(r) || text.IsDigit(r)) }
