package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the program on a free port.
func start(t *testing.T) cartv1.CartServiceClient {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"-listen", "127.0.0.1:0", "-goods", "goods.jsonl"}, write)
		_ = write.Close()
	}()
	address, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(<-done)
	}
	conn, err := grpc.NewClient(strings.TrimSpace(address), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return cartv1.NewCartServiceClient(conn)
}

func add(t *testing.T, c cartv1.CartServiceClient, product, variant string, quantity int32, expected *int64) (*cartv1.Cart, error) {
	t.Helper()
	resp, err := c.AddItem(t.Context(), &cartv1.AddItemRequest{
		StoreId: "kites", CartId: "mika", ExpectedVersion: expected,
		Item: &cartv1.CartItem{ProductId: product, VariantId: variant, Quantity: quantity},
	})
	return resp.GetCart(), err
}

func reason(err error) (reason, version string) {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason(), info.GetMetadata()["current_version"]
		}
	}
	return "", ""
}

func TestACart(t *testing.T) {
	c := start(t)
	for i, quantity := range []int32{1, 2} {
		if _, err := add(t, c, "K1", "red", quantity, proto.Int64(int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	cart, err := add(t, c, "L1", "std", 1, nil)
	if err != nil || len(cart.GetItems()) != 2 || cart.GetItems()[0].GetQuantity() != 3 || cart.GetSubtotal().GetAmountMinor() != 3*2200+950 || cart.GetVersion() != 3 {
		t.Errorf("%v, %v", cart, err)
	}
	_, err = add(t, c, "L1", "std", 1, proto.Int64(1))
	if why, current := reason(err); status.Code(err) != codes.FailedPrecondition || why != "VERSION_MISMATCH" || current != "3" {
		t.Errorf("an old version: %v", err)
	}
	if _, err := add(t, c, "K9", "std", 1, nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("what there is not: %v", err)
	}
	removed, err := c.RemoveItem(t.Context(), &cartv1.RemoveItemRequest{StoreId: "kites", CartId: "mika", ProductId: "K1"})
	if err != nil || len(removed.GetCart().GetItems()) != 1 || removed.GetCart().GetSubtotal().GetAmountMinor() != 950 {
		t.Errorf("%v, %v", removed, err)
	}
	cleared, err := c.ClearCart(t.Context(), &cartv1.ClearCartRequest{StoreId: "kites", CartId: "mika"})
	if err != nil || len(cleared.GetCart().GetItems()) != 0 || cleared.GetCart().GetSubtotal() != nil {
		t.Errorf("%v, %v", cleared, err)
	}
	set, err := c.SetCart(t.Context(), &cartv1.SetCartRequest{
		StoreId: "kites", CartId: "mika", Items: []*cartv1.CartItem{{ProductId: "K2", VariantId: "std", Quantity: 1}},
	})
	if err != nil || set.GetCart().GetItems()[0].GetTitle() != "Gale stunt kite" {
		t.Errorf("%v, %v", set, err)
	}
	got, err := c.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "kites", CartId: "mika"})
	if err != nil || !proto.Equal(got.GetCart(), set.GetCart()) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestOtherStoresHaveNoCart(t *testing.T) {
	c := start(t)
	_, err := c.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "boats", CartId: "mika"})
	if why, _ := reason(err); why != "NO_CART" {
		t.Errorf("%v", err)
	}
	for store, none := range map[string]bool{"kites": false, "boats": true} {
		if got, err := c.GetCartSettings(t.Context(), &cartv1.GetCartSettingsRequest{StoreId: store}); err != nil || got.GetSettings().GetNoCart() != none {
			t.Errorf("%s: %v, %v", store, got, err)
		}
	}
}
