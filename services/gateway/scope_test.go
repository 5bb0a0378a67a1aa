package gateway

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// scopes collects the scopes with which services are called.
type scopes struct {
	mu  sync.Mutex
	got map[string]scope.Scope
}

func (s *scopes) take(ctx context.Context, callee string) {
	sc, _ := scope.FromContext(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[callee] = sc
}

func TestTheScopeOfATurnIsNarrowed(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		seen := scopes{got: map[string]scope.Scope{}}
		carts := h.stockCarts()
		h.router.route = func(req *routerv1.RouteRequest, stream routeStream) error {
			seen.take(stream.Context(), "router")
			return stream.Send(&routerv1.RouteResponse{Decision: split(req.GetMessage())})
		}
		for name, s := range h.specialists {
			s.describe = func(ctx context.Context) error { seen.take(ctx, "describe "+name); return nil }
		}
		h.start()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		due, _ := ctx.Deadline()
		reply, err := h.client.Ask(ctx, &gatewayv1.AskRequest{
			StoreId: "demo", CustomerId: "ann", CustomerGroups: []string{"vip"}, CartId: "k", ThreadId: "t1",
			Message: "search: shoes | recommend: socks | promotions: codes | support: returns",
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range h.specialists {
			_, all := s.calls()
			seen.got[name] = all[0]
		}
		seen.got["cart"] = carts.scope
		conversation := scope.Scope{StoreID: "demo", ThreadID: "t1", TurnID: reply.GetTurnId()}
		shopper := conversation
		shopper.CustomerID, shopper.CustomerGroups = "ann", []string{"vip"}
		withCart := shopper
		withCart.CartID = "k"
		for callee, want := range map[string]struct {
			scope    scope.Scope
			audience string
			reads    []scope.Read
		}{
			"router": {conversation, "router", nil}, "search": {conversation, "search", reads["search"]},
			"recommend": {withCart, "recommend", reads["recommend"]}, "promotions": {withCart, "promotions", reads["promotions"]},
			"support": {shopper, "support", reads["support"]}, "cart": {withCart, "gateway", []scope.Read{scope.ReadCarts, scope.ReadCatalog}},
			"describe search":  {scope.Scope{StoreID: "demo"}, "search", reads["search"]},
			"describe support": {scope.Scope{StoreID: "demo"}, "support", reads["support"]},
		} {
			got := seen.got[callee]
			if got.Expiry.After(due.Add(scope.Grace+time.Second)) || got.Expiry.Before(time.Now()) {
				t.Errorf("%s: the scope expires %v after the turn's deadline", callee, got.Expiry.Sub(due))
			}
			got.Expiry = time.Time{}
			want.scope.Audience, want.scope.Reads = want.audience, want.reads
			want.scope.Locale, got.Locale = "", ""
			if diff := cmp.Diff(want.scope, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", callee, diff)
			}
		}
	})
}

// What a specialist says of itself gives it no right to the cart.
func TestASpecialistWithoutTheReadGetsNoCart(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	carts := h.stockCarts()
	h.specialists["search"].cart = true
	h.start()
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", Message: "search: shoes"}); err != nil {
		t.Fatal(err)
	}
	if got := h.specialists["search"].carts(); len(got) != 1 || got[0] != nil || len(carts.reads) > 0 {
		t.Errorf("it got %v after %d reads", got, len(carts.reads))
	}
}
