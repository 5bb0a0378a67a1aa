package search

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ranked is an outcome of a ranking: ids separated by spaces.
func ranked(hits string, grades map[string]int) Outcome {
	o := Outcome{Query: Query{Text: "q", Grades: grades}, Legs: "lexical", Durations: []time.Duration{time.Millisecond}}
	for _, id := range strings.Fields(hits) {
		o.Hits = append(o.Hits, Hit{ProductID: id, Title: "title of " + id})
	}
	return o
}

// measure measures one pipeline.
func measure(outcomes ...Outcome) *Report { return Measure([]Ranked{{"lexical", outcomes}}) }

// The discounts are 1/log2(2), 1/log2(3), 1/log2(4), ... = 1, 0.6309, 0.5, 0.4307; the gains of the grades 1, 2 and 3 are
// 1, 3 and 7.
func TestFiguresOfOneQuery(t *testing.T) {
	all := map[string]int{"a": 3, "b": 2, "c": 0, "d": 1}
	const ideal = 7 + 3*0.6309297535714575 + 1*0.5
	for name, c := range map[string]struct {
		outcome                       Outcome
		ndcg10, ndcg5, cond10, recall float64
	}{
		"the best order":              {ranked("a b d c", all), 1, 1, 1, 1},
		"nothing":                     {ranked("", all), 0, 0, 0, 0},
		"the best second":             {ranked("b a", all), (3 + 7*0.6309297535714575) / ideal, (3 + 7*0.6309297535714575) / ideal, (3 + 7*0.6309297535714575) / ideal, 2. / 3},
		"what is not judged gains 0":  {ranked("x a b d", all), (7*0.6309297535714575 + 3*0.5 + 1*0.43067655807339306) / ideal, (7*0.6309297535714575 + 3*0.5 + 1*0.43067655807339306) / ideal, 1, 1},
		"a grade of 0 is not dropped": {ranked("c a", all), 7 * 0.6309297535714575 / ideal, 7 * 0.6309297535714575 / ideal, 7 * 0.6309297535714575 / ideal, 1. / 3},
		"the sixth is not in five":    {ranked("x1 x2 x3 x4 x5 a", map[string]int{"a": 3}), 0.35620718710802255, 0, 1, 1},
		"the eleventh is not in ten":  {ranked("x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 a", map[string]int{"a": 3}), 0, 0, 1, 1},
		"the ideal has ten":           {ranked("a b c d e f g h i j", grades(12)), 1, 1, 1, 10. / 12},
	} {
		f := measure(c.outcome).Figures
		for figure, pair := range map[string][2]float64{
			"nDCG@10": {f.NDCG10.Sum, c.ndcg10}, "nDCG@5": {f.NDCG5.Sum, c.ndcg5},
			"condensed nDCG@10": {f.CondensedNDCG10.Sum, c.cond10}, "recall@100": {f.Recall100.Sum, c.recall},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("%s: %s is %v, want %v", name, figure, pair[0], pair[1])
			}
		}
	}
}

// grades are n products of grade 1, named a, b, c and so on.
func grades(n int) map[string]int {
	all := make(map[string]int)
	for i := range n {
		all[string(rune('a'+i))] = 1
	}
	return all
}

func TestRecallEndsAtAHundred(t *testing.T) {
	var ids []string
	for range 100 {
		ids = append(ids, "x")
	}
	r := measure(ranked(strings.Join(append(slices.Clone(ids[1:]), "a", "b"), " "), map[string]int{"a": 1, "b": 1}))
	if got := r.Recall100.Sum; got != 0.5 {
		t.Errorf("recall is %v, want the hundredth hit and not the one after", got)
	}
}

func TestMeasureASet(t *testing.T) {
	failed := ranked("a x", map[string]int{"a": 1})
	failed.Legs, failed.Durations = "lexical+vector:failed", []time.Duration{3 * time.Millisecond}
	r := measure(
		ranked("a", map[string]int{"a": 2}), ranked("", map[string]int{"a": 2, "b": 0}), ranked("x", map[string]int{"a": 0}), failed,
	)
	want := Figures{
		Queries: 4, NDCG10: Mean{2, 3}, NDCG5: Mean{2, 3}, First: Mean{2, 3}, CondensedNDCG10: Mean{2, 3}, Recall100: Mean{2, 3}, Unjudged10: Mean{0.5, 2},
		NoAnswer: 1, Missed: 1, Incomplete: 1, P50: 1, P99: 3,
	}
	if diff := cmp.Diff(want, r.Figures); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if r.WithoutRelevant != 1 || r.Judgments != 5 {
		t.Errorf("%d queries without a relevant product and %d judgments, want 1 and 5", r.WithoutRelevant, r.Judgments)
	}
	if got := r.Legs["lexical"]; got.Figures != r.Figures || got.AgainstFirst != nil || r.Pipeline != "lexical" {
		t.Errorf("pipeline %q, legs are %+v", r.Pipeline, r.Legs)
	}
}

func TestMissesAreTheWorstFirst(t *testing.T) {
	good, bad := ranked("b a x", map[string]int{"a": 2, "b": 1}), ranked("x", map[string]int{"a": 1})
	bad.Text = "bad"
	one := 1
	misses := measure(good, ranked("a", map[string]int{"a": 1}), bad).Misses
	if len(misses) != 2 || misses[0].Query != "bad" {
		t.Fatalf("misses are %+v, want the bad one and the good one", misses)
	}
	if diff := cmp.Diff([]string{"a"}, misses[0].Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if got := misses[1].Hits[0]; !cmp.Equal(got, JudgedHit{ProductID: "b", Title: "title of b", Grade: &one}) || misses[1].Hits[2].Grade != nil {
		t.Errorf("hits are %+v", misses[1].Hits)
	}
}

// The names of the fields are a contract with whoever reads the JSON.
func TestReportAsJSON(t *testing.T) {
	r := measure(ranked("a", map[string]int{"a": 2}))
	r.Misses = nil
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const figures = `"queries":1,"ndcg_at_10":1,"ndcg_at_5":1,"relevant_first":1,"condensed_ndcg_at_10":1,"recall_at_100":1,"unjudged_share_at_10":0,"no_answer_queries":0,"rightly_no_answer_queries":0,"queries_without_relevant_hit":0,"incomplete_queries":0,"p50_ms":1,"p99_ms":1`
	if diff := cmp.Diff(`{`+figures+`,"pipeline":"lexical","queries_without_relevant":0,"judgments":1,"products":0,"load_ms":0,"index_ms":0,"legs":{"lexical":{`+figures+`}}}`, string(got)); diff != "" {
		t.Error(diff)
	}
	none, err := json.Marshal(measure())
	if err != nil || !strings.Contains(string(none), `"ndcg_at_10":null`) || !strings.Contains(string(none), `"misses":[]`) {
		t.Errorf("of nothing: %s, %v", none, err)
	}
}
