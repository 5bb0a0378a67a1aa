package e2e

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/suite"
)

// conversation is a message and what must hold of its reply.
type conversation struct {
	name        string
	message     string
	specialists []string // exactly these, in this order
	tools       []string // at least these
	says        []string // at least these, whatever their case
	check       func(t *testing.T, reply *gatewayv1.AskResponse)
}

var conversations = []conversation{
	{
		name: "two parts go to two specialists and come back as one", message: twoParts,
		specialists: []string{suite.Search, suite.Support}, tools: []string{"search_catalog", "search_policies"},
		says: []string{"EUR", "return"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if len(reply.GetProducts()) == 0 || len(reply.GetPassages()) == 0 {
				t.Fatal("no products or no passages")
			}
			for _, p := range reply.GetProducts() {
				if p.GetOptions()["size"] != "42" || p.GetStock() == 0 {
					t.Errorf("%s is offered in size %q with stock %d", p.GetTitle(), p.GetOptions()["size"], p.GetStock())
				}
			}
		},
	},
	{
		name: "company for the cart leaves out what is in it", message: "something to go with what's in my cart",
		specialists: []string{suite.Recommend}, tools: []string{"get_cart_context", "similar_products"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if len(reply.GetProducts()) == 0 {
				t.Error("no products")
			}
		},
	},
	{
		name: "what is in the cart is not proposed for it", message: "do you have the Emberlock Brook steel bottle?",
		specialists: []string{suite.Search}, tools: []string{"search_catalog"}, says: []string{"Emberlock Brook steel bottle"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			var proposed []string
			for _, a := range reply.GetSuggestedActions() {
				proposed = append(proposed, a.GetAddToCart().GetProductId())
			}
			if slices.Contains(proposed, "BOTL-001") || !slices.Contains(proposed, "BOTL-004") {
				t.Errorf("%v are proposed; BOTL-001 is in the cart, BOTL-004 is not", proposed)
			}
		},
	},
	{
		name: "the best promotion is chosen with the saving that code computed", message: "any discount I could use?",
		specialists: []string{suite.Promotions}, tools: []string{"list_active_promotions"},
		says: []string{"SAVE20"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if got := reply.GetPromotion(); got.GetCode() != "SAVE20" || got.GetSaving().GetAmountMinor() != 2000 {
				t.Errorf("promotion is %v", got)
			}
		},
	},
	{
		name: "the customer's latest order", message: "where is my order?",
		specialists: []string{suite.Support}, tools: []string{"lookup_order"}, says: []string{"QT-10029", "TP70446718204"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if len(reply.GetOrders()) != 1 || reply.GetOrders()[0].GetOrderId() != "QT-10029" {
				t.Errorf("orders are %v", reply.GetOrders())
			}
			if len(reply.GetSuggestedActions()) > 0 {
				t.Errorf("who asks where it is is offered %v", reply.GetSuggestedActions())
			}
			if all := reply.GetResults()[0].GetAnswer().GetOrderActions(); len(all.GetAllowed())+len(all.GetRefused()) < 7 {
				t.Errorf("the backend is not told of all that can be done: %v", all)
			}
		},
	},
	{
		name: "what is wanted of an order is answered from the order, then from the rules", message: "can I cancel my order?",
		specialists: []string{suite.Support}, tools: []string{"lookup_order", "search_policies"},
		says: []string{"cannot be cancelled: it has left already", "QT-10029", "until it is packed"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if len(reply.GetSuggestedActions()) > 0 {
				t.Errorf("what is not possible is suggested: %v", reply.GetSuggestedActions())
			}
		},
	},
	{
		name: "what came back does not come back again", message: "I want to return my order QT-10015",
		specialists: []string{suite.Support}, tools: []string{"lookup_order"}, says: []string{"cannot be returned: it was returned already"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if len(reply.GetSuggestedActions()) > 0 {
				t.Errorf("what is not possible is suggested: %v", reply.GetSuggestedActions())
			}
		},
	},
	{
		name: "a superlative over the catalog, and a policy", message: "which of your tents is the cheapest and can I return it opened?",
		specialists: []string{suite.Search, suite.Support}, tools: []string{"search_catalog", "search_policies"},
		says: []string{"69.95 EUR"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if len(reply.GetProducts()) == 0 || reply.GetProducts()[0].GetProductId() != "TENT-009" {
				t.Errorf("the first product is not the cheapest tent: %v", reply.GetProducts())
			}
		},
	},
	{
		name: "a greeting needs no tools", message: "hi!", specialists: []string{suite.Support},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if calls := toolsOf(reply); len(calls) > 0 {
				t.Errorf("tools were called: %v", calls)
			}
		},
	},
	{
		name: "a person is suggested to who asks for one", message: "can I talk to a person?",
		specialists: []string{suite.Support}, tools: []string{"suggest_handoff"},
		check: func(t *testing.T, reply *gatewayv1.AskResponse) {
			if !reply.GetHandoff().GetRecommended() || len(reply.GetSuggestedActions()) != 1 {
				t.Errorf("handoff %v, actions %v", reply.GetHandoff(), reply.GetSuggestedActions())
			}
		},
	},
	{
		name: "Spanish is answered in Spanish, and its words find English products", message: "¿tenéis mochilas impermeables?",
		specialists: []string{suite.Search}, tools: []string{"search_catalog"}, says: []string{"lo que encaja", "Nimbrel Wisp 40 ultralight pack"},
	},
	{
		name: "what is not translated is asked for in Spanish", message: "¿tenéis brújulas?",
		specialists: []string{suite.Search}, tools: []string{"search_catalog"}, says: []string{"catálogo está en inglés"},
	},
	{
		name:        "four requests at once, none lost",
		message:     "Do you have a warm sleeping bag under 150 euros? What would go well with what is in my cart? Is there a promo code I can use? And where is my order?",
		specialists: []string{suite.Search, suite.Recommend, suite.Promotions, suite.Support},
		tools:       []string{"search_catalog", "get_cart_context", "list_active_promotions", "lookup_order"},
		says:        []string{"SAVE20", "QT-10029"},
	},
}

func TestConversationsThroughAllSixServices(t *testing.T) {
	h := newSystem(t)
	for _, c := range conversations {
		t.Run(c.name, func(t *testing.T) {
			reply := h.ask(t, c.message)
			if got := specialists(reply); !slices.Equal(got, c.specialists) {
				t.Errorf("answered by %v, want %v", got, c.specialists)
			}
			tools := toolsOf(reply)
			checkCallLog(t, reply)
			checkClaims(t, reply)
			for _, r := range reply.GetResults() {
				if listed := r.GetAnswer().GetProducts(); r.GetAssignment().GetSpecialist() == suite.Support && len(listed) > 0 {
					t.Errorf("support lists products: %v", listed)
				}
			}
			for _, want := range c.tools {
				if !slices.Contains(tools, want) {
					t.Errorf("%s was not called; called: %v", want, tools)
				}
			}
			for _, want := range c.says {
				if !strings.Contains(strings.ToLower(reply.GetText()), strings.ToLower(want)) {
					t.Errorf("the reply does not say %q:\n%s", want, reply.GetText())
				}
			}
			if len(reply.GetTraceId()) != 32 || reply.GetThreadId() == "" || reply.GetTurnId() == "" {
				t.Errorf("trace %q, thread %q, turn %q", reply.GetTraceId(), reply.GetThreadId(), reply.GetTurnId())
			}
			if c.check != nil {
				c.check(t, reply)
			}
			if t.Failed() {
				t.Logf("the reply was:\n%s", reply.GetText())
			}
		})
	}
}

// checkCallLog checks that every tool call is told whole: when, how long, with which result.
func checkCallLog(t *testing.T, reply *gatewayv1.AskResponse) {
	t.Helper()
	for _, r := range reply.GetResults() {
		for _, c := range r.GetAnswer().GetToolCalls() {
			if c.GetError() != "" || c.GetSummary() == "" || c.GetResultPreview() == "" || !c.GetStartTime().IsValid() || c.GetDuration() == nil {
				t.Errorf("the log of %s is not whole: %v", c.GetToolName(), c)
			}
		}
	}
}

// checkClaims checks that what the offline model says rests on what the tools found, and that no confidence is lost to it.
func checkClaims(t *testing.T, reply *gatewayv1.AskResponse) {
	t.Helper()
	for _, r := range reply.GetResults() {
		a := r.GetAnswer()
		if unsupported := a.GetUnsupportedClaims(); len(unsupported) > 0 {
			t.Errorf("%s says what nothing supports: %q in\n%s", a.GetSpecialist(), unsupported, a.GetText())
		}
		if a.GetClaims() == 0 && strings.ContainsAny(a.GetText(), "0123456789") {
			t.Errorf("no claim of %s was checked:\n%s", a.GetSpecialist(), a.GetText())
		}
	}
}

// toolsOf returns the names of all tools that were called, in order.
func toolsOf(reply *gatewayv1.AskResponse) []string {
	var names []string
	for _, r := range reply.GetResults() {
		for _, c := range r.GetAnswer().GetToolCalls() {
			names = append(names, c.GetToolName())
		}
	}
	return names
}

// What is possible and wanted is suggested, and nothing else that is possible.
func TestTheBackendIsAskedForWhatTheShopperWants(t *testing.T) {
	h := newSystem(t)
	for message, want := range map[string]orderv1.OrderActionKind{
		"can I cancel my order?":         orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL,
		"I want to change the address":   orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS,
		"¿puedo cancelar mi pedido?":     orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL,
		"has my order been sent already": orderv1.OrderActionKind_ORDER_ACTION_KIND_UNSPECIFIED,
	} {
		reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "finn", Message: message})
		if err != nil {
			t.Fatalf("%s: %v", message, err)
		}
		var got []orderv1.OrderActionKind
		for _, a := range reply.GetSuggestedActions() {
			got = append(got, a.GetChangeOrder().GetAction().GetKind())
		}
		if want == orderv1.OrderActionKind_ORDER_ACTION_KIND_UNSPECIFIED && len(got) > 0 || want != 0 && !slices.Equal(got, []orderv1.OrderActionKind{want}) {
			t.Errorf("%s: suggested %v, want %v alone", message, got, want)
		}
		allowed := reply.GetResults()[0].GetAnswer().GetOrderActions().GetAllowed()
		if len(allowed) != 2 {
			t.Errorf("%s: allowed are %v, want to cancel and to change the address", message, allowed)
		}
	}
	const address = "Flat 2, 9 Mill Lane, Bath BA1 5LN"
	reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "finn",
		Message: "ship my order elsewhere: change the address to " + address + " please"})
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.GetSuggestedActions(); len(got) != 1 || got[0].GetChangeOrder().GetNewAddress() != address || len(reply.GetResults()) != 1 {
		t.Errorf("of %d results, suggested %v, want to change the address to %s", len(reply.GetResults()), got, address)
	}
}
