package policies

import (
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// lexicon turns text into terms: words without endings, in the manner of a language, without words that say nothing.
// It is immutable after newLexicon and safe for concurrent use.
type lexicon struct {
	tokenizer analysis.Tokenizer
	lower     analysis.TokenFilter
	stop      map[string]bool
	topics    []topicTerms
	naming    map[[2]string][]int   // topics that a term of a language names, by their place
	places    map[string]bool       // names of countries -> whether they are in the European Union
	foreign   map[string][]weighted // what stands for any country, by language
	union     map[string][]weighted // what stands for one in the European Union
}

// analyzed are the languages with endings and stop words of their own.
var analyzed = []string{"en", "de", "es", "fr", "it", "nl", "pt"}

// queryLanguages are those whose stop words say nothing in a question, whatever the language of the documents.
var queryLanguages = []string{"en", "de", "es", "fr"}

func newLexicon() *lexicon {
	lower := lowercase.NewLowerCaseFilter()
	l := &lexicon{
		tokenizer: unicode.NewUnicodeTokenizer(),
		lower:     lower,
		stop:      make(map[string]bool),
		naming:    make(map[[2]string][]int),
	}
	for _, w := range strings.Fields(fillers) {
		l.stop[w] = true
	}
	for i, t := range topics {
		l.topics = append(l.topics, l.termsOf(t))
		for lang, terms := range l.topics[i].byLanguage {
			for _, term := range terms {
				l.naming[[2]string{term, lang}] = append(l.naming[[2]string{term, lang}], i)
			}
		}
	}
	l.learnPlaces()
	return l
}

// languageOf is the primary subtag of a BCP 47 tag, or "" for a language without an analyzer of its own.
func (l *lexicon) languageOf(tag string) string {
	lang := primary(tag)
	if slices.Contains(analyzed, lang) {
		return lang
	}
	return ""
}

// primary is the language of a BCP 47 tag: "de" of "de-AT".
func primary(tag string) string {
	lang, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return lang
}

// words splits text into lower-case words, with turns of phrase brought down to the word that they mean.
func (l *lexicon) words(passage string) []string {
	passage = strings.ReplaceAll(passage, "’", "'")
	tokens := l.lower.Filter(l.tokenizer.Tokenize([]byte(passage)))
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = string(t.Term)
	}
	return rephrase(words)
}

// term is a word without its ending, or "" for a word that says nothing.
func (l *lexicon) term(word, lang string) string {
	if lang == "en" {
		word = strings.TrimSuffix(word, "'s")
	}
	if text.IsStopWord(lang, text.Fold(word)) {
		return ""
	}
	return text.Stem(lang, word)
}

// contentWords are the words of a question that say what it is about, each once.
func (l *lexicon) contentWords(question string) []string {
	var content []string
	for _, w := range l.words(question) {
		if !l.stop[strings.TrimSuffix(w, "'s")] && !slices.Contains(content, w) && !l.stopsSomewhere(w) {
			content = append(content, w)
		}
	}
	return content
}

func (l *lexicon) stopsSomewhere(word string) bool {
	return slices.ContainsFunc(queryLanguages, func(lang string) bool { return l.term(word, lang) == "" })
}

// weighted is a term with the share at which it stands for the word of a question: 1 for the word itself.
type weighted struct {
	term  string
	share float64
}

// synonymShare keeps a passage with the shopper's own word ahead of one with another word for it.
const synonymShare = 0.7

// variants are the terms that stand for a word in texts of a language, and whether the word names a topic.
func (l *lexicon) variants(word, lang string) (all []weighted, isTopic bool) {
	if t := l.term(word, lang); t != "" {
		all = append(all, weighted{t, 1})
	}
	all = append(all, l.abroad(word, lang)...)
	for _, i := range l.named(word) {
		t := l.topics[i]
		isTopic = isTopic || t.asked
		for _, other := range t.byLanguage[lang] {
			if !slices.ContainsFunc(all, func(w weighted) bool { return w.term == other }) {
				all = append(all, weighted{other, synonymShare})
			}
		}
	}
	return all, isTopic
}

// topicTerms is a topic with its words as terms.
type topicTerms struct {
	asked      bool
	byLanguage map[string][]string
}

func (l *lexicon) termsOf(t topic) topicTerms {
	out := topicTerms{asked: t.asked, byLanguage: make(map[string][]string)}
	for lang, words := range map[string]string{"en": t.en, "de": t.de, "es": t.es, "fr": t.fr} {
		for _, w := range strings.Fields(words) {
			if term := l.term(w, lang); term != "" && !slices.Contains(out.byLanguage[lang], term) {
				out.byLanguage[lang] = append(out.byLanguage[lang], term)
			}
		}
	}
	return out
}

// named returns the topics that a word names in some language, by their place, in order.
func (l *lexicon) named(word string) []int {
	var all []int
	for _, lang := range queryLanguages {
		all = append(all, l.naming[[2]string{l.term(word, lang), lang}]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
