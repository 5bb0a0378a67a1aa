package weaviate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

func TestConformance(t *testing.T) {
	nodes := weaviatetest.Start(t, 1)
	client := dialCluster(t, nodes.URL())
	indextest.Run(t, 1_200, func(_ *testing.T, s catalog.Store) index.Backend { // more take minutes to write
		return New(s, client, nil, slog.New(slog.DiscardHandler))
	})
	for _, c := range []struct {
		name string
		test func(*testing.T, *weaviate.Client)
	}{
		{"what was lost is filled in", testWhatWasLostIsFilledIn},
		{"more matches than are ranked", testMoreMatchesThanAreRanked},
		{"common words", testCommonWords},
		{"a search that is overtaken is made again", testASearchIsRepeatedWhenItsCollectionGoes},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, client) })
	}
	t.Run("a late writer repairs what it may have undone", func(t *testing.T) { testALateWriterRepairs(t, nodes.URL()) })
	t.Run("a fill goes on where it broke off", func(t *testing.T) { testAFillGoesOn(t, nodes.URL()) })
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
			indextest.Put(t, c.store, "s1", lamps(0, 20)...)
			if n, err := countLamps(t.Context(), c); n != 20 || err != nil {
				t.Fatalf("%d lamps before, error %v", n, err)
			}
			if err := lose(t.Context(), c, []string{objectID("s1", "LAMP-1").String(), objectID("s1", "LAMP-2").String()}); err != nil {
				t.Fatal(err)
			}
			again := testCluster(t, c.store.Redis, client) // a replica counts the objects when it starts, and after each write
			if n, err := countLamps(t.Context(), again); n != 20 || err != nil {
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

func TestSearchesContinueDuringARebuild(t *testing.T) {
	rdb := servicetest.Redis(t)
	client := dialCluster(t, weaviatetest.Start(t, 1).URL())
	old := testCluster(t, rdb, client)
	indextest.Put(t, old.store, "s1", lamps(0, 100)...)
	if n, err := countLamps(t.Context(), old); n != 100 || err != nil {
		t.Fatalf("%d lamps before, error %v", n, err)
	}
	next := testCluster(t, rdb, client) // of a later version of the program
	next.schema++
	s := startSearching(t, 100, old, next)
	written := 100
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
	redistest.Eventually(t, func() error { // the manifest goes after the objects
		keys := (manifest{rdb: rdb, storeID: "s1"}).keys(old.collection())
		n, err := rdb.Exists(t.Context(), keys...).Result()
		if err == nil && n > 0 {
			err = fmt.Errorf("%d of %v are left", n, keys)
		}
		return err
	})
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
		n, err := back.Count(t.Context(), catalogs[0].collection(), tenant("s1"), weaviate.HasAny(propStrong, "lamp"))
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

// watched is the address of a cluster whose calls by REST go by a test, which may refuse them.
func watched(t *testing.T, cluster string, admit func(*http.Request) bool) string {
	t.Helper()
	host, queries, _ := strings.Cut(strings.TrimPrefix(cluster, "weaviate://"), "/")
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !admit(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return strings.Replace(proxy.URL, "http://", "weaviate://", 1) + "/" + queries
}

// testAFillGoesOn has the second batch of a fill fail, and a product removed before the next fill.
func testAFillGoesOn(t *testing.T, cluster string) {
	var batches, emptied atomic.Int64
	var refuses atomic.Bool
	m := manifest{rdb: servicetest.Redis(t), storeID: "s1"}
	var c *Backend
	c = testCluster(t, m.rdb, dialCluster(t, watched(t, cluster, func(r *http.Request) bool {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/tenants") {
			emptied.Add(1)
		}
		if r.URL.Path != "/v1/batch/objects" || r.Method != http.MethodPost || batches.Add(1) == 1 || !refuses.Load() {
			return true
		}
		redistest.Eventually(t, func() error { // the first batch is under way, too
			if begun, err := m.begun(t.Context(), c.collection()); err != nil || !begun {
				return fmt.Errorf("nothing is written, error %w", err)
			}
			return nil
		})
		return false
	})))
	refuses.Store(true)
	indextest.Put(t, c.store, "s1", lamps(0, 2*writeBatch)...)
	if n, err := countLamps(t.Context(), c); err == nil {
		t.Fatalf("%d lamps, want that the second batch is refused", n)
	}
	refuses.Store(false)
	written, err := c.store.Redis.HVals(t.Context(), m.keys(c.collection())[4]).Result()
	if err != nil || len(written) != writeBatch {
		t.Fatalf("%d products are written, error %v; want %d", len(written), err, writeBatch)
	}
	if there, err := c.store.Remove(t.Context(), "s1", decodeIdentity(written[0]).productID); err != nil || !there {
		t.Fatalf("removed %v, error %v", there, err)
	}
	v := indextest.ViewOf(t, c.store, c, nil)
	if v.Statistics.Products != 2*writeBatch-1 || emptied.Load() != 1 {
		t.Errorf("%d products, emptied %d times; want %d, and once before the first fill", v.Statistics.Products, emptied.Load(), 2*writeBatch-1)
	}
	n, err := c.client.Count(t.Context(), c.collection(), tenant("s1"), weaviate.Where{})
	if err != nil || n[0] != 2*writeBatch-1 {
		t.Errorf("%v objects, error %v; want %d", n, err, 2*writeBatch-1)
	}
}

// testALateWriterRepairs has a replica write an old product after another replica has taken the lease and written a newer one.
func testALateWriterRepairs(t *testing.T, cluster string) {
	client := dialCluster(t, cluster)
	rdb := servicetest.Redis(t)
	other := testCluster(t, rdb, client)
	m := manifest{rdb: rdb, storeID: "s1"}
	overtaken := false
	late := testCluster(t, rdb, dialCluster(t, watched(t, cluster, func(r *http.Request) bool {
		if r.URL.Path == "/v1/batch/objects" && !overtaken {
			overtaken = true
			if err := rdb.Del(r.Context(), m.leaseKey(other.collection())).Err(); err != nil {
				t.Error(err)
			}
			indextest.Put(t, other.store, "s1", catalogtest.Thing("P-1", "green lamp"))
			indextest.Expect(t, "written meanwhile", indextest.SearchSorted(t, other, "s1", "green lamp"), "P-1")
		}
		return true
	})))
	indextest.Put(t, late.store, "s1", catalogtest.Thing("P-1", "blue kite"), catalogtest.Thing("P-2", "chair"))
	indextest.Expect(t, "after", indextest.SearchSorted(t, late, "s1", "green lamp"), "P-1")
	if !overtaken {
		t.Error("no writer was overtaken")
	}
}

// testMoreMatchesThanAreRanked has more products than a query returns.
func testMoreMatchesThanAreRanked(t *testing.T, client *weaviate.Client) {
	c := testCluster(t, servicetest.Redis(t), client)
	products := lamps(0, 2*ranked+20)
	for i, p := range products { // the cheapest product is dear in the size that there is
		p.Variants[0].Price.AmountMinor = int64(1_000 + i)
	}
	indextest.Put(t, c.store, "s1", products...)
	v := indextest.ViewOf(t, c.store, c, nil)
	for _, text := range []string{"lamp", ""} {
		got := indextest.Respond(t, v, v.Query(indextest.TestVocabulary(t), text), nil, catalogv1.Sort_SORT_PRICE_DESCENDING)
		if !got.GetMoreMatches() || got.GetTotalCount() < ranked || got.GetHits()[0].GetProduct().GetProductId() != products[len(products)-1].GetProductId() {
			t.Errorf("%q: %d matches, more %v, first %v", text, got.GetTotalCount(), got.GetMoreMatches(), got.GetHits()[0].GetProduct().GetProductId())
		}
		got = indextest.Respond(t, v, v.Query(indextest.TestVocabulary(t), text),
			&catalogv1.Filter{MaxPrice: &commonv1.Money{CurrencyCode: products[0].Variants[0].Price.CurrencyCode, AmountMinor: 1_009}}, catalogv1.Sort_SORT_RELEVANCE)
		if got.GetMoreMatches() || got.GetTotalCount() != 10 {
			t.Errorf("%q up to a price: %d matches, more %v; want 10 and no more", text, got.GetTotalCount(), got.GetMoreMatches())
		}
	}
}

// testCommonWords has words of which more products have all than a query returns. Those that are called by them are found.
func testCommonWords(t *testing.T, client *weaviate.Client) {
	c := testCluster(t, servicetest.Redis(t), client)
	var products []*catalogv1.Product
	for i := range 2*ranked + 20 {
		products = append(products, catalogtest.Described(fmt.Sprintf("LAMP-%d", i), fmt.Sprintf("Black lamp %d", i), "It is too small for a desk.", "Things"))
	}
	var want []string
	for i := range 15 {
		id := fmt.Sprintf("DESK-%d", i)
		want = append(want, id)
		products = append(products, catalogtest.Described(id, fmt.Sprintf("Black desk lamp %d", i), "It is bright.", "Things"))
	}
	indextest.Put(t, c.store, "s1", products...)
	v := indextest.ViewOf(t, c.store, c, nil)
	got := indextest.HitIDs(t, v, "do you have a black desk lamp", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
