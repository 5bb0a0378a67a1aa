package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/certs"
	"github.com/quartet-commerce/quartet/services/internal/reload"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/suite"
)

// The real services, called with the scopes that their peers hold in a turn of ava's, and with worse ones.
func TestAScopeAllowsItsOwnReadsOnly(t *testing.T) {
	h := newSystem(t)
	dial := func(role string) *grpc.ClientConn {
		conn, err := suite.Dial(role, h.cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	orders, carts, catalog := orderv1.NewOrderServiceClient(dial(suite.Support)), cartv1.NewCartServiceClient(dial(suite.Recommend)), catalogv1.NewCatalogServiceClient(dial(suite.Search))
	support, router := specialistv1.NewSpecialistServiceClient(dial(suite.Support)), routerv1.NewRouterServiceClient(dial(suite.Router))
	listOrders := func(store, customer string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := orders.ListOrders(ctx, &orderv1.ListOrdersRequest{StoreId: store, CustomerId: customer})
			return err
		}
	}
	getCart := func(id string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := carts.GetCart(ctx, &cartv1.GetCartRequest{StoreId: "demo", CartId: id})
			return err
		}
	}
	setCart := func(ctx context.Context) error {
		_, err := carts.SetCart(ctx, &cartv1.SetCartRequest{StoreId: "demo", CartId: "ava"})
		return err
	}
	search := func(ctx context.Context) error {
		_, err := catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: "demo", Query: "tent"})
		return err
	}
	describe := func(ctx context.Context) error {
		_, err := support.Describe(ctx, &specialistv1.DescribeRequest{})
		return err
	}
	answer := func(ctx context.Context) error {
		stream, err := support.Answer(ctx, &specialistv1.AnswerRequest{AssignmentId: "a", SubQuery: "where is my order?"})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	route := func(ctx context.Context) error {
		stream, err := router.Route(ctx, &routerv1.RouteRequest{Message: "hi"})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	// in returns the context of a turn of ava's, as a role has it.
	in := func(role string, change ...func(*scope.Scope)) context.Context {
		sc, err := suite.Narrow(role, scope.Scope{StoreID: "demo", CustomerID: "ava", CartID: "ava", ThreadID: "t", TurnID: "u"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range change {
			c(&sc)
		}
		if sc.Reads == nil {
			sc.Reads = []scope.Read{}
		}
		return scopetest.Context(t.Context(), t, sc)
	}
	expired := func(sc *scope.Scope) { sc.Expiry = time.Now().Add(-time.Minute) }
	forged := scope.WithToken(t.Context(), strings.Replace(scope.Token(in(suite.Support)), ".", ".e30", 1))
	plain := metadata.AppendToOutgoingContext(t.Context(), "quartet-store", "demo", "quartet-customer", "ava")
	for name, tt := range map[string]struct {
		ctx    context.Context
		call   func(context.Context) error
		code   codes.Code
		reason string
	}{
		"promotions reads her cart":        {in(suite.Promotions), getCart("ava"), codes.OK, ""},
		"promotions reads another cart":    {in(suite.Promotions), getCart("ben"), codes.PermissionDenied, "PERMISSION_DENIED"},
		"promotions reads her orders":      {in(suite.Promotions), listOrders("demo", "ava"), codes.PermissionDenied, "PERMISSION_DENIED"},
		"promotions reads the catalog":     {in(suite.Promotions), search, codes.OK, ""},
		"promotions writes her cart":       {in(suite.Promotions), setCart, codes.PermissionDenied, "PERMISSION_DENIED"},
		"search reads her cart":            {in(suite.Search), getCart("ava"), codes.PermissionDenied, "PERMISSION_DENIED"},
		"search answers for support":       {in(suite.Search), answer, codes.Unauthenticated, "SCOPE_INVALID"},
		"recommend reads her orders":       {in(suite.Recommend), listOrders("demo", "ava"), codes.PermissionDenied, "PERMISSION_DENIED"},
		"support reads her orders":         {in(suite.Support), listOrders("demo", "ava"), codes.OK, ""},
		"support reads ben's orders":       {in(suite.Support), listOrders("demo", "ben"), codes.PermissionDenied, "PERMISSION_DENIED"},
		"support reads nobody's orders":    {in(suite.Support), listOrders("demo", ""), codes.PermissionDenied, "PERMISSION_DENIED"},
		"support reads another store":      {in(suite.Support), listOrders("kites", "ava"), codes.PermissionDenied, "PERMISSION_DENIED"},
		"support describes itself":         {in(suite.Support), describe, codes.OK, ""},
		"an expired scope, again":          {in(suite.Support, expired), listOrders("demo", "ava"), codes.Unauthenticated, "SCOPE_EXPIRED"},
		"an expired scope, to answer":      {in(suite.Support, expired), answer, codes.Unauthenticated, "SCOPE_EXPIRED"},
		"a forged scope":                   {forged, listOrders("demo", "ava"), codes.Unauthenticated, "SCOPE_INVALID"},
		"a forged scope, to answer":        {forged, answer, codes.Unauthenticated, "SCOPE_INVALID"},
		"no scope, to answer":              {t.Context(), answer, codes.Unauthenticated, "SCOPE_MISSING"},
		"plain headers, to answer":         {plain, answer, codes.Unauthenticated, "SCOPE_MISSING"},
		"plain headers, to describe":       {plain, describe, codes.Unauthenticated, "SCOPE_MISSING"},
		"plain headers, to route":          {plain, route, codes.Unauthenticated, "SCOPE_MISSING"},
		"a specialist's scope, to route":   {in(suite.Support), route, codes.Unauthenticated, "SCOPE_INVALID"},
		"the router's scope reads nothing": {in(suite.Router), search, codes.PermissionDenied, "PERMISSION_DENIED"},
	} {
		st := status.Convert(tt.call(tt.ctx))
		if st.Code() != tt.code || rpc.Reason(st) != tt.reason {
			t.Errorf("%s: %v, reason %q; want %v, %q", name, st, rpc.Reason(st), tt.code, tt.reason)
		}
	}
}

// Six processes take over a new key while shoppers ask: no turn loses a part.
func TestTheKeyOfScopesIsReplacedWithoutAFailedTurn(t *testing.T) {
	p := startProcesses(t, processConfig{})
	p.loadDemo()
	gateway := gatewayv1.NewGatewayServiceClient(p.dial(suite.Gateway))
	var shoppers sync.WaitGroup
	var turns atomic.Int64
	done := make(chan struct{})
	for shopper := range 2 {
		shoppers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
				reply, err := gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: fmt.Sprintf("c%d", shopper), Message: twoParts})
				cancel()
				if err != nil {
					t.Errorf("Ask: %v", err)
					return
				}
				for _, r := range reply.GetResults() {
					if f := r.GetFailure(); f != nil {
						t.Errorf("%s failed: %v", r.GetAssignment().GetSpecialist(), f)
					}
				}
				turns.Add(1)
			}
		})
	}
	before := int64(0)
	for _, step := range []string{certs.Publish, certs.Use, certs.Retire} {
		p.makeScopeKeys(step)
		begun := time.Now()
		for time.Since(begun) < 2*reload.Interval || turns.Load() < before+4 { // turns with the files of this step
			if t.Failed() {
				break
			}
			<-time.After(50 * time.Millisecond)
		}
		before = turns.Load()
	}
	close(done)
	shoppers.Wait()
}
