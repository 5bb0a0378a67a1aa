package index

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/search/catalog"
)

// negationRE finds a negation and the word behind it.
var negationRE = regexp.MustCompile(`(?i)(?:^|\s)(without|ohne|sans|sin)\s+(?:(?:an?|any|the|eine?|einen|einer|den|die|das|une?|la|le|les|las|los|el|unas?)\s+)*(?:[dl]['’])?(\pL[\pL\pM\pN'’-]*)`)

// negatingLanguages are by the words of negationRE.
var negatingLanguages = map[string]*Language{"without": English, "ohne": Languages[1], "sans": Languages[2], "sin": Languages[3]}

// Request parses what a shopper asks for, unlike a title, which is for [View.Query]. A word that is negated, such as the lid of "kettle
// without lid", is no term: it would put those first that have it. Query.Negated has it.
func (v *View) Request(vocabulary *Vocabulary, text string) Query {
	wanted, negated := cutNegations(text)
	q := v.Query(vocabulary, wanted)
	if len(q.Terms) == 0 && len(negated) > 0 { // it wants nothing else
		return v.Query(vocabulary, text)
	}
	q.Negated = negated
	return q
}

// cutNegations takes out of a query each negation of one word. Of "without carrying case" the scope is not sure, and "sans fil" is what
// things are called.
func cutNegations(query string) (wanted string, negated []string) {
	from := 0
	for _, at := range negationRE.FindAllStringSubmatchIndex(query, -1) {
		negator, word := strings.ToLower(query[at[2]:at[3]]), query[at[4]:at[5]]
		if l := negatingLanguages[negator]; l == nil || !endsNegation(query[at[1]:], l) || isQuality(negator+" "+word) {
			continue
		}
		wanted += query[from:at[0]]
		negated = append(negated, query[at[2]:at[3]]+" "+word)
		from = at[1]
	}
	return wanted + query[from:], negated
}

// endsNegation reports whether what follows a negated word surely is not negated, too.
func endsNegation(rest string, l *Language) bool {
	ws := catalog.Words(rest)
	if len(ws) == 0 || strings.IndexAny(rest, ",.;:!?()") == 0 {
		return true
	}
	next := ws[0]
	if conjunctions[next] && len(ws) > 1 { // "without hood and with pockets", but not "without hood and pockets"
		return l.words.prepositions[ws[1]]
	}
	return isNumber(next) || l.words.qualifiers[next] || l.words.prepositions[next] && !genitives[next] // "sans huile de palme"
}

var (
	conjunctions = wordSet("and or but und oder aber et ou mais y e o u pero")
	genitives    = wordSet("of de du des d von del")
)

// isQuality reports whether a negation is in a dictionary: "sans fil" is wireless.
func isQuality(phrase string) bool {
	return slices.ContainsFunc(dictionaries(), func(d *dictionary) bool { return d.lookup(d.folded(catalog.Words(phrase))...) != nil })
}
