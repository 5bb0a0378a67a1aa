package weaviate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
	"github.com/quartet-commerce/quartet/services/search/index/memory"
)

func TestConformance(t *testing.T) {
	client := dialCluster(t, weaviatetest.Start(t, 1).URL())
	indextest.Run(t, 1_200, func(_ *testing.T, s catalog.Store) index.Backend { // more take minutes to write
		return New(s, client, nil, slog.New(slog.DiscardHandler))
	})
	for _, c := range []struct {
		name string
		test func(*testing.T, *weaviate.Client)
	}{
		{"more than one answer holds", testMoreThanOneAnswerHolds},
		{"what was lost is filled in", testWhatWasLostIsFilledIn},
		{"a product that is written while it is found", testAProductThatIsWrittenWhileItIsFound},
		{"a search that is overtaken is made again", testASearchIsRepeatedWhenItsCollectionGoes},
		{"says what memory says", testSaysWhatMemorySays},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, client) })
	}
}

func dialCluster(t *testing.T, url string) *weaviate.Client {
	t.Helper()
	client, err := weaviate.New(url, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// testCluster is the backend of one program.
func testCluster(t *testing.T, rdb redis.UniversalClient, client *weaviate.Client) *Backend {
	t.Helper()
	c := New(catalog.Store{Redis: rdb}, client, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestWritersOfOneVersionDoNotShareObjects(t *testing.T) {
	early, late := lamps(1, 2)[0], lamps(1, 2)[0]
	late.Title = "another lamp" // written by a write that has not raised the version yet
	if objectID("s1", early, 7) == objectID("s1", late, 7) {
		t.Error("a late writer can overwrite the object of another")
	}
	if objectID("s1", early, 7) != objectID("s1", lamps(1, 2)[0], 7) || objectID("s1", early, 7) == objectID("s1", early, 8) {
		t.Error("an object is named by more or less than product and version")
	}
}

// testMoreThanOneAnswerHolds has a cluster answer with few objects at a time.
func testMoreThanOneAnswerHolds(t *testing.T, client *weaviate.Client) {
	c := testCluster(t, servicetest.Redis(t), client)
	indextest.Put(t, c.store, "s1", lamps(0, 300)...)
	for _, size := range []int{7, 100, 299, 300, 301, weaviate.MaxHits} {
		c.pageSize = size
		for _, words := range []string{"lamp", ""} {
			if got := indextest.SearchSorted(t, c, "s1", words); len(got) != 300 || len(slices.Compact(got)) != 300 {
				t.Errorf("%d at a time: %q finds %d products, want 300, each once", size, words, len(got))
			}
		}
	}
}

// testSaysWhatMemorySays puts queries of people and random filters to both. Everything must be the same but the scores, which may
// differ by a hundredth, and the order of those that are that near.
func testSaysWhatMemorySays(t *testing.T, client *weaviate.Client) {
	products := indextest.Stocked(indextest.PublicProducts(t))[:1_500]
	rdb := servicetest.Redis(t)
	c := testCluster(t, rdb, client)
	mem := memory.New(c.store, nil, slog.New(slog.DiscardHandler), memory.Options{})
	t.Cleanup(func() { _ = mem.Close() })
	mine := indextest.ViewOf(t, c.store, c, products)
	theirs := indextest.ViewOf(t, c.store, mem, products)
	if diff := cmp.Diff(theirs.Statistics, mine.Statistics, cmp.AllowUnexported(index.Statistics{})); diff != "" {
		t.Errorf("facts (-memory +cluster):\n%s", diff)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i, text := range indextest.PublicQueries(t) {
		q := theirs.Query(indextest.TestVocabulary(t), text)
		var f *catalogv1.Filter
		if i%2 == 1 {
			f = indextest.RandomFilter(r, products)
		}
		want, got := indextest.Respond(t, theirs, q, f, catalogv1.Sort_SORT_UNSPECIFIED), indextest.Respond(t, mine, q, f, catalogv1.Sort_SORT_UNSPECIFIED)
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

// lamps are products "lamp 0" and so on.
func lamps(from, to int) []*catalogv1.Product {
	var out []*catalogv1.Product
	for i := from; i < to; i++ {
		out = append(out, catalogtest.Thing(fmt.Sprintf("LAMP-%d", i), fmt.Sprintf("lamp %d", i)))
	}
	return out
}

// searcher searches until it is stopped, and never finds less than was written before.
type searcher struct {
	written  atomic.Int64 // lamps, at least
	searched atomic.Int64
	stop     context.CancelFunc
	done     sync.WaitGroup
}

// startSearching searches each catalog, one search at a time.
func startSearching(t *testing.T, written int, catalogs ...*Backend) *searcher {
	ctx, cancel := context.WithCancel(t.Context())
	s := &searcher{stop: cancel}
	s.written.Store(int64(written))
	for i, c := range catalogs {
		s.done.Go(func() {
			for ctx.Err() == nil {
				least := s.written.Load()
				n, err := countLamps(ctx, c)
				if ctx.Err() != nil {
					return
				}
				if err != nil || int64(n) < least {
					t.Errorf("replica %d: %d lamps of %d, error %v", i, n, least, err)
					return
				}
				s.searched.Add(1)
			}
		})
	}
	t.Cleanup(s.end)
	return s
}

func (s *searcher) end() {
	s.stop()
	s.done.Wait()
}

// during waits until some searches more were made.
func (s *searcher) during(t *testing.T, n int64) {
	t.Helper()
	due := s.searched.Load() + n
	redistest.Eventually(t, func() error {
		if got := s.searched.Load(); got < due {
			return fmt.Errorf("%d searches, want %d", got, due)
		}
		return nil
	})
}

// countLamps searches as a caller who waits for 25 seconds.
func countLamps(ctx context.Context, c *Backend) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	err = c.Read(ctx, "s1", nil, func(v *index.View) error {
		found, err := v.Search(ctx, index.Query{Terms: []index.Term{{Text: "lamp", Head: true}}}, index.NewFilter(&catalogv1.Filter{InStock: true}), 0)
		n = len(found.Hits)
		return err
	})
	return n, err
}

func testWhatWasLostIsFilledIn(t *testing.T, client *weaviate.Client) {
	for name, lose := range map[string]func(ctx context.Context, c *Backend, objects []string) error{
		"everything": func(ctx context.Context, c *Backend, _ []string) error {
			return c.client.DeleteTenant(ctx, c.collection(), tenant("s1"))
		},
		"some objects": func(ctx context.Context, c *Backend, objects []string) error {
			return c.client.Delete(ctx, c.collection(), tenant("s1"), objects)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCluster(t, servicetest.Redis(t), client)
			version := indextest.Put(t, c.store, "s1", lamps(0, 20)...)
			if n, err := countLamps(t.Context(), c); n != 20 || err != nil {
				t.Fatalf("%d lamps before, error %v", n, err)
			}
			if err := lose(t.Context(), c, []string{objectID("s1", lamps(1, 2)[0], version), objectID("s1", lamps(2, 3)[0], version)}); err != nil {
				t.Fatal(err)
			}
			if n, err := countLamps(t.Context(), c); n != 20 || err != nil {
				t.Errorf("%d lamps after, error %v", n, err)
			}
		})
	}
}

func testASearchIsRepeatedWhenItsCollectionGoes(t *testing.T, client *weaviate.Client) {
	rdb := servicetest.Redis(t)
	old, next := testCluster(t, rdb, client), testCluster(t, rdb, client)
	next.schema++
	indextest.Put(t, old.store, "s1", lamps(0, 20)...)
	calls, n := 0, 0
	err := old.Read(t.Context(), "s1", nil, func(v *index.View) error {
		if calls++; calls == 1 { // now that the search has begun
			if err := next.replace(t.Context(), manifest{rdb: rdb, storeID: "s1"}, old.collection()); err != nil {
				t.Fatal(err)
			}
		}
		found, err := v.Search(t.Context(), index.Query{Head: -1}, index.Filter{}, catalogv1.Sort_SORT_UNSPECIFIED)
		n = len(found.Hits)
		return err
	})
	if err != nil || calls != 2 || n != 20 {
		t.Errorf("%d products in the %d. try, error %v; want 20 in the second", n, calls, err)
	}
}

func testAProductThatIsWrittenWhileItIsFound(t *testing.T, client *weaviate.Client) {
	c := testCluster(t, servicetest.Redis(t), client)
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "green lamp"), catalogtest.Thing("P-2", "red lamp"))
	err := c.Read(t.Context(), "s1", nil, func(v *index.View) error {
		s := v.Index.(*storeIndex)
		objects, err := s.page(t.Context(), weaviate.HasAny(propWords, "lamp"), 0, buckets-1)
		if err != nil {
			return err
		}
		indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "blue lamp"))
		indextest.Remove(t, c.store, "s1", "P-2")
		indextest.Expect(t, "now", indextest.SearchSorted(t, c, "s1", "lamp"), "P-1")
		products, err := s.documents(t.Context(), objects)
		if len(products) != 1 || products[0].Product.GetTitle() != "blue lamp" {
			t.Errorf("the objects of before lead to %v", products)
		}
		if s.backend.documents.get(objects[0].ID) != nil || s.backend.documents.get(objects[1].ID) != nil {
			t.Error("a object that does not count any more is kept")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSearchesContinueDuringARebuild(t *testing.T) {
	rdb := servicetest.Redis(t)
	client := dialCluster(t, weaviatetest.Start(t, 1).URL())
	old := testCluster(t, rdb, client)
	indextest.Put(t, old.store, "s1", lamps(0, 500)...)
	if n, err := countLamps(t.Context(), old); n != 500 || err != nil {
		t.Fatalf("%d lamps before, error %v", n, err)
	}
	next := testCluster(t, rdb, client) // of a later version of the program
	next.schema++
	s := startSearching(t, 500, old, next)
	written := 500
	redistest.Eventually(t, func() error { // and all the while, products are written
		indextest.Put(t, []*Backend{old, next}[written%2].store, "s1", lamps(written, written+1)...)
		written++
		s.written.Store(int64(written))
		s.during(t, 2)
		st, err := manifest{rdb: rdb, storeID: "s1"}.status(t.Context())
		if err == nil && st.active != next.collection() {
			err = fmt.Errorf("searches go by %s", st.active)
		}
		return err
	})
	redistest.Eventually(t, func() error {
		there, err := client.HasTenant(t.Context(), old.collection(), tenant("s1"))
		if err == nil && there {
			err = errors.New("the old index is still there")
		}
		return err
	})
	s.during(t, 20)
	s.end()
	for name, c := range map[string]*Backend{"old": old, "new": next} {
		if n, err := countLamps(t.Context(), c); n != written || err != nil {
			t.Errorf("%s program: %d lamps of %d, error %v", name, n, written, err)
		}
	}
	for _, key := range (manifest{rdb: rdb, storeID: "s1"}).keys(old.collection()) {
		if n, err := rdb.Exists(t.Context(), key).Result(); n != 0 || err != nil {
			t.Errorf("%s is left, error %v", key, err)
		}
	}
}

func TestNothingIsLostWhenANodeDies(t *testing.T) {
	nodes := weaviatetest.Start(t, 3)
	rdb := servicetest.Redis(t)
	catalogs := []*Backend{
		testCluster(t, rdb, dialCluster(t, nodes.URL())), testCluster(t, rdb, dialCluster(t, nodes.URL())),
	}
	indextest.Put(t, catalogs[0].store, "s1", lamps(0, 50)...)
	if n, err := countLamps(t.Context(), catalogs[0]); n != 50 || err != nil {
		t.Fatalf("%d lamps before, error %v", n, err)
	}
	s := startSearching(t, 50, catalogs...)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			indextest.Put(t, catalogs[i%2].store, "s1", lamps(i, i+1)...)
			if n, err := countLamps(t.Context(), catalogs[(i+1)%2]); n <= i || err != nil {
				t.Fatalf("%d lamps after %d were written, error %v", n, i+1, err)
			}
			s.written.Store(int64(i + 1))
		}
	}
	write(50, 55)
	nodes.Node(0).Kill()
	write(55, 65)
	s.during(t, 10)
	nodes.Node(0).Start()
	nodes.Node(0).Ready()
	write(65, 70)
	s.during(t, 10)
	s.end()
	// The node gets what it has missed, and then serves alone.
	back := dialCluster(t, nodes.Node(0).URL())
	redistest.Eventually(t, func() error {
		n, err := back.Count(t.Context(), catalogs[0].collection(), tenant("s1"), weaviate.HasAny(propWords, "lamp"))
		if err == nil && n[0] != 70 {
			err = fmt.Errorf("the node that was killed has %d lamps of 70", n[0])
		}
		return err
	})
}

func TestWithoutAnIndexTheErrorNamesIt(t *testing.T) {
	client := dialCluster(t, "weaviate://"+redistest.FreeAddr(t)+","+redistest.FreeAddr(t))
	c := testCluster(t, servicetest.Redis(t), client)
	indextest.Put(t, c.store, "s1", lamps(0, 1)...)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := c.Read(ctx, "s1", nil, func(*index.View) error { return nil })
	var unavailable *fault.Unavailable
	if !errors.As(err, &unavailable) || unavailable.What != "search index: catch up" {
		t.Errorf("error %v, want that the index is unavailable", err)
	}
}
