package grounding

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// atom is a run of letters or a run of digits.
type atom struct {
	text   string // in lower case, digits as ASCII
	glue   string // between it and the atom before it in the same token
	start  int    // in the text, in bytes
	end    int
	digits bool
	upper  bool // letters without a small one
	lower  bool // letters without a capital one
}

// token is one word, number, code or address.
type token struct {
	atoms   []atom
	address bool // a URL, a mail address or a domain
}

func (t token) start() int { return t.atoms[0].start }
func (t token) end() int   { return t.atoms[len(t.atoms)-1].end }

// all reports whether all atoms are digits, or none.
func (t token) all(digits bool) bool {
	for _, a := range t.atoms {
		if a.digits != digits {
			return false
		}
	}
	return true
}

// compact is the token without what glues it.
func (t token) compact() string {
	if len(t.atoms) == 1 {
		return t.atoms[0].text
	}
	var b strings.Builder
	for _, a := range t.atoms {
		b.WriteString(a.text)
	}
	return b.String()
}

// tokenize splits the text into tokens.
func (r *reader) tokenize() {
	begin := 0 // of the chain: atoms that nothing but glue keeps apart
	for i := 0; i < len(r.text); {
		c, n := utf8.DecodeRuneInString(r.text[i:])
		if !text.IsLetter(c) && !text.IsDigit(c) {
			i += n
			continue
		}
		a := readAtom(r.text, i)
		if k := len(r.atoms); k > begin {
			if a.glue = r.text[r.atoms[k-1].end:i]; !glues(a.glue, r.atoms[k-1].digits && a.digits) {
				r.tokens = appendTokens(r.tokens, r.atoms[begin:])
				begin, a.glue = k, ""
			}
		}
		r.atoms = append(r.atoms, a)
		i = a.end
	}
	if len(r.atoms) > begin {
		r.tokens = appendTokens(r.tokens, r.atoms[begin:])
	}
}

// readAtom reads the atom that begins at start.
func readAtom(s string, start int) atom {
	first, _ := utf8.DecodeRuneInString(s[start:])
	a := atom{digits: text.IsDigit(first), upper: !text.IsDigit(first), start: start}
	same, plain := text.IsLetter, true
	if a.digits {
		same = text.IsDigit
	}
	for a.end = start; a.end < len(s); {
		r, n := utf8.DecodeRuneInString(s[a.end:])
		if !same(r) {
			break
		}
		a.upper = a.upper && unicode.ToLower(r) != r
		plain = plain && r < utf8.RuneSelf
		a.end += n
	}
	switch {
	case !a.digits:
		a.text = strings.ToLower(s[start:a.end])
		a.lower = a.text == s[start:a.end]
	case plain:
		a.text = s[start:a.end]
	default:
		a.text = strings.Map(plainDigit, s[start:a.end])
	}
	return a
}

// plainDigit returns the ASCII digit of any script's. Unicode keeps each script's ten in a row.
func plainDigit(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return r
}

// glues reports whether what stands between two atoms keeps them together.
func glues(s string, digits bool) bool {
	switch s {
	case "", ".", "-", "_", "/", ":", "'", "’", "://", "@", "+", "&", "=", "?", "#", "~", "‑":
		return true
	case ",":
		return digits
	}
	return false
}

// appendTokens appends the tokens of a chain: one if it is an address, and else as many as there are things.
func appendTokens(out []token, chain []atom) []token {
	if len(chain) > 1 && isAddress(chain) {
		return append(out, token{atoms: chain, address: true})
	}
	begin := 0
	for i := 1; i < len(chain); i++ {
		if startsToken(chain[begin:], i-begin) {
			out = append(out, token{atoms: chain[begin:i]})
			begin = i
			chain[i].glue = ""
		}
	}
	return append(out, token{atoms: chain[begin:]})
}

// isAddress reports whether atoms make up a URL, a mail address or a domain.
func isAddress(chain []atom) bool {
	for i, a := range chain {
		if a.glue == "://" || a.glue == "@" || a.text == "www" && i+1 < len(chain) && chain[i+1].glue == "." {
			return true
		}
	}
	return isDomain(chain)
}

// isDomain reports whether atoms make up a domain, with or without a path: small letters, and two or more of them in each
// part, which abbreviations such as p.ej. do not have.
func isDomain(chain []atom) bool {
	if slash := slices.IndexFunc(chain, func(a atom) bool { return a.glue == "/" }); slash > 0 {
		chain = chain[:slash]
	}
	for i, a := range chain {
		if i > 0 && a.glue != "." && a.glue != "-" && a.glue != "" || !a.digits && (!a.lower || len(a.text) < 2) {
			return false
		}
	}
	last := chain[len(chain)-1]
	return len(chain) > 1 && !chain[0].digits && !last.digits && last.glue == "."
}

// startsToken reports whether a new token begins with the i-th atom of a chain.
func startsToken(chain []atom, i int) bool {
	before, a := chain[i-1], chain[i]
	switch {
	case before.digits && a.digits:
		switch a.glue {
		case ".", ",", "'", "’", "_":
			return false
		case ":":
			return before.glue == ":"
		case "/":
			return !datelike(chain) && i+1 < len(chain) && chain[i+1].digits
		}
		return !datelike(chain)
	case before.digits != a.digits && a.glue == "":
		return isCurrency(before) || isCurrency(a) || before.digits && isSuffix(chain, i)
	case a.glue == "-" || a.glue == "‑":
		return before.digits && !a.upper && (len(a.text) > 1 || measures[a.text] != "") || a.digits && inWords(chain)
	}
	return a.glue != "" && a.glue != "_"
}

// datelike reports whether a chain is three numbers that may be a date.
func datelike(chain []atom) bool {
	return len(chain) == 3 && chain[1].glue == chain[2].glue && chain[0].digits && chain[1].digits && chain[2].digits &&
		len(chain[1].text) <= 2
}

// isSuffix reports whether the i-th atom of a chain is a unit or an ending behind a number, as in 5kg and 3rd.
func isSuffix(chain []atom, i int) bool {
	for _, a := range chain[:i] {
		if !a.digits {
			return false
		}
	}
	last := i+1 == len(chain) || chain[i+1].glue != ""
	return last && !chain[i].upper && len(chain[i].text) <= 3
}

// inWords reports whether a chain is numbers and plain words with hyphens, as in 30-day, and not a code.
func inWords(chain []atom) bool {
	for i, a := range chain {
		if !a.digits && (a.upper || len(a.text) < 2) || i > 0 && a.glue == "" {
			return false
		}
	}
	return true
}
