package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// fakeCarts gives each cart a version of its own at each read. A get that is set goes first.
type fakeCarts struct {
	cartv1.UnimplementedCartServiceServer
	get    func(context.Context) error
	items  []*cartv1.CartItem
	noCart bool // as the settings say

	mu    sync.Mutex
	reads []*cartv1.GetCartRequest
	scope scope.Scope // of the last read
}

func (f *fakeCarts) GetCart(ctx context.Context, req *cartv1.GetCartRequest) (*cartv1.GetCartResponse, error) {
	f.mu.Lock()
	f.reads = append(f.reads, req)
	f.scope, _ = scope.FromContext(ctx)
	version := int64(len(f.reads))
	f.mu.Unlock()
	if f.get != nil {
		if err := f.get(ctx); err != nil {
			return nil, err
		}
	}
	return &cartv1.GetCartResponse{Cart: &cartv1.Cart{StoreId: req.GetStoreId(), CartId: req.GetCartId(), Version: version, Items: f.items}}, nil
}

func (f *fakeCarts) GetCartSettings(context.Context, *cartv1.GetCartSettingsRequest) (*cartv1.GetCartSettingsResponse, error) {
	return &cartv1.GetCartSettingsResponse{Settings: &cartv1.CartSettings{NoCart: f.noCart}}, nil
}

// stockCarts gives a fixture a cart service; recommend and promotions read carts.
func (h *fixture) stockCarts() *fakeCarts {
	carts := &fakeCarts{}
	h.serve("carts", func(r grpc.ServiceRegistrar) { cartv1.RegisterCartServiceServer(r, carts) })
	h.config.Cart = cartv1.NewCartServiceClient(h.dial("carts"))
	h.specialists["recommend"].cart, h.specialists["promotions"].cart = true, true
	return carts
}

// carts returns the carts that a specialist was given, in the order in which it was asked.
func (f *fakeSpecialist) carts() []*cartv1.Cart {
	requests, _ := f.calls()
	var got []*cartv1.Cart
	for _, r := range requests {
		got = append(got, r.GetCart())
	}
	return got
}

func TestAllSpecialistsOfATurnSeeTheSameCartReadOnce(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	carts := h.stockCarts()
	h.start()
	ask := func(cart, message string) {
		_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", CartId: cart, Message: message})
		if err != nil {
			t.Fatal(err)
		}
	}
	ask("", "promotions: codes | recommend: socks | promotions: more codes | search: shoes")
	ask("other", "promotions: codes")
	annsCart := &cartv1.Cart{StoreId: "demo", CartId: "ann", Version: 1}
	want := map[string][]*cartv1.Cart{
		"promotions": {annsCart, annsCart, {StoreId: "demo", CartId: "other", Version: 2}}, "recommend": {annsCart}, "search": {nil},
	}
	for name, w := range want {
		if diff := cmp.Diff(w, h.specialists[name].carts(), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if carts.scope.CustomerID != "ann" || carts.scope.CartID != "other" || len(carts.reads) != 2 {
		t.Errorf("%d reads, the last for %+v", len(carts.reads), carts.scope)
	}
}

func TestACartIsReadOnlyIfASpecialistNeedsIt(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	carts := h.stockCarts()
	h.start()
	h.ask("promotions: codes") // a guest without a cart
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", Message: "search: shoes"}); err != nil {
		t.Fatal(err)
	}
	if len(carts.reads) != 0 || h.specialists["promotions"].carts()[0] != nil {
		t.Errorf("reads %v", carts.reads)
	}
}

func TestACartThatCannotBeReadIsLeftToTheSpecialists(t *testing.T) {
	for name, tt := range map[string]struct {
		get  func(context.Context) error
		took time.Duration
	}{
		"it fails": {func(context.Context) error { return errors.New("bug") }, 0},
		"it hangs": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, fanout.MaxCartTime},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				carts := h.stockCarts()
				carts.get = tt.get
				h.start()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				begun := time.Now()
				reply, err := h.client.Ask(ctx, &gatewayv1.AskRequest{
					StoreId: "demo", CustomerId: "ann", Message: "promotions: codes | recommend: socks",
				})
				if err != nil || reply.GetConfidence() < 0.89 || time.Since(begun).Round(100*time.Millisecond) != tt.took {
					t.Errorf("after %v: %v, %v", time.Since(begun), reply, err)
				}
				given := slices.Concat(h.specialists["promotions"].carts(), h.specialists["recommend"].carts())
				if len(carts.reads) != 1 || len(given) != 2 || given[0] != nil || given[1] != nil {
					t.Errorf("%d reads, given %v", len(carts.reads), given)
				}
			})
		})
	}
}

func TestSpecialistsThatNeedNoCartDoNotWaitForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		carts := h.stockCarts()
		asked := make(chan struct{})
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			close(asked)
			return say(stream, "Here.")
		}
		carts.get = func(ctx context.Context) error { // waits for the other specialist
			select {
			case <-asked:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		h.start()
		_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{
			StoreId: "demo", CustomerId: "ann", Message: "promotions: codes | search: shoes",
		})
		if got := h.specialists["promotions"].carts(); err != nil || got[0].GetVersion() != 1 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}
