package policies

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/testing/protocmp"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/support/policies/policiestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRepository returns a repository with a Redis of its own and the documents in store "one".
func newRepository(t *testing.T, embedder Embedder, documents ...*policyv1.Policy) *Repository {
	t.Helper()
	r := New(servicetest.Redis(t), embedder, slog.New(slog.DiscardHandler))
	t.Cleanup(r.Close)
	put(t, r, documents...)
	return r
}

// put writes documents of store "one".
func put(t *testing.T, r *Repository, documents ...*policyv1.Policy) {
	t.Helper()
	if err := r.Put(t.Context(), "one", documents); err != nil {
		t.Fatal(err)
	}
}

// ask searches the current documents of store "one".
func ask(t *testing.T, r *Repository, question string) (passages []*policyv1.Passage, legs []string) {
	t.Helper()
	version, err := r.Version(t.Context(), "one")
	if err == nil {
		passages, legs, err = r.Search(t.Context(), "one", version, question, "", 3)
	}
	if err != nil {
		t.Fatal(err)
	}
	return passages, legs
}

// search is what the words of a question find.
func (x *passageIndex) search(question, language string, limit int) []*policyv1.Passage {
	return x.passages(x.find(question, language), limit)
}

func TestSplitCutsAtBlankLinesAndSections(t *testing.T) {
	passage := func(section, text string) *policyv1.Passage {
		return &policyv1.Passage{PolicyId: "p", PolicyTitle: "T", Section: section, Text: text, Url: "https://one.example/p", Language: "en"}
	}
	tests := []struct {
		name, body string
		want       []*policyv1.Passage
	}{
		{"one passage", "Just this.", []*policyv1.Passage{passage("", "Just this.")}},
		{"blank lines, also with spaces", "One.\n\n\nTwo.\n \t\nThree.", []*policyv1.Passage{passage("", "One."), passage("", "Two."), passage("", "Three.")}},
		{"a section goes on over blank lines", "## A\n\nOne.\n\nTwo.\n## B\nThree.", []*policyv1.Passage{passage("A", "One."), passage("A", "Two."), passage("B", "Three.")}},
		{"a section ends a passage", "One.\n## A\nTwo.", []*policyv1.Passage{passage("", "One."), passage("A", "Two.")}},
		{"lines and spaces in a passage stay", "One\n  - two\nthree", []*policyv1.Passage{passage("", "One\n  - two\nthree")}},
		{"lines that end as on Windows", "## A\r\n\r\nOne.\r\nTwo.", []*policyv1.Passage{passage("A", "One.\nTwo.")}},
		{"other marks are text", "# A\n\n##B\n\n### C", []*policyv1.Passage{passage("", "# A"), passage("", "##B"), passage("", "### C")}},
		{"sections without text", "## A\n\n## B\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := split(&policyv1.Policy{PolicyId: "p", Title: "T", Body: tt.body, Url: "https://one.example/p"})
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestIndexIsKeptWhileNothingChanges(t *testing.T) {
	store := newRepository(t, nil, policiestest.Handbook()...)
	first, err := store.current(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := store.current(t.Context(), "one"); again.index != first.index {
		t.Error("the index was made again for nothing")
	}
	replica := &Repository{redis: store.redis, words: store.words}
	if _, err := replica.Delete(t.Context(), "one", "faq"); err != nil {
		t.Fatal(err)
	}
	if again, _ := store.current(t.Context(), "one"); again.index == first.index {
		t.Error("a write by another replica was not noticed")
	}
}

func TestIndexesAreBounded(t *testing.T) {
	s := &Repository{}
	for i := range 3 * maxIndexes {
		s.keep(strings.Repeat("s", i), storeIndex{})
	}
	if len(s.indexes) != maxIndexes {
		t.Errorf("%d indexes are kept, want %d", len(s.indexes), maxIndexes)
	}
}

func TestCheckPolicy(t *testing.T) {
	tests := []struct {
		name   string
		policy *policyv1.Policy
		fields []string
	}{
		{"a good one", &policyv1.Policy{PolicyId: "p", Title: "T", Body: "B", Language: "de-AT", Url: "https://one.example"}, nil},
		{"nothing", &policyv1.Policy{}, []string{"policy_id", "title", "body"}},
		{"titles only", &policyv1.Policy{PolicyId: "p", Title: "T", Body: "## A"}, []string{"body"}},
		{"too long", &policyv1.Policy{PolicyId: "p", Title: "T", Body: strings.Repeat("ä", maxBody+1)}, []string{"body"}},
		{"language and page", &policyv1.Policy{PolicyId: "p", Title: "T", Body: "B", Language: "x", Url: "/relative"}, []string{"language", "url"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			var invalid *fault.Invalid
			if errors.As(Check(tt.policy), &invalid) {
				for _, v := range invalid.Violations {
					got = append(got, v.Field)
				}
			}
			if diff := cmp.Diff(tt.fields, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
