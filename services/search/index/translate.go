package index

import (
	_ "embed"
	"maps"
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
	// exact and stems have what a phrase means by its folded words and by their stems, the likeliest first. Stems of different words may be
	// the same.
	exact, stems map[string][]string
	// ambiguous are the folded words that are English, too.
	ambiguous map[string]bool
	// words are all folded words of the phrases.
	words map[string]bool
	// longest is the number of words in the longest phrase that begins with a stem.
	longest map[string]int
	// english has the phrases of the language by the folded English phrase, the likeliest first.
	english map[string][]string
}

// shortestPart is the length of the parts of a compound, in bytes.
const shortestPart = 4

// dictionaries are those of German, French and Spanish.
var dictionaries = sync.OnceValue(func() []*dictionary {
	out := []*dictionary{{Language: languageOfTag("de")}, {Language: languageOfTag("fr")}, {Language: languageOfTag("es")}}
	for _, d := range out {
		d.exact, d.stems = make(map[string][]string), make(map[string][]string)
		d.ambiguous, d.words, d.longest = make(map[string]bool), make(map[string]bool), make(map[string]int)
		d.english = make(map[string][]string)
	}
	for _, second := range []bool{false, true} {
		for line := range strings.Lines(translationsText) {
			cells := strings.Split(strings.TrimSpace(line), ";")
			if len(cells) != 1+len(out) {
				continue // a comment
			}
			for i, d := range out {
				for _, phrase := range strings.Split(cells[1+i], ",") {
					if phrase != "" && strings.HasPrefix(phrase, "+") == second {
						d.add(phrase, cells[0])
					}
				}
			}
		}
	}
	return out
})

// add adds what a phrase means, which is less likely than what it was added with before.
func (d *dictionary) add(phrase, english string) {
	ws := d.folded(catalog.Words(phrase))
	for _, w := range ws {
		d.words[w] = true
	}
	from := English.CategoryKey(english)
	d.english[from] = append(d.english[from], strings.Join(catalog.Words(phrase), " "))
	if strings.HasPrefix(phrase, "~") {
		d.ambiguous[ws[0]] = true
	}
	key, stems := strings.Join(ws, " "), d.stemmed(ws)
	first, _, _ := strings.Cut(stems, " ")
	d.longest[first] = max(d.longest[first], len(ws))
	d.exact[key] = append(d.exact[key], english)
	if !slices.Contains(d.stems[stems], english) {
		d.stems[stems] = append(d.stems[stems], english)
	}
}

// lookup returns what folded words mean. Nil: the dictionary does not have them.
func (d *dictionary) lookup(ws ...string) []string {
	key := strings.Join(ws, " ")
	if found := d.exact[key]; found != nil {
		return found
	}
	if found := d.exact[strings.TrimSuffix(key, "s")]; found != nil {
		return found
	}
	return d.stems[d.stemmed(ws)]
}

func (d *dictionary) stemmed(ws []string) string {
	stems := make([]string, len(ws))
	for i, w := range ws {
		stems[i] = d.Stem(w)
	}
	return strings.Join(stems, " ")
}

// folded are words without accents and without an article or preposition that lost its vowel: "d'eau" is water.
func (d *dictionary) folded(ws []string) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		if article, noun, ok := strings.Cut(w, "'"); ok && d.Tag == "fr" && len(article) == 1 {
			w = noun
		}
		out[i] = text.Fold(w)
	}
	return out
}

// englishWordsTranslated are the stems of the English words of the dictionaries.
var englishWordsTranslated = sync.OnceValue(func() map[string]bool {
	out := make(map[string]bool)
	for w := range meaningWords() {
		out[English.Stem(w)] = true
	}
	return out
})

// meaningWords are the English words of the dictionaries as they are spelled.
var meaningWords = sync.OnceValue(func() map[string]bool {
	out := make(map[string]bool)
	for _, d := range dictionaries() {
		for _, meanings := range d.exact {
			addWords(out, meanings)
		}
	}
	return out
})

// addWords adds the words of phrases to a set.
func addWords(to map[string]bool, phrases []string) {
	for _, phrase := range phrases {
		for _, w := range catalog.Words(phrase) {
			to[w] = true
		}
	}
}

// englishSpellings are the English words of the dictionaries and synonyms as they are spelled.
var englishSpellings = sync.OnceValue(func() map[string]bool {
	out := maps.Clone(meaningWords())
	for _, group := range synonymGroups()[English.Tag] {
		addWords(out, group)
	}
	return out
})

// isSpelled reports whether a word is one of the dictionary's, and only shares its stem with an English one: Jacke, jack.
func (d *dictionary) isSpelled(w string) bool {
	return d.exact[text.Fold(w)] != nil && !englishSpellings()[w] && !englishSpellings()[strings.TrimSuffix(w, "s")]
}

// isAmbiguous reports whether the dictionary marks a word as English, too.
func (d *dictionary) isAmbiguous(w string) bool {
	return d.ambiguous[w] || d.ambiguous[strings.TrimSuffix(w, "s")]
}

// dictionariesOf returns the dictionaries of a catalog's languages, by which English queries to it are translated. Nil: most of its
// products are in English.
func dictionariesOf(spoken []*Language) []*dictionary {
	if spoken[0] == English {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(dictionaries()), func(d *dictionary) bool { return !slices.Contains(spoken, d.Language) })
}

// inDictionary reports whether the dictionaries have a word in a language.
func inDictionary(l *Language, w string) bool {
	if l == English {
		return englishWordsTranslated()[English.Stem(w)]
	}
	return slices.ContainsFunc(dictionaries(), func(d *dictionary) bool { return d.Language == l && d.words[text.Fold(w)] })
}

// translating returns the lexicon of English with what its phrases are in other languages as synonyms. English products are found by the
// words themselves, which count for more.
func (x *lexicon) translating(into []*dictionary) *lexicon {
	for _, d := range into {
		out := *x
		out.base, out.Synonyms, out.known, out.translates = x, d.english, englishWordsTranslated(), true
		x = &out
	}
	return x
}

// translation is a query in English.
type translation struct {
	text string
	// others are what else phrases of the text may mean, by the phrase.
	others map[string][]string
}

// toEnglish translates a query if most of its words are in a language that the store has no products in. Otherwise it returns the query.
// A store whose products are not in English is asked in the shopper's words.
func (v *Vocabulary) toEnglish(query string, spoken []*Language, brands map[string]int) translation {
	best, most := translation{text: query}, 0
	if spoken[0] != English {
		return best
	}
	ws := catalog.Words(query)
	english := v.Lexicons[English]
	isEnglish := func(w string) bool {
		return english.stop[w] || english.words.prepositions[w] || english.isKnown(English.Stem(w)) || englishWordsTranslated()[English.Stem(w)]
	}
	for _, d := range dictionaries() {
		if slices.Contains(spoken, d.Language) {
			continue
		}
		if translated, more := d.translate(v.Lexicons[d.Language], ws, isEnglish, brands); more > most {
			best, most = translated, more
		}
	}
	return best
}

// longestBrand is the number of words in the longest brand that is told from other words.
const longestBrand = 3

// brandKey is a brand as Statistics has it.
func brandKey(ws []string) string { return strings.Join(ws, " ") }

// brandAt returns how many of the words from one on are a brand. 0: none.
func brandAt(ws []string, brands map[string]int) int {
	for n := min(longestBrand, len(ws)); n > 0; n-- {
		if brands[brandKey(ws[:n])] > 0 {
			return n
		}
	}
	return 0
}

// translate translates what the dictionary has and keeps other words, such as names. A brand is kept, and a word of the language that it
// is may also be meant: a query for "braun" is for the brand rather than for what is brown. more is how many more words are
// of its language alone than of English alone. It is zero if no word is translated that tells products apart.
func (d *dictionary) translate(x *lexicon, ws []string, isEnglish func(string) bool, brands map[string]int) (t translation, more int) {
	t.others = make(map[string][]string)
	order := wordOrder{nounFirst: d.nounFirst}
	folded := d.folded(ws)
	isForeign := func(w string) bool {
		return len(w) > 1 && (!isEnglish(w) || d.isSpelled(w)) && !d.isAmbiguous(w)
	}
	foreign := func(ws ...string) {
		if slices.ContainsFunc(ws, isForeign) {
			more += len(ws)
		}
	}
	// What a word means may also be called by the word itself, unless its stem is that of an English one, as Karte's is kart.
	addItself := func(meaning string, at int) {
		if w := ws[at]; !isEnglish(w) && English.Stem(w) == w && !d.isAmbiguous(folded[at]) {
			t.add(meaning, w)
		}
	}
	content := false
	for at := 0; at < len(ws); {
		w, parts := ws[at], ""
		small := x.stop[w] || x.words.prepositions[w]
		if n := brandAt(ws[at:], brands); n > 1 || n == 1 && !small {
			for i := at; i < at+n; i++ {
				order.add(ws[i], true)
			}
			if n == 1 {
				t.add(w, d.lookup(folded[at])...)
			}
			at += n
			continue
		}
		n := min(max(1, d.longest[d.Stem(folded[at])]), len(ws)-at)
		meanings := d.lookup(folded[at : at+n]...)
		for meanings == nil && n > 0 {
			n--
			meanings = d.lookup(folded[at : at+n]...)
		}
		if n == 0 {
			parts = d.compound(folded[at])
		}
		switch {
		case n > 0 && englishWords.prepositions[meanings[0]]:
			order.addPreposition(meanings[0])
			foreign(ws[at : at+n]...)
		case n > 0:
			order.add(meanings[0], false)
			t.add(meanings[0], meanings[1:]...)
			if n == 1 {
				addItself(meanings[0], at)
			}
			content = content || meanings[0] != strings.Join(ws[at:at+n], " ")
			// "winder" by itself is English, though its German stem is "Wind".
			if len(ws) > 1 || !strings.HasSuffix(w, "er") || d.exact[folded[at]] != nil {
				foreign(ws[at : at+n]...)
			}
		case parts != "":
			order.add(parts, false)
			addItself(parts, at)
			content = true
			foreign(w)
		case small: // "de", "der": English says it by the order of words
			foreign(w)
		case x.isKnown(x.Stem(w)):
			order.add(w, true)
			foreign(w)
		default:
			order.add(w, true)
			if isEnglish(w) && !d.words[folded[at]] {
				more--
			}
		}
		at += max(1, n)
	}
	if !content {
		return translation{}, 0
	}
	t.text = order.text()
	return t, more
}

// wordOrder puts translated words in the order of English.
type wordOrder struct {
	nounFirst   bool // the language has them the other way round between prepositions
	out, phrase []string
	kept        bool // the last word was not translated
}

// add adds a word; keep is true for one that was not translated.
func (o *wordOrder) add(w string, keep bool) {
	last := len(o.phrase) - 1
	if last >= 0 && !isNumber(w) && (o.kept && keep || isNumber(o.phrase[last])) { // "44 inch" and names stay in order
		o.phrase[last] += " " + w
	} else {
		o.phrase = append(o.phrase, w)
	}
	o.kept = keep
}

func (o *wordOrder) addPreposition(w string) {
	o.endPhrase()
	o.out = append(o.out, w)
}

func (o *wordOrder) endPhrase() {
	if o.nounFirst {
		slices.Reverse(o.phrase)
	}
	o.out, o.phrase, o.kept = append(o.out, o.phrase...), nil, false
}

func (o *wordOrder) text() string {
	o.endPhrase()
	return strings.Join(o.out, " ")
}

// compound translates a word made of several that the dictionary has: "Puppenkleidung" is doll clothes. Empty: it is none.
func (d *dictionary) compound(word string) string {
	if d.Tag != "de" {
		return ""
	}
	for i := shortestPart; i <= len(word)-shortestPart; i++ { // the longest tail first
		tail := d.lookup(word[i:])
		if tail == nil {
			continue
		}
		for _, link := range [...]string{"", "s", "n", "en", "es"} {
			first, ok := strings.CutSuffix(word[:i], link)
			if !ok {
				continue
			}
			head := d.compound(first)
			if found := d.lookup(first); found != nil {
				head = found[0]
			}
			if head != "" {
				return head + " " + tail[0]
			}
		}
	}
	return ""
}

// add adds what else a phrase of the text may mean.
func (t translation) add(phrase string, others ...string) {
	t.others[phrase] = append(t.others[phrase], others...)
}

// alternatives adds what else the words of a translated query may mean.
func (t translation) alternatives(q *Query) {
	for phrase, others := range t.others {
		for _, w := range catalog.Words(phrase) {
			if at := q.position(w); at >= 0 {
				q.Terms[at].Alternatives = append(q.Terms[at].Alternatives, others...)
			}
		}
	}
}
