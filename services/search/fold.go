package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	porterstemmer "github.com/blevesearch/go-porterstemmer"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// bytesPerWord is about what a short word and the space after it take.
const bytesPerWord = 6

// words takes text apart into lower-case words. Digits that run into letters are cut off ("30l" is "30", "l"), a
// possessive 's is dropped, and separators between digits stay ("0.7"). Index and queries share it, so that both sides
// see the same words. They are parts of one text, in lower case.
func words(text string) []string {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	out := make([]string, 0, 1+len(text)/bytesPerWord)
	start, number := -1, true // the word at hand, and whether it is a number so far
	end := func(at int) {
		if start < 0 {
			return
		}
		w := text[start:at]
		if strings.ContainsAny(w, "'.,") {
			w = strings.ReplaceAll(strings.Trim(strings.TrimSuffix(w, "'s"), "'."), ",", ".")
		}
		if w != "" {
			out = append(out, w)
		}
		start, number = -1, true
	}
	prevDigit := false
	for i, r := range text {
		digit := '0' <= r && r <= '9'
		letter := 'a' <= r && r <= 'z'
		if r >= utf8.RuneSelf {
			digit = unicode.IsDigit(r)
			letter = !digit && (unicode.IsLetter(r) || unicode.IsMark(r))
		}
		switch {
		case digit, letter, r == '\'':
			if letter && prevDigit && number {
				end(i)
			}
			if start < 0 {
				start = i
			}
			number = number && digit
		case (r == '.' || r == ',') && prevDigit && startsWithDigit(text[i+1:]):
		default:
			end(i)
		}
		prevDigit = digit
	}
	end(len(text))
	if len(out) == 0 {
		return nil
	}
	return out
}

func startsWithDigit(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsDigit(r)
}

func allDigits(s string) bool {
	for _, r := range s {
		if !unicode.IsDigit(r) && r != '.' {
			return false
		}
	}
	return s != ""
}

// stem cuts an English word down to its stem, so that plural and singular are the same.
func stem(word string) string {
	if len(word) < 3 || strings.IndexFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		return word
	}
	return porterstemmer.StemString(word)
}

// nameKey folds the name of a category, so that case, plural and separators make no difference.
func nameKey(name string) string {
	ws := words(name)
	for i, w := range ws {
		ws[i] = stem(spelling(w))
	}
	return strings.Join(ws, " ")
}

// kinds takes apart the name of a category that holds several kinds of things: "Stoves & cookware" holds two.
func kinds(name string) []string {
	name = strings.ReplaceAll(strings.ToLower(name), " and ", "&")
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("&/,+", r) })
}

// fold makes names and values of options, attributes, brands and tags comparable without case, separators and
// spelling variants.
func fold(s string) string {
	if len(s) > longestName {
		return foldAnew(s)
	}
	if folded, ok := foldedNames.Get(s); ok {
		return folded
	}
	folded := foldAnew(s)
	foldedNames.Put(strings.Clone(s), folded) // it may be part of a long text
	return folded
}

const (
	// longestName is the length of the names that are remembered, in bytes.
	longestName = 40
	// maxFolded bounds those names; beyond it, remembering begins anew.
	maxFolded = 20_000
)

// foldedNames remembers what names were folded to: products have the same names of attributes, options and brands, and the
// same values of most.
var foldedNames = retrieval.NewMemo[string](maxFolded)

func foldAnew(s string) string {
	ws := words(s)
	for i, w := range ws {
		ws[i] = spelling(w)
	}
	return strings.Join(ws, " ")
}

// foldValue folds the value of an option: "EU 42", "size 42" and "42" are one, and so are "Medium" and "M".
func foldValue(name, value string) string {
	v := fold(value)
	if name != "size" {
		return v
	}
	for _, prefix := range [...]string{"size ", "eu ", "eur "} {
		v = strings.TrimPrefix(v, prefix)
	}
	if short, ok := letterSizes[v]; ok {
		return short
	}
	return v
}

func spelling(word string) string {
	if other, ok := spellings[word]; ok {
		return other
	}
	return word
}

// spellings maps variants of one word to the form that comparisons use.
var spellings = map[string]string{
	"color": "colour", "gray": "grey", "liter": "l", "litre": "l", "liters": "l", "litres": "l",
	"gram": "g", "grams": "g", "kilogram": "kg", "kilograms": "kg", "inches": "inch", "meter": "m", "metre": "m",
	"meters": "m", "metres": "m", "womens": "women", "woman": "women", "ladies": "women", "female": "women",
	"mens": "men", "man": "men", "male": "men",
}

// letterSizes maps written-out sizes to their letters.
var letterSizes = map[string]string{
	"extra small": "xs", "x small": "xs", "small": "s", "medium": "m", "large": "l", "extra large": "xl",
	"x large": "xl", "extra extra large": "xxl", "xx large": "xxl", "2 xl": "xxl",
}

// idKey folds an identifier as models write it: brackets, quotes, '#', punctuation and spaces around it, its case and the
// dashes that typography puts in place of '-' are forgiven.
func idKey(id string) string {
	return strings.ToLower(cleanID(id))
}

// cleanID strips what people and models put around identifiers, and what nobody sees.
func cleanID(id string) string {
	id = strings.Map(func(r rune) rune {
		switch {
		case hidden(r):
			return -1
		case unicode.Is(unicode.Dash, r):
			return '-'
		}
		return r
	}, id)
	return strings.TrimFunc(id, func(r rune) bool {
		return unicode.IsSpace(r) || r != '-' && r != '_' && unicode.IsPunct(r) || strings.ContainsRune("<>`=+|", r)
	})
}
