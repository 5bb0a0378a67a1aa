package index

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// Vocabulary is what queries are read with: a lexicon of each language. It is immutable.
type Vocabulary struct {
	Lexicons map[*Language]*lexicon
	stores   map[string]*Vocabulary // of those that have synonyms of their own
}

// lexicon is what a query in one language is read with.
type lexicon struct {
	*Language
	stop     map[string]bool
	Synonyms map[string][]string // stems of a phrase -> phrases that mean the same
	Implied  map[string][]string // stem of a word -> words that serve who asks for it
	known    map[string]bool     // stems of words that are spelled right
	base     *lexicon            // has the synonyms and known words of all stores; nil: it is itself that one
	// translates says that Synonyms are in another language, in which there is one for a synonym, too.
	translates bool
}

// AllStores is the name under which Config.Synonyms has those that hold in every store.
const AllStores = "*"

// NewVocabulary returns the vocabularies of all stores: the built-in words, and the synonyms of each store. A store has only its own
// synonyms in memory and shares the rest.
func NewVocabulary(synonyms map[string][][]string) *Vocabulary {
	v := &Vocabulary{Lexicons: make(map[*Language]*lexicon, len(Languages)), stores: make(map[string]*Vocabulary, len(synonyms))}
	for _, l := range Languages {
		v.Lexicons[l] = newLexicon(l)
		v.Lexicons[l].add(synonyms[AllStores])
	}
	for store, groups := range synonyms {
		own := &Vocabulary{Lexicons: make(map[*Language]*lexicon, len(Languages))}
		for l, base := range v.Lexicons {
			own.Lexicons[l] = base.with(groups)
		}
		v.stores[store] = own
	}
	return v
}

// Of returns the vocabulary of a store.
func (v *Vocabulary) Of(storeID string) *Vocabulary {
	if own := v.stores[storeID]; own != nil {
		return own
	}
	return v
}

// MaxSynonyms bounds a group of synonyms: each is looked up whenever one is said.
const MaxSynonyms = 20

// CheckSynonyms says which group of synonyms cannot be used, and why.
func CheckSynonyms(synonyms map[string][][]string) error {
	for _, store := range slices.Sorted(maps.Keys(synonyms)) {
		for i, group := range synonyms[store] {
			if len(group) < 2 || len(group) > MaxSynonyms {
				return fmt.Errorf("synonyms of store %q: group %d has %d phrases, must have 2 to %d", store, i+1, len(group), MaxSynonyms)
			}
			for _, phrase := range group {
				if n := len(catalog.Words(phrase)); n < 1 || n > longestPhrase {
					return fmt.Errorf("synonyms of store %q: group %d: %q has %d words, must have 1 to %d", store, i+1, phrase, n, longestPhrase)
				}
			}
		}
	}
	return nil
}

func newLexicon(l *Language) *lexicon {
	x := &lexicon{
		Language: l, stop: make(map[string]bool), Synonyms: make(map[string][]string), Implied: make(map[string][]string),
		known: make(map[string]bool),
	}
	for _, w := range slices.Concat(text.StopWords(l.Tag), strings.Fields(l.words.fillers)) {
		x.stop[w] = true
	}
	x.add(synonymGroups()[l.Tag])
	for word, implied := range l.words.implications {
		x.Implied[l.Stem(word)] = implied
		x.known[l.Stem(word)] = true
	}
	return x
}

// with returns the lexicon with further synonyms. Groups may be in any language.
func (x *lexicon) with(groups [][]string) *lexicon {
	out := *x
	out.base, out.Synonyms, out.known = x, make(map[string][]string), make(map[string]bool)
	out.add(groups)
	return &out
}

// add adds groups of synonyms.
func (x *lexicon) add(groups [][]string) {
	for _, group := range groups {
		for i, phrase := range group {
			key := x.CategoryKey(phrase)
			for _, w := range catalog.Words(phrase) {
				x.known[x.Stem(w)] = true
			}
			x.Synonyms[key] = append(append(x.Synonyms[key], group[:i]...), group[i+1:]...)
		}
	}
}

// synonymsOf returns the synonyms of a folded phrase.
func (x *lexicon) synonymsOf(key string) []string {
	if x.base == nil {
		return x.Synonyms[key]
	}
	out := slices.Concat(x.base.synonymsOf(key), x.Synonyms[key])
	if x.translates && len(x.Synonyms[key]) == 0 {
		for _, synonym := range slices.Clone(out) {
			out = append(out, x.Synonyms[English.CategoryKey(synonym)]...)
		}
	}
	return out
}

// isKnown reports whether a stem is of a word that is spelled right.
func (x *lexicon) isKnown(stem string) bool {
	return x.known[stem] || x.base != nil && x.base.isKnown(stem)
}

// Parse reads a query to a store whose products are in these languages, the most frequent first. None: English. To English products,
// words of other languages are translated.
func (v *Vocabulary) Parse(query string, spoken ...*Language) Query {
	return v.parse(query, spoken, nil)
}

// parse is Parse for a store with brands, which are not translated.
func (v *Vocabulary) parse(query string, spoken []*Language, brands map[string]int) Query {
	if len(spoken) == 0 {
		spoken = Languages[:1]
	}
	foreign := dictionariesOf(spoken)
	if !slices.Contains(spoken, English) { // queries are, in any store
		spoken = append(slices.Clip(spoken), English)
	}
	translated := v.toEnglish(query, spoken, brands)
	ws := catalog.Words(translated.text)
	best, most := spoken[0], 0
	for _, l := range spoken {
		n := 0
		for _, w := range ws {
			x := v.Lexicons[l]
			if x.stop[w] || l.words.prepositions[w] || x.isKnown(l.Stem(w)) || len(foreign) > 0 && inDictionary(l, w) {
				n++
			}
		}
		if n > most {
			best, most = l, n
		}
	}
	x := v.Lexicons[best]
	if best == English {
		x = x.translating(foreign)
	}
	q := x.Parse(translated.text, spoken)
	translated.alternatives(&q)
	return q
}

//go:embed synonyms.txt
var synonymsText string

// synonymGroups are phrases that mean the same, by language.
var synonymGroups = sync.OnceValue(func() map[string][][]string {
	out := make(map[string][][]string)
	for line := range strings.Lines(synonymsText) {
		if tag, group, ok := strings.Cut(strings.TrimSpace(line), ";"); ok {
			out[tag] = append(out[tag], strings.Split(group, ","))
		}
	}
	return out
})

// Language is one that products may be written in. It is immutable.
type Language struct {
	// Tag is its BCP 47 tag.
	Tag string
	// words are what shoppers say, and what it means. The zero value knows nothing.
	words wordlist
	// nounFirst is true where the noun comes before its modifiers: "chaussures de randonnée".
	nounFirst bool
}

// wordlist are words of one language, in lower case.
type wordlist struct {
	// fillers are words that shoppers say around what they want. They never distinguish products.
	fillers string
	// vague words mean something else to every shopper. They affect the order of products and exclude none.
	vague map[string]bool
	// prepositions end the noun phrase of a query: "tents for two people" are tents.
	prepositions map[string]bool
	// qualifiers are modifiers that stand behind the noun: "jacket men waterproof" is a jacket.
	qualifiers map[string]bool
	// beforeAmount and afterAmount are words around a number that is a price or a size.
	beforeAmount, afterAmount map[string]bool
	// implications name what serves a shopper who says the word. They hold one way.
	implications map[string][]string
}

// English is the language of products that no other language claims.
var English = &Language{Tag: "en", words: englishWords}

// Languages are the languages that products may be written in, English first. Package text has a stemmer for each.
var Languages = []*Language{
	English,
	{Tag: "de", words: germanWords},
	{Tag: "fr", words: frenchWords, nounFirst: true},
	{Tag: "es", words: spanishWords, nounFirst: true},
	{Tag: "it", nounFirst: true},
	{Tag: "nl"},
	{Tag: "pt", nounFirst: true},
}

// Stem cuts a word in lower case down to its stem.
func (l *Language) Stem(word string) string { return text.Stem(l.Tag, word) }

const (
	// leastMarkers is how many different words must show that a product is not in English.
	leastMarkers = 2
	// markedText is how much of a description is looked at, in bytes.
	markedText = 500
)

// loanwords are words that shops use in many languages.
const loanwords = `boots buggy couch notebook sneaker sneakers tennis pull pullover mug thermos tv pc sofa termo beanie laptop smartphone
trekking unisex anorak hardshell sweater frontal stock boxen junior dame portable landau saco tele rad frigo eu ps ma us`

// detector identifies the languages of products. Titles have few small words, so it also knows nouns and their modifiers.
var detector = sync.OnceValue(func() *text.Detector {
	more := make(map[string][]string)
	for _, l := range Languages {
		for _, list := range []map[string]bool{l.words.prepositions, l.words.qualifiers, l.words.vague, wordSet(l.words.fillers)} {
			more[l.Tag] = slices.AppendSeq(more[l.Tag], maps.Keys(list))
		}
		for _, group := range synonymGroups()[l.Tag] {
			for _, phrase := range group {
				more[l.Tag] = append(more[l.Tag], catalog.Words(phrase)...)
			}
		}
	}
	for _, d := range dictionaries() {
		for w := range d.words {
			if !d.ambiguous[w] && !englishWordsTranslated()[English.Stem(w)] {
				more[d.Tag] = append(more[d.Tag], w)
			}
		}
	}
	return text.NewDetector(more, strings.Fields(loanwords), leastMarkers)
})

// LanguageOf identifies the language of a product by its words. In doubt it is English, and so are bare names.
func LanguageOf(p *catalogv1.Product) *Language {
	parts := slices.Concat([]string{p.GetTitle(), text.HeadBytes(p.GetDescription(), markedText)}, p.GetCategoryPath(), p.GetTags())
	return languageOfTag(detector().Language(strings.Join(parts, "\n")))
}

// languageOfTag returns the language of a BCP 47 tag, English for one that is not among Languages.
func languageOfTag(tag string) *Language {
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, l := range Languages {
		if l.Tag == base {
			return l
		}
	}
	return English
}

// CategoryKey folds the name of a category as the function of that name does, by the language's plurals.
func (l *Language) CategoryKey(name string) string {
	ws := catalog.Words(name)
	for i, w := range ws {
		ws[i] = l.Stem(catalog.Spelling(w))
	}
	return strings.Join(ws, " ")
}

// spokenShare is the least share of the products that are in a language for queries to be read in it. In a catalog in one
// language a few that seem to be in another say nothing of what shoppers speak.
const spokenShare = 0.05

// CatalogLanguages returns the languages that enough products have texts in, the most frequent first. Nil: there are no products.
func (f *Statistics) CatalogLanguages() []*Language {
	var out []*Language
	for _, l := range Languages {
		if n := f.Languages[l.Tag]; n > 0 && float64(n) >= spokenShare*float64(f.Products) {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b *Language) int { return cmp.Compare(f.Languages[b.Tag], f.Languages[a.Tag]) })
	return out
}

// wordSet is a set of words that are separated by white space.
func wordSet(list string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

func isNumber(s string) bool {
	for _, r := range s {
		if !unicode.IsDigit(r) && r != '.' {
			return false
		}
	}
	return s != ""
}

// CategoryKey folds the name of a category, so that case, plural and separators make no difference.
func CategoryKey(name string) string { return English.CategoryKey(name) }

// CategoryNames splits the name of a category of several kinds: "Stoves & cookware" has two.
func CategoryNames(name string) []string {
	name = strings.ReplaceAll(strings.ToLower(name), " and ", "&")
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("&/,+", r) })
}
