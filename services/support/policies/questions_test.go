package policies

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/eval/search"
	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

// demoPolicies are the documents of the demo store.
func demoPolicies(t testing.TB) []*policyv1.Policy {
	t.Helper()
	sets, err := demo.Load(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return sets[0].Policies
}

func readFile(t *testing.T, path ...string) *bytes.Reader {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(raw)
}

// placeOf names a passage as the judgments do.
func placeOf(p *policyv1.Passage) string { return p.GetPolicyId() + "#" + p.GetSection() }

// TestQuestionsFindTheirPassages measures the search on judged questions. The least figures are a little below those of
// docs/evaluation.md.
func TestQuestionsFindTheirPassages(t *testing.T) {
	for _, store := range []struct {
		name string
		sets map[string]float64 // the least nDCG@10 of each
	}{
		{"demo", map[string]float64{"en": 0.88, "de": 0.86, "es": 0.81, "fr": 0.82, "typos": 0.90}},
		{"fashion", map[string]float64{"read": 0.77, "unread": 0.71}},
		{"kitchen", map[string]float64{"read": 0.66, "unread": 0.59}},
	} {
		documents := demoPolicies(t)
		if store.name != "demo" {
			documents = nil
			for line, err := range jsonl.Read(readFile(t, store.name, "policies.jsonl"), func() *policyv1.Policy { return new(policyv1.Policy) }, jsonl.Config{}) {
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, line.Item)
			}
		}
		x := newPassageIndex(newLexicon(), documents)
		places := make(map[string]bool)
		for _, e := range x.entries {
			places[placeOf(e.passage)] = true
		}
		for name, least := range store.sets {
			queries, err := search.Judgments(readFile(t, store.name, name+".csv"))
			if err != nil {
				t.Fatal(err)
			}
			outcomes := make([]search.Outcome, len(queries))
			for i, q := range queries {
				for place := range q.Grades {
					if !places[place] {
						t.Errorf("%q: there is no passage %s", q.Text, place)
					}
				}
				o := search.Outcome{Query: q}
				for _, p := range x.search(q.Text, "", 20) {
					if h := (search.Hit{ProductID: placeOf(p)}); !slices.Contains(o.Hits, h) {
						o.Hits = append(o.Hits, h)
					}
				}
				outcomes[i] = o
			}
			r := search.Measure([]search.Ranked{{Name: "lexical", Outcomes: outcomes}})
			if v, _ := r.NDCG10.Value(); v < least {
				t.Errorf("%s, %s: nDCG@10 is %.3f, want %.2f", store.name, name, v, least)
			}
		}
	}
}
