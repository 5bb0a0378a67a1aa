package e2e

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// TestABadRecordCostsOneRecord breaks one record of each kind in Redis. All others stay in use, also by a process that starts then.
func TestABadRecordCostsOneRecord(t *testing.T) {
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	first := newSystemOn(t, redisServer.URL())
	products := func(h *system) []string {
		found, err := h.data.Catalog.ListProducts(t.Context(), &catalogv1.ListProductsRequest{StoreId: "demo", Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, p := range found.GetProducts() {
			ids = append(ids, p.GetProductId())
		}
		return ids
	}
	promotions := func(h *system) []string {
		listed, err := h.data.Promotions.ListPromotions(t.Context(), &promotionv1.ListPromotionsRequest{StoreId: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, p := range listed.GetPromotions() {
			codes = append(codes, p.GetCode())
		}
		return codes
	}
	policies := func(h *system) []string {
		listed, err := h.data.Policies.ListPolicies(t.Context(), &policyv1.ListPoliciesRequest{StoreId: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, p := range listed.GetPolicies() {
			ids = append(ids, p.GetPolicyId())
		}
		return ids
	}
	orders := func(h *system) []string {
		listed, err := h.data.Orders.ListOrders(t.Context(), &orderv1.ListOrdersRequest{StoreId: "demo", CustomerId: "ava"})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, o := range listed.GetOrders() {
			ids = append(ids, o.GetOrderId())
		}
		return ids
	}
	kinds := map[string]func(*system) []string{"product": products, "promotion": promotions, "policy": policies, "order": orders}
	rest := map[string][]string{}
	for kind, list := range kinds {
		all := list(first)
		if len(all) < 2 {
			t.Fatalf("records of the kind %s: %q", kind, all)
		}
		if n := first.breakRecord(t, kind, all[0]); n != 1 {
			t.Fatalf("%d records of the %s %s were broken", n, kind, all[0])
		}
		rest[kind] = all[1:]
	}
	second := startSystem(t, redisServer.URL(), newBrain(t))
	for kind, list := range kinds {
		for name, h := range map[string]*system{"running": first, "new": second} {
			got := list(h) // a page may have one more now
			if len(got) < len(rest[kind]) || !slices.Equal(got[:len(rest[kind])], rest[kind]) {
				t.Errorf("%s process, %s: %q, want %q", name, kind, got, rest[kind])
			}
		}
		if n := counted(t, telemetry.MetricRecordsSkipped, telemetry.KeyRecordKind, kind); n == 0 {
			t.Errorf("the metric counts no %s", kind)
		}
	}
	reply, err := second.gateway.Ask(t.Context(), &gatewayv1.AskRequest{
		StoreId: "demo", CustomerId: "ava", Message: "Do you have tents, a discount, where is my order, and what is your return policy?",
	})
	if err != nil || reply.GetHandoff().GetRecommended() {
		t.Errorf("reply %v, %v", reply, err)
	}
}

// breakRecord overwrites a record of the store demo, and returns how many there were.
func (h *system) breakRecord(t *testing.T, kind, id string) int {
	t.Helper()
	broken := 0
	for _, key := range h.cfg.Redis.Keys(t.Context(), "*demo*").Val() {
		field := id
		if kind == "order" && key == state.TaggedKey("demo", "order/"+id, "order") {
			field = "order"
		}
		if h.cfg.Redis.Type(t.Context(), key).Val() == "hash" && h.cfg.Redis.HExists(t.Context(), key, field).Val() {
			if err := h.cfg.Redis.HSet(t.Context(), key, field, "\xff\xff no record").Err(); err != nil {
				t.Fatal(err)
			}
			broken++
		}
	}
	return broken
}

// counted returns the sum of a metric over what has a value of an attribute.
func counted(t *testing.T, metric, key, value string) int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := metrics.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == metric {
				for _, p := range sum.DataPoints {
					if v, _ := p.Attributes.Value(attribute.Key(key)); v.AsString() == value {
						n += p.Value
					}
				}
			}
		}
	}
	return n
}
