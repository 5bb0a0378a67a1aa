package search

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// dial serves a new search service in memory and returns a connection to it.
func dial(t *testing.T, model agentloop.Model) *grpc.ClientConn {
	t.Helper()
	return backing{}.dial(t, model)
}

func (ix backing) dial(t *testing.T, model agentloop.Model) *grpc.ClientConn {
	t.Helper()
	return servicetest.Serve(t, "search", ix.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: model}}).Register)
}

func load(t *testing.T, conn *grpc.ClientConn, storeID string) catalogv1.CatalogServiceClient {
	t.Helper()
	c := catalogv1.NewCatalogServiceClient(conn)
	if _, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{StoreId: storeID, Products: outdoor()}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUpsertKeepsTheGoodAndNamesTheBad(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	bad := thing("P-2", "bad")
	bad.Variants[0].Price.CurrencyCode = "euro"
	resp, err := servicetest.Upsert(t, c.UpsertProducts,
		&catalogv1.UpsertProductsRequest{StoreId: "s1", Products: []*catalogv1.Product{thing("P-1", "one"), bad}},
		&catalogv1.UpsertProductsRequest{Products: []*catalogv1.Product{thing("P-3", "three"), {}}},
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
			_, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{Products: outdoor()})
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
				StoreId: "s1", Filter: &catalogv1.Filter{MinPrice: eur(2), MaxPrice: eur(1)},
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

func (ix backing) testSearchProducts(t *testing.T) {
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
		TotalCount: 2, MinPrice: eur(8995), MaxPrice: eur(11995), Legs: []string{"lexical"},
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

func (ix backing) testNothingFound(t *testing.T) {
	c := load(t, ix.dial(t, scripted.New()), "s1")
	for name, tc := range map[string]struct {
		req  *catalogv1.SearchProductsRequest
		want string
	}{
		"a filter excludes all": {
			&catalogv1.SearchProductsRequest{Query: "tents", Filter: &catalogv1.Filter{MaxPrice: eur(100), InStock: true}}, "max_price",
		},
		"no word matches": {&catalogv1.SearchProductsRequest{Query: "kayak", Filter: &catalogv1.Filter{InStock: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.req.StoreId = "s1"
			resp, err := c.SearchProducts(t.Context(), tc.req)
			if err != nil {
				t.Fatal(err)
			}
			want := &catalogv1.SearchProductsResponse{ExcludedMostBy: tc.want, Legs: []string{"lexical"}}
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
		p := thing(fmt.Sprintf("P-%d", i), fmt.Sprintf("thing number %d", i))
		p.Variants = sizes(1000, 36, 47)
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
		ctx := scope.NewContext(t.Context(), scope.Scope{StoreID: store})
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
		ProductId: "SHOE-2", Title: "Moorhen Dash trail running shoe", VariantId: "s42", Price: eur(8995), Stock: 3,
		Options: map[string]string{"size": "42", "colour": "slate"}, Reason: "matches trail, running, shoes",
	}}
	if diff := cmp.Diff(want, answer.GetProducts(), protocmp.Transform()); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	if calls := answer.GetToolCalls(); len(calls) != 1 || calls[0].GetError() != "" || calls[0].GetSummary() != "1 product" {
		t.Errorf("tool calls %v", calls)
	}
}
