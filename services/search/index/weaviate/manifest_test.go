package weaviate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// recordOf is what a writer commits of a product.
func recordOf(t *testing.T, p *catalogv1.Product, object string) record {
	t.Helper()
	e := index.NewEntry(p)
	l, err := newRecord(object, e, index.Analyze(p, stemAll))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAWriterThatLostItsLeaseChangesNothing commits as replicas do that stood still between two steps, each for as long as it
// takes to be wrong.
func TestAWriterThatLostItsLeaseChangesNothing(t *testing.T) {
	m := held(t, "C")
	commit := func(what string, version int64, id string, l record, orphans ...string) {
		t.Helper()
		got, err := m.commit(t.Context(), "C", version, map[string]record{id: l})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, orphans) {
			t.Errorf("%s: orphans objects %v, want %v", what, got, orphans)
		}
	}
	current := func(what, id, object string, products int) {
		t.Helper()
		ls, err := m.records(t.Context(), "C", []string{id})
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := m.statistics(t.Context(), "C")
		if err != nil {
			t.Fatal(err)
		}
		if ls[0].Row != object || f.Products != products {
			t.Errorf("%s: object %q and %d products, want %q and %d", what, ls[0].Row, f.Products, object, products)
		}
	}
	lamp, chair := recordOf(t, catalogtest.Thing("P-1", "lamp"), "object-3"), recordOf(t, catalogtest.Thing("P-1", "chair"), "object-2")
	commit("the first", 3, "P-1", lamp)
	commit("the same again", 3, "P-1", lamp)
	current("written twice", "P-1", "object-3", 1)
	commit("an older one", 2, "P-1", chair, "object-2")
	current("after an older one", "P-1", "object-3", 1)
	commit("a newer one", 4, "P-1", recordOf(t, catalogtest.Thing("P-1", "chair"), "object-4"), "object-3")
	commit("deleted", 5, "P-1", record{}, "object-4")
	current("deleted", "P-1", "", 0)
	commit("an older one than the deletion", 4, "P-1", recordOf(t, catalogtest.Thing("P-1", "chair"), "object-4b"), "object-4b")
	current("still deleted", "P-1", "", 0)
	if err := m.setPosition(t.Context(), "C", catalog.Position{Version: 9}); err != nil {
		t.Fatal(err)
	}
	commit("what all have passed", 8, "P-2", recordOf(t, catalogtest.Thing("P-2", "kite"), "object-8"), "object-8")
	if err := m.setPosition(t.Context(), "C", catalog.Position{Version: 7}); err != nil {
		t.Fatal(err)
	}
	st, err := m.status(t.Context())
	if err != nil || st.indexed["C"] != 9 {
		t.Errorf("up to version %d, error %v; want 9: it never goes back", st.indexed["C"], err)
	}
}

func TestSumsAreStatistics(t *testing.T) {
	m := held(t, "C")
	want, counted := index.NewStatistics(), make(map[string]*index.Entry)
	put := func(version int64, products ...*catalogv1.Product) {
		t.Helper()
		for _, p := range products {
			if old := counted[p.GetProductId()]; old != nil {
				want.Add(old, -1)
			}
			counted[p.GetProductId()] = index.NewEntry(p)
			want.Add(counted[p.GetProductId()], 1)
		}
		want.SetCurrency()
		batch := make(map[string]record)
		for _, p := range products {
			batch[p.GetProductId()] = recordOf(t, p, "object-"+p.GetProductId())
		}
		if _, err := m.commit(t.Context(), "C", version, batch); err != nil {
			t.Fatal(err)
		}
		got, _, err := m.statistics(t.Context(), "C")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(index.Statistics{})); diff != "" {
			t.Errorf("(-counted +sums):\n%s", diff)
		}
	}
	put(1, catalogtest.Outdoor()...)
	put(2, catalogtest.Wardrobe()...)
	changed := catalogtest.Outdoor()[:3]
	changed[0].Tags, changed[1].CategoryPath = []string{"gift"}, []string{"Bags | boxes", "Tote: bags"}
	put(3, changed...)
}

func TestOnlyOneHoldsALease(t *testing.T) {
	a := held(t, "C")
	b := a
	b.token = "b"
	take := func(m manifest, want bool) {
		t.Helper()
		if got, err := m.lease(t.Context(), "C"); got != want || err != nil {
			t.Errorf("%s takes the lease: %v, %v", m.token, got, err)
		}
	}
	take(b, false)
	if err := b.release(t.Context(), "C"); err != nil {
		t.Fatal(err)
	}
	if held, err := b.extend(t.Context(), "C"); held || err != nil {
		t.Errorf("b extends what a holds: %v, %v", held, err)
	}
	if held, err := a.extend(t.Context(), "C"); !held || err != nil {
		t.Errorf("a extends: %v, %v", held, err)
	}
	take(b, false)
	if err := a.release(t.Context(), "C"); err != nil {
		t.Fatal(err)
	}
	take(b, true)
	_, commit := a.commit(t.Context(), "C", 1, map[string]record{"P-1": recordOf(t, catalogtest.Thing("P-1", "lamp"), "object")})
	for what, err := range map[string]error{
		"commit": commit, "reach": a.setPosition(t.Context(), "C", catalog.Position{Version: 1}), "forget": a.forget(t.Context(), "C"),
	} {
		if !errors.Is(err, errLeaseLost) {
			t.Errorf("%s of a writer that was overtaken: %v", what, err)
		}
	}
}

// held is the manifest of a writer that holds the lease of a collection.
func held(t *testing.T, collection string) manifest {
	t.Helper()
	m := manifest{rdb: servicetest.Redis(t), storeID: "s1", token: "a"}
	if ok, err := m.lease(t.Context(), collection); !ok || err != nil {
		t.Fatalf("lease: %v, %v", ok, err)
	}
	return m
}

func TestWithinEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int
		want bool
	}{
		{"kettl", "kettl", 0, true}, {"kettl", "ketl", 1, true}, {"kettl", "kettel", 1, true}, {"kettl", "kittl", 1, true},
		{"kettl", "ketlt", 1, false}, {"kettl", "ketlt", 2, true}, {"kettl", "ket", 1, false}, {"größ", "gross", 1, false},
		{"größ", "grüß", 1, true}, {"", "ab", 2, true},
	} {
		if withinEdits(c.a, c.b, c.n) != c.want || withinEdits(c.b, c.a, c.n) != c.want {
			t.Errorf("%q and %q differ in at most %d: want %v", c.a, c.b, c.n, c.want)
		}
	}
}

// What objects tell is asked of the cluster and need not be looked at here, in whatever language a query is.
func TestPhraseTableHasTheSynonymsOfEveryLanguage(t *testing.T) {
	told, asked := newPhraseTable(), 0
	for l, x := range indextest.TestVocabulary(t).Lexicons {
		for word := range x.Synonyms {
			q := x.Parse(word, index.Languages)
			var expansions [][]index.Expansion
			for i := range q.Terms {
				expansions = append(expansions, index.Expansions(q.Terms, i))
				for _, f := range expansions[i] {
					if len(f.Stems) > 1 {
						asked++
					}
				}
			}
			if w := newTermConditions(expansions, told); w.rough != 0 {
				t.Errorf("%s: objects do not tell all that %q means", l.Tag, word)
			}
		}
	}
	if asked == 0 {
		t.Error("no synonym has two words")
	}
	own := []index.Expansion{{Stems: strings.Fields("gig bag")}}
	if w := newTermConditions([][]index.Expansion{own}, told); !w.rough.Has(0) || !w.inexact(index.Constraint{MinTerms: 1}) || w.inexact(index.Constraint{}) {
		t.Errorf("a phrase of one store alone is taken for one that objects tell: %+v", w)
	}
}
