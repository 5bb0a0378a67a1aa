package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func thing(id, title string) *catalogv1.Product {
	return &catalogv1.Product{
		ProductId: id, Title: title, CategoryPath: []string{"Things"}, Variants: []*catalogv1.Variant{variant("std", 100, 1)},
	}
}

// search returns the ids that a replica finds for the words.
func search(t *testing.T, c *catalog, storeID, words string) []string {
	t.Helper()
	var out []string
	err := c.read(t.Context(), storeID, func(v *view) error {
		out = ids(t, v, words, nil, catalogv1.Sort_SORT_UNSPECIFIED)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestReplicasSeeEachOthersWrites(t *testing.T) {
	rdb := servicetest.Redis(t)
	a, b := testCatalog(t, rdb), testCatalog(t, rdb)
	put(t, a, "s1", thing("P-1", "green lamp"))
	expect(t, "b after a wrote", search(t, b, "s1", "lamp"), "P-1")
	put(t, b, "s1", thing("P-2", "red lamp"), thing("P-1", "green chair"))
	expect(t, "a after b wrote", search(t, a, "s1", "lamp"), "P-2")
	expect(t, "a after b replaced", search(t, a, "s1", "chair"), "P-1")
	if deleted, err := a.store.remove(t.Context(), "s1", "P-2"); err != nil || !deleted {
		t.Fatalf("remove = %v, %v", deleted, err)
	}
	expect(t, "b after a deleted", search(t, b, "s1", "lamp"))
	if deleted, err := a.store.remove(t.Context(), "s1", "P-2"); err != nil || deleted {
		t.Errorf("second remove = %v, %v; want false", deleted, err)
	}
}

func TestStoresDoNotLeak(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	put(t, c, "s1", thing("P-1", "green lamp"))
	put(t, c, "s2", thing("P-1", "red lamp"), thing("P-2", "lamp"))
	expect(t, "first store", search(t, c, "s1", "lamp"), "P-1")
	err := c.read(t.Context(), "s2", func(v *view) error {
		if got := v.find("P-1").product.GetTitle(); got != "red lamp" {
			t.Errorf("P-1 of the second store is %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "unknown store", search(t, c, "s3", "lamp"))
	if len(c.replicas) != 2 {
		t.Errorf("%d replicas for two stores", len(c.replicas))
	}
}

func TestReplicaCatchesUpWithoutReloading(t *testing.T) {
	rdb := servicetest.Redis(t)
	var built int
	c := newCatalog(store{rdb: rdb}, func() (Index, error) { built++; return newBleveIndex() })
	t.Cleanup(func() { _ = c.close() })
	for i := range 5 {
		put(t, c, "s1", thing(fmt.Sprintf("P-%d", i), "lamp"))
		if got := len(search(t, c, "s1", "lamp")); got != i+1 {
			t.Fatalf("%d products after %d writes", got, i+1)
		}
	}
	if built != 1 {
		t.Errorf("the index was built %d times, want once", built)
	}
	c.replicas["s1"].updates = maxUpdates
	put(t, c, "s1", thing("P-9", "lamp"))
	if got := len(search(t, c, "s1", "lamp")); got != 6 || built != 2 {
		t.Errorf("after many updates: %d products in the %d. index, want 6 in the 2.", got, built)
	}
}

func TestReplicaReloads(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, c *catalog){
		"when the changes were trimmed": func(t *testing.T, c *catalog) {
			put(t, c, "s1", thing("P-2", "red lamp"))
			put(t, c, "s1", thing("P-3", "blue chair"))
			if err := c.store.rdb.XTrimMaxLen(t.Context(), changesKey("s1"), 1).Err(); err != nil {
				t.Fatal(err)
			}
		},
		"when the store was lost and filled again": func(t *testing.T, c *catalog) {
			if err := c.store.rdb.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			put(t, c, "s1", thing("P-1", "old lamp"), thing("P-2", "red lamp"))
		},
		"when the version went backwards": func(t *testing.T, c *catalog) {
			put(t, c, "s1", thing("P-2", "red lamp"))
			if err := c.store.rdb.Set(t.Context(), versionKey("s1"), 7, 0).Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := servicetest.Redis(t)
			writer, reader := testCatalog(t, rdb), testCatalog(t, rdb)
			put(t, writer, "s1", thing("P-1", "old lamp"))
			expect(t, "before", search(t, reader, "s1", "lamp"), "P-1")
			harm(t, writer)
			expect(t, "after", search(t, reader, "s1", "lamp"), "P-1", "P-2")
		})
	}
}

func TestVersionGrows(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	first := put(t, c, "s1", thing("P-1", "lamp"))
	second := put(t, c, "s1", thing("P-1", "lamp"), thing("P-2", "lamp"))
	if first <= 0 || second != first+1 {
		t.Errorf("versions %d and %d, want one step", first, second)
	}
}

func TestEmptiedStore(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	put(t, c, "s1", thing("P-1", "lamp"))
	expect(t, "before", search(t, c, "s1", "lamp"), "P-1")
	if err := c.store.rdb.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	expect(t, "after", search(t, c, "s1", "lamp"))
}

func TestConcurrentReadsAndWrites(t *testing.T) {
	rdb := servicetest.Redis(t)
	catalogs := []*catalog{testCatalog(t, rdb), testCatalog(t, rdb)}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 10 {
				c := catalogs[(w+i)%2]
				id := fmt.Sprintf("P-%d-%d", w, i)
				if _, err := c.store.put(t.Context(), "s1", []*catalogv1.Product{thing(id, "lamp")}); err != nil {
					t.Error(err)
					return
				}
				err := catalogs[i%2].read(t.Context(), "s1", func(v *view) error {
					if v.find(id) == nil {
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
	if got := len(search(t, catalogs[0], "s1", "lamp")); got != 40 {
		t.Errorf("%d products, want 40", got)
	}
}

func TestWaitingForAnotherReaderEndsWithTheContext(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	put(t, c, "s1", thing("P-1", "lamp"))
	r, err := c.replica("s1", true)
	if err != nil {
		t.Fatal(err)
	}
	r.catching <- struct{}{} // somebody is catching up, and does not get done
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.catchUp(ctx, "s1", r, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	<-r.catching
}

func TestClosed(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	put(t, c, "s1", thing("P-1", "lamp"))
	search(t, c, "s1", "lamp")
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if err := c.read(t.Context(), "s1", func(*view) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("error %v, want %v", err, errClosed)
	}
}

// countingIndex counts the products that an index was told.
type countingIndex struct {
	Index
	put int
}

func (i *countingIndex) Update(ctx context.Context, put []*catalogv1.Product, remove []string) error {
	i.put += len(put)
	return i.Index.Update(ctx, put, remove)
}

func TestPricesAndStockLeaveTheIndexAlone(t *testing.T) {
	index := &countingIndex{}
	c := newCatalog(store{rdb: servicetest.Redis(t)}, func() (Index, error) {
		var err error
		index.Index, err = newBleveIndex()
		return index, err
	})
	t.Cleanup(func() { _ = c.close() })
	change := func(what string, want int, edit func(p *catalogv1.Product)) {
		t.Helper()
		p := thing("P-1", "green lamp")
		edit(p)
		put(t, c, "s1", p)
		expect(t, what, search(t, c, "s1", "lamp"), "P-1")
		if index.put != want {
			t.Errorf("%s: the index was told %d products, want %d", what, index.put, want)
		}
		err := c.read(t.Context(), "s1", func(v *view) error {
			if got := v.find("P-1").product.GetVariants()[0]; got.GetPrice().GetAmountMinor() != p.GetVariants()[0].GetPrice().GetAmountMinor() {
				t.Errorf("%s: the price is %v", what, got.GetPrice())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change("new", 1, func(*catalogv1.Product) {})
	change("dearer", 1, func(p *catalogv1.Product) { p.Variants[0].Price = eur(999) })
	change("sold out", 1, func(p *catalogv1.Product) { p.Variants[0].Stock = 0 })
	change("in another option", 2, func(p *catalogv1.Product) { p.Variants[0].Options = map[string]string{"colour": "red"} })
	change("with an attribute", 3, func(p *catalogv1.Product) { p.Attributes = []*catalogv1.Attribute{flag("dimmable", true)} })
	change("in another category", 4, func(p *catalogv1.Product) { p.CategoryPath = []string{"Lamps"} })
}

func TestEverythingIsListedAsOfNow(t *testing.T) {
	c := testCatalog(t, servicetest.Redis(t))
	put(t, c, "s1", thing("P-1", "lamp"))
	expect(t, "before", search(t, c, "s1", ""), "P-1")
	put(t, c, "s1", thing("P-2", "kite"))
	expect(t, "after", search(t, c, "s1", ""), "P-2", "P-1")
}

func TestFactsFollowTheCatalog(t *testing.T) {
	v := newView(noIndex{})
	gift := thing("P-1", "mug")
	gift.Tags, gift.CategoryPath = []string{"gift"}, []string{"Mugs"}
	gift.Attributes = []*catalogv1.Attribute{text("glaze", "blue")}
	gift.Variants[0].Options = map[string]string{"size": "L"}
	empty := v.facts
	v.take([]*catalogv1.Product{gift, thing("P-2", "cup")}, nil)
	v.take([]*catalogv1.Product{gift}, nil) // again
	want := facts{
		products: 2, broadest: map[string]int{"Mugs": 1, "Things": 1}, currency: "EUR", presents: 1,
		categories: map[string]string{"mug": "Mugs", "thing": "Things"},
		tags:       map[string]int{"gift": 1}, attributes: map[string]int{"glaze": 1}, options: map[string]int{"size": 1},
		paths: map[string]int{"mug": 1, "thing": 1}, currencies: map[string]int{"EUR": 2},
	}
	if diff := cmp.Diff(want, v.facts, cmp.AllowUnexported(facts{})); diff != "" {
		t.Errorf("after two products (-want +got):\n%s", diff)
	}
	v.take(nil, []string{"P-1", "P-2", "P-2"})
	if diff := cmp.Diff(empty, v.facts, cmp.AllowUnexported(facts{})); diff != "" {
		t.Errorf("after they are gone (-want +got):\n%s", diff)
	}
}

// hastyIndex takes nothing once the context has ended.
type hastyIndex struct{ Index }

func (i hastyIndex) Update(ctx context.Context, put []*catalogv1.Product, remove []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return i.Index.Update(ctx, put, remove)
}

func TestReloadOutlivesWhoBeganIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := newCatalog(store{rdb: servicetest.Redis(t)}, func() (Index, error) {
		cancel()
		index, err := newBleveIndex()
		return hastyIndex{index}, err
	})
	t.Cleanup(func() { _ = c.close() })
	put(t, c, "s1", thing("P-1", "lamp"))
	if err := c.read(ctx, "s1", func(*view) error { return nil }); err != nil {
		t.Errorf("the reload was given up: %v", err)
	}
	if v := c.replicas["s1"].view; v.find("P-1") == nil {
		t.Error("the catalog was not read")
	}
}

func TestReloadThatEndsAfterCloseIsDropped(t *testing.T) {
	var c *catalog
	c = newCatalog(store{rdb: servicetest.Redis(t)}, func() (Index, error) {
		if err := c.close(); err != nil {
			t.Error(err)
		}
		return newBleveIndex()
	})
	put(t, c, "s1", thing("P-1", "lamp"))
	if err := c.read(t.Context(), "s1", func(*view) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("error %v, want %v", err, errClosed)
	}
}
