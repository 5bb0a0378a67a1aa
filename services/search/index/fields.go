package index

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// Field is one searched part of a product.
type Field struct {
	Name string
	// Weight of one occurrence of a word. Zero: no word is looked up in it by itself.
	Weight float64
	// length is how much the words of a long text are worth less: from 0, not at all, to 1, in proportion.
	length float64
	// Strong is true for fields that say what the product is. The others only mention things.
	Strong bool
}

const (
	titleField = iota
	categoryField
	brandField
	tagsField
	attributesField
	captionField
	sectionField
	descriptionField
	PairsField // neighbours in the strong fields, written as one word
	HeadField  // what the title says that the product is
	NumFields
)

// Fields were weighed by cross-validation over public graded queries; docs/evaluation.md says how. Within a factor of two
// a weight makes little difference: what counts is that the title comes first, and that attributes, of which there are
// many, come last.
var Fields = [NumFields]Field{
	titleField:       {"title", 6, 0.5, true},
	categoryField:    {"category", 5, 0.5, true},
	brandField:       {"brand", 3, 0.5, true},
	tagsField:        {"tags", 3, 0.5, true},
	attributesField:  {"attributes", 0.5, 0.5, true},
	captionField:     {"caption", 3, 0.75, true},
	sectionField:     {"section", 1.5, 0.5, false},
	descriptionField: {"description", 0.7, 0.75, false},
	PairsField:       {"pairs", 0, 0, true},
	HeadField:        {"head", 0, 0, true},
}

// FieldTerms are the stems of a product's words, by field.
type FieldTerms [NumFields][]string

// Analyze takes a product apart. stem puts the stems of a language in place of words.
func Analyze(p *catalogv1.Product, stem func(*Language, []string) []string) FieldTerms {
	out := analyze(p, LanguageOf(p), stem)
	for _, t := range p.GetTranslations() {
		translated := &catalogv1.Product{Title: t.GetTitle(), Description: t.GetDescription()}
		for field, terms := range analyze(translated, languageOfTag(t.GetLanguage()), stem) {
			out[field] = append(out[field], terms...)
		}
	}
	return out
}

// analyze takes a product in one language apart.
func analyze(p *catalogv1.Product, l *Language, stem func(*Language, []string) []string) FieldTerms {
	var out FieldTerms
	var near []string
	stems := inLanguage(l, stem)
	add := func(field int, text string) {
		ws := catalog.Words(text)
		out[field] = append(out[field], stems(ws)...)
		if Fields[field].Strong {
			near = append(append(near, joined(ws)...), models(text)...)
		}
	}
	add(titleField, p.GetTitle())
	add(brandField, p.GetBrand())
	for _, name := range p.GetCategoryPath() {
		add(categoryOrSection(name), name)
	}
	for _, tag := range p.GetTags() {
		add(tagsField, tag)
	}
	values := wordsOf(attributeTexts(p))
	out[attributesField] = stems(append(slices.Concat(values...), slices.Concat(wordsOf(optionTexts(p))...)...))
	if isCaption(p.GetDescription()) {
		add(captionField, p.GetDescription())
	} else {
		add(descriptionField, p.GetDescription())
	}
	out[PairsField] = stems(near)
	out[HeadField] = stems(titleHead(p, l, values))
	return out
}

// inLanguage stems by a language, and beside it by English where that makes a difference: then a product is found by its very words in
// whatever language a store's queries are read.
func inLanguage(l *Language, stem func(*Language, []string) []string) func([]string) []string {
	if l == English {
		return func(ws []string) []string { return stem(English, ws) }
	}
	return func(ws []string) []string {
		foreign := stem(l, slices.Clone(ws))
		for i, s := range stem(English, ws) {
			if s != foreign[i] {
				foreign = append(foreign, s)
			}
		}
		return foreign
	}
}

// categoryOrSection returns the field for the name of a category: one kind of product ("Tents"), or several ("Stoves &
// cookware"). The words of the latter find a pot and do not say that it is a stove.
func categoryOrSection(name string) int {
	if len(CategoryNames(name)) > 1 {
		return sectionField
	}
	return categoryField
}

// joined writes neighbours as one word, so that "flash light" and "flashlight" meet, and words that stand together are told from words
// that stand apart. Queries never ask for short ones, nor for one such as "30l", which they have as two words.
func joined(ws []string) []string {
	var out []string
	for i := range len(ws) - 1 {
		if w := ws[i] + ws[i+1]; len(w) >= shortestCompound && (!isNumber(ws[i]) || isNumber(ws[i+1])) {
			out = append(out, w)
		}
	}
	return out
}

// models are words with digits that were cut into more than two, written as one.
func models(text string) []string {
	var out []string
	for _, w := range strings.Fields(text) {
		if !retrieval.HasDigit(w) {
			continue
		}
		if ws := catalog.Words(w); len(ws) > 2 {
			out = append(out, strings.Join(ws, ""))
		}
	}
	return out
}

// longestCaption is the length of a caption, in bytes.
const longestCaption = 200

// isCaption reports whether a description is a second title ("Compact USB keyboard, black"), as data sheets have it.
// Sentences mention many things that the product is not.
func isCaption(description string) bool {
	d := strings.TrimSpace(description)
	return len(d) <= longestCaption && !strings.ContainsAny(d, "!?") && !strings.HasSuffix(d, ".") && !strings.Contains(d, ". ")
}

// attributeText is what attributes and options say.
func attributeText(p *catalogv1.Product) string {
	said := slices.DeleteFunc(attributeTexts(p), func(text string) bool { return text == "" })
	return strings.Join(append(said, optionTexts(p)...), " | ")
}

// attributeTexts are what each attribute says.
func attributeTexts(p *catalogv1.Product) []string {
	all := make([]string, len(p.GetAttributes()))
	for i, a := range p.GetAttributes() {
		switch v := a.GetValue().(type) {
		case *catalogv1.Attribute_Text:
			all[i] = v.Text
		case *catalogv1.Attribute_Number:
			all[i] = strconv.FormatFloat(v.Number, 'f', -1, 64) + " " + a.GetUnit()
		case *catalogv1.Attribute_Flag:
			if v.Flag {
				all[i] = a.GetName()
			}
		}
	}
	return all
}

// optionTexts are the options, each once. Sizes that are a bare number or letter are left out: they would match every number in a query,
// and the unit of "30 l". A size with a unit or in words is what it says: "65 inch", "queen".
func optionTexts(p *catalogv1.Product) []string {
	options := make(map[string]bool)
	for _, v := range p.GetVariants() {
		for name, value := range v.GetOptions() {
			if catalog.NameKey(name) != "size" || !isBareSize(value) {
				options[value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(options))
}

func isBareSize(value string) bool {
	ws := catalog.Words(value)
	return len(ws) == 0 || len(ws) == 1 && (isNumber(ws[0]) || utf8.RuneCountInString(ws[0]) == 1)
}

// wordsOf are the words of each text.
func wordsOf(texts []string) [][]string {
	all := make([][]string, len(texts))
	for i, t := range texts {
		all[i] = catalog.Words(t)
	}
	return all
}

// SameText reports whether two products are the same to an index.
func SameText(a, b *catalogv1.Product) bool { return bytes.Equal(Indexed(a), Indexed(b)) }

// Indexed returns all that an index reads of a product, in a form for comparison.
func Indexed(p *catalogv1.Product) []byte {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&catalogv1.Product{
		Title: p.GetTitle(), Brand: p.GetBrand(), Description: p.GetDescription(), CategoryPath: p.GetCategoryPath(), Tags: p.GetTags(),
		Attributes: p.GetAttributes(), Translations: p.GetTranslations(),
	})
	if err != nil { // a text that is not UTF-8: no product has one
		return nil
	}
	return append(raw, attributeText(p)...)
}

// titleHead returns the words of the title that say what the product is: one, or two where the first is too broad. The
// product "Kestrel keyboard cover, black" is a cover, "Kestrel keyboard black" a keyboard. Nil: the title does not say.
//
// In English that is the last word of the first part of the title, once the words are gone that only say how it is. Where nouns
// come first it is the first.
func titleHead(p *catalogv1.Product, l *Language, values [][]string) []string {
	title, brand := p.GetTitle(), catalog.Words(p.GetBrand())
	// A title has its brand once: what follows it in "Case Logic camera case" is a case. Where nouns come first, the brand follows them.
	if rest, ok := afterBrand(title, p.GetBrand()); ok && !l.nounFirst {
		title, brand = rest, nil
	}
	known := qualities(p, brand, values)
	quality := func(w string) bool { return known[w] || l.words.qualifiers[w] }
	for _, part := range titleParts(title, l.words.prepositions) {
		ws := catalog.Words(withoutModels(part))
		for l.nounFirst && len(ws) > 0 && quality(ws[0]) {
			ws = ws[1:]
		}
		if l.nounFirst && len(ws) > 0 {
			return ws[:1]
		}
		for len(ws) > 0 && endsInQuality(ws, quality) {
			ws = ws[:len(ws)-1]
		}
		switch n := len(ws); {
		case n > 1 && broad[ws[n-1]]:
			return ws[n-2:]
		case n > 0:
			return ws[n-1:]
		}
	}
	return nil
}

// afterBrand is what follows the brand in a title that begins with it.
func afterBrand(title, brand string) (rest string, ok bool) {
	if brand == "" || len(brand) > len(title) || !strings.EqualFold(title[:len(brand)], brand) {
		return "", false
	}
	rest = title[len(brand):]
	next, _ := utf8.DecodeRuneInString(rest)
	return rest, !unicode.IsLetter(next) && !unicode.IsDigit(next)
}

// titleParts cuts a title at punctuation and at prepositions.
func titleParts(title string, prepositions map[string]bool) []string {
	var out []string
	for _, part := range strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(",()[]–—|;:", r) }) {
		ws, start := strings.Fields(part), 0
		for i, w := range ws {
			if w == "-" || prepositions[strings.ToLower(w)] {
				out = append(out, strings.Join(ws[start:i], " "))
				start = i + 1
			}
		}
		out = append(out, strings.Join(ws[start:], " "))
	}
	return out
}

// withoutModels puts one word in place of those in which letters and digits run together or are joined, as they do in the
// names of models.
func withoutModels(part string) string {
	ws := strings.Fields(part)
	for i, w := range ws {
		if retrieval.HasDigit(w) && strings.ContainsFunc(w, unicode.IsLetter) {
			ws[i] = "model0"
		}
	}
	return strings.Join(ws, " ")
}

// endsInQuality reports whether the last word says how the product is and not what it is: a number, its unit, a model's
// name, a colour, or a word of the product's own attributes.
func endsInQuality(ws []string, quality func(string) bool) bool {
	last := ws[len(ws)-1]
	measures := len(ws) > 1 && isNumber(ws[len(ws)-2])
	return measures || len(last) == 1 || retrieval.HasDigit(last) || quality(last)
}

// longestQuality is the number of words in an attribute that is a quality. Longer ones describe, in words of any sort.
const longestQuality = 3

// qualities are the words that say whose and how a product is: those of its brand, its options and its short attributes
// other than its type.
func qualities(p *catalogv1.Product, brand []string, values [][]string) map[string]bool {
	known := make(map[string]bool)
	add := func(ws []string) {
		if len(ws) <= longestQuality {
			for _, w := range ws {
				known[w] = true
			}
		}
	}
	add(brand)
	for i, a := range p.GetAttributes() {
		if _, isText := a.GetValue().(*catalogv1.Attribute_Text); isText && !strings.HasSuffix(a.GetName(), "type") {
			add(values[i])
		}
	}
	for _, v := range p.GetVariants() {
		for _, value := range v.GetOptions() {
			add(catalog.Words(value))
		}
	}
	return known
}

// broad are things so broad that the word before says as much: a notebook PC is a notebook.
var broad = map[string]bool{
	"pc": true, "computer": true, "device": true, "system": true, "unit": true, "set": true, "kit": true, "pack": true,
	"bundle": true, "series": true, "edition": true,
}
