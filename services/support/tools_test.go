package support

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/support/orders"
	"github.com/quartet-commerce/quartet/services/support/policies/policiestest"
)

// toolsFor makes the tools of a turn of a customer of store "one".
func toolsFor(c clients, customer string) []agentloop.Tool {
	turn := &specialist.Turn{Scope: scope.Scope{StoreID: "one", CustomerID: customer}, Findings: &specialist.Findings{}}
	return c.service.tools(turn)
}

func TestLookupOrderIsBoundToTheCustomer(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "ada", 9), order("Q-2", "ada", 2), order("Q-3", "bo", 1))
	c.haveOrders(t, "two", order("Q-9", "ada", 0))
	tests := []struct {
		name, customer, arguments string
		order                     string
		others                    string
		note                      string
	}{
		{"the latest", "ada", "", "Q-2", "Q-1", ""},
		{"the latest, with an empty number", "ada", `{"order_id":" # "}`, "Q-2", "Q-1", ""},
		{"by number", "ada", `{"order_id":"order #q-1"}`, "Q-1", "", ""},
		{"another customer's", "ada", `{"order_id":"Q-3"}`, "", "Q-2 Q-1", "This customer has no order Q-3. Ask them to check the number."},
		{"a missing one", "ada", `{"order_id":"Q-4"}`, "", "Q-2 Q-1", "This customer has no order Q-4. Ask them to check the number."},
		{"another store's", "ada", `{"order_id":"Q-9"}`, "", "Q-2 Q-1", "This customer has no order Q-9. Ask them to check the number."},
		{"a customer without orders", "cy", "", "", "", "This customer has no orders at this store."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, tt.customer), "lookup_order", tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			var id string
			if got.Order != nil {
				id = got.Order.OrderID
			}
			var others []string
			for _, line := range got.OtherOrders {
				other, _, _ := strings.Cut(line, ",")
				others = append(others, other)
			}
			if id != tt.order || strings.Join(others, " ") != tt.others || strings.TrimSpace(got.Note+" "+got.Instruction) != tt.note {
				t.Errorf("order %q, others %q, note %q; want %q, %q, %q", id, others, got.Note, tt.order, tt.others, tt.note)
			}
		})
	}
}

func TestLookupOrderAsksGuestsToSignIn(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "ada", 1))
	_, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, ""), "lookup_order", `{"order_id":"Q-1"}`)
	if err == nil || !strings.Contains(err.Error(), "sign in") {
		t.Errorf("error = %v, want to be told to sign in", err)
	}
}

func TestLookupOrderShowsWhatAShopperAsksFor(t *testing.T) {
	c := serve(t, silent())
	first := &orderv1.Fulfilment{Carrier: "Tidepost", TrackingNumber: "T1", DeliveryTime: daysFromNow(-1)}
	second := &orderv1.Fulfilment{
		Carrier: "Tidepost", TrackingNumber: "T2", TrackingUrl: "https://tidepost.example/T2", ShipTime: daysFromNow(-1), EstimatedDeliveryTime: daysFromNow(2),
	}
	c.haveOrders(t, "one", order("Q-1", "ada", 5, in(orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED, first, second)))
	got, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", "")
	if err != nil {
		t.Fatal(err)
	}
	want := orderResult{Order: &shownOrder{
		OrderID: "Q-1", Status: "partly on its way", Placed: "10 March 2026", Total: "149.00 EUR",
		NextStep: "The parcel should arrive by 17 March 2026. It can be followed on the tracking page. The rest has not left yet.",
		Items:    []shownItem{{Title: "Nimbolt Walker", Options: map[string]string{"size": "42"}, Price: "149.00 EUR"}},
		Tracking: &shownParcel{Status: "on its way", Carrier: "Tidepost", TrackingNumber: "T2", URL: "https://tidepost.example/T2", EstimatedDelivery: "17 March 2026"},
		Parcels:  []shownParcel{{Status: "delivered", Carrier: "Tidepost", TrackingNumber: "T1", Delivered: "14 March 2026"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLookupOrderCutsLongOrders(t *testing.T) {
	c := serve(t, silent())
	long := order("Q-1", "ada", 1)
	for len(long.GetItems()) < 29 {
		long.Items = append(long.Items, long.GetItems()[0])
	}
	lantern := proto.CloneOf(long.GetItems()[0])
	lantern.Title = "Gullwing lantern"
	long.Items = append(long.Items, lantern)
	c.haveOrders(t, "one", long)
	for arguments, last := range map[string]string{"": long.GetItems()[0].GetTitle(), `{"item":"lantern"}`: "Gullwing lantern"} {
		got, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", arguments)
		if err != nil || len(got.Order.Items) != maxItemsShown || got.Order.Items[maxItemsShown-1].Title != last || got.Note != "The order has 30 items; 6 are listed." {
			t.Errorf("%s: %d items, note %q, %v", arguments, len(got.Order.Items), got.Note, err)
		}
	}
}

func TestNextStep(t *testing.T) {
	thisMorning := timestamppb.New(noon.Add(-5 * time.Hour))
	parcel := func(due int) *orderv1.Fulfilment { return &orderv1.Fulfilment{EstimatedDeliveryTime: daysFromNow(due)} }
	delivered := in(orderv1.OrderStatus_ORDER_STATUS_DELIVERED)
	tests := []struct {
		name    string
		options []func(*orderv1.Order)
		want    string
	}{
		{"not paid", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT)}, "The payment is still missing."},
		{"being prepared", nil, "Nothing to do: the order is being prepared"},
		{"on its way", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_SHIPPED, parcel(1))}, "The parcel should arrive by 16 March 2026."},
		{"due earlier today is not late", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_SHIPPED,
			&orderv1.Fulfilment{EstimatedDeliveryTime: thisMorning})}, "The parcel should arrive by 15 March 2026."},
		{"late", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_SHIPPED, parcel(-1))}, "The parcel was expected by 14 March 2026 and is late."},
		{"on its way, nothing known", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_SHIPPED)}, "The parcel is on its way."},
		{"delivered", []func(*orderv1.Order){delivered}, "The order has arrived."},
		{"can be returned", []func(*orderv1.Order){delivered, returnUntil(daysFromNow(3))}, "The order has arrived. A return can be asked for until 18 March 2026; subject to"},
		{"can be returned all of the last day", []func(*orderv1.Order){delivered, returnUntil(thisMorning)}, "The order has arrived. A return can be asked for until 15 March 2026; subject to"},
		{"too late to return", []func(*orderv1.Order){delivered, returnUntil(daysFromNow(-1))}, "The order has arrived. The time to ask for a return ended on 14 March 2026."},
		{"cancelled", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_CANCELLED)}, "Nothing more happens"},
		{"coming back", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED)}, "The refund follows"},
		{"refunded", []func(*orderv1.Order){in(orderv1.OrderStatus_ORDER_STATUS_RETURNED)}, "Nothing to do: the return has arrived and was refunded to: the card."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := order("Q-1", "ada", 9, tt.options...)
			if got := nextStep(orders.WithActions{Order: o, Actions: orders.ActionsFor(nil, o, noon), ReturnRefund: "the card"}, noon); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for number, name := range orderv1.OrderStatus_name {
		if number != 0 && statusText[orderv1.OrderStatus(number)] == "" {
			t.Errorf("%s has no words", name)
		}
	}
}

// ask runs the specialist over the wire with a scripted model, for ada of store "one".
func ask(t *testing.T, orders []*orderv1.Order, steps ...scripted.Step) *specialistv1.Answer {
	t.Helper()
	c := serve(t, scripted.New(steps...))
	c.havePolicies(t, "one", policiestest.Handbook()...)
	c.haveOrders(t, "one", orders...)
	return servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "help")
}

func call(name, arguments string) scripted.Step {
	return scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: name, Arguments: arguments}}}
}

func TestAnswerCarriesTheOrderAndProposesAReturnInTime(t *testing.T) {
	startReturn := []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_StartReturn{StartReturn: &specialistv1.StartReturn{
		OrderId: "Q-1", Action: &orderv1.AllowedAction{
			Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN, Items: []*orderv1.ItemQuantity{{Quantity: 1}},
			Deadline: timestamppb.New(orders.EndOfDay(noon)),
		},
	}}}}
	tests := []struct {
		name    string
		order   *orderv1.Order
		actions []*specialistv1.SuggestedAction
	}{
		{"in time", order("Q-1", "ada", 9, in(orderv1.OrderStatus_ORDER_STATUS_DELIVERED), returnUntil(daysFromNow(0))), startReturn},
		{"too late", order("Q-1", "ada", 9, in(orderv1.OrderStatus_ORDER_STATUS_DELIVERED), returnUntil(daysFromNow(-1))), nil},
		{"not delivered", order("Q-1", "ada", 9, in(orderv1.OrderStatus_ORDER_STATUS_SHIPPED), returnUntil(daysFromNow(9))), nil},
		{"no deadline known", order("Q-1", "ada", 9, in(orderv1.OrderStatus_ORDER_STATUS_DELIVERED)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := ask(t, []*orderv1.Order{tt.order},
				call("lookup_order", `{"wants":["return"]}`), call("lookup_order", `{"order_id":"#q-1","wants":["return","cancel"]}`),
				scripted.Step{Text: "Here it is."})
			if diff := cmp.Diff(tt.order, answer.GetOrder(), protocmp.Transform()); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.actions, answer.GetSuggestedActions(), protocmp.Transform()); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswerCarriesPassagesOnce(t *testing.T) {
	answer := ask(t, nil, call("search_policies", `{"query":"guarantee on bags"}`), call("search_policies", `{"query":"bags guarantee"}`),
		scripted.Step{Text: "Bags are covered for 10 years."})
	got := answer.GetPassages()
	if len(got) != 2 || got[0].GetText() != "Bags are covered for 10 years." || got[0].GetPolicyTitle() != "Warranty" || got[0].GetSection() != "Bags" {
		t.Errorf("passages = %v", got)
	}
}

func TestSearchPoliciesTool(t *testing.T) {
	c := serve(t, silent())
	long := &policyv1.Policy{PolicyId: "long", Title: "Privacy", Body: strings.Repeat("data ", 1000)}
	c.havePolicies(t, "one", append(policiestest.Handbook(), long)...)
	tools := toolsFor(c, "")
	got, err := servicetest.Run[searchResult](t.Context(), t, tools, "search_policies", `{"query":"how do I return something"}`)
	want := shownPassage{Policy: "Returns and refunds", Text: "Anything can be sent back within 30 days."}
	if err != nil || len(got.Passages) != shownPassages || got.Passages[0] != want || got.Instruction != "" {
		t.Errorf("%+v, %v; want %+v first", got, err, want)
	}
	got, err = servicetest.Run[searchResult](t.Context(), t, tools, "search_policies", `{"query":"student discount"}`)
	if err != nil || !strings.Contains(got.Instruction, "only if it answers") {
		t.Errorf("without an answer: %+v, %v", got, err)
	}
	got, err = servicetest.Run[searchResult](t.Context(), t, tools, "search_policies", `{"query":"privacy","full":true}`)
	if err != nil || len(got.Passages) != 1 || len(got.Passages[0].Text) != maxPassageShown+len("…") {
		t.Errorf("a long passage was not cut: %v", err)
	}
	if _, err = servicetest.Run[searchResult](t.Context(), t, tools, "search_policies", `{"query":"  "}`); err == nil {
		t.Error("a search for nothing succeeded")
	}
}

// nearEmbedder gives all texts the same vector.
type nearEmbedder struct{}

func (nearEmbedder) Query(context.Context, string) (embed.Vector, error) { return embed.Vector{1}, nil }

func (nearEmbedder) Documents(_ context.Context, texts []string) ([]embed.Vector, error) {
	return slices.Repeat([]embed.Vector{{1}}, len(texts)), nil
}

func TestAPassageThatIsNearInMeaningOnlyHasANote(t *testing.T) {
	c := serveBy(t, silent(), nearEmbedder{})
	c.havePolicies(t, "one", policiestest.Handbook()...)
	const question = "which stuff lasts longest"
	for legs := []string(nil); !slices.Contains(legs, "vector"); runtime.Gosched() { // until the passages are embedded
		resp, err := c.policies.SearchPolicies(t.Context(), &policyv1.SearchPoliciesRequest{StoreId: "one", Query: question})
		if err != nil {
			t.Fatal(err)
		}
		legs = resp.GetLegs()
	}
	shown, err := servicetest.Run[searchResult](t.Context(), t, toolsFor(c, ""), "search_policies", `{"query":"`+question+`"}`)
	if err != nil || len(shown.Passages) == 0 || !strings.Contains(shown.Instruction, "only if it answers") {
		t.Errorf("the model is told %+v, %v", shown, err)
	}
}

func TestHandoffIsProposedOnce(t *testing.T) {
	answer := ask(t, nil, call("suggest_handoff", `{"reason":"asked for a person"}`), call("suggest_handoff", `{"reason":"again"}`), scripted.Step{Text: "I have asked."})
	want := []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{
		Reason: "asked for a person", Summary: `The shopper wrote: "help"`}}}}
	if diff := cmp.Diff(want, answer.GetSuggestedActions(), protocmp.Transform()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestToolsHideTheCauseOfAFailure(t *testing.T) {
	c := serve(t, silent())
	if err := c.redis.Close(); err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]string{"lookup_order": "{}", "search_policies": `{"query":"returns"}`} {
		var err error
		if name == "lookup_order" {
			_, err = servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), name, arguments)
		} else {
			_, err = servicetest.Run[searchResult](t.Context(), t, toolsFor(c, "ada"), name, arguments)
		}
		if err == nil || strings.Contains(err.Error(), "redis") || !strings.Contains(err.Error(), "cannot be") {
			t.Errorf("%s: error = %v, want words for the model", name, err)
		}
	}
}

func TestACancelledTurnIsNotToldToTheModel(t *testing.T) {
	c := serve(t, silent())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := servicetest.Run[orderResult](ctx, t, toolsFor(c, "ada"), "lookup_order", "{}")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestDescribe(t *testing.T) {
	c := serve(t, silent())
	ctx := servicetest.Context(t, c.conn, scope.Scope{StoreID: "one"})
	resp, err := specialistv1.NewSpecialistServiceClient(c.conn).Describe(ctx, &specialistv1.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s := resp.GetSpecialist()
	if s.GetName() != "support" || !s.GetAvailable() || len(s.GetTools()) != 3 || len(s.GetKeywords()) < 40 {
		t.Errorf("described as %v", s)
	}
	for _, word := range []string{"greetings", "thanks", "complaints", "anything else"} {
		if !strings.Contains(s.GetPurpose(), word) {
			t.Errorf("the purpose does not mention %q: %s", word, s.GetPurpose())
		}
	}
	seen := map[string]bool{}
	for _, k := range s.GetKeywords() {
		if seen[k.GetTerm()] || k.GetTerm() != strings.ToLower(k.GetTerm()) {
			t.Errorf("keyword %q is named twice or is not in lower case", k.GetTerm())
		}
		seen[k.GetTerm()] = true
	}
}

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	c := serve(t, silent())
	for i, deps := range []specialist.Deps{{Model: silent()}, {Redis: c.redis}} {
		if _, err := New(Config{Deps: deps}); err == nil {
			t.Errorf("dependencies %d were accepted", i)
		}
	}
}

func TestTheCartIsReadOnlyWhenTheAssignmentHasIt(t *testing.T) {
	c := serve(t, silent())
	turn := &specialist.Turn{Scope: scope.Scope{StoreID: "one", CartID: "c"}, Findings: &specialist.Findings{}}
	named := func(tool agentloop.Tool) bool { return tool.Name == carttool.Name }
	if slices.ContainsFunc(c.service.tools(turn), named) {
		t.Error("a cart is offered that nobody has read")
	}
	price := &commonv1.Money{AmountMinor: 1495, CurrencyCode: "EUR"}
	turn.Cart = &cartv1.Cart{Subtotal: &commonv1.Money{AmountMinor: 4485, CurrencyCode: "EUR"}, Items: []*cartv1.CartItem{
		{ProductId: "S", VariantId: "v", Title: "Wool sock", Quantity: 2, UnitPrice: price, CategoryPath: []string{"Clothing", "Socks"}, Available: true},
		{ProductId: "B", VariantId: "v", Title: "Bottle", Quantity: 1, UnitPrice: price, CategoryPath: []string{"Kitchen"}, Available: true}}}
	got, err := servicetest.Run[carttool.Result](t.Context(), t, c.service.tools(turn), carttool.Name, "{}")
	want := map[string]string{"Socks": "29.90 EUR", "Kitchen": "14.95 EUR"}
	if diff := cmp.Diff(want, got.Subtotals); err != nil || got.Subtotal != "44.85 EUR" || diff != "" {
		t.Errorf("subtotal %q, %v; of categories (-want +got):\n%s", got.Subtotal, err, diff)
	}
}
