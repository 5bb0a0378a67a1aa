package support

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/support/orders"
)

// everything are rules under which a fresh order can be cancelled and changed.
var everything = &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{
	{Kind: cancelOrder, Reasons: []string{"ordered by mistake"}}, {Kind: cancelItems}, {Kind: changeAddress}, {Kind: returnItems, Window: days(14)},
}}

// proposed names the actions of an answer.
func proposed(a *specialistv1.Answer) []string {
	var out []string
	for _, s := range a.GetSuggestedActions() {
		action := s.GetChangeOrder().GetAction()
		if s.GetStartReturn() != nil {
			action = s.GetStartReturn().GetAction()
		}
		out = append(out, actionName(action.GetKind()))
	}
	return out
}

func TestOnlyWhatTheShopperWantsIsProposed(t *testing.T) {
	tests := []struct {
		name, arguments string
		options         []func(*orderv1.Order)
		proposed        []string
		asked           string
	}{
		{"where it is", `{}`, nil, nil, ""},
		{"to cancel", `{"wants":["cancel"]}`, nil, []string{"cancel"}, "The order can be cancelled; a reason is needed: ordered by mistake."},
		{"two things", `{"wants":["change_address","cancel"]}`, nil, []string{"cancel", "change_address"},
			"The order can be cancelled; a reason is needed: ordered by mistake. The address can be changed."},
		{"too early to return", `{"wants":["return"]}`, nil, nil, "Items cannot be returned: it has not arrived yet."},
		{"too late to cancel, and a return", `{"wants":["cancel","return"]}`, []func(*orderv1.Order){
			in(orderv1.OrderStatus_ORDER_STATUS_DELIVERED, &orderv1.Fulfilment{DeliveryTime: daysFromNow(-1)})}, []string{"return"},
			"Items can be returned, until 28 March 2026; subject to the store's return rules. The order cannot be cancelled: it has left already."},
		{"what the store never does", `{"wants":["change_payment"]}`, nil, nil,
			"The payment cannot be changed: no rule of the store allows it for an order that is being prepared."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, scripted.New(call("lookup_order", tt.arguments), scripted.Step{Text: "So it is."}))
			c.haveSettings(t, "one", everything)
			o := order("Q-1", "ada", 1, tt.options...)
			c.haveOrders(t, "one", o)
			answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "help")
			if got := proposed(answer); !slices.Equal(got, tt.proposed) {
				t.Errorf("proposed: %v, want %v", got, tt.proposed)
			}
			if diff := cmp.Diff(orders.ActionsFor(everything, o, noon), answer.GetOrderActions(), protocmp.Transform()); diff != "" {
				t.Errorf("all actions of the order (-want +got):\n%s", diff)
			}
			got, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", tt.arguments)
			if err != nil || strings.Join(got.Order.Asked, " ") != tt.asked {
				t.Errorf("asked: %q, %v; want %q", got.Order.Asked, err, tt.asked)
			}
		})
	}
}

func TestAnOrderThatIsNotThereIsAbsent(t *testing.T) {
	for _, tt := range []struct {
		name, customer, arguments string
		absent                    int32
	}{
		{"no such number", "ada", `{"order_id":"Q-9"}`, 1},
		{"no orders at all", "bob", `{}`, 1},
		{"no such item, which may be called otherwise", "ada", `{"item":"canoe"}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, scripted.New(call("lookup_order", tt.arguments), scripted.Step{Text: "There is none."}))
			c.haveSettings(t, "one", everything)
			c.haveOrders(t, "one", order("Q-1", "ada", 1))
			answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: tt.customer}, "help")
			if e := answer.GetEvidence(); e.GetEmpty() != 1 || e.GetAbsent() != tt.absent {
				t.Errorf("evidence %v, want %d absent", e, tt.absent)
			}
		})
	}
}

func TestAGuestsWantsAreAnsweredToo(t *testing.T) {
	c := serve(t, scripted.New(call("lookup_order", `{"order_id":"Q-1","email":"ada@one.example","wants":["cancel"]}`), scripted.Step{Text: "Yes."}))
	c.haveSettings(t, "one", everything)
	c.haveOrders(t, "one", order("Q-1", "ada", 1, func(o *orderv1.Order) { o.Email = "ada@one.example" }))
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one"}, "cancel Q-1")
	if got := proposed(answer); !slices.Equal(got, []string{"cancel"}) {
		t.Errorf("proposed: %v, want cancel", got)
	}
}

func TestAWantThatNoStoreHasIsRefusedToTheModel(t *testing.T) {
	model := scripted.New(call("lookup_order", `{"wants":["give_it_away"]}`), scripted.Step{Text: "No."})
	c := serve(t, model)
	c.haveSettings(t, "one", everything)
	c.haveOrders(t, "one", order("Q-1", "ada", 1))
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "give it away")
	calls := answer.GetToolCalls()
	if len(calls) != 1 || !strings.Contains(calls[0].GetError(), "wants") || answer.GetOrder() != nil || len(answer.GetSuggestedActions()) > 0 {
		t.Errorf("calls %v, actions %v; want the call refused, with the field named", calls, answer.GetSuggestedActions())
	}
	for _, kind := range orders.Kinds {
		if name := `"` + actionName(kind) + `"`; !strings.Contains(string(model.Requests()[0].Tools[0].Parameters), name) {
			t.Errorf("the model is not told of %s", name)
		}
	}
}

func TestEveryActionHasWords(t *testing.T) {
	for number, name := range orderv1.OrderActionKind_name {
		if kind := orderv1.OrderActionKind(number); number != 0 && (actionClauses[kind] == "" || !slices.Contains(orders.Kinds, kind)) {
			t.Errorf("%s has no words or no place", name)
		}
	}
	for number, name := range orderv1.ReturnStatus_name {
		if number != 0 && returnText[orderv1.ReturnStatus(number)] == "" {
			t.Errorf("%s has no words", name)
		}
	}
}

func TestLookupOrderShowsHowItWasPaidAndWhatCameBack(t *testing.T) {
	c := serve(t, silent())
	o := order("Q-1", "ada", 9, twoItems, func(o *orderv1.Order) {
		in(orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED)(o)
		o.PaymentKind = "card"
		o.Returns = []*orderv1.Return{{
			Status: orderv1.ReturnStatus_RETURN_STATUS_RECEIVED, RequestTime: daysFromNow(-2), Items: units(1, 1), Refund: o.GetTotal(),
		}}
	})
	c.haveOrders(t, "one", o)
	c.haveSettings(t, "one", &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{
		{Kind: cancelOrder, RefundMethods: []string{"gift card"}}, {Kind: returnItems, RefundMethods: []string{"original payment method"}},
	}})
	got, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []shownReturn{{Status: "received by the store; not refunded yet", Requested: "13 March 2026", Items: []string{"Rib socks"}, Refund: got.Order.Total + ", to: original payment method"}}
	if diff := cmp.Diff(want, got.Order.Returns); diff != "" || got.Order.PaidBy != "card" {
		t.Errorf("paid by %q, returns (-want +got):\n%s", got.Order.PaidBy, diff)
	}
}

// A reply must not offer what was ordered already, in whichever order.
func TestTheAnswerSaysWhatWasOrdered(t *testing.T) {
	c := serve(t, scripted.New(call("lookup_order", `{"order_id":"Q-1"}`), scripted.Step{Text: "Q-1 is being prepared."}))
	product := func(id string) func(*orderv1.Order) {
		return func(o *orderv1.Order) { o.Items[0].ProductId = id }
	}
	c.haveOrders(t, "one", order("Q-1", "ada", 1, product("P-1")), order("Q-2", "ada", 2, product("P-2")),
		order("Q-3", "ada", 3, product("P-3"), in(orderv1.OrderStatus_ORDER_STATUS_CANCELLED)), order("Q-4", "bo", 1, product("P-4")))
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "where is Q-1?")
	if got := answer.GetOrderedProductIds(); !slices.Equal(got, []string{"P-1", "P-2"}) {
		t.Errorf("ordered %v", got)
	}
}
