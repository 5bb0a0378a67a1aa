package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func stocks(productID, variantID string, stock int32) *catalogv1.VariantUpdate {
	return &catalogv1.VariantUpdate{ProductId: productID, VariantId: variantID, Stock: &stock}
}

func priced(productID, variantID string, price, listPrice *commonv1.Money) *catalogv1.VariantUpdate {
	return &catalogv1.VariantUpdate{ProductId: productID, VariantId: variantID, Price: price, ListPrice: listPrice}
}

func usd(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "USD"}
}

// markedDown is a product of two variants, the second of which costs less than it did.
func markedDown() *catalogv1.Product {
	p := thing("P-1", "green lamp")
	p.Variants = []*catalogv1.Variant{variant("a", 1000, 1, "size", "S"), variant("b", 2000, 2, "size", "M")}
	p.Variants[1].ListPrice = eur(2500)
	return p
}

func TestUpdateVariantsChangesWhatIsSet(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	ends := &catalogv1.VariantUpdate{ProductId: "P-1", VariantId: "b", ClearListPrice: true}
	for name, tc := range map[string]struct {
		updates []*catalogv1.VariantUpdate
		want    func(p *catalogv1.Product)
		errors  []string // position, id and field
	}{
		"stock alone":       {[]*catalogv1.VariantUpdate{stocks("P-1", "b", 7)}, func(p *catalogv1.Product) { p.Variants[1].Stock = 7 }, nil},
		"sold out":          {[]*catalogv1.VariantUpdate{stocks("P-1", "a", 0)}, func(p *catalogv1.Product) { p.Variants[0].Stock = 0 }, nil},
		"price alone":       {[]*catalogv1.VariantUpdate{priced("P-1", "b", eur(1900), nil)}, func(p *catalogv1.Product) { p.Variants[1].Price = eur(1900) }, nil},
		"markdown alone":    {[]*catalogv1.VariantUpdate{priced("P-1", "a", nil, eur(1100))}, func(p *catalogv1.Product) { p.Variants[0].ListPrice = eur(1100) }, nil},
		"end of a markdown": {[]*catalogv1.VariantUpdate{ends}, func(p *catalogv1.Product) { p.Variants[1].ListPrice = nil }, nil},
		"several, of one product and in order": {
			[]*catalogv1.VariantUpdate{stocks("P-1", "a", 5), priced("P-1", "b", eur(2400), nil), stocks("P-1", "a", 6)},
			func(p *catalogv1.Product) { p.Variants[0].Stock, p.Variants[1].Price = 6, eur(2400) }, nil,
		},
		"the good beside the bad": {
			[]*catalogv1.VariantUpdate{
				stocks("P-9", "a", 1), stocks("P-1", "a", 5), stocks("P-1", "c", 1), stocks("p-1", "a", 1), {ProductId: "P-1", VariantId: "a"},
				stocks("P-1", "a", -1), stocks("", "a", 1), stocks("P-1", "", 1), stocks("P-1", "b", 8),
			},
			func(p *catalogv1.Product) { p.Variants[0].Stock, p.Variants[1].Stock = 5, 8 },
			[]string{
				"0 P-9/a product_id", "2 P-1/c variant_id", "3 p-1/a product_id", "4 P-1/a price", "5 P-1/a stock", "6 /a product_id",
				"7 P-1/ variant_id",
			},
		},
		"prices that can not be": {
			[]*catalogv1.VariantUpdate{
				priced("P-1", "b", eur(2500), nil), priced("P-1", "a", usd(1), nil), priced("P-1", "a", nil, eur(1000)),
				priced("P-1", "a", nil, usd(5000)), priced("P-1", "a", eur(-1), nil), priced("P-1", "a", &commonv1.Money{AmountMinor: 1}, nil),
				{ProductId: "P-1", VariantId: "b", ListPrice: eur(9000), ClearListPrice: true},
			},
			func(*catalogv1.Product) {},
			[]string{
				"0 P-1/b list_price.amount_minor", "1 P-1/a price.currency_code", "2 P-1/a list_price.amount_minor",
				"3 P-1/a list_price.currency_code", "4 P-1/a price.amount_minor", "5 P-1/a price.currency_code",
				"6 P-1/b clear_list_price",
			},
		},
		"what is refused leaves no part": {
			[]*catalogv1.VariantUpdate{{ProductId: "P-1", VariantId: "b", Price: eur(3000), Stock: proto.Int32(9)}},
			func(*catalogv1.Product) {}, []string{"0 P-1/b list_price.amount_minor"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{
				StoreId: "s1", Products: []*catalogv1.Product{markedDown()},
			}); err != nil {
				t.Fatal(err)
			}
			resp, err := servicetest.Upsert(t, c.UpdateVariants, &catalogv1.UpdateVariantsRequest{StoreId: "s1", Updates: tc.updates})
			if err != nil {
				t.Fatal(err)
			}
			if got := int(resp.GetUpdatedCount()); got != len(tc.updates)-len(tc.errors) || int(resp.GetErrorCount()) != len(tc.errors) {
				t.Errorf("%d updated and %d refused of %d", got, resp.GetErrorCount(), len(tc.updates))
			}
			var refused []string
			for _, e := range resp.GetErrors() {
				refused = append(refused, fmt.Sprintf("%d %s %s", e.GetIndex(), e.GetItemId(), e.GetField()))
			}
			if diff := cmp.Diff(tc.errors, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s\n%v", diff, resp.GetErrors())
			}
			want := markedDown()
			tc.want(want)
			got, err := c.GetProduct(t.Context(), &catalogv1.GetProductRequest{StoreId: "s1", ProductId: "P-1"})
			if err != nil {
				t.Fatal(err)
			}
			ignore := protocmp.IgnoreFields(&catalogv1.Product{}, "update_time")
			if diff := cmp.Diff(want, got.GetProduct(), protocmp.Transform(), ignore); diff != "" {
				t.Errorf("product (-want +got):\n%s", diff)
			}
		})
	}
}

func (ix backing) testUpdatesAreVersionedAndSearched(t *testing.T) {
	rdb := servicetest.Redis(t)
	writer, reader := ix.catalog(t, rdb), ix.catalog(t, rdb)
	version := put(t, writer, "s1", markedDown(), thing("P-2", "red lamp"))
	inStock := func() []string {
		var out []string
		err := reader.read(t.Context(), "s1", func(v *view) error {
			out = ids(t, v, "lamp", &catalogv1.Filter{InStock: true}, catalogv1.Sort_SORT_PRICE_ASCENDING)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	expect(t, "before", inStock(), "P-2", "P-1")
	update := func(above int64, updates ...*catalogv1.VariantUpdate) int64 {
		t.Helper()
		version, refused, err := writer.store.update(t.Context(), "s1", updates)
		if err != nil || len(refused) > 0 || version <= above {
			t.Errorf("version %d, refused %v, %v; want a version above %d", version, refused, err, above)
		}
		return version
	}
	version = update(version, stocks("P-2", "std", 0))
	expect(t, "sold out", inStock(), "P-1")
	if same := update(-1, stocks("P-2", "std", 0)); same != 0 {
		t.Errorf("an update that changes nothing made version %d, which replicas have to catch up with", same)
	}
	version = update(version, stocks("P-2", "std", 0), stocks("P-1", "b", 9), priced("P-1", "a", eur(1), nil))
	update(version, stocks("P-2", "std", 1))
	expect(t, "back, and dearer than the other now", inStock(), "P-1", "P-2")
}

// Updates, upserts and a deletion of the same products at once: none is lost, and none brings back what another has replaced.
func TestUpdatesAreAtomicBesideOtherWrites(t *testing.T) {
	rdb := servicetest.Redis(t)
	server, err := state.Open(t.Context(), redistest.Single(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for name, s := range map[string]store{"embedded": {rdb: rdb}, "real": {rdb: server}} {
		t.Run(name, func(t *testing.T) { hammer(t, s) })
	}
}

func hammer(t *testing.T, s store) {
	const writers, rounds = 8, 25
	wide := thing("P-1", "lamp")
	wide.Variants = nil
	for w := range writers {
		wide.Variants = append(wide.Variants, variant(fmt.Sprint("v", w), 100, 0))
	}
	c := testCatalog(t, s.rdb)
	put(t, c, "s1", wide, thing("P-2", "lamp"))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds { // each has a variant of its own in the one product
				version, refused, err := s.update(t.Context(), "s1", []*catalogv1.VariantUpdate{stocks("P-1", fmt.Sprint("v", w), int32(i+1))})
				if err != nil || len(refused) > 0 || version == 0 {
					t.Errorf("update: version %d, %v, %v", version, refused, err)
				}
			}
		})
	}
	wg.Go(func() { // of another product: new words, and updates between them that must not bring the old ones back
		for i := range rounds {
			title := fmt.Sprint("lamp ", i)
			if _, err := s.put(t.Context(), "s1", []*catalogv1.Product{thing("P-2", title)}); err != nil {
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
			if _, _, err := s.update(t.Context(), "s1", []*catalogv1.VariantUpdate{stocks("P-2", "std", rand.Int32())}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	err := c.read(t.Context(), "s1", func(v *view) error {
		for _, got := range v.find("P-1").product.GetVariants() {
			if got.GetStock() != rounds {
				t.Errorf("%s has a stock of %d, want %d: an update was lost", got.GetVariantId(), got.GetStock(), rounds)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUpdateOfADeletedProductIsRefused(t *testing.T) {
	s := store{rdb: servicetest.Redis(t)}
	if _, err := s.put(t.Context(), "s1", []*catalogv1.Product{thing("P-1", "lamp"), thing("P-2", "lamp")}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	_, err := s.edit(t.Context(), "s1", []string{"P-1", "P-2"}, func(id string, p *catalogv1.Product) {
		if calls++; calls == 1 { // between the reading and the writing
			if _, err := s.remove(t.Context(), "s1", "P-1"); err != nil {
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
	kept, err := s.load(t.Context(), "s1")
	if err != nil || len(kept.put) != 1 || kept.put[0].GetProductId() != "P-2" || kept.put[0].GetVariants()[0].GetStock() != 99 {
		t.Errorf("kept %v, %v; want P-2 with a stock of 99", kept.put, err)
	}
}

// meddler is called after each command.
type meddler func(command string)

func (m meddler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (m meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		m(cmd.Name())
		return err
	}
}

func TestUpdatesAreJudgedByTheProductThatTheyMeet(t *testing.T) {
	rdb := servicetest.Redis(t)
	s := store{rdb: rdb}
	now := thing("P-1", "new lamp")
	now.Variants = []*catalogv1.Variant{variant("std", 100, 1), variant("late", 100, 1)}
	if _, err := s.put(t.Context(), "s1", []*catalogv1.Product{thing("P-1", "lamp")}); err != nil {
		t.Fatal(err)
	}
	meddled := false
	rdb.AddHook(meddler(func(command string) { // between the reading of the product and the writing
		if command != "hmget" || meddled {
			return
		}
		meddled = true
		if _, err := s.put(t.Context(), "s1", []*catalogv1.Product{now}); err != nil {
			t.Error(err)
		}
	}))
	_, refused, err := s.update(t.Context(), "s1", []*catalogv1.VariantUpdate{stocks("P-1", "late", 7), stocks("P-1", "std", 8)})
	if err != nil || len(refused) > 0 {
		t.Errorf("refused %v, %v: the variant was there when the update was written", refused, err)
	}
	got, err := s.load(t.Context(), "s1")
	now.Variants[0].Stock, now.Variants[1].Stock = 8, 7
	ignore := protocmp.IgnoreFields(&catalogv1.Product{}, "update_time")
	if diff := cmp.Diff([]*catalogv1.Product{now}, got.put, protocmp.Transform(), ignore); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestUpdatesOfManyProducts(t *testing.T) {
	s := store{rdb: servicetest.Redis(t)}
	var products []*catalogv1.Product
	var updates []*catalogv1.VariantUpdate
	for i := range 2*readBatch + 1 {
		products = append(products, thing(fmt.Sprint("P-", i), "lamp"))
		stock := int32(50)
		if i < readBatch { // of the first that are read nothing is different
			stock = 1
		}
		updates = append(updates, stocks(fmt.Sprint("P-", i), "std", stock))
	}
	if _, err := s.put(t.Context(), "s1", products); err != nil {
		t.Fatal(err)
	}
	if _, refused, err := s.update(t.Context(), "s1", updates); err != nil || len(refused) > 0 {
		t.Fatalf("refused %v, %v", refused, err)
	}
	all, err := s.load(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, p := range all.put {
		if p.GetVariants()[0].GetStock() == 50 {
			changed++
		}
	}
	if changed != readBatch+1 {
		t.Errorf("%d products changed, want %d", changed, readBatch+1)
	}
}

// countingEmbedder counts the texts that it was given.
type countingEmbedder struct{ texts atomic.Int64 }

func (e *countingEmbedder) Query(context.Context, string) (embed.Vector, error) {
	return embed.Vector{1}, nil
}

func (e *countingEmbedder) Documents(_ context.Context, texts []string) ([]embed.Vector, error) {
	e.texts.Add(int64(len(texts)))
	return slices.Repeat([]embed.Vector{{1}}, len(texts)), nil
}

func TestUpdatesMakeNoVectors(t *testing.T) {
	embedder := new(countingEmbedder)
	s, err := New(Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}, Embedder: embedder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	put(t, s.catalog, "s1", thing("P-1", "green lamp"), thing("P-2", "red lamp"))
	embedded := func(n int64) func(*catalogv1.SearchProductsResponse) bool {
		return func(*catalogv1.SearchProductsResponse) bool { return embedder.texts.Load() == n }
	}
	await(t, s, "lamp", embedded(2))
	updates := []*catalogv1.VariantUpdate{stocks("P-1", "std", 9), priced("P-2", "std", eur(1), nil)}
	if _, refused, err := s.catalog.store.update(t.Context(), "s1", updates); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	put(t, s.catalog, "s1", thing("P-3", "blue lamp")) // which does need one
	await(t, s, "lamp", embedded(3))
}
