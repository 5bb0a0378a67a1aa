package grounding

import (
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
				return Claims{{Start: first.Start, End: next.End, Text: o.raw[first.Start:next.End], Kind: Statement, Verdict: Unsupported}}
			}
		}
	}
	return nil
}

// isUnknownName reports whether a word has a capital and is not in the evidence.
func isUnknownName(raw string, w text.Word, known string) bool {
	return len(w.Text) >= minName && isCapital(raw[w.Start:]) && !strings.ContainsFunc(w.Text, unicode.IsDigit) &&
		!isStopWord(w.Text) && !strings.Contains(known, strings.ToLower(raw[w.Start:w.End]))
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
