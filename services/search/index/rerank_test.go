package index

import (
	"fmt"
	"slices"
	"testing"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

func titled(id, title string, score float64, terms TermSet) Candidate {
	e := NewEntry(&catalogv1.Product{ProductId: id, Title: title, Variants: []*catalogv1.Variant{{VariantId: "std"}}})
	return Candidate{Entry: e, Match: Match{Score: score, Terms: terms}}
}

func hit(c Candidate) Hit { return Hit{Candidate: c, Variants: c.Product.GetVariants()} }

func order(hits []Hit) string {
	var out string
	for _, h := range hits {
		out += h.ID()
		if h.Loose {
			out += "?"
		}
		out += " "
	}
	return out
}

func TestAMissingWordDemotesAndDoesNotExclude(t *testing.T) {
	q := Query{Terms: []Term{{Text: "laptop"}, {Text: "uni"}}, Head: -1}
	both, one := titled("BOTH", "Laptop for uni", 4, 3), titled("ONE", "Laptop", 3, 1)
	if got := order(Rerank(q, []Hit{hit(both)}, []Candidate{one, both}, Filter{}, nil)); got != "BOTH ONE? " {
		t.Errorf("order %q, want the one that meets the query first and the other marked", got)
	}
	if got := order(Rerank(q, nil, []Candidate{one}, Filter{}, nil)); got != "ONE? " {
		t.Errorf("order %q, want the nearest product although none meets the query", got)
	}
	none := NewFilter(&catalogv1.Filter{Brands: []string{"Kestrel"}})
	if got := order(Rerank(q, nil, []Candidate{one}, none, nil)); got != "" {
		t.Errorf("order %q, want none: the filter is no word", got)
	}
}

func TestLettersInCommonDecideAmongEqualsInLargeStores(t *testing.T) {
	q := Query{Terms: []Term{{Text: "moniter"}}, Head: -1}
	best := []Candidate{titled("A", "A garden hose", 1, 1), titled("B", "Flat monitor", 1, 1)}
	counts := new(GramCounts)
	for i := range 2_000 {
		counts.Add(&catalogv1.Product{ProductId: fmt.Sprint("P-", i), Title: "Garden thing"})
	}
	if got := order(Rerank(q, nil, best, Filter{}, counts)); got != "B? A? " {
		t.Errorf("with a sample: order %q, want the word that is nearly the same first", got)
	}
	if got := order(Rerank(q, nil, best, Filter{}, new(GramCounts))); got != "A? B? " {
		t.Errorf("without a sample: order %q, want that of the titles", got)
	}
}

func TestKeptNGramsScoreAlikeAndAreNotCutAgain(t *testing.T) {
	q := Query{Terms: []Term{{Text: "moniter"}, {Text: "écran"}}, Head: -1}
	counts := NewGramCounts(leastSample, map[string]int{"mon": 1, "ran": 3})
	var kept, cut []Hit
	for i := range 50 {
		cut = append(cut, hit(titled(fmt.Sprint("P-", i), fmt.Sprint("Flat monitor, écran plat, monitor ", i%7), 1, 3)))
		kept = append(kept, hit(titled(fmt.Sprint("P-", i), fmt.Sprint("Flat monitor, écran plat, monitor ", i%7), 1, 3)))
		kept[i].KeepGrams()
	}
	if got, want := q.gramScores(kept, counts), q.gramScores(cut, counts); !slices.Equal(got, want) || want[0] == 0 {
		t.Errorf("scores %v, want %v", got, want)
	}
	again := testing.AllocsPerRun(5, func() { q.gramScores(cut, counts) })
	if once := testing.AllocsPerRun(5, func() { q.gramScores(kept, counts) }); once > again/2 {
		t.Errorf("%v allocations with kept n-grams, %v without", once, again)
	}
}

// The vectors of a model of little ability must not overturn what the words say.
func TestCombineAddsTheCosineToTheScoreByWords(t *testing.T) {
	hits := func() []Hit {
		return []Hit{hit(titled("A", "", 2.5, 0)), hit(titled("B", "", 1.2, 0)), hit(titled("C", "", 1.1, 0)), hit(titled("D", "", 1, 0))}
	}
	for name, c := range map[string]struct {
		near []Similarity
		want string
	}{
		"none has a vector":                  {nil, "A B C D "},
		"the nearest of those that are near": {[]Similarity{{1, 0.2}, {2, 0.8}, {3, 0.9}, {0, 0.1}}, "A C D B "},
		"one without a vector is far":        {[]Similarity{{2, 0.8}, {3, 0.1}, {0, 0.1}}, "A C B D "},
	} {
		if got := order(combine(hits(), c.near)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
