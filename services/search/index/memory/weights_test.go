package memory

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	evalsearch "github.com/quartet-commerce/quartet/services/internal/eval/search"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// update writes the weights.
var update = flag.Bool("update", false, "write the fitted weights")

// example is a judged query with what is ranked for it.
type example struct {
	set      string
	grades   map[string]int
	hits     []index.Hit
	features []index.Features
}

// ndcg is that of the order by the weights.
func (e example) ndcg(weights index.Features) float64 {
	scores := make([]float64, len(e.hits))
	at := make([]int, len(e.hits))
	for i, f := range e.features {
		scores[i], at[i] = f.Score(weights), i
	}
	slices.SortStableFunc(at, func(a, b int) int {
		return index.Compare(e.hits[a].Entry, scores[a], e.hits[b].Entry, scores[b])
	})
	var top []evalsearch.Hit
	for _, i := range at[:min(10, len(at))] {
		top = append(top, evalsearch.Hit{ProductID: e.hits[i].ID()})
	}
	return evalsearch.NDCG(top, e.grades, 10)
}

// examples are the judged queries of a set that have a relevant product.
func examples(t *testing.T, v *snapshot, set, file string) []example {
	t.Helper()
	queries, err := evalsearch.Judgments(publicdata.Open(t, file))
	if err != nil {
		t.Fatal(err)
	}
	vocabulary := index.NewVocabulary(nil)
	var out []example
	for _, q := range queries {
		parsed := v.view().Request(vocabulary, q.Text)
		e := example{set: set, grades: q.Grades}
		e.hits, e.features, err = v.view().Candidates(t.Context(), parsed, index.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if !math.IsNaN(e.ndcg(index.Weights)) {
			out = append(out, e)
		}
	}
	return out
}

// mean is the mean nDCG@10 of the examples of each set, and of both sets alike.
func mean(all []example, weights index.Features) (bySet map[string]float64, both float64) {
	bySet, n := make(map[string]float64), make(map[string]float64)
	for _, e := range all {
		bySet[e.set] += e.ndcg(weights)
		n[e.set]++
	}
	for set := range bySet {
		bySet[set] /= n[set]
		both += bySet[set] / float64(len(n))
	}
	return bySet, both
}

// grid are the values that a weight may have.
var grid = []float64{0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 6}

// fit finds weights by coordinate ascent: one after the other is set to the best value of the grid, until none changes. The features that
// are left out have weight 0.
func fit(all []example, without ...int) index.Features {
	weights := index.Features{1, 1, 1}
	for _, i := range without {
		weights[i] = 0
	}
	_, best := mean(all, weights)
	for changed := true; changed; {
		changed = false
		for i := range weights {
			if slices.Contains(without, i) {
				continue
			}
			for _, w := range grid {
				tried := weights
				tried[i] = w
				if _, m := mean(all, tried); m > best+1e-4 {
					best, weights, changed = m, tried, true
				}
			}
		}
	}
	return weights
}

// folds is how many parts the queries of each set are dealt into.
const folds = 5

// crossValidated are the figures of each set on queries that the weights were not fitted to.
func crossValidated(all []example, without ...int) map[string]float64 {
	sums, n := make(map[string]float64), make(map[string]float64)
	for fold := range folds {
		var seen, held []example
		for i, e := range all {
			if i%folds == fold {
				held = append(held, e)
			} else {
				seen = append(seen, e)
			}
		}
		weights := fit(seen, without...)
		for _, e := range held {
			sums[e.set] += e.ndcg(weights)
			n[e.set]++
		}
	}
	for set := range sums {
		sums[set] /= n[set]
	}
	return sums
}

// leastHeldOut are figures a little below those of held-out queries.
var leastHeldOut = map[string]float64{"chorus": 0.80, "search": 0.66}

// With -v it prints what is lost without each feature. With -args -update it writes the weights.
func TestWeightsAreThoseThatAreFitted(t *testing.T) {
	if !*update {
		racedetector.SkipOneGoroutine(t)
	}
	v := publicSnapshot(t)
	all := append(examples(t, v, "chorus", "chorus/judgments.csv"), examples(t, v, "search", "search/dev.csv")...)
	weights := fit(all)
	if *update {
		writeWeights(t, weights)
	} else if weights != index.Weights {
		t.Errorf("the weights are %v, fitted ones are %v; run go generate in services/search/index", index.Weights, weights)
	}
	held := crossValidated(all)
	fitted, _ := mean(all, weights)
	t.Logf("all features: %v, held out %v", fitted, held)
	for set, least := range leastHeldOut {
		if held[set] < least {
			t.Errorf("%s: nDCG@10 is %.3f on held-out queries, want at least %.2f", set, held[set], least)
		}
	}
	if !testing.Verbose() {
		return
	}
	for i := range weights {
		fitted, _ := mean(all, fit(all, i))
		t.Logf("without feature %d: %v, held out %v", i, fitted, crossValidated(all, i))
	}
}

// publicSnapshot is the public catalog in memory.
func publicSnapshot(t *testing.T) *snapshot {
	t.Helper()
	words, err := newWordIndex()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := words.Close(); err != nil {
			t.Error(err)
		}
	})
	products := indextest.PublicProducts(t)
	if err := words.Update(t.Context(), products, nil); err != nil {
		t.Fatal(err)
	}
	v := newSnapshot(words)
	v.update(products, nil)
	if err := v.locate(); err != nil {
		t.Fatal(err)
	}
	return v
}

func writeWeights(t *testing.T, weights index.Features) {
	t.Helper()
	const file = "../weights.go"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(before), "var Weights = ")
	if !found {
		t.Fatalf("%s has no Weights", file)
	}
	values := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(weights)), ", "), "[]")
	if err := os.WriteFile(file, []byte(head+"var Weights = Features{"+values+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
