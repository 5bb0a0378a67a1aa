package carts

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func TestCartsSpreadOverACluster(t *testing.T) {
	tag := func(key string) string { return key[:strings.Index(key, "}")] }
	if tag(cartKey("one", "c1")) == tag(cartKey("one", "c2")) {
		t.Errorf("two carts have the tag %s", tag(cartKey("one", "c1")))
	}
}

// lamps is a catalog that has every product, in one variant.
type lamps struct{ catalogv1.CatalogServiceClient }

func (lamps) BatchGetProducts(
	_ context.Context, req *catalogv1.BatchGetProductsRequest, _ ...grpc.CallOption,
) (*catalogv1.BatchGetProductsResponse, error) {
	resp := &catalogv1.BatchGetProductsResponse{}
	for _, id := range req.GetProductIds() {
		resp.Products = append(resp.Products, &catalogv1.Product{ProductId: id, Variants: []*catalogv1.Variant{{VariantId: "v"}}})
	}
	return resp, nil
}

func TestCartsInARealCluster(t *testing.T) {
	client, err := state.Open(t.Context(), redistest.Cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	r := New(client, lamps{}, time.Hour)
	for i := range 10 {
		id := fmt.Sprintf("c%d", i)
		for range 2 {
			req := &cartv1.AddItemRequest{StoreId: "one", CartId: id, Item: &cartv1.CartItem{ProductId: "lamp", Quantity: 1}}
			if _, err := r.Add(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		cart, err := r.Get(t.Context(), "one", id)
		if err != nil || cart.GetVersion() != 2 || len(cart.GetItems()) != 1 || cart.GetItems()[0].GetQuantity() != 2 {
			t.Errorf("cart %s: %v, %v; want two lamps in version 2", id, cart, err)
		}
	}
}
