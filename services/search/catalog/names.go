package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// bytesPerWord is about what a short word and the space after it take.
const bytesPerWord = 6

// Words splits text into lower-case words. Digits are cut off from letters ("30l" is "30", "l"), a possessive 's is dropped,
// and separators between digits stay ("0.7"). Accents stay as well, since stemmers need them. Index and queries use the same
// words.
func Words(text string) []string {
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

// NameKey makes names and values of options, attributes, brands and tags comparable without case, separators and spelling
// variants.
func NameKey(s string) string {
	ws := Words(s)
	for i, w := range ws {
		ws[i] = Spelling(w)
	}
	return strings.Join(ws, " ")
}

// OptionKey makes the value of an option comparable: "EU 42", "size 42" and "42" are equal, and so are "Medium" and "M".
// name is a NameKey.
func OptionKey(name, value string) string {
	v := NameKey(value)
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

// Spelling returns the spelling of a word that comparisons use.
func Spelling(word string) string {
	if other, ok := Spellings[word]; ok {
		return other
	}
	return word
}

// Spellings maps variants of one word to the form that comparisons use.
var Spellings = map[string]string{
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

// IDKey folds an identifier as models write it: brackets, quotes, '#', punctuation and spaces around it, its case and the
// dashes that typography puts in place of '-' are forgiven.
func IDKey(id string) string {
	return strings.ToLower(CleanID(id))
}

// CleanID removes invisible characters, and what people and models put around identifiers.
func CleanID(id string) string {
	id = strings.Map(func(r rune) rune {
		switch {
		case invisible(r):
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

// normalize removes invisible characters and surrounding spaces from a product's texts. It leaves names of options and
// attributes as they are, since two of them could become equal; validation checks them.
func normalize(p *catalogv1.Product) {
	p.Title, p.Description, p.Brand = Clean(p.GetTitle()), Clean(p.GetDescription()), Clean(p.GetBrand())
	p.Audience = Clean(p.GetAudience())
	for _, t := range p.GetTranslations() {
		t.Title, t.Description = Clean(t.GetTitle()), Clean(t.GetDescription())
	}
	normalizeAll(p.GetCategoryPath())
	normalizeAll(p.GetTags())
	for _, a := range p.GetAttributes() {
		a.Unit = Clean(a.GetUnit())
		if t, ok := a.GetValue().(*catalogv1.Attribute_Text); ok {
			t.Text = Clean(t.Text)
		}
	}
	for _, v := range p.GetVariants() {
		for name, value := range v.GetOptions() {
			v.Options[name] = Clean(value)
		}
	}
}

func normalizeAll(values []string) {
	for i, v := range values {
		values[i] = Clean(v)
	}
}

// Clean returns the text without invisible characters and without spaces around it. NUL stays, so that validation refuses it.
func Clean(s string) string {
	if strings.IndexFunc(s, invisible) >= 0 {
		s = strings.Map(func(r rune) rune {
			if invisible(r) {
				return -1
			}
			return r
		}, s)
	}
	return strings.TrimSpace(s)
}

// invisible reports whether a character has no shape and only changes how others look, or where a search sees a word end:
// control characters but those that end lines, zero-width spaces, marks that turn the direction of text. The two joiners stay,
// which Persian, Indic scripts and emoji are written with.
func invisible(r rune) bool {
	switch r {
	case 0, '\n', '\r', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}
