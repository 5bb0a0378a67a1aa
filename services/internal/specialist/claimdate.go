package specialist

import (
	"strings"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// ends returns the numbers of a range such as 2-3, and whether the claim is one.
func (c *claim) ends() (from, to string, ok bool) {
	from, to, ok = strings.Cut(c.surface(), "-")
	return from, to, ok && isDigits(from) && isDigits(to) && c.kind == claimOther
}

// parts returns the letters and digits of a code: QT and 10029 of QT-10029.
func (c *claim) parts() []string {
	word := c.surface()
	var out []string
	begin := 0
	was := rune(0) // the kind of the last character
	for i, r := range word + " " {
		is := rune(0)
		if grounding.IsDigit(r) {
			is = '0'
		} else if grounding.IsLetter(r) {
			is = 'a'
		}
		if is != was {
			if was != 0 {
				out = append(out, word[begin:i])
			}
			begin, was = i, is
		}
	}
	return out
}

func isDigits(s string) bool {
	for i := range len(s) {
		if !isASCIIDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// dated returns the claim extended to the date or time that its number is a part of, and whether it is one.
func (c *claim) dated() (claim, bool) {
	whole := *c
	whole.kind = claimOther
	end := c.end
	for range 3 { // 3 May; 3. Mai; 3rd of May; 6 pm
		var word string
		if word, end = c.nextOrdinal(end); word == "" {
			break
		}
		if mayDate(word) && isDate(c.text[c.start:end]) {
			whole.end = end
			return whole, true
		}
		if len(word) > len("de") {
			break
		}
	}
	if word, start := c.previous(); mayDate(word) && isDate(c.text[start:c.end]) {
		whole.start = start
		return whole, true
	}
	return whole, c.kind == claimOther && isDate(c.surface())
}

// dateWords are the first letters of the words that make a number a date or a time, as far as the package facts knows them.
// They only save that it is asked for each number.
const dateWords = " jan ene jän feb fév mar mär apr abr avr may mai jun jui jul aug ago aoû sep oct okt nov dec dic déc dez am pm uhr h "

// mayDate reports whether a word may be one that makes a number a date or a time.
func mayDate(word string) bool {
	n, letters := 0, 0
	for n < len(word) && letters < 3 {
		_, size := utf8.DecodeRuneInString(word[n:])
		n, letters = n+size, letters+1
	}
	head := strings.ToLower(word[:n])
	at := strings.Index(dateWords, head)
	return n > 0 && at > 0 && dateWords[at-1] == ' ' && dateWords[at+len(head)] == ' '
}

// nextOrdinal is next, beyond the dot or mark that may follow a day.
func (c *claim) nextOrdinal(i int) (string, int) {
	rest := strings.TrimLeft(c.text[i:], ".º’'")
	return c.next(len(c.text) - len(rest))
}

// isDate reports whether a text is one date or time and nothing else.
func isDate(text string) bool {
	said := grounding.Of(text, "").Facts
	return len(said) == 1 && (said[0].Unit == grounding.Date || said[0].Unit == grounding.Time)
}
