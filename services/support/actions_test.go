package support

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

const (
	cancelOrder   = orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL
	cancelItems   = orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS
	changeItems   = orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ITEMS
	changeAddress = orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS
	returnItems   = orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN
	exchangeItems = orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE

	processing    = orderv1.OrderStatus_ORDER_STATUS_PROCESSING
	partlyShipped = orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED
	shippedAll    = orderv1.OrderStatus_ORDER_STATUS_SHIPPED
	delivered     = orderv1.OrderStatus_ORDER_STATUS_DELIVERED
	returnAsked   = orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED
)

func (c clients) haveSettings(t *testing.T, storeID string, settings *orderv1.OrderSettings) {
	t.Helper()
	if _, err := c.orders.PutOrderSettings(t.Context(), &orderv1.PutOrderSettingsRequest{StoreId: storeID, Settings: settings}); err != nil {
		t.Fatal(err)
	}
}

func TestAllowedActionsReachTheModelAndTheBackend(t *testing.T) {
	settings := &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{
		{Kind: cancelOrder, Reasons: []string{"ordered by mistake"}, RefundMethods: []string{"gift card"}},
		{Kind: cancelItems}, {Kind: changeAddress}, {Kind: returnItems, Window: days(14)},
	}}
	c := serve(t, scripted.New(call("lookup_order", `{"wants":["cancel","cancel_items"]}`),
		call("lookup_order", `{"order_id":"q-1","wants":["cancel_items"]}`), scripted.Step{Text: "You can cancel the socks."}))
	c.haveSettings(t, "one", settings)
	c.haveOrders(t, "one", order("Q-1", "ada", 1, twoItems, func(o *orderv1.Order) {
		in(partlyShipped, &orderv1.Fulfilment{Items: units(0, 3)})(o)
	}))
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "cancel it")
	actions := answer.GetSuggestedActions()
	want := &orderv1.AllowedAction{Kind: cancelItems, Items: units(1, 1)}
	if len(actions) != 1 || actions[0].GetChangeOrder().GetOrderId() != "Q-1" ||
		cmp.Diff(want, actions[0].GetChangeOrder().GetAction(), protocmp.Transform()) != "" {
		t.Errorf("suggested: %v; want %v once", actions, want)
	}
	got, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"items that have not left can be cancelled; only: Rib socks"}, got.Order.Possible); diff != "" {
		t.Errorf("possible (-want +got):\n%s", diff)
	}
}

func TestSettingsAreKeptAndReplaced(t *testing.T) {
	c := serve(t, silent())
	get := func() *orderv1.OrderSettings {
		resp, err := c.orders.GetOrderSettings(t.Context(), &orderv1.GetOrderSettingsRequest{StoreId: "one"})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetSettings()
	}
	for _, want := range []*orderv1.OrderSettings{{}, {NoOrderSystem: true}, {Rules: []*orderv1.OrderRule{{Kind: cancelOrder}}}} {
		c.haveSettings(t, "one", want)
		if diff := cmp.Diff(want, get(), protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if _, err := c.orders.PutOrderSettings(t.Context(), &orderv1.PutOrderSettingsRequest{StoreId: "one"}); err != nil || len(get().GetRules()) > 0 {
		t.Errorf("settings were not cleared: %v, %v", get(), err)
	}
}

func TestAStoreWithoutAnOrderSystem(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "Orders cannot be looked up here."})
	c := serve(t, model)
	c.haveOrders(t, "one", order("Q-1", "ada", 1))
	c.haveSettings(t, "one", &orderv1.OrderSettings{NoOrderSystem: true})
	_, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "ada", OrderId: "Q-1"})
	if status.Code(err) != codes.FailedPrecondition || !cmp.Equal(reasons(err), []string{"NO_ORDER_SYSTEM"}) {
		t.Errorf("look-up: %v, want FAILED_PRECONDITION", err)
	}
	servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "where is my order?")
	asked := model.Requests()[0]
	for _, tool := range asked.Tools {
		if tool.Name == lookupOrder {
			t.Error("the model is offered look-ups")
		}
	}
	if prompt := asked.Messages[0].Text; !strings.Contains(prompt, "no order system connected") {
		t.Errorf("the model is not told:\n%s", prompt)
	}
	if _, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", ""); err == nil || !strings.Contains(err.Error(), "cannot be looked up here") {
		t.Errorf("a look-up that was on its way: %v", err)
	}
}
