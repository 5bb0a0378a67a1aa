package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
)

// lamps are products "lamp 0" and so on.
func lamps(from, to int) []*catalogv1.Product {
	var out []*catalogv1.Product
	for i := from; i < to; i++ {
		out = append(out, thing(fmt.Sprintf("LAMP-%d", i), fmt.Sprintf("lamp %d", i)))
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
func startSearching(t *testing.T, written int, catalogs ...*catalog) *searcher {
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
func countLamps(ctx context.Context, c *catalog) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	err = c.read(ctx, "s1", func(v *view) error {
		found, err := v.search(ctx, query{terms: []Term{{Text: "lamp", Head: true}}}, newFilter(&catalogv1.Filter{InStock: true}), 0)
		n = len(found.hits)
		return err
	})
	return n, err
}

func (ix backing) testWhatWasLostIsFilledIn(t *testing.T) {
	for name, lose := range map[string]func(ctx context.Context, c *cluster, rows []string) error{
		"everything": func(ctx context.Context, c *cluster, _ []string) error {
			return c.client.DeleteTenant(ctx, c.collection(), tenant("s1"))
		},
		"some rows": func(ctx context.Context, c *cluster, rows []string) error {
			return c.client.Delete(ctx, c.collection(), tenant("s1"), rows)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := ix.catalog(t, servicetest.Redis(t))
			version := put(t, c, "s1", lamps(0, 20)...)
			if n, err := countLamps(t.Context(), c); n != 20 || err != nil {
				t.Fatalf("%d lamps before, error %v", n, err)
			}
			if err := lose(t.Context(), c.cluster, []string{rowID("s1", "LAMP-1", version), rowID("s1", "LAMP-2", version)}); err != nil {
				t.Fatal(err)
			}
			if n, err := countLamps(t.Context(), c); n != 20 || err != nil {
				t.Errorf("%d lamps after, error %v", n, err)
			}
		})
	}
}

func (ix backing) testASearchThatIsOvertakenIsMadeAgain(t *testing.T) {
	rdb := servicetest.Redis(t)
	old, next := ix.catalog(t, rdb), ix.catalog(t, rdb)
	next.cluster.schema++
	put(t, old, "s1", lamps(0, 20)...)
	calls, n := 0, 0
	err := old.read(t.Context(), "s1", func(v *view) error {
		if calls++; calls == 1 { // now that the search has begun
			if err := next.cluster.replace(t.Context(), manifest{rdb: rdb, storeID: "s1"}, old.cluster.collection()); err != nil {
				t.Fatal(err)
			}
		}
		found, err := v.search(t.Context(), query{head: -1}, nil, catalogv1.Sort_SORT_UNSPECIFIED)
		n = len(found.hits)
		return err
	})
	if err != nil || calls != 2 || n != 20 {
		t.Errorf("%d products in the %d. try, error %v; want 20 in the second", n, calls, err)
	}
}

func (ix backing) testAProductThatIsWrittenWhileItIsFound(t *testing.T) {
	c := ix.catalog(t, servicetest.Redis(t))
	put(t, c, "s1", thing("P-1", "green lamp"), thing("P-2", "red lamp"))
	err := c.read(t.Context(), "s1", func(v *view) error {
		s := v.shelf.(*clusterShelf)
		rows, err := s.page(t.Context(), weaviate.HasAny(rowWords, "lamp"), 0, buckets-1)
		if err != nil {
			return err
		}
		put(t, c, "s1", thing("P-1", "blue lamp"))
		remove(t, c, "s1", "P-2")
		expect(t, "now", foundIDs(t, c, "s1", "lamp"), "P-1")
		products, err := s.stock(t.Context(), rows)
		if len(products) != 1 || products[0].product.GetTitle() != "blue lamp" {
			t.Errorf("the rows of before lead to %v", products)
		}
		if s.cluster.rows.get(rows[0].ID) != nil || s.cluster.rows.get(rows[1].ID) != nil {
			t.Error("a row that does not count any more is kept")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSearchesGoOnWhileTheIndexIsBuiltAnew(t *testing.T) {
	rdb := servicetest.Redis(t)
	ix := backing{client: dialCluster(t, weaviatetest.Start(t, 1).URL())}
	old := ix.catalog(t, rdb)
	put(t, old, "s1", lamps(0, 500)...)
	if n, err := countLamps(t.Context(), old); n != 500 || err != nil {
		t.Fatalf("%d lamps before, error %v", n, err)
	}
	next := ix.catalog(t, rdb) // of a later version of the program
	next.cluster.schema++
	s := startSearching(t, 500, old, next)
	written := 500
	redistest.Eventually(t, func() error { // and all the while, products are written
		put(t, []*catalog{old, next}[written%2], "s1", lamps(written, written+1)...)
		written++
		s.written.Store(int64(written))
		s.during(t, 2)
		st, err := manifest{rdb: rdb, storeID: "s1"}.standing(t.Context())
		if err == nil && st.active != next.cluster.collection() {
			err = fmt.Errorf("searches go by %s", st.active)
		}
		return err
	})
	redistest.Eventually(t, func() error {
		there, err := ix.client.HasTenant(t.Context(), old.cluster.collection(), tenant("s1"))
		if err == nil && there {
			err = errors.New("the old index is still there")
		}
		return err
	})
	s.during(t, 20)
	s.end()
	for name, c := range map[string]*catalog{"old": old, "new": next} {
		if n, err := countLamps(t.Context(), c); n != written || err != nil {
			t.Errorf("%s program: %d lamps of %d, error %v", name, n, written, err)
		}
	}
	for _, key := range (manifest{rdb: rdb, storeID: "s1"}).keys(old.cluster.collection()) {
		if n, err := rdb.Exists(t.Context(), key).Result(); n != 0 || err != nil {
			t.Errorf("%s is left, error %v", key, err)
		}
	}
}

func TestNothingIsLostWhenANodeDies(t *testing.T) {
	cluster := weaviatetest.Start(t, 3)
	rdb := servicetest.Redis(t)
	catalogs := []*catalog{
		backing{client: dialCluster(t, cluster.URL())}.catalog(t, rdb), backing{client: dialCluster(t, cluster.URL())}.catalog(t, rdb),
	}
	put(t, catalogs[0], "s1", lamps(0, 50)...)
	if n, err := countLamps(t.Context(), catalogs[0]); n != 50 || err != nil {
		t.Fatalf("%d lamps before, error %v", n, err)
	}
	s := startSearching(t, 50, catalogs...)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			put(t, catalogs[i%2], "s1", lamps(i, i+1)...)
			if n, err := countLamps(t.Context(), catalogs[(i+1)%2]); n <= i || err != nil {
				t.Fatalf("%d lamps after %d were written, error %v", n, i+1, err)
			}
			s.written.Store(int64(i + 1))
		}
	}
	write(50, 55)
	cluster.Node(0).Kill()
	write(55, 65)
	s.during(t, 10)
	cluster.Node(0).Start()
	cluster.Node(0).Ready()
	write(65, 70)
	s.during(t, 10)
	s.end()
	// The node gets what it has missed, and then serves alone.
	back := dialCluster(t, cluster.Node(0).URL())
	redistest.Eventually(t, func() error {
		n, err := back.Count(t.Context(), catalogs[0].cluster.collection(), tenant("s1"), weaviate.HasAny(rowWords, "lamp"))
		if err == nil && n[0] != 70 {
			err = fmt.Errorf("the node that was killed has %d lamps of 70", n[0])
		}
		return err
	})
}

func TestWithoutAnIndexTheErrorNamesIt(t *testing.T) {
	client := dialCluster(t, "weaviate://"+redistest.FreeAddr(t)+","+redistest.FreeAddr(t))
	c := backing{client: client}.catalog(t, servicetest.Redis(t))
	put(t, c, "s1", lamps(0, 1)...)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := c.read(ctx, "s1", func(*view) error { return nil })
	var unavailable *fault.Unavailable
	if !errors.As(err, &unavailable) || unavailable.What != "search index: catch up" {
		t.Errorf("error %v, want that the index is unavailable", err)
	}
}
