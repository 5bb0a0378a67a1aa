package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// openBareStore makes a store that has nothing but one document and the settings given.
func openBareStore(t *testing.T, h *system, settings *orderv1.OrderSettings) {
	t.Helper()
	_, err := h.data.Stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "bare", Name: "Bare Boards", CurrencyCode: "EUR", DefaultLocale: "en",
		WebHosts: []string{"bare.example"}, PhoneNumbers: []string{"0800 100 200"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.data.Orders.PutOrderSettings(t.Context(), &orderv1.PutOrderSettingsRequest{StoreId: "bare", Settings: settings}); err != nil {
		t.Fatal(err)
	}
	resp, err := servicetest.Upsert(t, h.data.Policies.UpsertPolicies, &policyv1.UpsertPoliciesRequest{StoreId: "bare", Policies: []*policyv1.Policy{{
		PolicyId: "contact", Title: "Orders and contact", Url: "https://bare.example/contact", Body: "Ask for your order by phone: 0800 100 200.",
	}}})
	if err != nil || resp.GetErrorCount() > 0 {
		t.Fatalf("%v, %v", resp, err)
	}
}

func askBare(t *testing.T, h *system, message string) *gatewayv1.AskResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	reply, err := h.gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: "bare", CustomerId: "ada", Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestAStoreWithoutAnOrderSystemHasNoLookUps(t *testing.T) {
	h := newSystem(t)
	openBareStore(t, h, &orderv1.OrderSettings{NoOrderSystem: true})
	reply := askBare(t, h, "where is my order?")
	if slices.Contains(toolsOf(reply), "lookup_order") || len(reply.GetOrders()) > 0 {
		t.Errorf("orders were looked up: %v", toolsOf(reply))
	}
	if !strings.Contains(reply.GetText(), "0800 100 200") {
		t.Errorf("the reply does not say where else to ask: %s", reply.GetText())
	}
}

func TestAStoreWithoutPromotionsAsksSupport(t *testing.T) {
	h := newSystem(t)
	openBareStore(t, h, &orderv1.OrderSettings{})
	reply := askBare(t, h, "do you have a coupon code for me?")
	if reply.GetPromotion() != nil || slices.ContainsFunc(reply.GetSuggestedActions(), func(a *specialistv1.SuggestedAction) bool { return a.GetApplyPromotion() != nil }) {
		t.Errorf("a promotion was proposed: %v", reply)
	}
	a := reply.GetRouting().GetAssignments()
	if len(a) != 1 || a[0].GetSpecialist() != "support" || a[0].GetRemappedFrom() != "promotions" || !strings.Contains(a[0].GetReason(), "no promotions") {
		t.Errorf("routed to %v, want support in place of promotions", a)
	}
	if tools := toolsOf(reply); slices.ContainsFunc(tools, func(name string) bool { return strings.Contains(name, "promotion") }) {
		t.Errorf("promotions were looked up: %v", tools)
	}
}
