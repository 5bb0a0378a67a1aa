package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

func TestUpdateVariantsChangesWhatIsSet(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	ends := &catalogv1.VariantUpdate{ProductId: "P-1", VariantId: "b", ClearListPrice: true}
	for name, tc := range map[string]struct {
		updates []*catalogv1.VariantUpdate
		want    func(p *catalogv1.Product)
		errors  []string // position, id and field
	}{
		"stock alone":       {[]*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "b", 7)}, func(p *catalogv1.Product) { p.Variants[1].Stock = 7 }, nil},
		"sold out":          {[]*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "a", 0)}, func(p *catalogv1.Product) { p.Variants[0].Stock = 0 }, nil},
		"price alone":       {[]*catalogv1.VariantUpdate{catalogtest.Priced("P-1", "b", catalogtest.Eur(1900), nil)}, func(p *catalogv1.Product) { p.Variants[1].Price = catalogtest.Eur(1900) }, nil},
		"markdown alone":    {[]*catalogv1.VariantUpdate{catalogtest.Priced("P-1", "a", nil, catalogtest.Eur(1100))}, func(p *catalogv1.Product) { p.Variants[0].ListPrice = catalogtest.Eur(1100) }, nil},
		"end of a markdown": {[]*catalogv1.VariantUpdate{ends}, func(p *catalogv1.Product) { p.Variants[1].ListPrice = nil }, nil},
		"several, of one product and in order": {
			[]*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "a", 5), catalogtest.Priced("P-1", "b", catalogtest.Eur(2400), nil), catalogtest.Stocks("P-1", "a", 6)},
			func(p *catalogv1.Product) { p.Variants[0].Stock, p.Variants[1].Price = 6, catalogtest.Eur(2400) }, nil,
		},
		"the good beside the bad": {
			[]*catalogv1.VariantUpdate{
				catalogtest.Stocks("P-9", "a", 1), catalogtest.Stocks("P-1", "a", 5), catalogtest.Stocks("P-1", "c", 1), catalogtest.Stocks("p-1", "a", 1), {ProductId: "P-1", VariantId: "a"},
				catalogtest.Stocks("P-1", "a", -1), catalogtest.Stocks("", "a", 1), catalogtest.Stocks("P-1", "", 1), catalogtest.Stocks("P-1", "b", 8),
			},
			func(p *catalogv1.Product) { p.Variants[0].Stock, p.Variants[1].Stock = 5, 8 },
			[]string{
				"0 P-9/a product_id", "2 P-1/c variant_id", "3 p-1/a product_id", "4 P-1/a price", "5 P-1/a stock", "6 /a product_id",
				"7 P-1/ variant_id",
			},
		},
		"prices that cannot be": {
			[]*catalogv1.VariantUpdate{
				catalogtest.Priced("P-1", "b", catalogtest.Eur(2500), nil), catalogtest.Priced("P-1", "a", catalogtest.Usd(1), nil), catalogtest.Priced("P-1", "a", nil, catalogtest.Eur(1000)),
				catalogtest.Priced("P-1", "a", nil, catalogtest.Usd(5000)), catalogtest.Priced("P-1", "a", catalogtest.Eur(-1), nil), catalogtest.Priced("P-1", "a", &commonv1.Money{AmountMinor: 1}, nil),
				{ProductId: "P-1", VariantId: "b", ListPrice: catalogtest.Eur(9000), ClearListPrice: true},
			},
			func(*catalogv1.Product) {},
			[]string{
				"0 P-1/b list_price.amount_minor", "1 P-1/a price.currency_code", "2 P-1/a list_price.amount_minor",
				"3 P-1/a list_price.currency_code", "4 P-1/a price.amount_minor", "5 P-1/a price.currency_code",
				"6 P-1/b clear_list_price",
			},
		},
		"what is refused leaves no part": {
			[]*catalogv1.VariantUpdate{{ProductId: "P-1", VariantId: "b", Price: catalogtest.Eur(3000), Stock: proto.Int32(9)}},
			func(*catalogv1.Product) {}, []string{"0 P-1/b list_price.amount_minor"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{
				StoreId: "s1", Products: []*catalogv1.Product{catalogtest.MarkedDown()},
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
			want := catalogtest.MarkedDown()
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

func TestUpdatesMakeNoVectors(t *testing.T) {
	embedder := new(indextest.CountingEmbedder)
	s, err := New(Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}, Settings: Settings{Embedder: embedder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	indextest.Put(t, s.store, "s1", catalogtest.Thing("P-1", "green lamp"), catalogtest.Thing("P-2", "red lamp"))
	embedded := func(n int64) func(*catalogv1.SearchProductsResponse) bool {
		return func(*catalogv1.SearchProductsResponse) bool { return embedder.Texts.Load() == n }
	}
	await(t, s, "lamp", embedded(2))
	updates := []*catalogv1.VariantUpdate{catalogtest.Stocks("P-1", "std", 9), catalogtest.Priced("P-2", "std", catalogtest.Eur(1), nil)}
	if _, refused, err := s.store.Update(t.Context(), "s1", updates); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	indextest.Put(t, s.store, "s1", catalogtest.Thing("P-3", "blue lamp")) // which does need one
	await(t, s, "lamp", embedded(3))
}

// dial serves a new search service in memory and returns a connection to it.
func dial(t *testing.T, model agentloop.Model) *grpc.ClientConn {
	t.Helper()
	return backendUnderTest{}.dial(t, model)
}

func (ix backendUnderTest) dial(t *testing.T, model agentloop.Model) *grpc.ClientConn {
	t.Helper()
	return servicetest.Serve(t, "search", ix.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: model}}).Register)
}

func load(t *testing.T, conn *grpc.ClientConn, storeID string) catalogv1.CatalogServiceClient {
	t.Helper()
	c := catalogv1.NewCatalogServiceClient(conn)
	if _, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{StoreId: storeID, Products: catalogtest.Outdoor()}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUpsertKeepsTheGoodAndNamesTheBad(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	bad := catalogtest.Thing("P-2", "bad")
	bad.Variants[0].Price.CurrencyCode = "euro"
	resp, err := servicetest.Upsert(t, c.UpsertProducts,
		&catalogv1.UpsertProductsRequest{StoreId: "s1", Products: []*catalogv1.Product{catalogtest.Thing("P-1", "one"), bad}},
		&catalogv1.UpsertProductsRequest{Products: []*catalogv1.Product{catalogtest.Thing("P-3", "three"), {}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := &catalogv1.UpsertProductsResponse{
		UpsertedCount: 2, ErrorCount: 2,
		Errors: []*commonv1.ItemError{
			{Index: 1, ItemId: "P-2", Field: "variants[0].price.currency_code"},
			{Index: 3, Field: "product_id"},
		},
	}
	ignore := []cmp.Option{
		protocmp.Transform(), protocmp.IgnoreFields(&commonv1.ItemError{}, "description"),
		protocmp.IgnoreFields(&catalogv1.UpsertProductsResponse{}, "catalog_version"),
	}
	if diff := cmp.Diff(want, resp, ignore...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := c.BatchGetProducts(t.Context(), &catalogv1.BatchGetProductsRequest{
		StoreId: "s1", ProductIds: []string{"[p-3]", "P-2", "P-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.GetProducts()) != 2 || got.GetProducts()[0].GetProductId() != "P-3" ||
		!cmp.Equal(got.GetMissingProductIds(), []string{"P-2"}) {
		t.Errorf("got %v", got)
	}
	if age := time.Since(got.GetProducts()[0].GetUpdateTime().AsTime()); age < 0 || age > time.Minute {
		t.Errorf("update_time is %v old", age)
	}
}

func TestBadRequests(t *testing.T) {
	c := load(t, dial(t, scripted.New()), "s1")
	ctx := t.Context()
	for name, c := range map[string]struct {
		call func() error
		want codes.Code
	}{
		"upsert without a store": {func() error {
			_, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{Products: catalogtest.Outdoor()})
			return err
		}, codes.InvalidArgument},
		"upsert of nothing": {func() error { _, err := servicetest.Upsert(t, c.UpsertProducts); return err }, codes.InvalidArgument},
		"upsert that changes the store": {func() error {
			_, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{StoreId: "s1"}, &catalogv1.UpsertProductsRequest{StoreId: "s2"})
			return err
		}, codes.InvalidArgument},
		"get without a store": {func() error {
			_, err := c.GetProduct(ctx, &catalogv1.GetProductRequest{ProductId: "SHOE-1"})
			return err
		}, codes.InvalidArgument},
		"get of an unknown product": {func() error {
			_, err := c.GetProduct(ctx, &catalogv1.GetProductRequest{StoreId: "s1", ProductId: "NOPE"})
			return err
		}, codes.NotFound},
		"get from another store": {func() error {
			_, err := c.GetProduct(ctx, &catalogv1.GetProductRequest{StoreId: "s2", ProductId: "SHOE-1"})
			return err
		}, codes.NotFound},
		"search without a store": {func() error {
			_, err := c.SearchProducts(ctx, &catalogv1.SearchProductsRequest{Query: "shoe"})
			return err
		}, codes.InvalidArgument},
		"search with too high a limit": {func() error {
			_, err := c.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: "s1", Limit: 101})
			return err
		}, codes.InvalidArgument},
		"search with prices swapped": {func() error {
			_, err := c.SearchProducts(ctx, &catalogv1.SearchProductsRequest{
				StoreId: "s1", Filter: &catalogv1.Filter{MinPrice: catalogtest.Eur(2), MaxPrice: catalogtest.Eur(1)},
			})
			return err
		}, codes.InvalidArgument},
		"similar to nothing": {func() error {
			_, err := c.FindSimilarProducts(ctx, &catalogv1.FindSimilarProductsRequest{StoreId: "s1"})
			return err
		}, codes.InvalidArgument},
		"delete without an id": {func() error {
			_, err := c.DeleteProduct(ctx, &catalogv1.DeleteProductRequest{StoreId: "s1"})
			return err
		}, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			if got := status.Code(c.call()); got != c.want {
				t.Errorf("code %v, want %v", got, c.want)
			}
		})
	}
}

func (ix backendUnderTest) testSearchProducts(t *testing.T) {
	c := load(t, ix.dial(t, scripted.New()), "s1")
	resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{
		StoreId: "s1", Query: "trail running shoes", Limit: 1, Filter: &catalogv1.Filter{Options: map[string]string{"size": "40"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &catalogv1.SearchProductsResponse{
		Hits: []*catalogv1.Hit{{
			Product:           &catalogv1.Product{ProductId: "SHOE-2"},
			MatchedVariantIds: []string{"s40"}, Reason: "matches trail, running, shoes",
		}},
		TotalCount: 2, MinPrice: catalogtest.Eur(8995), MaxPrice: catalogtest.Eur(11995), Legs: []string{"lexical"},
		NextPageToken: pagetoken.New("1"), Languages: []string{"en"},
		Facets: []*catalogv1.Facet{
			{Name: "category", Value: "Trail running shoes", Count: 2},
			{Name: "brand", Value: "Kestrel", Count: 1}, {Name: "brand", Value: "Moorhen", Count: 1},
		},
	}
	for _, h := range resp.GetHits() {
		if h.GetScore() <= 0 {
			t.Errorf("score %v", h.GetScore())
		}
		h.Score, h.Product = 0, &catalogv1.Product{ProductId: h.GetProduct().GetProductId()}
	}
	// The two shoes are equally relevant but for their length; which is first does not matter here.
	want.Hits[0].Product = resp.GetHits()[0].GetProduct()
	if diff := cmp.Diff(want, resp, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func (ix backendUnderTest) testIDsComeFirst(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(ix.dial(t, scripted.New()))
	sku := func(id, title string, variants ...*catalogv1.Variant) *catalogv1.Product {
		p := catalogtest.Thing(id, title)
		p.Variants = variants
		return p
	}
	put(t, c, "s1",
		sku("KR-100", "blue kettle", catalogtest.Variant("KR-100-BLUE", 100, 1), catalogtest.Variant("4006381333931", 90, 2)),
		sku("KR-200", "red kettle", catalogtest.Variant("KR-200-RED", 50, 1), catalogtest.Variant("std-1", 50, 0)),
		sku("lamp", "reading light", catalogtest.Variant("std-1", 70, 1)),
		sku("LL-1", "garden lamp", catalogtest.Variant("LL-1", 80, 1)),
		sku("KR-100X", "lid for the KR 100 kettle", catalogtest.Variant("std-2", 5, 1)),
	)
	for query, want := range map[string]struct {
		id      string // of the first hit; empty: there is none
		variant string // the one that matched; empty: not that of the query
	}{
		"KR-100":             {"KR-100", ""},
		"[kr-100]":           {"KR-100", ""},
		"product id: KR-200": {"KR-200", ""},
		"lamp":               {"lamp", ""},
		"kr-100-blue":        {"KR-100", "KR-100-BLUE"},
		"4006381333931":      {"KR-100", "4006381333931"},
		"SKU KR-200-RED":     {"KR-200", "KR-200-RED"},
		"std-1":              {"", ""}, // several products have it
		"4006381333932":      {"", ""},
	} {
		resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: query})
		if err != nil {
			t.Fatal(err)
		}
		hits := slices.DeleteFunc(resp.GetHits(), (*catalogv1.Hit).GetPartial)
		if want.id == "" {
			if len(hits) > 0 || resp.GetTotalCount() > 0 {
				t.Errorf("%s: %v", query, hits)
			}
			continue
		}
		if len(hits) == 0 || hits[0].GetProduct().GetProductId() != want.id || int(resp.GetTotalCount()) < len(hits) || hits[0].GetScore() <= 0 {
			t.Errorf("%s: %d hits of %d, %v", query, len(hits), resp.GetTotalCount(), hits)
			continue
		}
		if want.variant != "" && !slices.Equal(hits[0].GetMatchedVariantIds(), []string{want.variant}) {
			t.Errorf("%s: variants %v", query, hits[0].GetMatchedVariantIds())
		}
		if i := slices.IndexFunc(hits[1:], func(h *catalogv1.Hit) bool { return h.GetProduct().GetProductId() == want.id }); i >= 0 {
			t.Errorf("%s: the product comes twice", query)
		}
	}
	resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{
		StoreId: "s1", Query: "KR-100", Filter: &catalogv1.Filter{MaxPrice: catalogtest.Eur(80)},
	})
	if err != nil || len(resp.GetHits()) > 0 && resp.GetHits()[0].GetProduct().GetProductId() == "KR-100" {
		t.Errorf("a product that the filter excludes: %v, %v", resp.GetHits(), err)
	}
	// The index follows what is written: of the two that had the variant one is left, and another loses its own.
	if _, err := c.DeleteProduct(t.Context(), &catalogv1.DeleteProductRequest{StoreId: "s1", ProductId: "lamp"}); err != nil {
		t.Fatal(err)
	}
	put(t, c, "s1", sku("KR-100", "blue kettle", catalogtest.Variant("KR-100-GREEN", 100, 1)))
	for query, want := range map[string]string{"std-1": "KR-200", "4006381333931": "", "KR-100-green": "KR-100"} {
		resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: query, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if hits := slices.DeleteFunc(resp.GetHits(), (*catalogv1.Hit).GetPartial); len(hits) > 0 && resp.GetTotalCount() > 0 {
			got = hits[0].GetProduct().GetProductId()
		}
		if want != got {
			t.Errorf("after the writes, %s finds %q, want %q", query, got, want)
		}
	}
}

func (ix backendUnderTest) testNothingFound(t *testing.T) {
	c := load(t, ix.dial(t, scripted.New()), "s1")
	for name, tc := range map[string]struct {
		req  *catalogv1.SearchProductsRequest
		want string
	}{
		"a filter excludes all": {
			&catalogv1.SearchProductsRequest{Query: "tents", Filter: &catalogv1.Filter{MaxPrice: catalogtest.Eur(100), InStock: true}}, "max_price",
		},
		"no word matches": {&catalogv1.SearchProductsRequest{Query: "kayak", Filter: &catalogv1.Filter{InStock: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.req.StoreId = "s1"
			resp, err := c.SearchProducts(t.Context(), tc.req)
			if err != nil {
				t.Fatal(err)
			}
			want := &catalogv1.SearchProductsResponse{ExcludedMostBy: tc.want, Legs: []string{"lexical"}, Languages: []string{"en"}}
			if diff := cmp.Diff(want, resp, protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBulkLoadIsFast(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	var products []*catalogv1.Product
	for i := range 1000 {
		p := catalogtest.Thing(fmt.Sprintf("P-%d", i), fmt.Sprintf("thing number %d", i))
		p.Variants = catalogtest.Sizes(1000, 36, 47)
		products = append(products, p)
	}
	begun := time.Now()
	if _, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{StoreId: "s1", Products: products}); err != nil {
		t.Fatal(err)
	}
	resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: "thing"})
	if err != nil || resp.GetTotalCount() != 1000 {
		t.Fatalf("total %d, %v", resp.GetTotalCount(), err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("1000 products took %v", took)
	}
}

func TestDescribe(t *testing.T) {
	conn := dial(t, scripted.New())
	load(t, conn, "s1")
	c := specialistv1.NewSpecialistServiceClient(conn)
	for store, available := range map[string]bool{"s1": true, "s2": false} {
		ctx := servicetest.Context(t, conn, scope.Scope{StoreID: store})
		resp, err := c.Describe(ctx, &specialistv1.DescribeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		s := resp.GetSpecialist()
		if s.GetName() != "search" || s.GetAvailable() != available || (s.GetUnavailableReason() == "") != available {
			t.Errorf("store %s: %s available %v, reason %q", store, s.GetName(), s.GetAvailable(), s.GetUnavailableReason())
		}
		if n := len(s.GetKeywords()); n < 40 || n > 120 {
			t.Errorf("%d keywords", n)
		}
	}
}

// Several wishes are several calls, each answered.
func TestAnAnswerHasTheProductsOfEveryWish(t *testing.T) {
	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{
			{Name: "search_catalog", Arguments: `{"query":"trail running shoes","options":{"size":"42"}}`},
			{Name: "search_catalog", Arguments: `{"query":"tent","sort":"price_low_to_high"}`},
		}},
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "search_catalog", Arguments: `{"query":"headlamp","in_stock":false}`}}},
		scripted.Step{Text: "The Moorhen Dash trail running shoe, the Heronry Vale 2 tent, and the Glowworm 300 headlamp."},
	)
	conn := dial(t, model)
	load(t, conn, "s1")
	answer := servicetest.Answer(t, conn, scope.Scope{StoreID: "s1"}, "trail running shoes in 42, the cheapest tent, and a headlamp?")
	var ids []string
	for _, p := range answer.GetProducts() {
		ids = append(ids, p.GetProductId())
	}
	slices.Sort(ids)
	if want := []string{"LAMP-1", "SHOE-2", "TENT-1"}; !slices.Equal(ids, want) {
		t.Errorf("products %v, want %v", ids, want)
	}
	if calls := answer.GetToolCalls(); len(calls) != 3 || answer.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_STOP {
		t.Errorf("%d calls, finish reason %v", len(calls), answer.GetFinishReason())
	}
	if !strings.Contains(model.Requests()[0].Messages[0].Text, "once for each wish, in one step. Answer each") {
		t.Error("the prompt does not say how to answer several wishes")
	}
}

func TestAnswer(t *testing.T) {
	conn := dial(t, scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{
			Name: "search_catalog", Arguments: `{"query":"trail running shoes","options":{"size":42},"max_price":100}`,
		}}},
		scripted.Step{Text: "The Moorhen Dash trail running shoe is in stock in 42 for 89.95 EUR."},
	))
	load(t, conn, "s1")
	answer := servicetest.Answer(t, conn, scope.Scope{StoreID: "s1"}, "trail running shoes in 42 under 100?")
	want := []*specialistv1.ProductChoice{{
		ProductId: "SHOE-2", Title: "Moorhen Dash trail running shoe", Brand: "Moorhen", VariantId: "s42", Price: catalogtest.Eur(8995), Stock: 3,
		Options: map[string]string{"size": "42", "colour": "slate"}, Tags: []string{"trail running", "light"},
	}}
	if diff := cmp.Diff(want, answer.GetProducts(), protocmp.Transform()); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	if calls := answer.GetToolCalls(); len(calls) != 1 || calls[0].GetError() != "" || calls[0].GetSummary() != "1 product" {
		t.Errorf("tool calls %v", calls)
	}
}
