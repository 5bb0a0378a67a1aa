package index

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// negation is a thing that products must not have: the lid of "kettle without lid".
type negation struct {
	phrase string   // as the shopper wrote it: "without lid"
	forms  []string // the word and its synonyms in the languages of the products, without space
	stems  map[*Language]map[string]bool
	heads  []string // the folded beginnings of the forms, which their other forms share
}

// headLength is the length of these beginnings, in bytes: Nüsse, Nuss.
const headLength = 3

// negationRE finds the first negation of a query and the word behind it.
var negationRE = regexp.MustCompile(`(?i)(?:^|\s)(without|ohne|sans|sin)\s+(?:(?:an?|any|the|eine?|einen|einer|den|die|das|une?|la|le|les|las|los|el|unas?)\s+)*(?:[dl]['’])?(\pL[\pL'’-]*)`)

// negatingLanguages are by the words of negationRE.
var negatingLanguages = map[string]*Language{"without": English, "ohne": Languages[1], "sans": Languages[2], "sin": Languages[3]}

// Request parses what a shopper asks for. Unlike in a [View.Query], which may be the title of a product, one thing may be negated.
func (v *View) Request(vocabulary *Vocabulary, query string) Query {
	plain := v.Query(vocabulary, query)
	at := negationRE.FindStringSubmatchIndex(query)
	if at == nil {
		return plain
	}
	negator, word, rest := strings.ToLower(query[at[2]:at[3]]), query[at[4]:at[5]], query[at[1]:]
	if !endsNegation(rest, negatingLanguages[negator]) || isQuality(negator+" "+word) {
		return plain
	}
	q, denied := v.Query(vocabulary, query[:at[0]]+" "+rest), v.Query(vocabulary, word)
	if len(q.Terms) == 0 || len(denied.Terms) == 0 {
		return plain
	}
	q.negated = newNegation(query[at[2]:at[3]]+" "+word, denied)
	return q
}

// endsNegation reports whether only one word is negated, given what follows it: of "without carrying case" the scope is not sure.
func endsNegation(rest string, l *Language) bool {
	ws := catalog.Words(rest)
	if len(ws) == 0 || strings.IndexAny(rest, ",.;:!?()") == 0 {
		return true
	}
	next := ws[0]
	if conjunctions[next] && len(ws) > 1 { // "without hood and with pockets", but not "without hood and pockets"
		next = ws[1]
		return l.words.prepositions[next]
	}
	return isNumber(next) || l.words.prepositions[next] || l.words.qualifiers[next]
}

var conjunctions = wordSet("and or but und oder aber et ou mais y e o u pero")

// isQuality reports whether a negation is itself what products are called by: "sans fil" is wireless.
func isQuality(phrase string) bool {
	return slices.ContainsFunc(dictionaries(), func(d *dictionary) bool { return d.lookup(d.folded(catalog.Words(phrase))...) != nil })
}

// newNegation returns the negation of a parsed word.
func newNegation(phrase string, word Query) *negation {
	var terms, spelled []string
	for _, t := range word.Terms {
		terms, spelled = append(terms, t.Text), append(spelled, t.Alternatives...)
	}
	n := &negation{phrase: phrase, stems: make(map[*Language]map[string]bool)}
	for _, s := range append(spelled, strings.Join(terms, " ")) {
		form := strings.Join(catalog.Words(s), "")
		n.forms = append(n.forms, form)
		n.heads = append(n.heads, text.HeadBytes(text.Fold(form), headLength))
	}
	for _, l := range Languages {
		n.stems[l] = make(map[string]bool)
		for _, form := range n.forms {
			n.stems[l][l.Stem(form)] = true
		}
	}
	return n
}

// isIn reports whether a product says that it has the thing.
func (n *negation) isIn(e *Entry) bool {
	p := e.Product
	texts := slices.Concat([]string{p.GetTitle(), p.GetDescription()}, p.GetCategoryPath(), p.GetTags(), attributeTexts(p), optionTexts(p))
	for _, t := range p.GetTranslations() {
		texts = append(texts, t.GetTitle(), t.GetDescription())
	}
	return slices.ContainsFunc(texts, func(t string) bool {
		folded := apart.Replace(text.Fold(t))
		mayBe := slices.ContainsFunc(n.heads, func(head string) bool { return strings.Contains(folded, head) })
		return mayBe && n.isSaidIn(catalog.Words(t), e.Language)
	})
}

// apart removes what stands between the parts of a word: "Wi-Fi".
var apart = strings.NewReplacer(" ", "", "-", "")

// isSaidIn reports whether words of a text have the thing and do not negate it.
func (n *negation) isSaidIn(ws []string, l *Language) bool {
	for i, w := range ws {
		begin := text.HeadBytes(text.Fold(w), 2)
		if !slices.ContainsFunc(n.heads, func(head string) bool { return strings.HasPrefix(head, begin) }) { // most words, which need no stem
			continue
		}
		isSaid := n.stems[l][l.Stem(w)] || i+1 < len(ws) && n.stems[l][l.Stem(w+ws[i+1])] // "Wi-Fi"
		if isSaid && !isNegated(ws, i) {
			return true
		}
	}
	return false
}

const negationScope = 3 // words

// negators are words that negate what follows within the scope, or what is right before them.
var negators = wordSet("without ohne sans sin no non not nor kein keine keinen keiner keinem nicht pas ni nessun senza zonder")

// isNegated reports whether the i-th word is negated where it stands: "no lid", "does not have a lid", "sugar-free", "lid not included".
func isNegated(ws []string, i int) bool {
	if i+1 < len(ws) && (negators[ws[i+1]] || ws[i+1] == "free" || ws[i+1] == "frei") {
		return true
	}
	return slices.ContainsFunc(ws[max(0, i-negationScope):i], func(w string) bool { return negators[w] })
}

// maxNegated bounds the hits that are looked through for what the query negates.
const maxNegated = 500

// demoteNegated puts the hits that have what the query negates behind the others. They do not meet the query.
func (f *Result) demoteNegated() {
	n := f.Query.negated
	if n == nil {
		return
	}
	if len(f.Hits) > maxNegated {
		f.Hits, f.More = f.Hits[:maxNegated], true
	}
	for i := range f.Hits {
		if h := &f.Hits[i]; n.isIn(h.Entry) {
			h.Negated, h.Loose = true, true
		}
	}
	negatedLast(f.Hits)
}

// negatedLast puts the hits that have what the query negates behind the others, in the order that they have, and with no higher scores.
func negatedLast(hits []Hit) {
	if !slices.ContainsFunc(hits, func(h Hit) bool { return h.Negated }) {
		return
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		switch {
		case a.Negated == b.Negated:
			return 0
		case a.Negated:
			return 1
		}
		return -1
	})
	for i := range hits {
		if i > 0 && hits[i].Negated {
			hits[i].Score = min(hits[i].Score, hits[i-1].Score)
		}
	}
}
