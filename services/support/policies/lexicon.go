package policies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/registry"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// lexicon turns text into terms: words without endings, in the manner of a language, without words that say nothing.
// It is immutable after newLexicon, but for what it remembers, and safe for concurrent use.
type lexicon struct {
	filters    map[string][]analysis.TokenFilter // by language; "" for all others
	tokenizer  analysis.Tokenizer
	lower      analysis.TokenFilter
	stop       map[string]bool
	topics     []topicTerms
	naming     map[[2]string][]int   // topics that a term of a language names, by their place
	topicWords []string              // that name them, in all languages
	places     map[string]bool       // names of countries -> whether they are in the European Union
	foreign    map[string][]weighted // what stands for any country, by language
	union      map[string][]weighted // what stands for one in the European Union
	// stems are the terms of words by word and language: a question's words are held against the topics in every language.
	stems *retrieval.Memo[[2]string]
}

// analyzers are the languages with endings and stop words of their own.
var analyzers = []string{en.AnalyzerName, de.AnalyzerName, es.AnalyzerName, fr.AnalyzerName, it.AnalyzerName, nl.AnalyzerName, pt.AnalyzerName}

// queryLanguages are those whose stop words say nothing in a question, whatever the language of the documents.
var queryLanguages = []string{en.AnalyzerName, de.AnalyzerName, es.AnalyzerName, fr.AnalyzerName}

func newLexicon() (*lexicon, error) {
	lower := lowercase.NewLowerCaseFilter()
	l := &lexicon{
		filters:   map[string][]analysis.TokenFilter{"": {lower}},
		tokenizer: unicode.NewUnicodeTokenizer(),
		lower:     lower,
		stop:      make(map[string]bool),
		naming:    make(map[[2]string][]int),
		stems:     retrieval.NewMemo[[2]string](maxStems),
	}
	cache := registry.NewCache()
	for _, lang := range analyzers {
		a, err := cache.AnalyzerNamed(lang)
		if err != nil {
			return nil, fmt.Errorf("support: analyzer for %q: %w", lang, err)
		}
		chain, ok := a.(*analysis.DefaultAnalyzer)
		if !ok {
			return nil, fmt.Errorf("support: analyzer for %q is a %T", lang, a)
		}
		l.filters[lang] = chain.TokenFilters
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
		l.topicWords = append(l.topicWords, strings.Fields(t.en+" "+t.de+" "+t.es+" "+t.fr)...)
	}
	l.learnPlaces()
	return l, nil
}

// languageOf is the primary subtag of a BCP 47 tag, or "" for a language without an analyzer of its own.
func (l *lexicon) languageOf(tag string) string {
	lang := primary(tag)
	if _, known := l.filters[lang]; known {
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
func (l *lexicon) words(text string) []string {
	text = strings.ReplaceAll(text, "’", "'")
	tokens := l.lower.Filter(l.tokenizer.Tokenize([]byte(text)))
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = string(t.Term)
	}
	return rephrase(words)
}

// maxStems bounds the stems that a lexicon remembers; beyond it, it begins anew.
const maxStems = 20_000

// term is a word without its ending, or "" for a word that says nothing.
func (l *lexicon) term(word, lang string) string {
	key := [2]string{word, lang}
	if term, ok := l.stems.Get(key); ok {
		return term
	}
	term := l.stem(word, lang)
	l.stems.Put(key, term)
	return term
}

// stem makes the term of a word.
func (l *lexicon) stem(word, lang string) string {
	tokens := analysis.TokenStream{{Term: []byte(word), Start: 0, End: len(word), Position: 1, Type: analysis.AlphaNumeric}}
	for _, f := range l.filters[lang] {
		tokens = f.Filter(tokens)
	}
	if len(tokens) == 0 {
		return ""
	}
	return string(tokens[0].Term)
}

// terms counts the terms of a text.
func (l *lexicon) terms(text, lang string) map[string]int {
	counts := make(map[string]int)
	for _, w := range l.words(text) {
		if t := l.term(w, lang); t != "" {
			counts[t]++
		}
	}
	return counts
}

// addPairs adds the terms of a text that follow each other.
func (l *lexicon) addPairs(to map[[2]string]bool, text, lang string) {
	var before string
	for _, w := range l.words(text) {
		t := l.term(w, lang)
		if before != "" && t != "" {
			to[[2]string{before, t}] = true
		}
		before = t
	}
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
	for lang, words := range map[string]string{en.AnalyzerName: t.en, de.AnalyzerName: t.de, es.AnalyzerName: t.es, fr.AnalyzerName: t.fr} {
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
