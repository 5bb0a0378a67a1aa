package search

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// The first query gains a place, the second loses one, the third puts what nobody judged first, the fourth is as it was, and
// nothing is relevant to the last.
func TestPipelinesAreComparedQueryByQuery(t *testing.T) {
	a := map[string]int{"a": 1}
	words := []Outcome{ranked("b a", map[string]int{"a": 1, "b": 0}), ranked("a", a), ranked("a x", a), ranked("a", a), ranked("a", nil)}
	both := []Outcome{ranked("a b", map[string]int{"a": 1, "b": 0}), ranked("b a", map[string]int{"a": 1, "b": 0}), ranked("x a", a), ranked("a", a), ranked("x", nil)}
	r := Measure([]Ranked{{"lexical", words}, {"lexical+vector", both}})
	if r.Pipeline != "lexical+vector" || r.Figures != r.Legs["lexical+vector"].Figures || r.Legs["lexical"].AgainstFirst != nil {
		t.Fatalf("report is %+v", r)
	}
	c := r.Legs["lexical+vector"].AgainstFirst
	const second = 0.6309297535714575
	if got := c.NDCG10; math.Abs(got.Mean.Sum-(second-1)) > 1e-12 || got.Mean.Of != 4 || got.Improved != 1 || got.Worsened != 2 || got.SignTest != 1 {
		t.Errorf("nDCG@10 changes by %+v", got)
	}
	if got := c.CondensedNDCG10; math.Abs(got.Mean.Sum) > 1e-12 || got.Improved != 1 || got.Worsened != 1 {
		t.Errorf("condensed nDCG@10 changes by %+v", got)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"against_lexical":{"ndcg_at_10":{"mean_change":-0.09`) ||
		!strings.Contains(string(text), `"improved_queries":1,"worsened_queries":2,"sign_test_p":1,"randomization_test_p":1}`) {
		t.Errorf("as JSON, error %v:\n%s", err, text)
	}
}

func TestSignTest(t *testing.T) {
	for _, c := range []struct {
		a, b int
		want float64
	}{{0, 0, 1}, {1, 1, 1}, {5, 0, 2. / 32}, {0, 5, 2. / 32}, {8, 1, 2 * 10. / 512}, {1000, 900, 0.0231}} {
		if got := signTest(c.a, c.b); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%d to %d: p is %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// Five differences of one sign: two of the 32 assignments are as extreme.
func TestRandomizationTest(t *testing.T) {
	for _, c := range []struct {
		differences []float64
		want        float64
	}{{nil, 1}, {[]float64{0, 0}, 1}, {[]float64{0.1, 0.1, 0.1, 0.1, 0.1}, 2. / 32}, {[]float64{-1, -1, -1, -1, 1}, 12. / 32}, {[]float64{1, 0.1}, 0.5}} {
		if got := randomizationTest(c.differences); math.Abs(got-c.want) > 0.02 {
			t.Errorf("%v: p is %v, want %v", c.differences, got, c.want)
		}
	}
}

// The kite is named in one word and described in another; only n-grams find it by a part of a word. A tent ends
// like a stunt.
func TestBaselinesRankTheProducts(t *testing.T) {
	all := baselines()
	for _, p := range []*catalogv1.Product{
		{ProductId: "a", Title: "Stunt kites"}, {ProductId: "b", Title: "Winder", Description: "for a stunt"}, {ProductId: "c", Title: "Tent"},
	} {
		for _, b := range all {
			b.add(p)
		}
	}
	queries := []Query{{Text: "kite"}, {Text: "Stunt"}}
	got := make(map[string][]string)
	for _, b := range all {
		for _, o := range b.rank(queries) {
			var ids []string
			for _, h := range o.Hits {
				ids = append(ids, h.ProductID)
			}
			got[b.name] = append(got[b.name], strings.Join(ids, " "))
		}
	}
	want := map[string][]string{"BM25": {"", "a b"}, "BM25 over n-grams": {"a", "a b c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
