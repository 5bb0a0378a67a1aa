package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

func newTest(t *testing.T, rdb redis.UniversalClient, newIndex func() (lexicalIndex, error)) *Backend {
	t.Helper()
	c := newBackend(catalog.Store{Redis: rdb}, newIndex, nil, slog.New(slog.DiscardHandler), Options{})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func testCatalog(t *testing.T, rdb redis.UniversalClient) *Backend {
	t.Helper()
	return newTest(t, rdb, newWordIndex)
}

func TestTheFirstBuildOfALargeCatalogIsLogged(t *testing.T) {
	var log bytes.Buffer
	b := &Backend{logger: slog.New(slog.NewTextHandler(&log, nil))}
	b.tellBuild("s1", largeCatalog-1)()
	if log.Len() > 0 {
		t.Errorf("a small catalog is logged: %s", &log)
	}
	b.tellBuild("s1", largeCatalog)()
	if got := log.String(); strings.Count(got, "store=s1 products=10000") != 2 || !strings.Contains(got, "duration=") {
		t.Errorf("logged %s", got)
	}
}

func TestReplicasSeeEachOthersWrites(t *testing.T) {
	rdb := servicetest.Redis(t)
	a, b := testCatalog(t, rdb), testCatalog(t, rdb)
	indextest.Put(t, a.store, "s1", catalogtest.Thing("P-1", "green lamp"))
	indextest.Expect(t, "b after a wrote", indextest.Search(t, b, "s1", "lamp"), "P-1")
	indextest.Put(t, b.store, "s1", catalogtest.Thing("P-2", "red lamp"), catalogtest.Thing("P-1", "green chair"))
	indextest.Expect(t, "a after b wrote", indextest.Search(t, a, "s1", "lamp"), "P-2")
	indextest.Expect(t, "a after b replaced", indextest.Search(t, a, "s1", "chair"), "P-1")
	if deleted, err := a.store.Remove(t.Context(), "s1", "P-2"); err != nil || !deleted {
		t.Fatalf("remove = %v, %v", deleted, err)
	}
	indextest.Expect(t, "b after a deleted", indextest.Search(t, b, "s1", "lamp"))
	if deleted, err := a.store.Remove(t.Context(), "s1", "P-2"); err != nil || deleted {
		t.Errorf("second remove = %v, %v; want false", deleted, err)
	}
}

func TestStoresDoNotLeak(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "green lamp"))
	indextest.Put(t, c.store, "s2", catalogtest.Thing("P-1", "red lamp"), catalogtest.Thing("P-2", "lamp"))
	indextest.Expect(t, "first store", indextest.Search(t, c, "s1", "lamp"), "P-1")
	err := c.Read(t.Context(), "s2", nil, func(v *index.View) error {
		if got := v.Index.(*snapshot).product("P-1").Product.GetTitle(); got != "red lamp" {
			t.Errorf("P-1 of the second store is %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	indextest.Expect(t, "unknown store", indextest.Search(t, c, "s3", "lamp"))
	if len(c.replicas) != 2 {
		t.Errorf("%d replicas for two stores", len(c.replicas))
	}
}

func TestReplicaCatchesUpWithoutReloading(t *testing.T) {
	rdb := servicetest.Redis(t)
	var built int
	c := newTest(t, rdb, func() (lexicalIndex, error) { built++; return newWordIndex() })
	for i := range 5 {
		indextest.Put(t, c.store, "s1", catalogtest.Thing(fmt.Sprintf("P-%d", i), "lamp"))
		if got := len(indextest.Search(t, c, "s1", "lamp")); got != i+1 {
			t.Fatalf("%d products after %d writes", got, i+1)
		}
	}
	if built != 1 {
		t.Errorf("the index was built %d times, want once", built)
	}
	c.replicas["s1"].updates = maxUpdates
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-9", "lamp"))
	for range 2 {
		if got := len(indextest.Search(t, c, "s1", "lamp")); got != 6 {
			t.Errorf("after many updates: %d products, want 6", got)
		}
		c.rebuilds.Wait()
	}
	if r := c.replicas["s1"]; built != 2 || r.updates != 0 {
		t.Errorf("the index was built %d times and has had %d updates since; want 2 and none", built, r.updates)
	}
}

func TestReplicaReloads(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, c *Backend){
		"when the changes were trimmed": func(t *testing.T, c *Backend) {
			indextest.Put(t, c.store, "s1", catalogtest.Thing("P-2", "red lamp"))
			indextest.Put(t, c.store, "s1", catalogtest.Thing("P-3", "blue chair"))
			indextest.ForgetChanges(t, c.store, "s1", "P-2", "P-3")
		},
		"when the store was lost and filled again": func(t *testing.T, c *Backend) {
			if err := c.store.Redis.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "old lamp"), catalogtest.Thing("P-2", "red lamp"))
		},
		"when the version went backwards": func(t *testing.T, c *Backend) {
			indextest.Put(t, c.store, "s1", catalogtest.Thing("P-2", "red lamp"))
			if err := c.store.Redis.Set(t.Context(), catalog.VersionKey("s1"), 7, 0).Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := servicetest.Redis(t)
			writer, reader := testCatalog(t, rdb), testCatalog(t, rdb)
			indextest.Put(t, writer.store, "s1", catalogtest.Thing("P-1", "old lamp"))
			indextest.Expect(t, "before", indextest.Search(t, reader, "s1", "lamp"), "P-1")
			harm(t, writer)
			indextest.Expect(t, "after", indextest.Search(t, reader, "s1", "lamp"), "P-1", "P-2")
		})
	}
}

func TestEmptiedStore(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	indextest.Expect(t, "before", indextest.Search(t, c, "s1", "lamp"), "P-1")
	if err := c.store.Redis.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	indextest.Expect(t, "after", indextest.Search(t, c, "s1", "lamp"))
}

func TestConcurrentReadsAndWrites(t *testing.T) {
	rdb := servicetest.Redis(t)
	catalogs := []*Backend{testCatalog(t, rdb), testCatalog(t, rdb)}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 10 {
				c := catalogs[(w+i)%2]
				id := fmt.Sprintf("P-%d-%d", w, i)
				if _, err := c.store.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing(id, "lamp")}); err != nil {
					t.Error(err)
					return
				}
				err := catalogs[i%2].Read(t.Context(), "s1", nil, func(v *index.View) error {
					if v.Index.(*snapshot).product(id) == nil {
						t.Errorf("%s is not seen after its write", id)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(indextest.Search(t, catalogs[0], "s1", "lamp")); got != 40 {
		t.Errorf("%d products, want 40", got)
	}
}

func TestWaitingForAnotherReaderEndsWithTheContext(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	r, err := c.acquire("s1", true)
	if err != nil {
		t.Fatal(err)
	}
	r.syncing <- struct{}{} // somebody is catching up, and does not get done
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.catchUp(ctx, "s1", r, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	<-r.syncing
}

func TestWhatSomebodyElseCaughtUpWithIsNotAskedForAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		since time.Duration // from now to when the other began
		asked int32
	}{
		"the other began later":   {time.Hour, 1},
		"the other began earlier": {-time.Hour, 2},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := servicetest.Redis(t)
			c := testCatalog(t, rdb)
			indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
			indextest.Search(t, c, "s1", "lamp")
			indextest.Put(t, c.store, "s1", catalogtest.Thing("P-2", "lamp"))
			r := c.replicas["s1"]
			r.syncing <- struct{}{}
			var asked atomic.Int32
			first := make(chan bool, 10)
			rdb.AddHook(catalogtest.CommandHook(func(command string) {
				if command == "get" {
					asked.Add(1)
					first <- true
				}
			}))
			done := make(chan error, 1)
			go func() { done <- c.Read(t.Context(), "s1", nil, func(*index.View) error { return nil }) }()
			<-first
			r.asOf = time.Now().Add(tc.since)
			<-r.syncing
			if err := <-done; err != nil || asked.Load() != tc.asked {
				t.Errorf("the version was asked for %d times, %v; want %d", asked.Load(), err, tc.asked)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	indextest.Search(t, c, "s1", "lamp")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Read(t.Context(), "s1", nil, func(*index.View) error { return nil }); !errors.Is(err, index.ErrClosed) {
		t.Errorf("error %v, want %v", err, index.ErrClosed)
	}
}

// countingIndex counts the products that an index was told.
type countingIndex struct {
	lexicalIndex
	put int
}

func (i *countingIndex) Update(ctx context.Context, put []*catalogv1.Product, remove []string) error {
	i.put += len(put)
	return i.lexicalIndex.Update(ctx, put, remove)
}

func TestPricesAndStockLeaveTheIndexAlone(t *testing.T) {
	counting := &countingIndex{}
	c := newTest(t, servicetest.Redis(t), func() (lexicalIndex, error) {
		var err error
		counting.lexicalIndex, err = newWordIndex()
		return counting, err
	})
	change := func(what string, want int, edit func(p *catalogv1.Product)) {
		t.Helper()
		p := catalogtest.Thing("P-1", "green lamp")
		edit(p)
		indextest.Put(t, c.store, "s1", p)
		indextest.Expect(t, what, indextest.Search(t, c, "s1", "lamp"), "P-1")
		if counting.put != want {
			t.Errorf("%s: the index was told %d products, want %d", what, counting.put, want)
		}
		err := c.Read(t.Context(), "s1", nil, func(v *index.View) error {
			if got := v.Index.(*snapshot).product("P-1").Product.GetVariants()[0]; got.GetPrice().GetAmountMinor() != p.GetVariants()[0].GetPrice().GetAmountMinor() {
				t.Errorf("%s: the price is %v", what, got.GetPrice())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change("new", 1, func(*catalogv1.Product) {})
	change("dearer", 1, func(p *catalogv1.Product) { p.Variants[0].Price = catalogtest.Eur(999) })
	change("sold out", 1, func(p *catalogv1.Product) { p.Variants[0].Stock = 0 })
	change("in another option", 2, func(p *catalogv1.Product) { p.Variants[0].Options = map[string]string{"colour": "red"} })
	change("with an attribute", 3, func(p *catalogv1.Product) { p.Attributes = []*catalogv1.Attribute{catalogtest.Flag("dimmable", true)} })
	change("in another category", 4, func(p *catalogv1.Product) { p.CategoryPath = []string{"Lamps"} })
}

func TestEverythingIsListedAsOfNow(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	indextest.Expect(t, "before", indextest.Search(t, c, "s1", ""), "P-1")
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-2", "kite"))
	indextest.Expect(t, "after", indextest.Search(t, c, "s1", ""), "P-2", "P-1")
}

func TestStatisticsFollowTheCatalog(t *testing.T) {
	v := newSnapshot(noIndex{})
	gift := catalogtest.Thing("P-1", "mug")
	gift.Tags, gift.CategoryPath, gift.Brand = []string{"gift"}, []string{"Mugs"}, "Blue-Tit & Sons"
	gift.Attributes = []*catalogv1.Attribute{catalogtest.Text("glaze", "blue")}
	gift.Variants[0].Options = map[string]string{"size": "L"}
	empty := v.statistics
	v.update([]*catalogv1.Product{gift, catalogtest.Thing("P-2", "cup")}, nil)
	v.update([]*catalogv1.Product{gift}, nil) // again
	want := index.Statistics{
		Products: 2, TopCategories: map[string]int{"Mugs": 1, "Things": 1}, Currency: "EUR", Gifts: 1, Categories: map[string]string{"mug": "Mugs", "thing": "Things"},
		Tags: map[string]int{"gift": 1}, Attributes: map[string]int{"glaze": 1}, Options: map[string]int{"size": 1},
		CategoryProducts: map[string]int{"mug": 1, "thing": 1}, Currencies: map[string]int{"EUR": 2}, Languages: map[string]int{"en": 2},
		Brands: map[string]int{"blue tit sons": 1},
	}
	if diff := cmp.Diff(want, v.statistics, cmp.AllowUnexported(index.Statistics{})); diff != "" {
		t.Errorf("after two products (-want +got):\n%s", diff)
	}
	v.update(nil, []string{"P-1", "P-2", "P-2"})
	if diff := cmp.Diff(empty, v.statistics, cmp.AllowUnexported(index.Statistics{})); diff != "" {
		t.Errorf("after they are gone (-want +got):\n%s", diff)
	}
}

// cancellableIndex takes nothing once the context has ended.
type cancellableIndex struct{ lexicalIndex }

func (i cancellableIndex) Update(ctx context.Context, put []*catalogv1.Product, remove []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return i.lexicalIndex.Update(ctx, put, remove)
}

func TestReloadOutlivesWhoBeganIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := newTest(t, servicetest.Redis(t), func() (lexicalIndex, error) {
		cancel()
		words, err := newWordIndex()
		return cancellableIndex{words}, err
	})
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	if err := c.Read(ctx, "s1", nil, func(*index.View) error { return nil }); err != nil {
		t.Errorf("the reload was given up: %v", err)
	}
	if v := c.replicas["s1"].snapshot; v.product("P-1") == nil {
		t.Error("the catalog was not read")
	}
}

func TestReloadThatEndsAfterCloseIsDropped(t *testing.T) {
	var c *Backend
	c = newTest(t, servicetest.Redis(t), func() (lexicalIndex, error) {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		return newWordIndex()
	})
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	if err := c.Read(t.Context(), "s1", nil, func(*index.View) error { return nil }); !errors.Is(err, index.ErrClosed) {
		t.Errorf("error %v, want %v", err, index.ErrClosed)
	}
}

// dueForRebuild returns a catalog whose next write makes its index due for renewal, by what newIndex returns then.
func dueForRebuild(t *testing.T, newIndex func() (lexicalIndex, error)) *Backend {
	t.Helper()
	first := true
	c := newTest(t, servicetest.Redis(t), func() (lexicalIndex, error) {
		if first {
			first = false
			return newWordIndex()
		}
		return newIndex()
	})
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "green lamp"), catalogtest.Thing("P-2", "red lamp"))
	indextest.Search(t, c, "s1", "lamp")
	c.replicas["s1"].updates = maxUpdates - 1
	return c
}

func TestSearchesContinueDuringARebuild(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	c := dueForRebuild(t, func() (lexicalIndex, error) {
		begun <- true
		<-goOn
		return newWordIndex()
	})
	old := c.replicas["s1"].snapshot
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-3", "blue lamp"))
	indextest.Expect(t, "the write that makes it due", indextest.Search(t, c, "s1", "lamp"), "P-3", "P-1", "P-2")
	<-begun
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-4", "old lamp"), catalogtest.Thing("P-2", "red chair"))
	indextest.Expect(t, "a write meanwhile", indextest.Search(t, c, "s1", "lamp"), "P-3", "P-1", "P-4")
	if _, err := c.store.Remove(t.Context(), "s1", "P-1"); err != nil {
		t.Fatal(err)
	}
	indextest.Expect(t, "a deletion meanwhile", indextest.Search(t, c, "s1", "lamp"), "P-3", "P-4")
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-5", "new lamp")) // nobody has searched since
	close(goOn)
	c.rebuilds.Wait()
	if r := c.replicas["s1"]; r.snapshot == old || r.updates != 0 {
		t.Errorf("the view is in use still, after %d updates", r.updates)
	}
	indextest.Expect(t, "the new one", indextest.Search(t, c, "s1", "lamp"), "P-3", "P-5", "P-4")
	indextest.Expect(t, "what was reworded", indextest.Search(t, c, "s1", "chair"), "P-2")
}

// A reader that has caught up must not find an older catalog when the new index takes the place of the old one just then.
func TestARebuiltIndexIsNotOlder(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	c := dueForRebuild(t, func() (lexicalIndex, error) {
		begun <- true
		<-goOn
		return newWordIndex()
	})
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-3", "blue lamp"))
	indextest.Search(t, c, "s1", "lamp")
	<-begun
	r := c.replicas["s1"]
	r.syncing <- struct{}{} // so that the renewal waits once it is built
	asked := make(chan bool, 10)
	c.store.Redis.AddHook(catalogtest.CommandHook(func(command string) {
		if command == "get" {
			asked <- true
		}
	}))
	close(goOn)
	<-asked // it has caught up with what there was
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-4", "old lamp"))
	<-r.syncing
	c.rebuilds.Wait()
	if r.snapshot.product("P-4") == nil {
		t.Error("the view in use lacks what was written before it was")
	}
}

func TestARebuildThatFailsIsRetried(t *testing.T) {
	tries := 0
	c := dueForRebuild(t, func() (lexicalIndex, error) {
		if tries++; tries == 1 {
			return nil, errors.New("no room")
		}
		return newWordIndex()
	})
	for n := range 3 {
		indextest.Put(t, c.store, "s1", catalogtest.Thing(fmt.Sprint("N-", n), "chair"))
		if got := len(indextest.Search(t, c, "s1", "chair")); got != n+1 {
			t.Errorf("%d chairs after %d writes", got, n+1)
		}
		c.rebuilds.Wait()
	}
	if updates := c.replicas["s1"].updates; tries != 2 || updates != 1 {
		t.Errorf("%d tries, %d updates since; want 2 and 1", tries, updates)
	}
}

func TestCloseEndsARebuild(t *testing.T) {
	var c *Backend
	c = dueForRebuild(t, func() (lexicalIndex, error) {
		c.replicas["s1"].syncing <- struct{}{} // somebody is catching up, and does not get done
		go func() { _ = c.Close() }()
		return newWordIndex()
	})
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-3", "blue lamp"))
	indextest.Search(t, c, "s1", "lamp")
	c.rebuilds.Wait()
	if err := c.Read(t.Context(), "s1", nil, func(*index.View) error { return nil }); !errors.Is(err, index.ErrClosed) {
		t.Errorf("error %v, want %v", err, index.ErrClosed)
	}
}

func TestAReplicaFarBehindReadsOnlyWhatIsDifferent(t *testing.T) {
	rdb := servicetest.Redis(t)
	counting := &countingIndex{}
	reader := newTest(t, rdb, func() (lexicalIndex, error) {
		var err error
		counting.lexicalIndex, err = newWordIndex()
		return counting, err
	})
	writer := testCatalog(t, rdb)
	indextest.Put(t, writer.store, "s1", catalogtest.Thing("P-1", "green lamp"), catalogtest.Thing("P-2", "red lamp"), catalogtest.Thing("P-3", "blue lamp"), catalogtest.Thing("P-4", "lamp"))
	indextest.Search(t, reader, "s1", "lamp")
	counting.put = 0
	dearer, chair := catalogtest.Thing("P-2", "red lamp"), catalogtest.Thing("P-3", "blue chair")
	dearer.Variants[0].Price = catalogtest.Eur(999)
	indextest.Put(t, writer.store, "s1", dearer, chair)
	if _, err := writer.store.Remove(t.Context(), "s1", "P-1"); err != nil {
		t.Fatal(err)
	}
	indextest.ForgetChanges(t, writer.store, "s1", "P-1", "P-2", "P-3")
	indextest.Expect(t, "lamps", indextest.Search(t, reader, "s1", "lamp"), "P-4", "P-2")
	indextest.Expect(t, "chairs", indextest.Search(t, reader, "s1", "chair"), "P-3")
	if counting.put != 1 {
		t.Errorf("the index was told %d products, want the reworded one", counting.put)
	}
	err := reader.Read(t.Context(), "s1", nil, func(v *index.View) error {
		if got := v.Index.(*snapshot).product("P-2").Product.GetVariants()[0].GetPrice().GetAmountMinor(); got != 999 {
			t.Errorf("the price is %d", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSimilarIDs(t *testing.T) {
	v := newSnapshot(noIndex{})
	for _, id := range []string{"TR-SHOE-001", "TR-SHOE-002", "TR-SHOE-012", "TENT-1", "A1", "A2", "KETTLE-77-RED"} {
		v.update([]*catalogv1.Product{catalogtest.Thing(id, "thing")}, nil)
	}
	for id, want := range map[string][]string{
		"TR-SHOE-1":     {"TR-SHOE-001"},
		"trshoe012":     {"TR-SHOE-012"},
		"shoe-12":       {"TR-SHOE-012"},
		"TR-SHOE-4":     {"TR-SHOE-001", "TR-SHOE-002"},
		"TNET-1":        {"TENT-1"},
		"KETLE-77-RED":  {"KETTLE-77-RED"},
		"KETTLE-77-":    nil,
		"A3":            nil, // every short id is near every other
		"XQ-7701-GREEN": nil,
	} {
		if diff := cmp.Diff(want, v.SimilarIDs(id)); diff != "" {
			t.Errorf("near %s (-want +got):\n%s", id, diff)
		}
	}
}

func TestExactIDsComeFirst(t *testing.T) {
	v := newSnapshot(noIndex{})
	v.update([]*catalogv1.Product{catalogtest.Thing("A.1.", "dot"), catalogtest.Thing("a.1", "lower"), catalogtest.Thing("A.1", "upper")}, nil)
	for id, want := range map[string]string{"A.1.": "dot", "a.1": "lower", "A.1": "upper", "[A.1]": "upper"} {
		if got := v.product(id).Product.GetTitle(); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
}

func TestConformance(t *testing.T) {
	indextest.Run(t, 0, func(_ *testing.T, s catalog.Store) index.Backend {
		return New(s, nil, slog.New(slog.DiscardHandler), Options{})
	})
}

func TestVectorsOfDeletedProductsGo(t *testing.T) {
	c := New(catalog.Store{Redis: servicetest.Redis(t)}, new(indextest.CountingEmbedder), slog.New(slog.DiscardHandler), Options{})
	t.Cleanup(func() { _ = c.Close() })
	vectors := func(want int) {
		t.Helper()
		redistest.Eventually(t, func() error {
			indextest.Search(t, c, "s1", "lamp")
			x := c.replicas["s1"].vectors
			x.mu.RLock()
			defer x.mu.RUnlock()
			if len(x.products) != want {
				return fmt.Errorf("%d vectors, want %d", len(x.products), want)
			}
			return nil
		})
	}
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"), catalogtest.Thing("P-2", "lamp"))
	vectors(2)
	indextest.Remove(t, c.store, "s1", "P-1")
	vectors(1)
}

func TestStoresThatNothingReadsAreDropped(t *testing.T) {
	c := newBackend(catalog.Store{Redis: servicetest.Redis(t)}, newWordIndex, nil, slog.New(slog.DiscardHandler), Options{MaxStores: 3})
	t.Cleanup(func() { _ = c.Close() })
	for i := range 10 {
		indextest.Put(t, c.store, fmt.Sprint("s", i), catalogtest.Thing("P-1", "lamp"))
		indextest.Expect(t, "a new store", indextest.Search(t, c, fmt.Sprint("s", i), "lamp"), "P-1")
		indextest.Search(t, c, "s0", "lamp") // which is therefore never the one that was read the longest ago
	}
	stores := func() []string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Sorted(maps.Keys(c.replicas))
	}
	indextest.Expect(t, "the last ones", stores(), "s0", "s8", "s9")
	indextest.Expect(t, "a store that was dropped", indextest.Search(t, c, "s4", "lamp"), "P-1")
	read := c.replicas["s4"].read
	c.dropIdle(read)
	indextest.Expect(t, "read last", stores(), "s4")
	c.dropIdle(read.Add(1))
	indextest.Expect(t, "after a while", stores())
	indextest.Expect(t, "read again", indextest.Search(t, c, "s4", "lamp"), "P-1")
}

// A load may take longer than catalogs are kept, and other stores may be read meanwhile. Were its catalog dropped, the load would
// begin again, and never end.
func TestACatalogIsNotDroppedWhileItIsLoaded(t *testing.T) {
	var c *Backend
	loads := 0
	c = newBackend(catalog.Store{Redis: servicetest.Redis(t)}, func() (lexicalIndex, error) {
		if loads++; loads == 1 {
			indextest.Expect(t, "another store", indextest.Search(t, c, "s2", "lamp"), "P-1")
		}
		c.dropIdle(time.Now().Add(time.Hour))
		return newWordIndex()
	}, nil, slog.New(slog.DiscardHandler), Options{MaxStores: 1})
	t.Cleanup(func() { _ = c.Close() })
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	indextest.Put(t, c.store, "s2", catalogtest.Thing("P-1", "lamp"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Read(ctx, "s1", nil, func(*index.View) error { return nil }); err != nil || loads != 2 {
		t.Errorf("%d loads of two catalogs, %v", loads, err)
	}
	if c.mu.Lock(); len(c.replicas) != 1 {
		t.Errorf("%d catalogs are kept, want 1", len(c.replicas))
	}
	c.mu.Unlock()
}

// A catalog may be dropped at any time: a read that is under way goes on, and one that begins loads it again.
func TestReadsGoOnWhileCatalogsAreDropped(t *testing.T) {
	c := newBackend(catalog.Store{Redis: servicetest.Redis(t)}, newWordIndex, nil, slog.New(slog.DiscardHandler), Options{MaxStores: 2})
	t.Cleanup(func() { _ = c.Close() })
	for i := range 4 {
		indextest.Put(t, c.store, fmt.Sprint("s", i), catalogtest.Thing("P-1", "lamp"))
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				store := fmt.Sprint("s", (w+i)%4)
				if i%10 == 0 {
					c.dropIdle(time.Now())
				}
				if got := indextest.Search(t, c, store, "lamp"); !slices.Equal(got, []string{"P-1"}) {
					t.Errorf("%s: %v", store, got)
				}
			}
		})
	}
	wg.Wait()
}

func TestAWriteThatBrokeOffIsFoundByComparing(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	version := indextest.Put(t, c.store, "s1", catalogtest.Thing("P-1", "lamp"))
	indextest.Search(t, c, "s1", "lamp")
	indextest.Put(t, c.store, "s1", catalogtest.Thing("P-2", "lamp"))
	if err := c.store.Redis.Set(t.Context(), catalog.VersionKey("s1"), version, 0).Err(); err != nil {
		t.Fatal(err)
	}
	indextest.Expect(t, "at once", indextest.Search(t, c, "s1", "lamp"), "P-1")
	c.replicas["s1"].compared.Add(-compareEvery.Nanoseconds() - 1)
	indextest.Expect(t, "after a while", indextest.SearchSorted(t, c, "s1", "lamp"), "P-1", "P-2")
}

// brokenIndex writes a change and then fails once.
type brokenIndex struct {
	lexicalIndex
	broken bool
}

func (i *brokenIndex) Update(ctx context.Context, put []*catalogv1.Product, remove []string) error {
	err := i.lexicalIndex.Update(ctx, put, remove)
	if i.broken = !i.broken; i.broken {
		return errors.Join(err, errors.New("disk full"))
	}
	return err
}

// What a failed update has written is not found before the update is repeated, and then once.
func TestAnUpdateThatFailsIsRepeated(t *testing.T) {
	words, err := newWordIndex()
	if err != nil {
		t.Fatal(err)
	}
	broken := &brokenIndex{lexicalIndex: words}
	v := newSnapshot(broken)
	t.Cleanup(func() { _ = words.Close() })
	found := func() []string {
		t.Helper()
		candidates, err := v.index.Search(t.Context(), []index.Term{{Text: "lamp", Known: true}})
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, c := range candidates {
			ids = append(ids, c.ID())
		}
		slices.Sort(ids)
		return ids
	}
	for _, c := range []struct {
		change       catalog.Change
		failed, done []string
	}{
		{catalog.Change{Put: []*catalogv1.Product{catalogtest.Thing("P-1", "lamp"), catalogtest.Thing("P-2", "lamp")}}, []string{}, []string{"P-1", "P-2"}},
		{catalog.Change{Put: []*catalogv1.Product{catalogtest.Thing("P-3", "lamp")}, Removed: []string{"P-2"}}, []string{"P-1"}, []string{"P-1", "P-3"}},
	} {
		if _, err := v.apply(t.Context(), c.change); err == nil {
			t.Fatal("the update did not fail")
		}
		if diff := cmp.Diff(c.failed, found()); diff != "" {
			t.Errorf("after a failure (-want +got):\n%s", diff)
		}
		if _, err := v.apply(t.Context(), c.change); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.done, found()); diff != "" {
			t.Errorf("after the repetition (-want +got):\n%s", diff)
		}
	}
}
