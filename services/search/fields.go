package search

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// field is one searched part of a product.
type field struct {
	name string
	// weight of one occurrence of a word. Zero: no word is looked up in it by itself.
	weight float64
	// length is how much the words of a long text are worth less: from 0, not at all, to 1, in proportion.
	length float64
	// strong fields say what the product is, where others merely mention.
	strong bool
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
	pairsField // neighbours in the strong fields, written as one word
	headField  // what the title says that the product is
	numFields
)

// fields were weighed by cross-validation over public graded queries; docs/evaluation.md says how. Within a factor of two
// a weight makes little difference: what counts is that the title comes first, and that attributes, of which there are
// many, come last.
var fields = [numFields]field{
	titleField:       {"title", 6, 0.5, true},
	categoryField:    {"category", 5, 0.5, true},
	brandField:       {"brand", 3, 0.5, true},
	tagsField:        {"tags", 3, 0.5, true},
	attributesField:  {"attributes", 0.5, 0.5, true},
	captionField:     {"caption", 3, 0.75, true},
	sectionField:     {"section", 1.5, 0.5, false},
	descriptionField: {"description", 0.7, 0.75, false},
	pairsField:       {"pairs", 0, 0, true},
	headField:        {"head", 0, 0, true},
}

// parts are the stems of a product's words, by field.
type parts [numFields][]string

// partsOf takes a product apart. stem puts the stems of a language in place of words.
func partsOf(p *catalogv1.Product, stem func(*language, []string) []string) parts {
	var out parts
	var near []string
	l := languageOf(p)
	stems := inLanguage(l, stem)
	add := func(field int, text string) {
		ws := words(text)
		out[field] = append(out[field], stems(ws)...)
		if fields[field].strong {
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
	out[pairsField] = stems(near)
	out[headField] = stems(titleHead(p, l, values))
	return out
}

// inLanguage stems by a language, and beside it by English where that makes a difference: then a product is found by its very words in
// whatever language a store's queries are read.
func inLanguage(l *language, stem func(*language, []string) []string) func([]string) []string {
	if l == english {
		return func(ws []string) []string { return stem(english, ws) }
	}
	return func(ws []string) []string {
		foreign := stem(l, slices.Clone(ws))
		for i, s := range stem(english, ws) {
			if s != foreign[i] {
				foreign = append(foreign, s)
			}
		}
		return foreign
	}
}

// categoryOrSection tells the name of one kind of thing ("Tents") from that of several ("Stoves & cookware"): a pot is
// found by the latter, but is not therefore a stove.
func categoryOrSection(name string) int {
	if len(kinds(name)) > 1 {
		return sectionField
	}
	return categoryField
}

// joined writes neighbours as one word, so that "flash light" and "flashlight" meet, and words that stand together are told from words
// that stand apart.
func joined(ws []string) []string {
	var out []string
	for i := range len(ws) - 1 {
		out = append(out, ws[i]+ws[i+1])
	}
	return out
}

// models are words with digits that were cut into more than two, written as one.
func models(text string) []string {
	var out []string
	for _, w := range strings.Fields(text) {
		if !strings.ContainsAny(w, "0123456789") {
			continue
		}
		if ws := words(w); len(ws) > 2 {
			out = append(out, strings.Join(ws, ""))
		}
	}
	return out
}

// longestCaption is the length of a caption, in bytes.
const longestCaption = 200

// isCaption reports whether a description is a second title, as catalogs have it that were made from data sheets
// ("Compact USB keyboard, black"), and not sentences, in which much is merely mentioned.
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

// optionTexts are the options, each once. Sizes are left out: they would match every number in a query.
func optionTexts(p *catalogv1.Product) []string {
	options := make(map[string]bool)
	for _, v := range p.GetVariants() {
		for name, value := range v.GetOptions() {
			if fold(name) != "size" {
				options[value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(options))
}

// wordsOf are the words of each text.
func wordsOf(texts []string) [][]string {
	all := make([][]string, len(texts))
	for i, t := range texts {
		all[i] = words(t)
	}
	return all
}

// sameText reports whether two products are the same to an index.
func sameText(a, b *catalogv1.Product) bool {
	return a.GetTitle() == b.GetTitle() && a.GetBrand() == b.GetBrand() && a.GetDescription() == b.GetDescription() &&
		slices.Equal(a.GetCategoryPath(), b.GetCategoryPath()) && slices.Equal(a.GetTags(), b.GetTags()) &&
		slices.EqualFunc(a.GetAttributes(), b.GetAttributes(), func(x, y *catalogv1.Attribute) bool { return proto.Equal(x, y) }) &&
		attributeText(a) == attributeText(b)
}
