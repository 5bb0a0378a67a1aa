package text

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	porterstemmer "github.com/blevesearch/go-porterstemmer"
)

// language is what the package knows of one language.
type language struct {
	tag string
	// stops are the stop words of the library, in its format: the first words of lines, with comments after bars.
	stops []byte
	// words are frequent in shoppers' messages beside the stop words.
	words string
	// letters occur in this language and hardly in the others.
	letters string
	// stem is nil where the package has no stemmer.
	stem func(word string) string
}

// languages are those that the package tells apart.
var languages = []language{
	{tag: "en", stops: en.EnglishStopWords, stem: porter,
		words: `the you your my me i we our us do does did can could would will should have has had what which who when where why how is
			are was any there please thanks thank hello hi hey looking need want show get got from about just also still does don't it's i'm
			i've isn't didn't can't for with and or not one some than order buy it this that`},
	{tag: "de", stops: de.GermanStopWords, letters: "äöüß", stem: filtered(de.NewGermanNormalizeFilter(), de.NewGermanLightStemmerFilter()),
		words: `ich ihr sie habt haben mit für nicht ein eine einen wie was wo wann kann mein meine bitte danke hallo gibt gibt's es im zu
			auf suche brauche möchte noch euch mir oder und bei zum zur vielen dank guten tag abend tschüss`},
	{tag: "fr", stops: fr.FrenchStopWords, letters: "çèêœàùûîôâ", stem: elision(filtered(fr.NewFrenchLightStemmerFilter())),
		words: `je vous nous est sont avez avec pour dans quel quelle quels quelles comment où quand mon ma mes votre vos bonjour merci
			cherche voudrais ce cette il y a c'est j'ai qu'est est combien svp s'il d'un d'une beaucoup bonsoir salut`},
	{tag: "es", stops: es.SpanishStopWords, letters: "ñ¿¡áíóú", stem: filtered(es.NewSpanishNormalizeFilter(), es.NewSpanishLightStemmerFilter()),
		words: `hay con para por cuál cual cómo como dónde donde cuándo mi tu su quiero busco necesito tienen tienes tenéis puedo hola
			gracias del al está cuánto qué si pedido muchas buenos buenas días tardes adiós`},
	{tag: "it", stops: it.ItalianStopWords, letters: "èàùìò", stem: elision(filtered(it.NewItalianLightStemmerFilterFilter())),
		words: `avete vorrei grazie ciao posso quanto quando dove c'è cerco sono il mi per un buongiorno ordine`},
	{tag: "nl", stops: nl.DutchStopWords, stem: filtered(nl.NewDutchStemmerFilter()),
		words: `ik jullie mijn graag hoe waar wanneer bedankt hallo heb hebben kan kunnen voor een het zoek bestelling`},
	{tag: "pt", stops: pt.PortugueseStopWords, letters: "ãõáíóúâêç", stem: filtered(pt.NewPortugueseLightStemmerFilter()),
		words: `vocês você tem têm obrigado obrigada olá meu minha quero posso quanto onde uma não pedido boa bom`},
	{tag: "sv", stops: sv.SwedishStopWords, letters: "åäö", words: `ni har hej tack jag kan hur när var finns det min beställning vill`},
	{tag: "da", stops: da.DanishStopWords, letters: "æøå", words: `i har hej tak jeg kan hvordan hvornår hvor det min ordre vil`},
	{tag: "pl", letters: "ąęłńśźżćó", words: `czy jest są się nie na to z w od po mi mam mogę macie chcę jak gdzie kiedy ile dzień dobry
			proszę dziękuję moje mój moja dla przy albo ale już jeszcze tylko coś bardzo szukam zamówienie`},
}

// byTag finds a language by its tag.
var byTag = func() map[string]*language {
	out := make(map[string]*language, len(languages))
	for i := range languages {
		out[languages[i].tag] = &languages[i]
	}
	return out
}()

// stopWords has the folded stop words of each language by tag.
var stopWords = sync.OnceValue(func() map[string]map[string]bool {
	out := make(map[string]map[string]bool, len(languages))
	for _, l := range languages {
		words := make(map[string]bool)
		for _, w := range l.stopWords() {
			words[Fold(w)] = true
		}
		out[l.tag] = words
	}
	return out
})

// stopWords reads the library's list.
func (l *language) stopWords() []string {
	var out []string
	for line := range strings.Lines(string(l.stops)) {
		line, _, _ = strings.Cut(line, "|")
		out = append(out, strings.Fields(line)...)
	}
	return out
}

// StopWords returns the stop words of a language by its primary tag, in lower case with their accents. Nil: the package knows
// none.
func StopWords(tag string) []string {
	if l := byTag[tag]; l != nil {
		return l.stopWords()
	}
	return nil
}

// IsStopWord reports whether a folded word says nothing of what a text is about, in the language of a primary tag such as
// "de". It is false for languages that the package does not know.
func IsStopWord(tag, word string) bool { return stopWords()[tag][word] }

// Stem cuts a word in lower case down to its stem, so that its forms meet. A stem need not be a word. The tag is a primary
// one, such as "de". Words of languages without a stemmer, words of fewer than three bytes and words with digits stay as
// they are.
func Stem(tag, word string) string {
	l := byTag[tag]
	if l == nil || l.stem == nil || len(word) < 3 || strings.ContainsAny(word, "0123456789") {
		return word
	}
	return l.stem(word)
}

// Singular returns the singular of an English noun in lower case, by the rules of regular plurals: "boxes" gives "box",
// "accessories" gives "accessory". It changes less than Stem, so it suits names that must stay apart.
func Singular(word string) string { return singular(strings.ToLower(word)) }

var singular = filtered(en.NewEnglishPluralStemmerFilter())

// porter stems English.
func porter(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return word
		}
	}
	return porterstemmer.StemString(word)
}

// filtered stems by filters of the library.
func filtered(filters ...analysis.TokenFilter) func(string) string {
	return func(word string) string {
		stream := analysis.TokenStream{{Term: []byte(word)}}
		for _, f := range filters {
			stream = f.Filter(stream)
		}
		return string(stream[0].Term)
	}
}

// elision drops an elided article, as in "l'hiver", before it stems.
func elision(stem func(string) string) func(string) string {
	return func(word string) string {
		if before, after, ok := strings.Cut(word, "'"); ok && len(before) <= len("dell") && after != "" {
			word = after
		}
		return stem(word)
	}
}

// Detector tells languages apart. It is immutable and safe for concurrent use.
type Detector struct {
	// markers has the words that speak for languages, by the places of languages.
	markers map[string]uint16
	least   int
}

// NewDetector returns a detector for texts that may be lists of names, such as products. More has words of the texts' subject
// beside the package's own, by primary tags; foreign are words that are used in several languages and show none. A language
// other than English needs at least so many different words or letters that English lacks.
func NewDetector(more map[string][]string, foreign []string, least int) *Detector {
	d := &Detector{markers: make(map[string]uint16), least: least}
	for i, l := range languages {
		for _, w := range slices.Concat(l.stopWords(), strings.Fields(l.words), more[l.tag]) {
			d.markers[strings.ToLower(w)] |= 1 << i
		}
	}
	for w, in := range maps.Clone(d.markers) {
		if plain := Fold(w); plain != w {
			d.markers[plain] |= in // shoppers leave accents out
		}
	}
	for w := range d.markers {
		if borrowed[w] || len(w) == 1 && elided[w] || slices.Contains(foreign, w) {
			delete(d.markers, w)
		}
	}
	return d
}

// messages is the detector of shoppers' messages.
var messages = sync.OnceValue(func() *Detector { return NewDetector(nil, nil, 1) })

// borrowed are words of one language that shoppers use in others.
var borrowed = set("ok do sale in")

// letters has the letters that speak for languages, by the places of languages.
var letters = func() map[rune]uint16 {
	out := make(map[rune]uint16)
	for i, l := range languages {
		for _, r := range l.letters {
			out[r] |= 1 << i
		}
	}
	return out
}()

const (
	// common is how many of the languages, from the first, most stores have. They win a tie against the others.
	common = 4
	// letterWeight is what a letter that one language has for itself counts, against 1 for a word of its own.
	letterWeight = 1.5
	// leastLead is how far the first language must be ahead of the second.
	leastLead = 0.05
)

// Language tells the language of a message by its small words and its letters: "en", "de", "fr", "es", "it", "nl", "pt",
// "sv", "da" or "pl", or "" where none of them stands out, as for a bare product name.
func Language(s string) string { return messages().Language(s) }

// Language tells the language of a text, or "", as the function Language does.
func (d *Detector) Language(s string) string {
	var scores [16]float64
	var own [16]int // words and letters that English lacks
	seen := make(map[string]bool)
	vote := func(marker string, in uint16, weight float64) {
		if in == 0 || seen[marker] {
			return
		}
		seen[marker] = true
		for i := range languages {
			if in>>i&1 == 0 {
				continue
			}
			scores[i] += weight / float64(bits.OnesCount16(in))
			if in&1 == 0 {
				own[i]++
			}
		}
	}
	lower := strings.ToLower(s)
	for w := range strings.FieldsFuncSeq(strings.ReplaceAll(lower, "’", "'"), func(r rune) bool { return r != '\'' && !IsLetter(r) && !IsDigit(r) }) {
		if before, after, ok := strings.Cut(w, "'"); ok && d.markers[w] == 0 && elided[before] {
			w = after
			vote("'", frenchOrItalian, 1)
		}
		vote(w, d.markers[w], 1)
	}
	for _, r := range lower {
		if r >= utf8.RuneSelf {
			vote(string(r), letters[r], letterWeight)
		}
	}
	for i := range common {
		if scores[i] > 0 {
			scores[i] += 2 * leastLead
		}
	}
	best, second := 0, 0.0
	for i := 1; i < len(languages); i++ {
		if own[i] >= d.least && scores[i] > scores[best] {
			best, second = i, scores[best]
		} else {
			second = max(second, scores[i])
		}
	}
	if scores[best]-second < leastLead {
		return ""
	}
	return languages[best].tag
}

// frenchOrItalian are the languages of elided articles, by their places in languages.
const frenchOrItalian = 1<<2 | 1<<4
