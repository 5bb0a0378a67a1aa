package search

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
)

// What both implementations of the index must do, beside what the tests of ranks, filters and tools say.

// foundIDs returns the ids that a replica finds for the words, in order of id.
func foundIDs(t *testing.T, c *catalog, storeID, words string) []string {
	t.Helper()
	out := search(t, c, storeID, words)
	slices.Sort(out)
	return out
}

// entryOf is the product of an identifier as a model may write it. Nil: there is none.
func entryOf(t *testing.T, v *view, id string) *entry {
	t.Helper()
	es, err := v.shelf.lookup(t.Context(), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	return es[0]
}

// title is that of a product, by an identifier as a model may write it. Empty: there is none.
func title(t *testing.T, c *catalog, storeID, id string) (out string) {
	t.Helper()
	err := c.read(t.Context(), storeID, func(v *view) error {
		es, err := v.shelf.lookup(t.Context(), []string{id})
		if err == nil && es[0] != nil {
			out = es[0].product.GetTitle()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func remove(t *testing.T, c *catalog, storeID, id string) {
	t.Helper()
	if deleted, err := c.store.remove(t.Context(), storeID, id); err != nil || !deleted {
		t.Fatalf("remove %s: %v, %v", id, deleted, err)
	}
}

func (ix backing) testWritesAreSeenByEveryReplica(t *testing.T) {
	rdb := servicetest.Redis(t)
	a, b := ix.catalog(t, rdb), ix.catalog(t, rdb)
	put(t, a, "s1", thing("P-1", "green lamp"))
	expect(t, "written by the other", foundIDs(t, b, "s1", "lamp"), "P-1")
	put(t, b, "s1", thing("P-2", "red lamp"), thing("P-1", "green chair"))
	expect(t, "by its old name", foundIDs(t, a, "s1", "lamp"), "P-2")
	expect(t, "by its new name", foundIDs(t, a, "s1", "chair"), "P-1")
	dearer := thing("P-2", "red lamp")
	dearer.Variants[0].Price, dearer.Tags = eur(900), []string{"indoor"}
	put(t, a, "s1", dearer)
	err := b.read(t.Context(), "s1", func(v *view) error {
		cheap := &catalogv1.Filter{MaxPrice: eur(500)}
		expect(t, "at its old price", ids(t, v, "lamp", cheap, catalogv1.Sort_SORT_UNSPECIFIED))
		expect(t, "at the price of another", ids(t, v, "", cheap, catalogv1.Sort_SORT_UNSPECIFIED), "P-1")
		if v.facts.products != 2 || v.facts.tags["indoor"] != 1 {
			t.Errorf("facts %+v", v.facts)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := title(t, a, "s1", "[#p-1]"); got != "green chair" {
		t.Errorf("P-1 by an identifier in another case is %q", got)
	}
	remove(t, a, "s1", "P-2")
	expect(t, "deleted by the other", foundIDs(t, b, "s1", "lamp"))
	expect(t, "all that is left", foundIDs(t, b, "s1", ""), "P-1")
	put(t, b, "s1", thing("P-2", "red lamp"))
	expect(t, "back again", foundIDs(t, a, "s1", "lamp"), "P-2")
	remove(t, a, "s1", "P-1")
	remove(t, a, "s1", "P-2")
	expect(t, "nothing left", foundIDs(t, b, "s1", ""))
}

func (ix backing) testStoresDoNotSeeEachOther(t *testing.T) {
	c := ix.catalog(t, servicetest.Redis(t))
	put(t, c, "s1", thing("P-1", "green lamp"))
	put(t, c, "s.1", thing("P-1", "red lamp"), thing("P-2", "lamp"))
	expect(t, "the first store", foundIDs(t, c, "s1", "lamp"), "P-1")
	expect(t, "the second store", foundIDs(t, c, "s.1", ""), "P-1", "P-2")
	if got := title(t, c, "s.1", "P-1"); got != "red lamp" {
		t.Errorf("P-1 of the second store is %q", got)
	}
	if got := title(t, c, "s1", "P-2"); got != "" {
		t.Errorf("the first store has %q of the second", got)
	}
	expect(t, "an unknown store", foundIDs(t, c, "s3", "lamp"))
	expect(t, "an unknown store, everything", foundIDs(t, c, "s3", ""))
}

func (ix backing) testMissedChangesAreMadeUpFor(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, c *catalog){
		"when the changes were trimmed": func(t *testing.T, c *catalog) {
			put(t, c, "s1", thing("P-2", "red lamp"), thing("P-9", "lamp"))
			remove(t, c, "s1", "P-9")
			remove(t, c, "s1", "P-0")
			put(t, c, "s1", thing("P-3", "blue chair"))
			if err := c.store.rdb.XTrimMaxLen(t.Context(), changesKey("s1"), 1).Err(); err != nil {
				t.Fatal(err)
			}
		},
		"when the store was lost and filled again": func(t *testing.T, c *catalog) {
			version, err := c.store.version(t.Context(), "s1")
			if err := errors.Join(err, c.store.rdb.FlushDB(t.Context()).Err()); err != nil {
				t.Fatal(err)
			}
			for time.Now().UnixMilli() <= version { // nobody loses and fills a store within a millisecond
			}
			put(t, c, "s1", thing("P-1", "old lamp"), thing("P-2", "red lamp"))
		},
		"when the version went backwards": func(t *testing.T, c *catalog) {
			put(t, c, "s1", thing("P-2", "red lamp"))
			remove(t, c, "s1", "P-0")
			if err := c.store.rdb.Set(t.Context(), versionKey("s1"), 7, 0).Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := servicetest.Redis(t)
			writer, reader := ix.catalog(t, rdb), ix.catalog(t, rdb)
			put(t, writer, "s1", thing("P-1", "old lamp"), thing("P-0", "dim lamp"))
			expect(t, "before", foundIDs(t, reader, "s1", "lamp"), "P-0", "P-1")
			harm(t, writer)
			expect(t, "after", foundIDs(t, reader, "s1", "lamp"), "P-1", "P-2")
		})
	}
}

func (ix backing) testManyReplicasWriteAtOnce(t *testing.T) {
	rdb := servicetest.Redis(t)
	catalogs := []*catalog{ix.catalog(t, rdb), ix.catalog(t, rdb), ix.catalog(t, rdb)}
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 8 {
				id := fmt.Sprintf("P-%d-%d", w, i)
				put(t, catalogs[w], "s1", thing(id, "lamp"), thing("SHARED", fmt.Sprintf("shade %d %d", w, i)))
				if got := search(t, catalogs[(w+i)%3], "s1", "lamp"); !slices.Contains(got, id) {
					t.Errorf("%s is not seen after its write: %v", id, got)
				}
			}
		})
	}
	wg.Wait()
	for i, c := range catalogs {
		if got := len(search(t, c, "s1", "lamp")); got != 24 {
			t.Errorf("replica %d finds %d products, want 24", i, got)
		}
		expect(t, "a product that all have written", search(t, c, "s1", "shade"), "SHARED")
	}
	err := catalogs[0].read(t.Context(), "s1", func(v *view) error {
		if v.facts.products != 25 || v.facts.categories["thing"] != "Things" || v.facts.paths["thing"] != 25 {
			t.Errorf("facts %+v", v.facts)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testMoreThanOneAnswerHolds has a cluster answer with few rows at a time.
func (ix backing) testMoreThanOneAnswerHolds(t *testing.T) {
	c := ix.catalog(t, servicetest.Redis(t))
	put(t, c, "s1", lamps(0, 300)...)
	for _, size := range []int{7, 100, 299, 300, 301, weaviate.MaxHits} {
		c.cluster.pageSize = size
		for _, words := range []string{"lamp", ""} {
			if got := foundIDs(t, c, "s1", words); len(got) != 300 || len(slices.Compact(got)) != 300 {
				t.Errorf("%d at a time: %q finds %d products, want 300, each once", size, words, len(got))
			}
		}
	}
}

// testSaysWhatMemorySays puts queries of people and random filters to both. Everything must be the same but the scores, which may
// differ by a hundredth, and the order of those that are that near.
func (ix backing) testSaysWhatMemorySays(t *testing.T) {
	products := stocked(publicProducts(t))[:1_500]
	mine, theirs := ix.view(t, products), testView(t, products)
	if diff := cmp.Diff(theirs.facts, mine.facts, cmp.AllowUnexported(facts{})); diff != "" {
		t.Errorf("facts (-memory +cluster):\n%s", diff)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i, text := range publicQueries(t) {
		q := theirs.query(testVocabulary(t), text)
		var f *catalogv1.Filter
		if i%2 == 1 {
			f = randomFilter(r, products)
		}
		want, got := respond(t, theirs, q, f, catalogv1.Sort_SORT_UNSPECIFIED), respond(t, mine, q, f, catalogv1.Sort_SORT_UNSPECIFIED)
		for i, h := range want.GetHits() {
			if i < len(got.GetHits()) && math.Abs(h.GetScore()-got.GetHits()[i].GetScore()) > 0.01*h.GetScore() {
				t.Errorf("%q: %d. score %v, want %v", text, i, got.GetHits()[i].GetScore(), h.GetScore())
			}
		}
		ignore := []cmp.Option{protocmp.Transform(), protocmp.IgnoreFields(&catalogv1.SearchProductsResponse{}, "hits")}
		if diff := cmp.Diff(want, got, ignore...); diff != "" {
			t.Errorf("%q %v (-memory +cluster):\n%s", text, f, diff)
		}
	}
}
