package grounding

import (
	"slices"

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

// otherMaker returns the first maker of other things that a clause names, if it is about things that all have another maker.
func (s *subjects) otherMaker(o outline) Claims {
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
