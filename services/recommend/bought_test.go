package recommend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// fakeOrders answers as list says and keeps the requests.
type fakeOrders struct {
	list     func(context.Context) error
	requests []*orderv1.ListCoPurchasesRequest
}

func (f *fakeOrders) ListCoPurchases(
	ctx context.Context, req *orderv1.ListCoPurchasesRequest, _ ...grpc.CallOption,
) (*orderv1.ListCoPurchasesResponse, error) {
	f.requests = append(f.requests, req)
	if f.list != nil {
		if err := f.list(ctx); err != nil {
			return nil, err
		}
	}
	return &orderv1.ListCoPurchasesResponse{CoPurchases: []*orderv1.CoPurchase{
		{ProductId: "WAX-1", WithProductId: req.GetProductIds()[0]}, {ProductId: "MUG-1", WithProductId: req.GetProductIds()[0]},
	}}, nil
}

// companyOf runs similar_products for a shopper with the cart and returns what the catalog was asked.
func companyOf(ctx context.Context, t *testing.T, orders *fakeOrders, arguments string, cart ...string) *catalogv1.FindSimilarProductsRequest {
	t.Helper()
	catalog := newFakeCatalog()
	service := &Service{catalog: catalog, orders: orders, logger: slog.New(slog.DiscardHandler)}
	held := &cartv1.Cart{}
	for _, id := range cart {
		held.Items = append(held.Items, &cartv1.CartItem{ProductId: id, Quantity: 1, Available: true})
	}
	tools := service.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1", Reads: scope.Reads()}, Findings: &specialist.Findings{}, Cart: held})
	if _, err := servicetest.Run[similarResult](ctx, t, tools, "similar_products", arguments); err != nil {
		t.Fatal(err)
	}
	if len(catalog.similar) == 0 {
		return nil
	}
	return catalog.similar[0]
}

func TestWhatWasBoughtTogetherIsKnownToTheCatalog(t *testing.T) {
	orders := &fakeOrders{}
	got := companyOf(t.Context(), t, orders, `{"relation":"complement"}`, "BOOT-1", "SOCK-1").GetKnownComplements()
	want := []*catalogv1.KnownComplement{
		{ProductId: "WAX-1", WithProductId: "BOOT-1", Relation: "often bought with"},
		{ProductId: "MUG-1", WithProductId: "BOOT-1", Relation: "often bought with"},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("known complements (-want +got):\n%s", diff)
	}
	ask := &orderv1.ListCoPurchasesRequest{StoreId: "s1", ProductIds: []string{"BOOT-1", "SOCK-1"}, Limit: maxCoPurchases}
	if diff := cmp.Diff([]*orderv1.ListCoPurchasesRequest{ask}, orders.requests, protocmp.Transform()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for name, arguments := range map[string]string{"an alternative": `{"relation":"alternative"}`, "a query": `{"query":"mug","product_ids":["nope"]}`} {
		orders := &fakeOrders{}
		if companyOf(t.Context(), t, orders, arguments, "BOOT-1"); len(orders.requests) > 0 {
			t.Errorf("%s: orders were counted for it", name)
		}
	}
	var large []string
	for i := range 30 {
		large = append(large, fmt.Sprintf("P-%d", i))
	}
	companyOf(t.Context(), t, orders, `{}`, large...)
	if last := orders.requests[len(orders.requests)-1].GetProductIds(); !slices.Equal(last, large[20:]) {
		t.Errorf("of a large cart %v", last)
	}
}

func TestRecommendationsGoWithoutOrders(t *testing.T) {
	for name, tt := range map[string]struct {
		list func(context.Context) error
		took time.Duration
	}{
		"support is down": {func(context.Context) error { return errors.New("down") }, 0},
		"support hangs":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, maxCoPurchaseTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begun := time.Now()
				if got := companyOf(ctx, t, &fakeOrders{list: tt.list}, `{}`, "BOOT-1"); got == nil || len(got.GetKnownComplements()) > 0 {
					t.Errorf("the catalog was asked %v", got)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}
