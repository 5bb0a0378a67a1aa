package search

import "strings"

// vocabulary is what queries are read with: a lexicon of each language. It is immutable.
type vocabulary struct {
	lexicons map[*language]*lexicon
}

// lexicon is what a query in one language is read with.
type lexicon struct {
	*language
	stop     map[string]bool
	synonyms map[string][]string // stems of a phrase -> phrases that mean the same
	implied  map[string][]string // stem of a word -> words that serve who asks for it
	known    map[string]bool     // stems of words that are spelled right
}

// newVocabulary builds the lexicons.
func newVocabulary() *vocabulary {
	v := &vocabulary{lexicons: make(map[*language]*lexicon, len(languages))}
	for _, l := range languages {
		v.lexicons[l] = newLexicon(l)
	}
	return v
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
