package recommend

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func item(productID, variantID string, quantity int32) *cartv1.CartItem {
	return &cartv1.CartItem{ProductId: productID, VariantId: variantID, Quantity: quantity}
}

func testCarts(t *testing.T) (cartv1.CartServiceClient, *fakeCatalog) {
	t.Helper()
	catalog := newFakeCatalog()
	return cartv1.NewCartServiceClient(servicetest.Serve(t, "recommend", newService(t, catalog, scripted.New()).Register)), catalog
}

func add(t *testing.T, c cartv1.CartServiceClient, cartID string, i *cartv1.CartItem) *cartv1.Cart {
	t.Helper()
	resp, err := c.AddItem(t.Context(), &cartv1.AddItemRequest{StoreId: "s1", CartId: cartID, Item: i})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetCart()
}

func get(t *testing.T, c cartv1.CartServiceClient, storeID, cartID string) *cartv1.Cart {
	t.Helper()
	resp, err := c.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: storeID, CartId: cartID})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetCart()
}

func TestCart(t *testing.T) {
	c, _ := testCarts(t)
	add(t, c, "c1", item("BOOT-1", "s42", 1))
	add(t, c, "c1", item("sock-1", "", 2))
	got := add(t, c, "c1", item("BOOT-1", "s42", 2))
	if d := time.Until(got.GetExpireTime().AsTime()); d < DefaultCartTTL-time.Minute || d > DefaultCartTTL {
		t.Errorf("expires in %v, want %v", d, DefaultCartTTL)
	}
	want := &cartv1.Cart{
		StoreId: "s1", CartId: "c1", Version: 3, Subtotal: eur(3*16995 + 2*1495),
		Items: []*cartv1.CartItem{
			{ProductId: "BOOT-1", VariantId: "s42", Quantity: 3, Title: "Fell boot", Brand: "Kestrel", Available: true,
				CategoryPath: []string{"Footwear", "Boots"}, Options: map[string]string{"size": "42"}, UnitPrice: eur(16995)},
			{ProductId: "SOCK-1", VariantId: "std", Quantity: 2, Title: "Trail sock", Available: true,
				CategoryPath: []string{"Clothing", "Socks"}, UnitPrice: eur(1495)},
		},
	}
	for what, cart := range map[string]*cartv1.Cart{"as written": got, "as read": get(t, c, "s1", "c1")} {
		diff := cmp.Diff(want, cart, protocmp.Transform(), protocmp.IgnoreFields(&cartv1.Cart{}, "expire_time"))
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	removed, err := c.RemoveItem(t.Context(), &cartv1.RemoveItemRequest{StoreId: "s1", CartId: "c1", ProductId: "BOOT-1"})
	if err != nil || len(removed.GetCart().GetItems()) != 1 || removed.GetCart().GetSubtotal().GetAmountMinor() != 2*1495 {
		t.Errorf("after removal: %v, %v", removed, err)
	}
	cleared, err := c.ClearCart(t.Context(), &cartv1.ClearCartRequest{StoreId: "s1", CartId: "c1"})
	if err != nil || len(cleared.GetCart().GetItems()) != 0 || cleared.GetCart().GetSubtotal() != nil || cleared.GetCart().GetVersion() != 5 {
		t.Errorf("after clearing: %v, %v", cleared, err)
	}
}

func TestSetCartReplacesAndMerges(t *testing.T) {
	c, _ := testCarts(t)
	add(t, c, "c1", item("WAX-1", "", 1))
	resp, err := c.SetCart(t.Context(), &cartv1.SetCartRequest{StoreId: "s1", CartId: "c1", Items: []*cartv1.CartItem{
		item("SOCK-1", "std", 1), item("BOOT-1", "s41", 1), item("SOCK-1", "", 4),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, i := range resp.GetCart().GetItems() {
		got = append(got, i.GetQuantity())
	}
	if !slices.Equal(got, []int32{5, 1}) {
		t.Errorf("quantities %v, want 5 socks and 1 boot", got)
	}
}

func TestCartsAreApart(t *testing.T) {
	c, catalog := testCarts(t)
	catalog.products["s2"] = catalog.products["s1"]
	add(t, c, "c1", item("SOCK-1", "", 1))
	for _, other := range []*cartv1.Cart{get(t, c, "s2", "c1"), get(t, c, "s1", "c2")} {
		if len(other.GetItems()) != 0 || other.GetVersion() != 0 || other.GetExpireTime() != nil {
			t.Errorf("another cart holds %v", other)
		}
	}
}

func TestItemsThatTheCatalogLost(t *testing.T) {
	c, catalog := testCarts(t)
	add(t, c, "c1", item("SOCK-1", "", 2))
	add(t, c, "c1", item("WAX-1", "", 1))
	catalog.products["s1"] = catalog.products["s1"][2:]
	cart := get(t, c, "s1", "c1")
	if cart.GetItems()[0].GetAvailable() || cart.GetItems()[0].GetTitle() != "" || !cart.GetItems()[1].GetAvailable() {
		t.Errorf("items %v", cart.GetItems())
	}
	if got := cart.GetSubtotal().GetAmountMinor(); got != 995 {
		t.Errorf("subtotal %d, want that of the wax", got)
	}
}

func TestExpectedVersion(t *testing.T) {
	c, _ := testCarts(t)
	request := func(expected int64) error {
		_, err := c.AddItem(t.Context(), &cartv1.AddItemRequest{
			StoreId: "s1", CartId: "c1", Item: item("SOCK-1", "", 1), ExpectedVersion: proto.Int64(expected),
		})
		return err
	}
	for i, expected := range []int64{0, 1, 2} {
		if err := request(expected); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	st := status.Convert(request(1))
	if st.Code() != codes.FailedPrecondition {
		t.Fatalf("code %v, want FailedPrecondition", st.Code())
	}
	var info *errdetails.ErrorInfo
	for _, d := range st.Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			info = i
		}
	}
	if info.GetReason() != "VERSION_MISMATCH" || info.GetMetadata()["current_version"] != "3" {
		t.Errorf("error info %v", info)
	}
	if n := get(t, c, "s1", "c1").GetItems()[0].GetQuantity(); n != 3 {
		t.Errorf("quantity %d after the refused write, want 3", n)
	}
}

func TestBadCartRequests(t *testing.T) {
	c, _ := testCarts(t)
	for name, tc := range map[string]struct {
		items []*cartv1.CartItem
		want  codes.Code
		field string
	}{
		"a variant must be chosen":    {[]*cartv1.CartItem{item("WAX-1", "", 1), item("BOOT-1", "", 1)}, codes.InvalidArgument, "items[1].variant_id"},
		"a variant must exist":        {[]*cartv1.CartItem{item("BOOT-1", "s99", 1)}, codes.InvalidArgument, "items[0].variant_id"},
		"a product must exist":        {[]*cartv1.CartItem{item("NOPE", "", 1)}, codes.NotFound, ""},
		"a quantity must be positive": {[]*cartv1.CartItem{item("WAX-1", "", 0)}, codes.InvalidArgument, "items[0].quantity"},
		"a quantity has a limit":      {[]*cartv1.CartItem{item("WAX-1", "", 1000)}, codes.InvalidArgument, "items[0].quantity"},
		"a sum has the limit too":     {[]*cartv1.CartItem{item("WAX-1", "", 999), item("WAX-1", "", 1)}, codes.InvalidArgument, "item.quantity"},
		"an id must be well-formed":   {[]*cartv1.CartItem{item("a b", "", 1)}, codes.InvalidArgument, "items[0].product_id"},
		"a cart has a limit":          {slices.Repeat([]*cartv1.CartItem{item("WAX-1", "", 1)}, 201), codes.InvalidArgument, "items"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.SetCart(t.Context(), &cartv1.SetCartRequest{StoreId: "s1", CartId: "c1", Items: tc.items})
			st := status.Convert(err)
			if st.Code() != tc.want {
				t.Fatalf("code %v (%v), want %v", st.Code(), err, tc.want)
			}
			for _, d := range st.Details() {
				if bad, ok := d.(*errdetails.BadRequest); ok && bad.GetFieldViolations()[0].GetField() != tc.field {
					t.Errorf("field %q, want %q", bad.GetFieldViolations()[0].GetField(), tc.field)
				}
			}
		})
	}
	if _, err := c.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "s1"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a cart without an id: %v", err)
	}
	if _, err := c.AddItem(t.Context(), &cartv1.AddItemRequest{StoreId: "s1", CartId: "c1"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("nothing to add: %v", err)
	}
}

func TestCatalogOutOfReach(t *testing.T) {
	c, catalog := testCarts(t)
	add(t, c, "c1", item("SOCK-1", "", 1))
	catalog.err = status.Error(codes.Unavailable, "down")
	_, err := c.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "s1", CartId: "c1"})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("code %v, want Unavailable", status.Code(err))
	}
}

func TestConcurrentAddsAllCount(t *testing.T) {
	c, _ := testCarts(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, err := c.AddItem(t.Context(), &cartv1.AddItemRequest{StoreId: "s1", CartId: "c1", Item: item("SOCK-1", "", 1)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	cart := get(t, c, "s1", "c1")
	if cart.GetItems()[0].GetQuantity() != 4 || cart.GetVersion() != 4 {
		t.Errorf("cart %v, want 4 socks in version 4", cart)
	}
}
