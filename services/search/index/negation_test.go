package index

import (
	"fmt"
	"strings"
	"testing"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// The order of the last of thousands is of no use to anybody.
func TestOnlyTheFirstHitsAreLookedThroughForWhatIsNegated(t *testing.T) {
	lid := NewVocabulary(nil).Parse("lid")
	f := Result{Query: Query{negated: newNegation("without lid", lid)}}
	for i := range maxNegated + 200 {
		f.Hits = append(f.Hits, hit(titled(fmt.Sprint("P", i), "Kettle with lid", 1, 0)))
	}
	f.demoteNegated()
	if r := f.Response(0, 5, nil); r.GetTotalCount() != 0 || !r.GetMoreMatches() || !r.GetHits()[0].GetPartial() || len(f.Negated()) != maxNegated {
		t.Errorf("%v, %d negated", r, len(f.Negated()))
	}
}

func TestANegationKeepsItsPlaceBehindRerankedHits(t *testing.T) {
	a, b, c := hit(titled("A", "", 3, 0)), hit(titled("B", "", 2, 0)), hit(titled("C", "", 1, 0))
	a.Negated = true
	hits := []Hit{a, b, c}
	negatedLast(hits)
	if got := order(hits); got != "B C A " || hits[2].Score > hits[1].Score {
		t.Errorf("%s, with the score %v", got, hits[2].Score)
	}
}

func BenchmarkNegation(b *testing.B) {
	n := newNegation("without lid", NewVocabulary(nil).Parse("lid"))
	e := NewEntry(&catalogv1.Product{Title: "Kettle", Description: strings.Repeat("It boils a litre of water in very little time, and has a slide. ", 30)})
	for b.Loop() {
		n.isIn(e)
	}
}
