package search

import (
	"strings"
	"unicode"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// tidy takes out of a product's texts what nobody sees, and the spaces around them. Names of options and attributes are left
// as they are: they are checked, for two may become one.
func tidy(p *catalogv1.Product) {
	p.Title, p.Description, p.Brand = tidied(p.GetTitle()), tidied(p.GetDescription()), tidied(p.GetBrand())
	tidyAll(p.GetCategoryPath())
	tidyAll(p.GetTags())
	for _, a := range p.GetAttributes() {
		a.Unit = tidied(a.GetUnit())
		if t, ok := a.GetValue().(*catalogv1.Attribute_Text); ok {
			t.Text = tidied(t.Text)
		}
	}
	for _, v := range p.GetVariants() {
		for name, value := range v.GetOptions() {
			v.Options[name] = tidied(value)
		}
	}
}

func tidyAll(values []string) {
	for i, v := range values {
		values[i] = tidied(v)
	}
}

// tidied returns the text without hidden characters and spaces around it. NUL stays: it is never meant, and refused.
func tidied(s string) string {
	if strings.IndexFunc(s, hidden) >= 0 {
		s = strings.Map(func(r rune) rune {
			if hidden(r) {
				return -1
			}
			return r
		}, s)
	}
	return strings.TrimSpace(s)
}

// hidden reports whether a character has no shape and only changes how others look, or where a search sees a word end:
// control characters but those that end lines, zero-width spaces, marks that turn the direction of text. The two joiners stay,
// which Persian, Indic scripts and emoji are written with.
func hidden(r rune) bool {
	switch r {
	case 0, '\n', '\r', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}
