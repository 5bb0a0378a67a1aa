package scope_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

func TestScopeTravelsInTheContext(t *testing.T) {
	if _, ok := scope.FromContext(context.Background()); ok {
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
}
