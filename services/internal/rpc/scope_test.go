package rpc

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
)

const listOrdersMethod = "/quartet.order.v1.OrderService/ListOrders"

// aScope is a scope for the fixture's server.
func aScope() scope.Scope {
	return scope.Scope{StoreID: "demo", CustomerID: "c-1", CustomerGroups: []string{"vip", "staff"}, CartID: "k.2",
		Locale: "de-AT", ThreadID: "th_3", TurnID: "tu_4", Audience: "fake", Reads: []scope.Read{scope.ReadOrders}, Expiry: time.Now().Add(time.Minute).Truncate(time.Second)}
}

func token(t *testing.T, sc scope.Scope) string {
	t.Helper()
	signed, err := scopetest.Signer().Sign(sc)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestAScopeTravelsAndIsForwarded(t *testing.T) {
	both(t, func(t *testing.T, svc func(func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error) {
		var got scope.Scope
		var forwarded string
		h := newFixture()
		h.start(t, svc(func(ctx context.Context) error {
			got, _ = scope.FromContext(ctx)
			md, _ := metadata.FromOutgoingContext(outgoing(ctx, DialConfig{}))
			forwarded = md.Get(HeaderScope)[0]
			if md, _ := metadata.FromOutgoingContext(outgoing(ctx, DialConfig{External: true, Token: "t", ForwardCaller: true})); len(md.Get(HeaderScope)) > 0 {
				t.Error("an external peer gets the scope")
			}
			return nil
		}))
		conn := h.conn(t)
		for name, want := range map[string]scope.Scope{
			"a full one": aScope(), "a guest's": {StoreID: "demo", Audience: "fake", Expiry: aScope().Expiry},
		} {
			signed := token(t, want)
			// What was in the metadata before must not leak into another shopper's call.
			ctx := metadata.AppendToOutgoingContext(t.Context(), HeaderScope, "somebody's")
			if err := call(scope.WithToken(ctx, signed), conn); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || forwarded != signed {
				t.Errorf("%s: forwarded as it is: %v (-want +got):\n%s", name, forwarded == signed, diff)
			}
		}
	})
}

func TestCallsWithoutAGoodScopeAreRefused(t *testing.T) {
	stranger := aScope()
	stranger.Audience = "search"
	late := aScope()
	late.Expiry = time.Time{}
	both(t, func(t *testing.T, svc func(func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error) {
		h := newFixture()
		h.start(t, svc(func(context.Context) error { t.Error("the handler was reached"); return nil }))
		conn := h.conn(t)
		late.Expiry, stranger.Expiry = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		for name, tt := range map[string]struct {
			headers []string
			reason  string
		}{
			"none":                  {[]string{HeaderScope, ""}, "SCOPE_INVALID"},
			"plain headers":         {[]string{"quartet-store", "demo", "quartet-customer", "ava", HeaderScope, "demo"}, "SCOPE_INVALID"},
			"another service's":     {[]string{HeaderScope, token(t, stranger)}, "SCOPE_INVALID"},
			"an expired one, again": {[]string{HeaderScope, token(t, late)}, "SCOPE_EXPIRED"},
			"two":                   {[]string{HeaderScope, token(t, stranger), HeaderScope, token(t, stranger)}, "SCOPE_INVALID"},
		} {
			err := call(metadata.AppendToOutgoingContext(t.Context(), tt.headers...), conn)
			if st := status.Convert(err); st.Code() != codes.Unauthenticated || Reason(st) != tt.reason {
				t.Errorf("%s: %v, reason %q, want %q", name, st, Reason(st), tt.reason)
			}
		}
	})
}

// The headers with which earlier versions carried the scope count for nothing.
func TestPlainHeadersAreIgnored(t *testing.T) {
	s := NewServer(newFixture().server)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("quartet-store", "demo", "quartet-customer", "ava"))
	if _, err := s.authenticate(ctx, &callInfo{method: describeMethod}); Reason(Status(err)) != "SCOPE_MISSING" {
		t.Errorf("a specialist answers: %v", err)
	}
	ctx, err := s.authenticate(ctx, &callInfo{method: listOrdersMethod})
	if sc, ok := scope.FromContext(ctx); err != nil || ok {
		t.Errorf("another method has the scope %+v: %v", sc, err)
	}
}

func TestAServerWithoutKeysAcceptsNoScope(t *testing.T) {
	s := NewServer(ServerConfig{Name: "fake"})
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(HeaderScope, token(t, aScope())))
	for _, method := range []string{describeMethod, listOrdersMethod} {
		if _, err := s.authenticate(ctx, &callInfo{method: method}); Reason(Status(err)) != "SCOPE_INVALID" {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Where callers need credentials, the signed scope of a turn stands for them.
func TestAScopeNeedsNoToken(t *testing.T) {
	cfg := newFixture().server
	cfg.Credentials = insecure.NewCredentials()
	s := NewServer(cfg)
	_, err := s.authenticate(t.Context(), &callInfo{method: listOrdersMethod})
	if Reason(Status(err)) != "CREDENTIALS_MISSING" {
		t.Errorf("without a scope: %v", err)
	}
	elsewhere := aScope()
	elsewhere.Audience = "promotions" // that service forwards it
	info := callInfo{method: listOrdersMethod}
	ctx, err := s.authenticate(metadata.NewIncomingContext(t.Context(), metadata.Pairs(HeaderScope, token(t, elsewhere))), &info)
	if sc, _ := scope.FromContext(ctx); err != nil || sc.CustomerID != "c-1" || info.store != "demo" || info.caller != "" {
		t.Errorf("with one: %v, %+v, %+v", err, sc, info)
	}
}
