package search

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
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
		!strings.Contains(string(text), `"improved_queries":1,"worsened_queries":2,"sign_test_p":1}`) {
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
