package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// vocabulary is what queries are read with: a lexicon of each language. It is immutable.
type vocabulary struct {
	lexicons map[*language]*lexicon
	stores   map[string]*vocabulary // of those that have synonyms of their own
}

// lexicon is what a query in one language is read with.
type lexicon struct {
	*language
	stop     map[string]bool
	synonyms map[string][]string // stems of a phrase -> phrases that mean the same
	implied  map[string][]string // stem of a word -> words that serve who asks for it
	known    map[string]bool     // stems of words that are spelled right
}

// AllStores is the name under which Config.Synonyms has those that hold in every store.
const AllStores = "*"

// newVocabulary builds the lexicons, with what stores call things beside what everybody does.
func newVocabulary(synonyms map[string][][]string) *vocabulary {
	v := lexiconsOf(synonyms[AllStores])
	v.stores = make(map[string]*vocabulary, len(synonyms))
	for store, groups := range synonyms {
		v.stores[store] = lexiconsOf(slices.Concat(synonyms[AllStores], groups))
	}
	return v
}

// lexiconsOf builds a lexicon of each language. The groups are in all of them, whatever language they are in.
func lexiconsOf(groups [][]string) *vocabulary {
	v := &vocabulary{lexicons: make(map[*language]*lexicon, len(languages))}
	for _, l := range languages {
		x := newLexicon(l)
		for _, group := range groups {
			x.add(group)
		}
		v.lexicons[l] = x
	}
	return v
}

// of returns the vocabulary of a store.
func (v *vocabulary) of(storeID string) *vocabulary {
	if own := v.stores[storeID]; own != nil {
		return own
	}
	return v
}

// maxSynonyms bounds a group of synonyms: each is looked up whenever one is said.
const maxSynonyms = 20

// CheckSynonyms says which group can not be used, and why.
func CheckSynonyms(synonyms map[string][][]string) error {
	for _, store := range slices.Sorted(maps.Keys(synonyms)) {
		for i, group := range synonyms[store] {
			if len(group) < 2 || len(group) > maxSynonyms {
				return fmt.Errorf("synonyms of store %q: group %d has %d phrases, must have 2 to %d", store, i+1, len(group), maxSynonyms)
			}
			for _, phrase := range group {
				if n := len(words(phrase)); n < 1 || n > longestPhrase {
					return fmt.Errorf("synonyms of store %q: group %d: %q has %d words, must have 1 to %d", store, i+1, phrase, n, longestPhrase)
				}
			}
		}
	}
	return nil
}

func newLexicon(l *language) *lexicon {
	x := &lexicon{
		language: l, stop: stopWords(l.stops), synonyms: make(map[string][]string), implied: make(map[string][]string),
		known: make(map[string]bool),
	}
	for _, w := range strings.Fields(l.words.chatter) {
		x.stop[w] = true
	}
	for _, group := range l.words.synonyms {
		x.add(group)
	}
	for word, implied := range l.words.implications {
		x.implied[l.stem(word)] = implied
		x.known[l.stem(word)] = true
	}
	return x
}

// add takes a group of synonyms in.
func (x *lexicon) add(group []string) {
	for i, phrase := range group {
		key := x.nameKey(phrase)
		for _, w := range words(phrase) {
			x.known[x.stem(w)] = true
		}
		x.synonyms[key] = append(x.synonyms[key], group[:i]...)
		x.synonyms[key] = append(x.synonyms[key], group[i+1:]...)
	}
}

// parse reads a query to a store whose products are in these languages, the most frequent first. None: English.
func (v *vocabulary) parse(text string, spoken ...*language) query {
	if len(spoken) == 0 {
		spoken = languages[:1]
	}
	ws := words(text)
	best, most := spoken[0], 0
	for _, l := range spoken {
		n := 0
		for _, w := range ws {
			if x := v.lexicons[l]; x.stop[w] || l.words.prepositions[w] || x.known[l.stem(w)] {
				n++
			}
		}
		if n > most {
			best, most = l, n
		}
	}
	return v.lexicons[best].parse(text, spoken)
}
