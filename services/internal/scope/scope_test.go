package scope_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

func TestScopeTravelsInTheContext(t *testing.T) {
	if _, ok := scope.FromContext(context.Background()); ok || scope.Token(context.Background()) != "" {
		t.Error("an empty context has a scope")
	}
	outer := scope.NewContext(context.Background(), scope.Scope{StoreID: "a"})
	want := scope.Scope{StoreID: "b", CustomerID: "c", CustomerGroups: []string{"vip"}}
	got, ok := scope.FromContext(scope.NewContext(outer, want))
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("found %v (-want +got):\n%s", ok, diff)
	}
	if got, _ := scope.FromContext(outer); got.StoreID != "a" {
		t.Errorf("the outer context has changed: %+v", got)
	}
	if scope.Token(scope.WithToken(outer, "t")) != "t" {
		t.Error("the token got lost")
	}
}

func TestNarrowLeavesOutWhatTheReadsAreNotAbout(t *testing.T) {
	whole := scope.Scope{
		StoreID: "s", CustomerID: "ava", CustomerGroups: []string{"vip"}, CartID: "k", Locale: "de", ThreadID: "th", TurnID: "tu",
		Reads: scope.Reads(), Audience: "gateway", Expiry: time.Now(),
	}
	for name, tt := range map[string]struct {
		reads          []scope.Read
		customer, cart bool
	}{
		"nothing":       {nil, false, false},
		"catalog":       {[]scope.Read{scope.ReadCatalog, scope.ReadCoPurchases}, false, false},
		"policies":      {[]scope.Read{scope.ReadPolicies}, false, false},
		"promotions":    {[]scope.Read{scope.ReadPromotions}, true, false},
		"orders":        {[]scope.Read{scope.ReadOrders, scope.ReadPolicies}, true, false},
		"carts":         {[]scope.Read{scope.ReadCarts}, true, true},
		"one of a fork": {[]scope.Read{"loyalty"}, false, false},
	} {
		want := scope.Scope{StoreID: "s", Locale: "de", ThreadID: "th", TurnID: "tu", Reads: tt.reads, Audience: "a"}
		if tt.customer {
			want.CustomerID, want.CustomerGroups = "ava", []string{"vip"}
		}
		if tt.cart {
			want.CartID = "k"
		}
		if diff := cmp.Diff(want, whole.Narrow("a", tt.reads)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
