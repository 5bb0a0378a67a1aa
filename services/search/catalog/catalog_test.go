package catalog

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
)

func TestVersionGrows(t *testing.T) {
	s := Store{Redis: servicetest.Redis(t)}
	first, err := s.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing("P-1", "lamp")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing("P-1", "lamp"), catalogtest.Thing("P-2", "lamp")})
	if first <= 0 || second <= first || err != nil {
		t.Errorf("versions %d and %d, %v", first, second, err)
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string][]string{
		"Trail-Running shoes!":   {"trail", "running", "shoes"},
		"a 30L pack":             {"a", "30", "l", "pack"},
		"women's, or women’s":    {"women", "or", "women"},
		"0.7 l and 42,5":         {"0.7", "l", "and", "42.5"},
		"Größe ñandú":            {"größe", "ñandú"},
		"  ":                     nil,
		"2-person tent (kids')":  {"2", "person", "tent", "kids"},
		"version 3. Next, 4,":    {"version", "3", "next", "4"},
		"'quoted' \"words\" b2b": {"quoted", "words", "b2b"},
	} {
		if diff := cmp.Diff(want, Words(in)); diff != "" {
			t.Errorf("words(%q) (-want +got):\n%s", in, diff)
		}
	}
}

func TestKeysOfNamesAreEqual(t *testing.T) {
	for name, pair := range map[string][2]string{
		"spelling of colour": {NameKey("Color"), NameKey("colour")},
		"spelling of grey":   {NameKey("Gray"), NameKey("grey")},
		"EU size":            {OptionKey("size", "EU 42"), OptionKey("size", "42")},
		"size with its name": {OptionKey("size", "Size 42"), OptionKey("size", "42")},
		"decimal comma":      {OptionKey("size", "42,5"), OptionKey("size", "42.5")},
		"letter size":        {OptionKey("size", "Medium"), OptionKey("size", "m")},
		"id in brackets":     {IDKey("[SHOE-1]"), IDKey("shoe-1")},
		"id in punctuation":  {IDKey("(SHOE-1),"), IDKey("SHOE-1")},
		"id at an end":       {IDKey("SHOE-1."), IDKey("SHOE-1")},
		"id in markdown":     {IDKey("**`SHOE-1`**"), IDKey("SHOE-1")},
		"id in guillemets":   {IDKey("«SHOE-1»…"), IDKey("SHOE-1")},
		"id with dashes":     {IDKey("SHOE\u20111\u2013a"), IDKey("SHOE-1-A")},
		"id with hidden":     {IDKey("\u200bSHOE\u200b-1\ufeff"), IDKey("SHOE-1")},
		"id with hash":       {IDKey(" #\"SHOE-1\" "), IDKey("SHOE-1")},
	} {
		if pair[0] != pair[1] || pair[0] == "" {
			t.Errorf("%s: %q and %q differ", name, pair[0], pair[1])
		}
	}
}

// Updates, upserts and a deletion of the same products at once: none is lost, and none brings back what another has replaced.
func TestUpdatesAreAtomicBesideOtherWrites(t *testing.T) {
	rdb := servicetest.Redis(t)
	real, err := state.Open(t.Context(), redistest.Single(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = real.Close() })
	for name, s := range map[string]Store{"embedded": {Redis: rdb}, "real": {Redis: real}} {
		t.Run(name, func(t *testing.T) { updateConcurrently(t, s) })
	}
}

func updateConcurrently(t *testing.T, s Store) {
	const writers, rounds = 8, 25
	wide := catalogtest.Thing("P-1", "lamp")
	wide.Variants = nil
	for w := range writers {
		wide.Variants = append(wide.Variants, catalogtest.Variant(fmt.Sprint("v", w), 100, 0))
	}
	if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{wide, catalogtest.Thing("P-2", "lamp")}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds { // each has a variant of its own in the one product
				version, refused, err := s.Update(t.Context(), "s1", []*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", fmt.Sprint("v", w), int32(i+1))})
				if err != nil || len(refused) > 0 || version == 0 {
					t.Errorf("update: version %d, %v, %v", version, refused, err)
				}
			}
		})
	}
	wg.Go(func() { // of another product: new words, and updates between them that must not bring the old ones back
		for i := range rounds {
			title := fmt.Sprint("lamp ", i)
			if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing("P-2", title)}); err != nil {
				t.Error(err)
			}
			var got *catalogv1.Product
			if _, err := s.edit(t.Context(), "s1", []string{"P-2"}, func(_ string, p *catalogv1.Product) { got = p }); err != nil {
				t.Error(err)
			}
			if got.GetTitle() != title {
				t.Errorf("%q was brought back over %q", got.GetTitle(), title)
			}
		}
	})
	wg.Go(func() {
		for range 4 * rounds {
			if _, _, err := s.Update(t.Context(), "s1", []*catalogv1.VariantUpdate{catalogtest.Stocks("P-2", "std", rand.Int32())}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	all, err := s.Get(t.Context(), "s1", []string{"P-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range all[0].GetVariants() {
		if got.GetStock() != rounds {
			t.Errorf("%s has a stock of %d, want %d: an update was lost", got.GetVariantId(), got.GetStock(), rounds)
		}
	}
}

func TestUpdateOfADeletedProductIsRefused(t *testing.T) {
	s := Store{Redis: servicetest.Redis(t)}
	if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing("P-1", "lamp"), catalogtest.Thing("P-2", "lamp")}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	_, err := s.edit(t.Context(), "s1", []string{"P-1", "P-2"}, func(id string, p *catalogv1.Product) {
		if calls++; calls == 1 { // between the reading and the writing
			if _, err := s.Remove(t.Context(), "s1", "P-1"); err != nil {
				t.Error(err)
			}
		}
		if id == "P-1" && calls > 2 && p != nil {
			t.Errorf("the deleted product is %v", p)
		}
		if p != nil {
			p.Variants[0].Stock = 99
		}
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v; want 3: both, and the deleted one again", calls, err)
	}
	kept, err := s.Changes(t.Context(), "s1", Position{})
	if err != nil || len(kept.Put) != 1 || kept.Put[0].GetProductId() != "P-2" || kept.Put[0].GetVariants()[0].GetStock() != 99 {
		t.Errorf("kept %v, %v; want P-2 with a stock of 99", kept.Put, err)
	}
}

func TestUpdatesAreJudgedByTheProductThatTheyMeet(t *testing.T) {
	rdb := servicetest.Redis(t)
	s := Store{Redis: rdb}
	now := catalogtest.Thing("P-1", "new lamp")
	now.Variants = []*catalogv1.Variant{catalogtest.Variant("std", 100, 1), catalogtest.Variant("late", 100, 1)}
	if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing("P-1", "lamp")}); err != nil {
		t.Fatal(err)
	}
	meddled := false
	rdb.AddHook(catalogtest.CommandHook(func(command string) { // between the reading of the product and the writing
		if command != "pipeline of hmget" || meddled {
			return
		}
		meddled = true
		if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{now}); err != nil {
			t.Error(err)
		}
	}))
	_, refused, err := s.Update(t.Context(), "s1", []*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "late", 7), catalogtest.Stocks("P-1", "std", 8)})
	if err != nil || len(refused) > 0 {
		t.Errorf("refused %v, %v: the variant was there when the update was written", refused, err)
	}
	got, err := s.Changes(t.Context(), "s1", Position{})
	now.Variants[0].Stock, now.Variants[1].Stock = 8, 7
	ignore := protocmp.IgnoreFields(&catalogv1.Product{}, "update_time")
	if diff := cmp.Diff([]*catalogv1.Product{now}, got.Put, protocmp.Transform(), ignore); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestUpdatesOfManyProducts(t *testing.T) {
	s := Store{Redis: servicetest.Redis(t)}
	var products []*catalogv1.Product
	var updates []*catalogv1.VariantUpdate
	for i := range 2*readBatch + 1 {
		products = append(products, catalogtest.Thing(fmt.Sprint("P-", i), "lamp"))
		stock := int32(50)
		if i < readBatch { // of the first that are read nothing is different
			stock = 1
		}
		updates = append(updates, catalogtest.Stocks(fmt.Sprint("P-", i), "std", stock))
	}
	if _, err := s.Put(t.Context(), "s1", products); err != nil {
		t.Fatal(err)
	}
	if _, refused, err := s.Update(t.Context(), "s1", updates); err != nil || len(refused) > 0 {
		t.Fatalf("refused %v, %v", refused, err)
	}
	all, err := s.Changes(t.Context(), "s1", Position{})
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, p := range all.Put {
		if p.GetVariants()[0].GetStock() == 50 {
			changed++
		}
	}
	if changed != readBatch+1 {
		t.Errorf("%d products changed, want %d", changed, readBatch+1)
	}
}

func TestProductsSpreadOverSlots(t *testing.T) {
	slots := make(map[string]bool)
	for i := range 500 {
		keys := KeysOf("s1", fmt.Sprint("P-", i))
		tag := func(key string) string { return key[strings.Index(key, "{"):strings.Index(key, "}")] }
		if tag(keys.Products) != tag(keys.Version) || tag(keys.Products) != tag(keys.Changes) {
			t.Errorf("a script cannot touch the keys of one partition together: %v", keys)
		}
		slots[tag(keys.Products)] = true
	}
	if len(slots) != Partitions {
		t.Errorf("500 products are in %d slots, want %d", len(slots), Partitions)
	}
}

// On a Redis Cluster of several nodes, every write is seen by the next read, whatever partitions it touches.
func TestChangesInParts(t *testing.T) {
	s := Store{Redis: servicetest.Redis(t)}
	const n = 2*partSize + 1_000
	for i := range n / 1_000 {
		var some []*catalogv1.Product
		for j := range 1_000 {
			some = append(some, &catalogv1.Product{ProductId: fmt.Sprintf("P-%d-%d", i, j)})
		}
		if _, err := s.Put(t.Context(), "s1", some); err != nil {
			t.Fatal(err)
		}
	}
	seen, position, calls := make(map[string]bool), Position{}, 0
	for more := true; more; calls++ {
		var c Change
		var err error
		if c, more, err = s.NextChanges(t.Context(), "s1", position); err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Put {
			seen[p.GetProductId()] = true
		}
		if len(c.Put) > partSize+n/Partitions*2 || more && c.Position.Version != 0 {
			t.Errorf("%d products in a part, more %v, version %d", len(c.Put), more, c.Position.Version)
		}
		position = c.Position
		if calls == 0 { // what is written meanwhile is seen too
			if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{c.Put[0], {ProductId: "P-late"}}); err != nil {
				t.Fatal(err)
			}
			delete(seen, c.Put[0].GetProductId())
		}
	}
	version, err := s.Version(t.Context(), "s1")
	if len(seen) != n+1 || calls != 2 || position.Version != version || err != nil {
		t.Errorf("%d products in %d parts up to %d of %d, error %v; want %d in 2", len(seen), calls, position.Version, version, err, n+1)
	}
}

func TestWritesOnACluster(t *testing.T) {
	rdb, err := state.Open(t.Context(), redistest.Cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	s := Store{Redis: rdb}
	have, seen := make(map[string]string), Position{}
	follow := func(what string, products int) {
		t.Helper()
		c, err := s.Changes(t.Context(), "s1", seen)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range c.Gone(maps.Keys(have)) {
			delete(have, id)
		}
		for _, p := range c.Put {
			have[p.GetProductId()] = p.GetTitle()
		}
		if seen = c.Position; len(have) != products {
			t.Errorf("%s: %d products, want %d", what, len(have), products)
		}
	}
	var products []*catalogv1.Product
	for i := range 100 {
		products = append(products, catalogtest.Thing(fmt.Sprint("P-", i), "lamp"))
	}
	if _, err := s.Put(t.Context(), "s1", products); err != nil {
		t.Fatal(err)
	}
	follow("after a write", 100)
	if ok, err := s.Remove(t.Context(), "s1", "P-7"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	follow("after a deletion", 99)
	updates := []*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "std", 9), catalogtest.Stocks("P-2", "std", 9), catalogtest.Stocks("P-7", "std", 9)}
	if _, refused, err := s.Update(t.Context(), "s1", updates); err != nil || len(refused) != 1 {
		t.Errorf("refused %v, %v; want the update of the deleted product", refused, err)
	}
	follow("after an update", 99)
	got, err := s.Get(t.Context(), "s1", []string{"P-2", "P-7", "P-1"})
	if err != nil || got[1] != nil || got[0].GetVariants()[0].GetStock() != 9 || got[2].GetVariants()[0].GetStock() != 9 {
		t.Errorf("got %v, %v", got, err)
	}
}

// A writer may die between its partitions and the version of the store. Nobody was told that it wrote, but what it wrote must not
// stay hidden.
func TestAWriteThatBreaksOffIsSeenWithTheNext(t *testing.T) {
	s := Store{Redis: servicetest.Redis(t)}
	put := func(id string) {
		t.Helper()
		if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing(id, "lamp")}); err != nil {
			t.Fatal(err)
		}
	}
	put("P-1")
	first, err := s.Changes(t.Context(), "s1", Position{})
	if err != nil {
		t.Fatal(err)
	}
	put("P-2")
	if err := s.Redis.Set(t.Context(), VersionKey("s1"), first.Position.Version, 0).Err(); err != nil { // as if it had not come so far
		t.Fatal(err)
	}
	compared := first.Position
	compared.Version = -1
	if c, err := s.Changes(t.Context(), "s1", compared); err != nil || len(c.Put) != 1 || c.Put[0].GetProductId() != "P-2" {
		t.Errorf("a comparison finds %v, %v", c.Put, err)
	}
	put("P-3")
	if c, err := s.Changes(t.Context(), "s1", first.Position); err != nil || len(c.Put) != 2 {
		t.Errorf("after the next write there are %v, %v; want P-2 and P-3", c.Put, err)
	}
}

// Who repeats a write that broke off is told that it was made, so the next read must see it, although the second time changes nothing.
func TestAWriteThatBrokeOffIsSeenWhenItIsRepeated(t *testing.T) {
	stock := []*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "std", 7)}
	for name, write := range map[string]func(s Store) error{
		"update": func(s Store) error { _, _, err := s.Update(t.Context(), "s1", stock); return err },
		"remove": func(s Store) error { _, err := s.Remove(t.Context(), "s1", "P-1"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s := Store{Redis: servicetest.Redis(t)}
			if _, err := s.Put(t.Context(), "s1", []*catalogv1.Product{catalogtest.Thing("P-1", "lamp")}); err != nil {
				t.Fatal(err)
			}
			first, err := s.Changes(t.Context(), "s1", Position{})
			if err != nil {
				t.Fatal(err)
			}
			if err := write(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Redis.Set(t.Context(), VersionKey("s1"), first.Position.Version, 0).Err(); err != nil { // as if it had broken off
				t.Fatal(err)
			}
			if err := write(s); err != nil {
				t.Fatal(err)
			}
			if c, err := s.Changes(t.Context(), "s1", first.Position); err != nil || len(c.Put)+len(c.Removed) != 1 {
				t.Errorf("%d products are put and %d removed, %v; want 1 in all", len(c.Put), len(c.Removed), err)
			}
		})
	}
}

// A caller that leaves between the partitions and the version of the store must not hide what is written.
func TestTheVersionIsRaisedForACallerThatHasLeft(t *testing.T) {
	rdb := servicetest.Redis(t)
	s := Store{Redis: rdb}
	ctx, cancel := context.WithCancel(t.Context())
	rdb.AddHook(catalogtest.CommandHook(func(command string) {
		if command == "pipeline of eval" {
			cancel()
		}
	}))
	if _, err := s.Put(ctx, "s1", []*catalogv1.Product{catalogtest.Thing("P-1", "lamp")}); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Version(t.Context(), "s1"); v == 0 || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
}

func TestWritesThatFindNothingLeaveNothingBehind(t *testing.T) {
	s := Store{Redis: servicetest.Redis(t)}
	if ok, err := s.Remove(t.Context(), "made-up", "P-1"); ok || err != nil {
		t.Fatal(ok, err)
	}
	if v, refused, err := s.Update(t.Context(), "made-up", []*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "std", 7)}); v != 0 || len(refused) != 1 || err != nil {
		t.Fatal(v, refused, err)
	}
	if keys, err := s.Redis.Keys(t.Context(), "*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("keys %v, %v", keys, err)
	}
}
