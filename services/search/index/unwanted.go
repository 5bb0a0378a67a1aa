package index

import (
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// unwanted is a word for what products must not have: the lid of "kettle without lid".
type unwanted struct {
	word    string
	said    string   // with the word that denies it
	spelled []string // the word and its synonyms, without space
}

// newUnwanted returns a word that was denied by another one.
func (x *lexicon) newUnwanted(denial, word string) unwanted {
	u := unwanted{word: word, said: denial + " " + word, spelled: []string{word}}
	for _, synonym := range x.alternatives([]string{word}, 0) {
		u.spelled = append(u.spelled, strings.Join(catalog.Words(synonym), ""))
	}
	return u
}

// denials are further words that deny the word behind them, in texts of products.
var denials = wordSet("no non not kein keine keinen keiner nicht pas")

// isDenied reports whether the word before the i-th denies it, in any language.
func isDenied(ws []string, i int) bool {
	return i > 0 && (denials[ws[i-1]] || slices.ContainsFunc(Languages, func(l *Language) bool { return l.words.denials[ws[i-1]] }))
}

// cutUnwanted takes the words that a query denies out of it, up to the next preposition. Where names of products deny what they lack
// ("souris sans fil"), the words stay. A query that wants nothing denies nothing.
func (x *lexicon) cutUnwanted(ws []string) (wanted []string, denied []unwanted) {
	for i := 0; i < len(ws); i++ {
		wanted = append(wanted, ws[i])
		if !x.words.denials[ws[i]] {
			continue
		}
		end := i + 1
		for end < len(ws) && !x.words.prepositions[ws[end]] {
			end++
		}
		for _, w := range x.contentWords(ws[i+1 : end]) {
			denied = append(denied, x.newUnwanted(ws[i], w))
		}
		if x.words.namesDeny {
			wanted = append(wanted, ws[i+1:end]...)
		}
		i = end - 1
	}
	if len(x.contentWords(wanted)) == 0 {
		return ws, nil
	}
	return wanted, denied
}

// unwantedIn returns what a product has of what the query denies, as the shopper wrote it. A text that denies it, too, does not say so.
func (q Query) unwantedIn(e *Entry) []string {
	p := e.Product
	texts := slices.Concat([]string{p.GetTitle(), p.GetDescription()}, p.GetCategoryPath(), p.GetTags(), attributeTexts(p), optionTexts(p))
	for _, t := range p.GetTranslations() {
		texts = append(texts, t.GetTitle(), t.GetDescription())
	}
	var out []string
	for _, u := range q.unwanted {
		if slices.ContainsFunc(texts, func(t string) bool { return u.mayBeIn(t) && u.isSaidIn(catalog.Words(t), e.Language) }) {
			out = append(out, u.said)
		}
	}
	return out
}

// leastShared is how many bytes a word shares with its other forms.
const leastShared = 4

// mayBeIn reports whether a text has the beginning of the word, which most have not: then it need not be cut into words.
func (u unwanted) mayBeIn(t string) bool {
	t = apart.Replace(strings.ToLower(t))
	return slices.ContainsFunc(u.spelled, func(w string) bool { return strings.Contains(t, text.HeadBytes(w, leastShared)) })
}

// apart removes what stands between the parts of a word: "Wi-Fi".
var apart = strings.NewReplacer(" ", "", "-", "")

// isSaidIn reports whether words of a text say that a product has it.
func (u unwanted) isSaidIn(ws []string, l *Language) bool {
	for i, w := range ws {
		for _, own := range u.spelled {
			isSaid := l.Stem(w) == l.Stem(own) || i+1 < len(ws) && l.Stem(w+ws[i+1]) == l.Stem(own) // "Wi-Fi"
			if isSaid && !isDenied(ws, i) {
				return true
			}
		}
	}
	return false
}

// maxDenied bounds the hits that are looked through for what the query denies: of thousands, the order of the last is of no use to anybody.
const maxDenied = 1000

// demoteUnwanted puts hits that have what the query denies behind those that meet it, among those that lack a word, and behind these if they
// lack one, too.
func (f *Result) demoteUnwanted() {
	if len(f.Query.unwanted) == 0 {
		return
	}
	for i := range f.Hits[:min(maxDenied, len(f.Hits))] {
		h := &f.Hits[i]
		h.unwanted = f.Query.unwantedIn(h.Entry)
		if h.Loose {
			h.faults++
		}
		if len(h.unwanted) > 0 {
			h.faults++
			h.Loose = true
		}
	}
	byFaults(f.Hits)
	f.matched = f.matched && slices.ContainsFunc(f.Hits, func(h Hit) bool { return !h.Loose })
}

// byFaults puts hits with more faults behind the others.
func byFaults(hits []Hit) {
	slices.SortStableFunc(hits, func(a, b Hit) int { return a.faults - b.faults })
}
