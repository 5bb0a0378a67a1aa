package index

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

//go:embed translations.txt
var translationsText string

// dictionary translates the words of one language into English.
type dictionary struct {
	*Language
	english map[string]string // stems of a phrase -> English phrase
	// ambiguous are the stems of words that are English, too.
	ambiguous map[string]bool
}

const (
	// longestTranslated is the number of words in the longest phrase of a dictionary.
	longestTranslated = 4
	// shortestPart is the length of the parts of a compound, in bytes.
	shortestPart = 4
)

// dictionaries are those of German, French and Spanish.
var dictionaries = sync.OnceValue(func() []*dictionary {
	out := []*dictionary{{Language: languageOfTag("de")}, {Language: languageOfTag("fr")}, {Language: languageOfTag("es")}}
	for _, d := range out {
		d.english, d.ambiguous = make(map[string]string), make(map[string]bool)
	}
	for line := range strings.Lines(translationsText) {
		cells := strings.Split(strings.TrimSpace(line), ";")
		if len(cells) != 1+len(out) {
			continue // a comment
		}
		for i, d := range out {
			for _, phrase := range strings.Split(cells[1+i], ",") {
				key := d.key(catalog.Words(phrase))
				if key != "" && d.english[key] == "" {
					d.english[key] = cells[0]
				}
				if strings.HasPrefix(phrase, "~") {
					d.ambiguous[key] = true
				}
			}
		}
	}
	return out
})

// englishWordsTranslated are the stems of the English words of the dictionaries.
var englishWordsTranslated = sync.OnceValue(func() map[string]bool {
	out := make(map[string]bool)
	for _, d := range dictionaries() {
		for _, phrase := range d.english {
			for _, w := range catalog.Words(phrase) {
				out[English.Stem(w)] = true
			}
		}
	}
	return out
})

// key is a phrase without accents and endings.
func (d *dictionary) key(ws []string) string {
	stems := make([]string, len(ws))
	for i, w := range ws {
		stems[i] = d.Stem(text.Fold(w))
	}
	return strings.Join(stems, " ")
}

// toEnglish translates a query if most of its words are in a language that the store has no products in. Otherwise it returns the query.
// A store whose products are not in English is asked in the shopper's words.
func (v *Vocabulary) toEnglish(query string, spoken []*Language) string {
	if spoken[0] != English {
		return query
	}
	ws := catalog.Words(query)
	english := v.Lexicons[English]
	isEnglish := func(w string) bool {
		return english.stop[w] || english.words.prepositions[w] || english.isKnown(English.Stem(w)) || englishWordsTranslated()[English.Stem(w)]
	}
	best, most := query, 0
	for _, d := range dictionaries() {
		if slices.Contains(spoken, d.Language) {
			continue
		}
		if translated, more := d.translate(v.Lexicons[d.Language], ws, isEnglish); more > most {
			best, most = translated, more
		}
	}
	return best
}

// translate translates what the dictionary has and keeps other words, such as names. more is how many more words are
// of its language alone than of English alone. It is zero if no word is translated that tells products apart.
func (d *dictionary) translate(x *lexicon, ws []string, isEnglish func(string) bool) (translated string, more int) {
	var out, phrase []string
	foreign := func(words ...string) {
		if len(words) > 1 || len(words[0]) > 1 && !isEnglish(words[0]) && !d.ambiguous[d.key(words)] {
			more += len(words)
		}
	}
	flush := func() {
		if d.nounFirst {
			slices.Reverse(phrase)
		}
		out, phrase = append(out, phrase...), nil
	}
	content := false
	for len(ws) > 0 {
		n := min(longestTranslated, len(ws))
		for n > 0 && d.english[d.key(ws[:n])] == "" {
			n--
		}
		english, w := d.english[d.key(ws[:n])], ws[0]
		switch parts := d.compound(w); {
		case n > 0 && englishWords.prepositions[english]:
			flush()
			out = append(out, english)
			foreign(ws[:n]...)
		case n > 0:
			phrase = append(phrase, english)
			content = true
			foreign(ws[:n]...)
		case parts != "":
			phrase = append(phrase, parts)
			content = true
			foreign(w)
		case x.stop[w] || x.words.prepositions[w]: // "de", "der": English says it by the order of words
			foreign(w)
		case x.isKnown(x.Stem(w)):
			phrase = append(phrase, w)
			foreign(w)
		default:
			phrase = append(phrase, w)
			if isEnglish(w) {
				more--
			}
		}
		ws = ws[max(1, n):]
	}
	flush()
	if !content {
		return "", 0
	}
	return strings.Join(out, " "), more
}

// compound translates a word made of two that the dictionary has: "Puppenkleidung" is doll clothes. Empty: it is none.
func (d *dictionary) compound(word string) string {
	if d.Tag != "de" {
		return ""
	}
	for i := len(word) - shortestPart; i >= shortestPart; i-- {
		head, tail := word[:i], d.english[d.key([]string{word[i:]})]
		if tail == "" {
			continue
		}
		for _, link := range [...]string{"", "s", "n", "en", "es"} {
			if first, ok := strings.CutSuffix(head, link); ok {
				if english := d.english[d.key([]string{first})]; english != "" {
					return english + " " + tail
				}
			}
		}
	}
	return ""
}
