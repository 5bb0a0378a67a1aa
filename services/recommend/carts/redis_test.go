package carts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
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

// filled returns a repository whose carts c1 and c2 hold one lamp each, and its Redis.
func filled(t *testing.T, sealer *seal.Sealer) (*Repository, redis.UniversalClient) {
	t.Helper()
	client := servicetest.Redis(t)
	r := New(client, sealer, lamps{}, time.Hour)
	for cart, product := range map[string]string{"c1": "floor-lamp", "c2": "desk-lamp"} {
		req := &cartv1.AddItemRequest{StoreId: "one", CartId: cart, Item: &cartv1.CartItem{ProductId: product, Quantity: 1}}
		if _, err := r.Add(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	return r, client
}

func TestItemsAreEncryptedForTheirCart(t *testing.T) {
	r, client := filled(t, servicetest.Sealer(t))
	if kept := servicetest.Contents(t, client); strings.Contains(kept, "lamp") {
		t.Errorf("Redis holds a product of a cart:\n%q", kept)
	}
	items, err := client.HGet(t.Context(), cartKey("one", "c1"), "items").Result()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := proto.Marshal(&cartv1.Cart{Items: []*cartv1.CartItem{{ProductId: "floor-lamp", VariantId: "v", Quantity: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, planted := range map[string]string{"of another cart": items, "in plaintext": string(plain), "": ""} {
		if err := client.HSet(t.Context(), cartKey("one", "c2"), "items", planted).Err(); err != nil {
			t.Fatal(err)
		}
		var lost *fault.DataLoss
		if cart, err := r.Get(t.Context(), "one", "c2"); !errors.As(err, &lost) {
			t.Errorf("items %s are read: %v, %v", name, cart, err)
		}
	}
}

func TestCartsInARealCluster(t *testing.T) {
	client, err := state.Open(t.Context(), redistest.Cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	r := New(client, servicetest.Sealer(t), lamps{}, time.Hour)
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
