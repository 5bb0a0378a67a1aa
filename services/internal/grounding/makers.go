package grounding

import (
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// maker is a name that a field gives a subject: the brand of a product, or the carrier of an order.
type maker struct {
	words []string // folded
	of    []*subject
}

// makerKeys are the keys of these fields.
var makerKeys = []string{"brand", "carrier"}

// addMaker adds the name in a field of a subject.
func (s *subjects) addMaker(name string, of *subject) {
	words := foldedWords(name)
	if of == nil || len(words) == 0 {
		return
	}
	i := slices.IndexFunc(s.makers, func(m maker) bool { return slices.Equal(m.words, words) })
	if i < 0 {
		i, s.makers = len(s.makers), append(s.makers, maker{words: words})
	}
	s.makers[i].of = append(s.makers[i].of, of)
}

// otherMaker returns the first maker of other things that a clause names, if it is about things that all have another maker, or an unknown
// name that is like that of a maker which the sentence does not name. hasNames reports whether the text is in a language in which only names
// have capitals; elsewhere, one stands behind a preposition.
func (s *subjects) otherMaker(o outline, hasNames bool) Claims {
	for i := range o.clauses {
		c := &o.clauses[i]
		if c.isQuestion || c.has("COMPARE") || c.has("NOT") {
			continue
		}
		for _, m := range s.makers {
			first := m.at(c.words)
			if first < 0 {
				continue
			}
			about := s.madeIn(o, i, first, m)
			if len(about) > 0 && all(about, func(p *subject) bool { return s.isByOther(p, m) }) {
				out := o.nameAt(i, first, first+len(m.words))
				out[0].Verdict, out[0].Subject = Contradicted, about[0].id
				return out
			}
		}
		for k, w := range c.words {
			isName := k > 0 && (hasNames || isWordOf(c.words[k-1], "PREPOSITION"))
			if isName && s.isUnknownName(o.raw, w) && slices.ContainsFunc(s.makers, func(m maker) bool {
				return slices.ContainsFunc(m.words, func(word string) bool { return isAlike(w.Text, word) && !o.hasWord(c.sentence, word) })
			}) {
				return o.nameAt(i, k, k+1)
			}
		}
	}
	return nil
}

// madeIn returns what a clause says that a maker, whose name stands at a word of it, makes or carries: the order, or the products that its other
// words mean or that its sentence is about already. Only behind a preposition is the name that of a maker, and not of its thing.
func (s *subjects) madeIn(o outline, clause, first int, m maker) []*subject {
	words := o.clauses[clause].words
	if first == 0 || !isWordOf(words[first-1], "PREPOSITION") && !isWordOf(words[first-1], "BRAND") {
		return nil
	}
	if m.of[0].kind == kindOrder {
		return ofKind(o.refs[clause].named, kindOrder)
	}
	if slices.ContainsFunc(o.refs[clause].named, func(n *subject) bool { return slices.Contains(m.of, n) }) {
		return nil
	}
	before := o.productsBefore(clause)
	meant := s.meantBy(o, slices.Concat(words[:first], words[first+len(m.words):]))
	if isInSentence := clause > 0 && o.clauses[clause-1].sentence == o.clauses[clause].sentence; len(meant) == 0 && isInSentence {
		meant = before
	}
	return ofKind(narrowed(meant, before), kindProduct)
}

// isByOther reports whether the maker of a thing is known to be another one, and nothing of the thing has a word of this one.
func (s *subjects) isByOther(of *subject, m maker) bool {
	isKnown := slices.ContainsFunc(s.makers, func(o maker) bool { return slices.Contains(o.of, of) })
	return isKnown && !slices.Contains(m.of, of) && !slices.ContainsFunc(m.words, func(w string) bool { return of.stems()[stemOf(w)] })
}

// at returns where words have the name of a maker, or -1.
func (m maker) at(words []text.Word) int {
	for i := range words {
		if len(words)-i >= len(m.words) && slices.EqualFunc(words[i:i+len(m.words)], m.words, isWord) {
			return i
		}
	}
	return -1
}

// hasWord reports whether a sentence has a folded word.
func (o outline) hasWord(sentence int, word string) bool {
	return slices.ContainsFunc(o.clauses, func(c clause) bool {
		return c.sentence == sentence && slices.ContainsFunc(c.words, func(w text.Word) bool { return w.Text == word })
	})
}

// alike is how many letters two names that are alike have in common at their ends.
const alike = 4

// isAlike reports whether two folded words are different names that are alike, such as "Muirfield" and "Muirhead": they have some letters in
// common at their beginnings and ends, and more than two fifths of the longer one. One with an ending is the same name.
func isAlike(a, b string) bool {
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
		return false
	}
	short, long := min(len(a), len(b)), max(len(a), len(b))
	begin, end := 0, 0
	for begin < short && a[begin] == b[begin] {
		begin++
	}
	for end < short-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin+end >= alike && 5*(begin+end) > 2*long
}
