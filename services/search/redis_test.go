package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// These tests run whole search services over one real Redis server, each with a connection of its own.

// serve starts a search service over the Redis at url.
func serve(t *testing.T, url string) catalogv1.CatalogServiceClient {
	t.Helper()
	rdb, err := state.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	service, err := New(Config{Deps: specialist.Deps{Redis: rdb, Model: scripted.New()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	return catalogv1.NewCatalogServiceClient(servicetest.Serve(t, "search", service.Register))
}

func upsert(t *testing.T, c catalogv1.CatalogServiceClient, products ...*catalogv1.Product) {
	t.Helper()
	resp, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{StoreId: "s1", Products: products})
	if err != nil || resp.GetErrorCount() > 0 {
		t.Fatal(resp, err)
	}
}

// inStock returns the ids of the lamps in stock, the cheapest first.
func inStock(t *testing.T, c catalogv1.CatalogServiceClient) []string {
	t.Helper()
	resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{
		StoreId: "s1", Query: "lamp", Filter: &catalogv1.Filter{InStock: true}, Sort: catalogv1.Sort_SORT_PRICE_ASCENDING,
	})
	if err != nil {
		t.Fatal(err)
	}
	return hitIDs(resp)
}

func costs(p *catalogv1.Product, minor int64) *catalogv1.Product {
	p.Variants[0].Price = catalogtest.Eur(minor)
	return p
}

func TestEveryServerSeesAWriteAtOnce(t *testing.T) {
	url := redistest.Single(t)
	a, b := serve(t, url), serve(t, url)
	everywhere := func(what string, want ...string) {
		t.Helper()
		indextest.Expect(t, what+", by the first", inStock(t, a), want...)
		indextest.Expect(t, what+", by the second", inStock(t, b), want...)
	}
	everywhere("nothing yet")
	upsert(t, a, costs(catalogtest.Thing("P-1", "green lamp"), 100), costs(catalogtest.Thing("P-2", "red lamp"), 200))
	everywhere("written by the first", "P-1", "P-2")
	upsert(t, b, costs(catalogtest.Thing("P-3", "blue lamp"), 50))
	everywhere("written by the second", "P-3", "P-1", "P-2")
	if _, err := servicetest.Upsert(t, b.UpdateVariants, &catalogv1.UpdateVariantsRequest{
		StoreId: "s1", Updates: []*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "std", 0), catalogtest.Priced("P-3", "std", catalogtest.Eur(500), nil)},
	}); err != nil {
		t.Fatal(err)
	}
	everywhere("one sold out, one dearer", "P-2", "P-3")
	if _, err := a.DeleteProduct(t.Context(), &catalogv1.DeleteProductRequest{StoreId: "s1", ProductId: "P-2"}); err != nil {
		t.Fatal(err)
	}
	everywhere("one deleted", "P-3")
	indextest.Expect(t, "by a server that starts late", inStock(t, serve(t, url)), "P-3")
}

func TestAServerBehindTheListOfChangesCatchesUp(t *testing.T) {
	url := redistest.Single(t)
	rdb, err := state.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	writer, reader := serve(t, url), serve(t, url)
	upsert(t, writer, costs(catalogtest.Thing("GONE", "lamp"), 1), costs(catalogtest.Thing("SAME", "lamp"), 2))
	indextest.Expect(t, "before", inStock(t, reader), "GONE", "SAME")
	if _, err := writer.DeleteProduct(t.Context(), &catalogv1.DeleteProductRequest{StoreId: "s1", ProductId: "GONE"}); err != nil {
		t.Fatal(err)
	}
	const rounds = catalog.ChangesKept/maxProductsABatch + 2
	keys := catalog.KeysOf("s1", "GONE")
	var ids []string // of the partition that has forgotten the deletion when they are written
	for i := 0; len(ids) < maxProductsABatch; i++ {
		if id := fmt.Sprint("P-", i); catalog.KeysOf("s1", id) == keys {
			ids = append(ids, id)
		}
	}
	for round := range rounds {
		var products []*catalogv1.Product
		for i := range maxProductsABatch {
			products = append(products, costs(catalogtest.Thing(ids[i], "chair"), int64(100*round+i)))
		}
		upsert(t, writer, products...)
	}
	if n, err := rdb.XLen(t.Context(), keys.Changes).Result(); err != nil || n >= rounds*maxProductsABatch {
		t.Fatalf("the list has %d changes, %v; it was to forget some", n, err)
	}
	indextest.Expect(t, "lamps after", inStock(t, reader), "SAME")
	resp, err := reader.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: "chair"})
	if err != nil || resp.GetTotalCount() != maxProductsABatch || resp.GetMinPrice().GetAmountMinor() != 100*(rounds-1) {
		t.Errorf("%d chairs from %v, %v", resp.GetTotalCount(), resp.GetMinPrice(), err)
	}
}

func TestServersOutliveARestartOfRedis(t *testing.T) {
	for name, args := range map[string][]string{
		"that keeps what was written": {"--save", "", "--appendonly", "yes", "--appendfsync", "always"},
		"that forgets everything":     redistest.InMemory,
	} {
		t.Run(name, func(t *testing.T) {
			addr := redistest.FreeAddr(t)
			args = append(args, "--dir", t.TempDir())
			kill := redistest.Start(t, addr, args...)
			a, b := serve(t, "redis://"+addr), serve(t, "redis://"+addr)
			upsert(t, a, costs(catalogtest.Thing("P-1", "green lamp"), 100), costs(catalogtest.Thing("P-2", "red lamp"), 200))
			indextest.Expect(t, "before", inStock(t, b), "P-1", "P-2")
			kill()
			_, err := b.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: "lamp"})
			if status.Code(err) != codes.Unavailable {
				t.Errorf("without Redis: %v, want Unavailable", err)
			}
			redistest.Start(t, addr, args...)
			forgot := args[3] == "no"
			redistest.Eventually(t, func() error { // connections come back
				resp, err := b.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: "lamp"})
				if n := len(resp.GetHits()); err == nil && (n == 0) != forgot {
					t.Errorf("%d lamps after the restart", n)
				}
				return err
			})
			redistest.Eventually(t, func() error {
				_, err := a.GetProduct(t.Context(), &catalogv1.GetProductRequest{StoreId: "s1", ProductId: "P-1"})
				if status.Code(err) == codes.NotFound {
					return nil
				}
				return err
			})
			upsert(t, a, costs(catalogtest.Thing("P-2", "red chair"), 200), costs(catalogtest.Thing("P-3", "blue lamp"), 300))
			want := []string{"P-1", "P-3"}
			if forgot {
				want = want[1:]
			}
			indextest.Expect(t, "after, by the first", inStock(t, a), want...)
			indextest.Expect(t, "after, by the second", inStock(t, b), want...)
		})
	}
}

// A whole catalog is replaced in many small writes, some of it deleted, while both servers are asked all the time: no question
// fails, and what is in the old and in the new catalog is never missed.
func TestReloadLosesNoQuery(t *testing.T) {
	const products, batch = 600, 5 // more writes than an index takes before it is renewed
	url := redistest.Single(t)
	servers := []catalogv1.CatalogServiceClient{serve(t, url), serve(t, url)}
	lamp := func(i int, words string) *catalogv1.Product {
		p := costs(catalogtest.Thing(fmt.Sprint("P-", i), fmt.Sprintf("kestrel%d %s", i, words)), int64(1000+i))
		p.Description = "Gives light."
		return p
	}
	goes := func(i int) bool { return i%10 == 9 }
	var old []*catalogv1.Product
	for i := range products {
		old = append(old, lamp(i, "garden lamp"))
	}
	upsert(t, servers[0], old...)

	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	asked := make(chan bool)
	for w := range 4 {
		c := servers[w%2]
		wg.Go(func() {
			for ctx.Err() == nil {
				i := rand.IntN(products)
				if goes(i) {
					continue
				}
				if err := finds(t.Context(), c, i, products); err != nil {
					t.Error(err)
				}
				select {
				case asked <- true:
				case <-ctx.Done():
				}
			}
		})
	}
	for from := 0; from < products; from += batch {
		var some []*catalogv1.Product
		for i := from; i < from+batch; i++ {
			if !goes(i) {
				some = append(some, lamp(i, "desk lamp"))
			} else if _, err := servers[1].DeleteProduct(t.Context(), &catalogv1.DeleteProductRequest{StoreId: "s1", ProductId: fmt.Sprint("P-", i)}); err != nil {
				t.Error(err)
			}
		}
		upsert(t, servers[0], some...)
		for range 4 {
			<-asked
		}
	}
	stop()
	wg.Wait()
	for _, c := range servers {
		for words, want := range map[string]int32{"garden": 0, "desk": products * 9 / 10} {
			resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: words})
			if err != nil || resp.GetTotalCount() != want {
				t.Errorf("%d products are %q, %v; want %d", resp.GetTotalCount(), words, err, want)
			}
		}
	}
}

// finds looks for lamp i by its own word, by its id and among all lamps.
func finds(ctx context.Context, c catalogv1.CatalogServiceClient, i, products int) error {
	id := fmt.Sprint("P-", i)
	one, err := c.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: "s1", Query: fmt.Sprint("kestrel", i)})
	if err != nil || len(one.GetHits()) == 0 || one.GetHits()[0].GetProduct().GetProductId() != id {
		return fmt.Errorf("search for %s: %v, %v", id, hitIDs(one), err)
	}
	if _, err := c.GetProduct(ctx, &catalogv1.GetProductRequest{StoreId: "s1", ProductId: id}); err != nil {
		return fmt.Errorf("get %s: %v", id, err)
	}
	all, err := c.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: "s1", Query: "lamp", Limit: 1})
	if n := int(all.GetTotalCount()); err != nil || n > products || n < products*9/10 {
		return fmt.Errorf("search for all lamps: %d, %v", n, err)
	}
	return nil
}
