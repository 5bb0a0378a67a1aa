package grounding

import (
	"slices"
	"strings"
	"unicode"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// minName is the length of the shortest word of a name, in bytes.
const minName = 3

// unknownNames returns names that the evidence does not have: two words with capitals in a clause with the price of a product that its
// sentence does not name. known holds all that the evidence says, in lower case.
func (s *subjects) unknownNames(o outline, claims []claim, known string) Claims {
	for i, c := range o.clauses {
		if !s.isPriceOfUnnamed(o, i, claims) {
			continue
		}
		for k := range c.words[:len(c.words)-1] {
			if first, next := c.words[k], c.words[k+1]; isUnknownName(o.raw, first, known) && isUnknownName(o.raw, next, known) {
				return Claims{misnaming(o.raw, first, next)}
			}
		}
	}
	return nil
}

// wrongNames returns names that have another word in the place of the second one of a title: "Wisp Solo" for "Wisp Duo". In German,
// where nouns have capitals, none is sure.
func (s *subjects) wrongNames(o outline, known string) Claims {
	if text.Language(o.raw) == "de" {
		return nil
	}
	for _, c := range o.clauses {
		for k := range c.words[:len(c.words)-1] {
			first, next := c.words[k], c.words[k+1]
			of := s.byWord[nameWord(first.Text)]
			if len(of) == 1 && of[0].kind == kindProduct && len(of[0].words) > 1 && of[0].words[0] == nameWord(first.Text) &&
				next.Start == first.End+1 && isCapital(o.raw[first.Start:]) && isUnknownName(o.raw, next, known) && !c.hasName(of[0].words[1]) {
				return Claims{misnaming(o.raw, first, next)}
			}
		}
	}
	return nil
}

// hasName reports whether the clause has a word of a name.
func (c *clause) hasName(word string) bool {
	return slices.ContainsFunc(c.words, func(w text.Word) bool { return nameWord(w.Text) == word })
}

// isUnknownName reports whether a word has a capital and is not in the evidence.
func isUnknownName(raw string, w text.Word, known string) bool {
	return len(w.Text) >= minName && isCapital(raw[w.Start:]) && !strings.ContainsFunc(w.Text, unicode.IsDigit) &&
		!isStopWord(w.Text) && !strings.Contains(known, strings.ToLower(raw[w.Start:w.End]))
}

func misnaming(raw string, first, last text.Word) Claim {
	return Claim{Start: first.Start, End: last.End, Text: raw[first.Start:last.End], Kind: Statement, Verdict: Unsupported}
}

// isPriceOfUnnamed reports whether a clause has an amount of one product only, and its sentence names none.
func (s *subjects) isPriceOfUnnamed(o outline, clause int, claims []claim) bool {
	c := o.clauses[clause]
	for i := range o.clauses {
		if o.clauses[i].sentence == c.sentence && o.refs[i].mentionsKind(kindProduct) {
			return false
		}
	}
	for _, claim := range claims {
		if claim.currency == "" || o.clauseAt(claim.Start) != clause || s.common.Has(claim.Fact) {
			continue
		}
		owners := 0
		for _, of := range s.list {
			if of.kind == kindProduct && of.facts.Has(claim.Fact) {
				owners++
			}
		}
		if owners == 1 {
			return true
		}
	}
	return false
}

func (r reference) mentionsKind(kind string) bool {
	for _, m := range r.mentioned {
		if m.kind == kind {
			return true
		}
	}
	return false
}
