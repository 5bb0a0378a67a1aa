// Package voice checks how a store speaks, and says it to models. The package must not import a service.
package voice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Bounds of a voice. Models read it in every call. Texts are counted in characters.
const (
	maxTone  = 500
	maxTerms = 50
	maxAvoid = 10
	maxTerm  = 60
	maxText  = 300
)

// Check reports everything that is wrong with a voice. It may be nil.
func Check(check *fault.Checker, field string, v *specialistv1.Voice) {
	check.Text(field+".tone", v.GetTone(), 0, maxTone)
	if check.Count(field+".glossary", len(v.GetGlossary()), maxTerms) {
		for i, t := range v.GetGlossary() {
			at := fault.At(field+".glossary", i)
			check.Text(at+".use", t.GetUse(), 1, maxTerm)
			if check.Count(at+".avoid", len(t.GetAvoid()), maxAvoid) {
				for j, word := range t.GetAvoid() {
					check.Text(fault.At(at+".avoid", j), word, 1, maxTerm)
				}
			}
			checkByLanguage(check, at+".translations", t.GetTranslations(), maxTerm)
		}
	}
	checkByLanguage(check, field+".greetings", v.GetGreetings(), maxText)
	checkByLanguage(check, field+".handoff_texts", v.GetHandoffTexts(), maxText)
}

// checkByLanguage checks texts by language. Violations name the entries by number, in the order of the languages: a key may be any
// text.
func checkByLanguage(check *fault.Checker, field string, texts map[string]string, most int) {
	for i, tag := range slices.Sorted(maps.Keys(texts)) {
		if _, err := language.Parse(tag); err != nil {
			check.Addf(fault.At(field, i), "its key must be a BCP 47 language tag, such as \"es-MX\"")
		}
		check.Text(fault.At(field, i), texts[tag], 1, most)
	}
}

// In returns the text for a language, a BCP 47 tag: that of the tag, or of its base language. Empty: there is none.
func In(texts map[string]string, tag string) string {
	base, _, _ := strings.Cut(tag, "-")
	return cmp.Or(texts[tag], texts[base])
}

// Lines are what a prompt says of a voice for replies in a language: whole lines, or "".
func Lines(v *specialistv1.Voice, tag string) string {
	var b strings.Builder
	if tone := v.GetTone(); tone != "" {
		fmt.Fprintf(&b, "How the store speaks: %s\n", text.OneLine(tone))
	}
	for _, t := range v.GetGlossary() {
		fmt.Fprintf(&b, "Say %q", cmp.Or(In(t.GetTranslations(), tag), t.GetUse()))
		for i, word := range t.GetAvoid() {
			b.WriteString([]string{", never ", ", "}[min(i, 1)])
			fmt.Fprintf(&b, "%q", word)
		}
		b.WriteString(".\n")
	}
	return b.String()
}

// GreetingLine is what a prompt says of the greeting in a language: a whole line, or "".
func GreetingLine(v *specialistv1.Voice, tag string) string {
	if greeting := In(v.GetGreetings(), tag); greeting != "" {
		return fmt.Sprintf("If the shopper only greets, answer: %s\n", text.OneLine(greeting))
	}
	return ""
}
