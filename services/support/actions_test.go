package support

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

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

func units(of ...int32) []*orderv1.ItemQuantity { // item, quantity, item, quantity ...
	var out []*orderv1.ItemQuantity
	for i := 0; i < len(of); i += 2 {
		out = append(out, &orderv1.ItemQuantity{ItemIndex: of[i], Quantity: of[i+1]})
	}
	return out
}

// two orders three boots and one pair of socks.
func two(o *orderv1.Order) {
	o.Items[0].Quantity = 3
	o.Items = append(o.Items, &orderv1.OrderItem{ProductId: "socks", Title: "Rib socks", Quantity: 1, UnitPrice: eur(900)})
}

func days(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * 24 * time.Hour) }

func arrived(daysAgo int) *orderv1.Fulfilment {
	return &orderv1.Fulfilment{DeliveryTime: daysFromNow(-daysAgo)}
}

func coming(status orderv1.ReturnStatus, of ...int32) func(*orderv1.Order) {
	return func(o *orderv1.Order) {
		o.Returns = append(o.Returns, &orderv1.Return{Status: status, Items: units(of...)})
	}
}

func TestActions(t *testing.T) {
	const requested, rejected = orderv1.ReturnStatus_RETURN_STATUS_REQUESTED, orderv1.ReturnStatus_RETURN_STATUS_REJECTED
	changed := func(o *orderv1.Order) { o.ItemsChanged = true }
	rule := func(kind orderv1.OrderActionKind, options ...func(*orderv1.OrderRule)) *orderv1.OrderRule {
		r := &orderv1.OrderRule{Kind: kind}
		for _, option := range options {
			option(r)
		}
		return r
	}
	within := func(d *durationpb.Duration) func(*orderv1.OrderRule) {
		return func(r *orderv1.OrderRule) { r.Window = d }
	}
	once := func(r *orderv1.OrderRule) { r.UnlessChanged = true }
	but := func(ids ...string) func(*orderv1.OrderRule) {
		return func(r *orderv1.OrderRule) { r.ExcludedProductIds = ids }
	}
	during := func(s ...orderv1.OrderStatus) func(*orderv1.OrderRule) {
		return func(r *orderv1.OrderRule) { r.Statuses = s }
	}
	all, lastOf := units(0, 3, 1, 1), func(n int) *timestamppb.Timestamp { return timestamppb.New(endOfDay(noon.AddDate(0, 0, n))) }
	parcel := func(of ...int32) *orderv1.Fulfilment {
		return &orderv1.Fulfilment{ShipTime: daysFromNow(-1), Items: units(of...)}
	}
	tests := []struct {
		name    string
		rule    *orderv1.OrderRule
		order   []func(*orderv1.Order)
		units   []*orderv1.ItemQuantity // nil: refused
		until   *timestamppb.Timestamp
		refused string
	}{
		{"cancelled while prepared", rule(cancelOrder), nil, all, nil, ""},
		{"not cancelled once it has left", rule(cancelOrder), []func(*orderv1.Order){in(shippedAll)}, nil, nil, "ALREADY_SHIPPED"},
		{"not cancelled when a parcel has left unnoted", rule(cancelOrder), []func(*orderv1.Order){in(processing, parcel(1, 1))}, nil, nil, "ALREADY_SHIPPED"},
		{"cancelled when a parcel is only packed", rule(cancelOrder), []func(*orderv1.Order){in(processing, &orderv1.Fulfilment{})}, all, nil, ""},
		{"not cancelled where a rule says when", rule(cancelOrder, during(orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT)), nil, nil, nil, "NOT_OFFERED"},
		{"cancelled within an hour", rule(cancelOrder, within(durationpb.New(time.Hour))), []func(*orderv1.Order){func(o *orderv1.Order) {
			o.CreateTime = timestamppb.New(noon.Add(-59 * time.Minute))
		}}, all, timestamppb.New(noon.Add(time.Minute)), ""},
		{"not cancelled after an hour", rule(cancelOrder, within(durationpb.New(time.Hour))), nil, nil, timestamppb.New(noon.Add(-23 * time.Hour)), "TOO_LATE"},
		{"not cancelled whole without what is excluded", rule(cancelOrder, but("socks")), nil, nil, nil, "NO_ITEMS"},
		{"cancelled in part: what has not left", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped, parcel(0, 2))}, units(0, 1, 1, 1), nil, ""},
		{"cancelled in part: not what is excluded", rule(cancelItems, but("boots")), []func(*orderv1.Order){in(partlyShipped, parcel(0, 2))}, units(1, 1), nil, ""},
		{"not cancelled in part when a parcel may hold anything", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped, &orderv1.Fulfilment{})}, nil, nil, "NO_ITEMS"},
		{"not cancelled in part when no parcel is known", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped)}, nil, nil, "NO_ITEMS"},
		{"not cancelled in part when all has left", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped, parcel(0, 3, 1, 1))}, nil, nil, "ALREADY_SHIPPED"},
		{"changed once", rule(changeItems, once), []func(*orderv1.Order){changed}, nil, nil, "ALREADY_CHANGED"},
		{"changed more than once", rule(changeItems), []func(*orderv1.Order){changed}, all, nil, ""},
		{"not returned before it arrives", rule(returnItems), []func(*orderv1.Order){in(shippedAll)}, nil, nil, "NOT_DELIVERED"},
		{"returned in the window, to the end of its last day", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(14))}, all, lastOf(0), ""},
		{"not returned after it", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(15))}, nil, lastOf(-1), "TOO_LATE"},
		{"the last parcel begins the window", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(3), arrived(30))}, all, lastOf(11), ""},
		{"the order's own deadline goes before it", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(60)), returnUntil(daysFromNow(2))}, all, lastOf(2), ""},
		{"nobody knows when it arrived", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered)}, nil, nil, "DEADLINE_UNKNOWN"},
		{"the history knows", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered), func(o *orderv1.Order) {
			o.History = []*orderv1.StatusChange{{Status: delivered, Time: daysFromNow(-1)}}
		}}, all, lastOf(13), ""},
		{"what came back is not returned again", rule(returnItems), []func(*orderv1.Order){in(delivered), coming(requested, 0, 2)}, units(0, 1, 1, 1), nil, ""},
		{"a return that was refused does not count", rule(returnItems), []func(*orderv1.Order){in(delivered), coming(rejected, 0, 2)}, all, nil, ""},
		{"all came back", rule(returnItems), []func(*orderv1.Order){in(delivered), coming(requested)}, nil, nil, "ALREADY_RETURNED"},
		{"hygiene goods are not returned", rule(returnItems, but("socks")), []func(*orderv1.Order){in(delivered)}, units(0, 3), nil, ""},
		{"nothing but excluded goods", rule(returnItems, but("socks", "boots")), []func(*orderv1.Order){in(delivered)}, nil, nil, "NO_ITEMS"},
		{"no second return unless a rule says so", rule(returnItems), []func(*orderv1.Order){in(returnAsked), coming(requested, 0, 2)}, nil, nil, "ALREADY_RETURNED"},
		{"a second return where a rule says so", rule(returnItems, during(delivered, returnAsked)), []func(*orderv1.Order){in(returnAsked), coming(requested, 0, 2)}, units(0, 1, 1, 1), nil, ""},
		{"a second return of nobody knows what", rule(returnItems, during(returnAsked)), []func(*orderv1.Order){in(returnAsked)}, nil, nil, "ALREADY_RETURNED"},
		{"no exchange after an exchange", rule(exchangeItems, once), []func(*orderv1.Order){in(delivered), changed}, nil, nil, "ALREADY_CHANGED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := order("Q-1", "ada", 1, append([]func(*orderv1.Order){two}, tt.order...)...)
			got := actionsOf(&orderv1.OrderSettings{Rules: []*orderv1.OrderRule{tt.rule}}, o, noon)
			if n := len(got.GetAllowed()) + len(got.GetRefused()); n != len(kinds) {
				t.Errorf("%d actions are answered, want all %d", n, len(kinds))
			}
			if tt.refused != "" {
				if reason := refusedOf(got)[kindName(tt.rule.GetKind())]; reason != tt.refused {
					t.Errorf("refused for %q, want %s", reason, tt.refused)
				}
				for _, r := range got.GetRefused() {
					if r.GetKind() == tt.rule.GetKind() && cmp.Diff(tt.until, r.GetDeadline(), protocmp.Transform()) != "" {
						t.Errorf("deadline %v, want %v", r.GetDeadline().AsTime(), tt.until.AsTime())
					}
				}
				return
			}
			want := []*orderv1.AllowedAction{{Kind: tt.rule.GetKind(), Items: tt.units, Deadline: tt.until}}
			if diff := cmp.Diff(want, got.GetAllowed(), protocmp.Transform()); diff != "" {
				t.Errorf("allowed (-want +got):\n%s", diff)
			}
		})
	}
}

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
	c.haveOrders(t, "one", order("Q-1", "ada", 1, two, func(o *orderv1.Order) {
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
	if all := strings.Join(got.Order.NotPossible, "\n"); !strings.Contains(all, "the order can not be cancelled: it has left already") ||
		!strings.Contains(all, "items can not be returned: it has not arrived yet") || strings.Contains(all, "payment") {
		t.Errorf("not possible:\n%s", all)
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

func TestRulesThatCanNotBeMetAreRefused(t *testing.T) {
	c := serve(t, silent())
	tests := []struct {
		name  string
		rules []*orderv1.OrderRule
		field string
	}{
		{"no kind", []*orderv1.OrderRule{{}}, "settings.rules[0].kind"},
		{"cancelling what has left", []*orderv1.OrderRule{{Kind: cancelOrder, Statuses: []orderv1.OrderStatus{shippedAll}}}, "settings.rules[0].statuses"},
		{"returning what has not arrived", []*orderv1.OrderRule{{Kind: returnItems, Statuses: []orderv1.OrderStatus{processing}}}, "settings.rules[0].statuses"},
		{"two rules for the same orders", []*orderv1.OrderRule{{Kind: cancelOrder}, {Kind: cancelOrder, Statuses: []orderv1.OrderStatus{processing}}}, "settings.rules[1].statuses"},
		{"a window of nothing", []*orderv1.OrderRule{{Kind: returnItems, Window: &durationpb.Duration{}}}, "settings.rules[0].window"},
		{"an empty reason", []*orderv1.OrderRule{{Kind: cancelOrder, Reasons: []string{""}}}, "settings.rules[0].reasons[0]"},
		{"too many rules", make([]*orderv1.OrderRule, maxRules+1), "settings.rules"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.orders.PutOrderSettings(t.Context(), &orderv1.PutOrderSettingsRequest{StoreId: "one", Settings: &orderv1.OrderSettings{Rules: tt.rules}})
			if status.Code(err) != codes.InvalidArgument || !cmp.Equal(servicetest.Violated(err), []string{tt.field}) {
				t.Errorf("%v, want a violation of %s", err, tt.field)
			}
		})
	}
}

func TestAStoreWithoutAnOrderSystem(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "Orders can not be looked up here."})
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
	if _, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", ""); err == nil || !strings.Contains(err.Error(), "can not be looked up here") {
		t.Errorf("a look-up that was on its way: %v", err)
	}
}
