package recommend

import (
	"slices"
	"strings"
	"unicode"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// relation is what the model asked for. When it left that open, the shopper's own words decide.
func (t *turn) relation(in similarArgs) catalogv1.Relation {
	if in.Relation == "" && asksForCompany(t.SubQuery) {
		return catalogv1.Relation_RELATION_COMPLEMENT
	}
	return relations[in.Relation]
}

// company are the turns of phrase that ask for what goes with a thing, never for another of it.
var company = [...]string{
	"go with", "goes with", "go well with", "goes well with", "going with", "pair with", "pairs with", "pairs well with",
	"passt zu", "passend zu", "passen zu", "va con", "van con", "va bien con", "combina con", "combinan con", "va avec",
	"vont avec", "va bien avec", "together with", "bought with", "buy with", "zusammen mit", "junto con",
}

// asksForCompany reports whether the shopper asks for what goes with something.
func asksForCompany(text string) bool {
	text = " " + strings.Join(letters(text), " ") + " "
	return slices.ContainsFunc(company[:], func(phrase string) bool { return strings.Contains(text, " "+phrase+" ") })
}

// letters are the lower-case words of a text.
func letters(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// gifts are the words for what is to be given away, which says nothing of the cart.
var gifts = map[string]bool{
	"gift": true, "present": true, "geschenk": true, "geschenkidee": true, "regalo": true, "cadeau": true, "regali": true,
	"cadeaux": true, "geschenke": true,
}

// wantsGift reports whether the shopper looks for something to give away, and not for what goes with it.
func (t *turn) wantsGift() bool { return asksForGift(t.SubQuery) && !asksForCompany(t.SubQuery) }

func asksForGift(text string) bool {
	return slices.ContainsFunc(letters(text), func(word string) bool { return gifts[singular(word)] || gifts[word] })
}

// titled reports whether every word of the query is one of the title, in the singular or the plural. Articles do not count.
func titled(title, query string) bool {
	have := letters(title)
	for i := range have {
		have[i] = singular(have[i])
	}
	words := naming(query)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, singular(w)) })
}

// naming are the words of a query that may name something.
func naming(query string) []string {
	return slices.DeleteFunc(letters(query), func(w string) bool { return articles[w] })
}

// articles are words that name nothing.
var articles = map[string]bool{"a": true, "an": true, "the": true, "my": true, "your": true, "this": true, "that": true}

func singular(word string) string {
	if len(word) > 3 && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	return word
}
