package specialist

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// minCodeLetters is the length of words in capitals that are taken for codes, as the package facts has it.
const minCodeLetters = 4

// nextClaim returns the first claim at or after from, and false if there is none.
func nextClaim(text string, from int) (claim, bool) {
	for i := from; i < len(text); {
		start, end, looks := nextWord(text, i)
		i = max(end, i+1)
		switch {
		case start == end:
			return claim{}, false
		case !looks.digit && !looks.sign && (looks.small || looks.letters < minCodeLetters):
			continue
		}
		c := claim{text: text, start: start, end: end}
		switch {
		case looks.digit && c.number():
			if marksItem(&c) {
				continue
			}
			c.belongings()
		case !looks.digit && looks.small && !isAddress(text[start:end]):
			continue
		}
		return c, true
	}
	return claim{}, false
}

// looks is what a word is made of.
type looks struct {
	digit, small bool // it has a digit, a small letter
	sign         bool // it has one that addresses have
	letters      int
}

// nextWord returns the next word at or after i, without the punctuation around it, or an empty one at the end of the text.
func nextWord(text string, i int) (start, end int, l looks) {
	start = -1
	sign := false // since the last letter or digit
	for i < len(text) {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case 'a' <= r && r <= 'z':
			l.small, l.letters = true, l.letters+1
		case 'A' <= r && r <= 'Z':
			l.letters++
		case '0' <= r && r <= '9':
			l.digit = true
		case separates(r):
			if start >= 0 {
				return start, end, l
			}
			i += n
			continue
		case r < utf8.RuneSelf:
			sign = start >= 0 && (sign || r == '.' || r == '@' || r == ':')
			i += n
			continue
		case unicode.IsDigit(r):
			l.digit = true
		case grounding.IsLetter(r):
			l.letters++
			l.small = l.small || unicode.ToLower(r) == r
		default:
			i += n
			continue
		}
		if start < 0 {
			start = i
		}
		l.sign, sign = l.sign || sign, false
		i += n
		end = i
	}
	if start < 0 {
		return len(text), len(text), l
	}
	return start, end, l
}

// separates reports whether a character stands between words.
func separates(r rune) bool {
	if r < utf8.RuneSelf {
		switch r {
		case ' ', '\n', '\t', '\r', '(', ')', '[', ']', '{', '}', '<', '>', '"', '|', '*', '`', ';', '$':
			return true
		}
		return false
	}
	return unicode.IsSpace(r) || strings.ContainsRune("“”„«»–—…", r) || grounding.IsUnspaced(r)
}

// isAddress reports whether a word with small letters is a URL, a mail address or a domain.
func isAddress(word string) bool {
	if !strings.ContainsAny(word, "@") && !strings.Contains(word, "://") {
		dot := strings.LastIndexByte(word, '.')
		if dot < 2 || len(word)-dot < 3 {
			return false
		}
	}
	said := grounding.Of(word, "").Facts
	return len(said) > 0 && said[0].Name
}

// marksItem reports whether a number counts an item of a list.
func marksItem(c *claim) bool {
	if c.end != c.numEnd || !grounding.CountsItems(c.digits()) {
		return false
	}
	after := c.text[c.end:]
	if after == "" || after[0] != '.' && after[0] != ')' || !strings.HasPrefix(strings.TrimLeft(after[1:], "*_"), " ") {
		return false
	}
	line := strings.LastIndexByte(c.text[:c.start], '\n') + 1
	if strings.Trim(c.text[line:c.start], "\t *_#>-(") != "" {
		return false
	}
	_, isDate := c.dated()
	return !isDate
}
