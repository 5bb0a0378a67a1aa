package search

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// language is one that products may be written in. It is immutable.
type language struct {
	// tag is its BCP 47 tag.
	tag string
	// stem cuts a word in lower case down to its stem.
	stem func(word string) string
	// stops are the words that the library knows not to tell texts apart, in its format.
	stops []byte
	// words are what shoppers say, and what it means. The zero value knows nothing.
	words wordlist
	// nounFirst is true where the thing comes before what says how it is: "chaussures de randonnée".
	nounFirst bool
}

// wordlist are words of one language, in lower case.
type wordlist struct {
	// chatter is what shoppers say around the thing that they want. It never tells products apart.
	chatter string
	// vague words order products and never leave one out: every shopper means them differently.
	vague map[string]bool
	// prepositions end the part of a query that says what the thing is: "tents for two people" are tents.
	prepositions map[string]bool
	// qualifiers stand beside the thing that is meant: "jacket men waterproof" is a jacket.
	qualifiers map[string]bool
	// beforeAmount and afterAmount are words around a number that is a price or a size.
	beforeAmount, afterAmount map[string]bool
	// synonyms are groups of phrases that mean the same, of one or two words each.
	synonyms [][]string
	// implications name what serves a shopper who says the word. They hold one way.
	implications map[string][]string
}

// english is the language of what says of no other that it is its own.
var english = &language{tag: "en", stem: stem, stops: en.EnglishStopWords, words: englishWords}

// languages are those that are told apart, English first.
var languages = []*language{
	english,
	{tag: "de", stem: filtered(de.NewGermanNormalizeFilter(), de.NewGermanLightStemmerFilter()), stops: de.GermanStopWords, words: germanWords},
	{tag: "fr", stem: elided(filtered(fr.NewFrenchLightStemmerFilter())), stops: fr.FrenchStopWords, words: frenchWords, nounFirst: true},
	{tag: "es", stem: filtered(es.NewSpanishNormalizeFilter(), es.NewSpanishLightStemmerFilter()), stops: es.SpanishStopWords, words: spanishWords, nounFirst: true},
	{tag: "it", stem: elided(filtered(it.NewItalianLightStemmerFilterFilter())), stops: it.ItalianStopWords, nounFirst: true},
	{tag: "nl", stem: filtered(nl.NewDutchStemmerFilter()), stops: nl.DutchStopWords},
	{tag: "pt", stem: filtered(pt.NewPortugueseLightStemmerFilter()), stops: pt.PortugueseStopWords, nounFirst: true},
}

// filtered stems by the library's filters. Short words and what has a digit are left alone: there another word is near, and
// numbers of models have no plural.
func filtered(filters ...analysis.TokenFilter) func(string) string {
	return func(word string) string {
		if len(word) < 3 || strings.ContainsAny(word, "0123456789") {
			return word
		}
		stream := analysis.TokenStream{{Term: []byte(word)}}
		for _, f := range filters {
			stream = f.Filter(stream)
		}
		return string(stream[0].Term)
	}
}

// elided cuts off an article that has lost its vowel, as in "l'hiver", before it stems.
func elided(stem func(string) string) func(string) string {
	return func(word string) string {
		if before, after, ok := strings.Cut(word, "'"); ok && len(before) <= len("dell") && after != "" {
			word = after
		}
		return stem(word)
	}
}

// markers are the words that tell languages apart: stop words, words for things and what is said of them, by the languages that
// have them.
var markers = sync.OnceValue(func() map[string]tongues {
	out := make(map[string]tongues)
	for i, l := range languages {
		mark := func(w string) { out[w] |= 1 << i }
		for w := range stopWords(l.stops) {
			mark(w)
		}
		for _, list := range []map[string]bool{l.words.prepositions, l.words.qualifiers, l.words.vague, set(l.words.chatter)} {
			for w := range list {
				mark(w)
			}
		}
		for _, group := range l.words.synonyms {
			for _, phrase := range group {
				for _, w := range words(phrase) {
					mark(w)
				}
			}
		}
	}
	for _, w := range strings.Fields(borrowed) {
		delete(out, w)
	}
	return out
})

// tongues is a set of languages by their places in the list.
type tongues uint8

func (t tongues) has(i int) bool { return t&(1<<i) != 0 }

// borrowed are words that shops use in many languages.
const borrowed = `boots buggy couch notebook sneaker sneakers tennis pull pullover mug thermos tv pc sofa termo beanie laptop smartphone
trekking unisex anorak hardshell sweater frontal stock boxen junior dame portable landau saco tele rad frigo eu ps ma us`

const (
	// enoughMarkers is how many different words must tell that a product is not in English.
	enoughMarkers = 2
	// markedText is how much of a description is looked at, in bytes.
	markedText = 500
	// longestMarker is more than any of them has, in bytes.
	longestMarker = 24
)

// languageOf tells the language of a product from its words: that which has the most of those that English lacks, and has more of
// them than English has of those that it lacks. What leaves a doubt is English, as are bare names.
func languageOf(p *catalogv1.Product) *language {
	tell := markers()
	var seen []string           // that tell anything
	var own, against [8]int     // by the places of languages
	look := func(text string) { // it is called for all products, and takes no memory for most words
		for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(w) == 1 || len(w) > longestMarker {
				continue
			}
			w = strings.ToLower(w)
			who := tell[w]
			if who == 0 || slices.Contains(seen, w) {
				continue
			}
			seen = append(seen, w)
			for i := 1; i < len(languages); i++ {
				switch {
				case who.has(i) && !who.has(0):
					own[i]++
				case who.has(0) && !who.has(i):
					against[i]++
				}
			}
		}
	}
	look(p.GetTitle())
	look(p.GetDescription()[:min(markedText, len(p.GetDescription()))])
	for _, list := range [][]string{p.GetCategoryPath(), p.GetTags()} {
		for _, text := range list {
			look(text)
		}
	}
	best := 0
	for i := 1; i < len(languages); i++ {
		if own[i] >= enoughMarkers && own[i]-against[i] > own[best]-against[best] {
			best = i
		}
	}
	return languages[best]
}

// stopWords reads a list in the library's format: words at the beginnings of lines, and comments after bars.
func stopWords(list []byte) map[string]bool {
	out := make(map[string]bool)
	for line := range strings.Lines(string(list)) {
		line, _, _ = strings.Cut(line, "|")
		for _, w := range strings.Fields(line) {
			out[w] = true
		}
	}
	return out
}

// nameKey folds the name of a category as the function of that name does, by the language's plurals.
func (l *language) nameKey(name string) string {
	ws := words(name)
	for i, w := range ws {
		ws[i] = l.stem(spelling(w))
	}
	return strings.Join(ws, " ")
}

// spokenShare is the least share of the products that are in a language for queries to be read in it. In a catalog in one
// language a few that seem to be in another say nothing of what shoppers speak.
const spokenShare = 0.05

// spoken returns the languages of the products, the most frequent first. English is always one: what is in no other language, such as
// a bare name, is taken for it.
func (f *facts) spoken() []*language {
	products := 0
	for _, n := range f.languages {
		products += n
	}
	var out []*language
	for _, l := range languages {
		if l == english || float64(f.languages[l.tag]) >= spokenShare*float64(products) && products > 0 {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b *language) int { return cmp.Compare(f.languages[b.tag], f.languages[a.tag]) })
	return out
}

// set is a set of words that are separated by white space.
func set(list string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}
