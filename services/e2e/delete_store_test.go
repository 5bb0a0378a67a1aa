package e2e

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/demo"
)

// TestDeleteStoreLeavesNothing deletes a store that all services have data of. The other store keeps its own.
func TestDeleteStoreLeavesNothing(t *testing.T) {
	h := newSystem(t)
	h.ask(t, "Do you have trail running shoes, a discount, and where is my order? What goes with my cart?")
	keys := func() (of, others int) {
		for _, key := range h.cfg.Redis.Keys(t.Context(), "*").Val() {
			if strings.HasPrefix(key, "quartet:{demo}") || strings.HasPrefix(key, "quartet:{demo:") {
				of++
			} else {
				others++
			}
			if strings.Contains(key, "demo") != (strings.HasPrefix(key, "quartet:{demo}") || strings.HasPrefix(key, "quartet:{demo:")) {
				t.Errorf("the key %s names the store, and is not told to be its own", key)
			}
		}
		return of, others
	}
	had, others := keys()
	if had == 0 || others == 0 {
		t.Fatalf("%d keys of the store and %d others", had, others)
	}
	req := &gatewayv1.DeleteStoreRequest{StoreId: "demo"}
	for _, existed := range []bool{true, false} {
		resp, err := h.data.Stores.DeleteStore(t.Context(), req)
		if err != nil || resp.GetDeleted() != existed || resp.GetKeyCount() > 0 != existed {
			t.Errorf("deleted %v, %v; want %v", resp, err, existed)
		}
	}
	if left, still := keys(); left != 0 || still != others {
		t.Errorf("%d keys of the store are left, and %d of %d others", left, still, others)
	}
	if raw := h.cfg.Redis.HKeys(t.Context(), "quartet:stores").Val(); len(raw) != 1 || raw[0] != "tea" {
		t.Errorf("stores %v", raw)
	}
	_, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "Do you have tents?"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("a turn in the deleted store: %v", err)
	}
	found, err := h.data.Catalog.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "demo"})
	if err != nil || found.GetTotalCount() != 0 {
		t.Errorf("%d products are found, %v", found.GetTotalCount(), err)
	}
	// A store with the same id begins anew.
	sets, err := demo.Load(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h.putStore(t, "demo", "en", sets[0].Products[:3]...)
	found, err = h.data.Catalog.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "demo"})
	if err != nil || found.GetTotalCount() != 3 {
		t.Errorf("%d products of the new store are found, %v", found.GetTotalCount(), err)
	}
	if reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "tea", Message: "Do you have green tea?"}); err != nil || len(reply.GetProducts()) == 0 {
		t.Errorf("the other store: %v, %v", reply, err)
	}
}
