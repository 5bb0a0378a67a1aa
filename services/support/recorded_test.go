package support

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// recordedTurns are what language models did with shoppers' messages to the demo stores: their tool calls and texts.
//
//go:embed testdata/recorded.jsonl
var recordedTurns []byte

type recordedTurn struct {
	Model, N, Store, Customer string
	SubQuery                  string `json:"sub_query"`
	Calls                     []struct {
		Name      string
		Arguments json.RawMessage
	}
	Text string
}

// recorded returns a turn of a model.
func recorded(t *testing.T, model, n string) recordedTurn {
	t.Helper()
	for line := range bytes.Lines(recordedTurns) {
		var r recordedTurn
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Model == model && r.N == n {
			return r
		}
	}
	t.Fatalf("no turn %s of the %s model", n, model)
	return recordedTurn{}
}

// haveDemo loads the orders, rules and documents of the demo stores.
func (c clients) haveDemo(t *testing.T) {
	t.Helper()
	sets, err := demo.Load(noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		id := set.Store.GetStoreId()
		c.haveOrders(t, id, set.Orders...)
		c.havePolicies(t, id, set.Policies...)
		c.haveSettings(t, id, set.OrderSettings[0])
	}
}

// look runs lookup_order for a customer of a store who wrote something.
func (c clients) look(t *testing.T, storeID, customer, wrote, arguments string) orderResult {
	t.Helper()
	turn := &specialist.Turn{Scope: scope.Scope{StoreID: storeID, CustomerID: customer}, SubQuery: wrote, Findings: &specialist.Findings{}}
	got, err := servicetest.Run[orderResult](t.Context(), t, c.service.tools(turn), lookupOrder, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRecordedTurnsFindTheOrderAndProposeWhatTheDocumentsAllow(t *testing.T) {
	tests := []struct {
		name, model, n string
		order          string
		proposed       []string
	}{
		{"cancel in time", "strong", "10", "QT-10031", []string{"cancel"}},
		{"a new address", "strong", "11", "QT-10032", []string{"change_address"}},
		{"boots that were worn", "strong", "02", "QT-10021", nil},
		{"tins that were opened", "strong", "15", "PB-2207", nil},
		{"a rope that was opened, not here yet", "strong", "07", "QT-10026", nil},
		{"the fleece is not in the latest order", "strong", "25", "QT-10019", nil},
		{"the berry one is not in the latest order", "strong", "24", "QT-10004", nil},
		{"the tent is not in the latest order", "weak", "04", "QT-10027", nil},
		{"a late parcel", "weak", "08", "QT-10023", nil},
		{"boots for another size", "weak", "16", "QT-10021", []string{"exchange"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := recorded(t, tt.model, tt.n)
			var calls scripted.Step
			for _, call := range r.Calls {
				calls.ToolCalls = append(calls.ToolCalls, agentloop.ToolCall{Name: call.Name, Arguments: string(call.Arguments)})
			}
			c := serve(t, scripted.New(calls, scripted.Step{Text: r.Text}))
			c.haveDemo(t)
			answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: r.Store, CustomerID: r.Customer}, r.SubQuery)
			if got := answer.GetOrder().GetOrderId(); got != tt.order {
				t.Errorf("order %q, want %s", got, tt.order)
			}
			if got := proposed(answer); !slices.Equal(got, tt.proposed) {
				t.Errorf("proposed %v, want %v", got, tt.proposed)
			}
			for _, a := range answer.GetSuggestedActions() {
				if change := a.GetChangeOrder(); change.GetAction().GetKind() == exchangeItems && (len(change.GetItems()) != 1 || change.GetItems()[0].GetItemIndex() != 0) {
					t.Errorf("the exchange is of %v, want the boots alone", change.GetItems())
				}
			}
		})
	}
}

func TestAnOrderIsFoundByWhatTheShopperBought(t *testing.T) {
	c := serve(t, silent())
	c.haveDemo(t)
	tests := []struct{ customer, item, order string }{
		{"finn", "the fleece", "QT-10019"}, {"finn", "wool beanies", "QT-10019"}, {"ava", "berry jacket", "QT-10004"},
		{"ava", "Drystone boot", "QT-10015"}, {"ava", "socks", "QT-10029"}, {"chloe", "gas canister", "QT-10017"}, {"ava", "surfboard", ""},
	}
	for _, tt := range tests {
		got := c.look(t, "demo", tt.customer, "where is it?", `{"item":"`+tt.item+`"}`)
		if tt.order == "" {
			if got.Order != nil || len(got.OtherOrders) != 3 || !strings.Contains(got.Note, "No order has such an item") {
				t.Errorf("%s: %+v; want no order, a note and all orders", tt.item, got)
			}
			continue
		}
		if got.Order == nil || got.Order.OrderID != tt.order {
			t.Errorf("%s of %s: %+v, want %s", tt.item, tt.customer, got.Order, tt.order)
		}
		for _, line := range got.OtherOrders {
			if strings.HasPrefix(line, tt.order) || !strings.Contains(line, ": ") {
				t.Errorf("another order is shown as %q", line)
			}
		}
	}
}

func TestParcelsSayWhatIsInThem(t *testing.T) {
	c := serve(t, silent())
	c.haveDemo(t)
	got := c.look(t, "demo", "dev", "", `{"order_id":"QT-10026"}`).Order
	if got.Tracking.Carrier != "Tidepost" || got.Tracking.Status != "on its way" || len(got.Tracking.Items) != 2 {
		t.Errorf("the current parcel is %+v, want the one that has left", got.Tracking)
	}
	if len(got.Parcels) != 1 || got.Parcels[0].Status != "not sent yet" || !slices.Equal(got.Parcels[0].Items, []string{"2 x Emberlock gas canister 230 g"}) {
		t.Errorf("the other parcel is %+v, want the canisters, not sent", got.Parcels)
	}
	if !strings.Contains(got.NextStep, "23") && !strings.Contains(got.NextStep, "16 March") || !strings.Contains(got.NextStep, "not left yet") {
		t.Errorf("next: %s", got.NextStep)
	}
}

func TestTheCurrentParcel(t *testing.T) {
	open := &orderv1.Fulfilment{TrackingNumber: "open", ShipTime: daysFromNow(-1)}
	arrived := &orderv1.Fulfilment{TrackingNumber: "arrived", ShipTime: daysFromNow(-3), DeliveryTime: daysFromNow(-2)}
	unsent := &orderv1.Fulfilment{TrackingNumber: "unsent", EstimatedDeliveryTime: daysFromNow(3)}
	for want, parcels := range map[string][]*orderv1.Fulfilment{
		"open": {arrived, open, unsent}, "arrived": {unsent, arrived}, "unsent": {unsent}, "": nil,
	} {
		if got := currentParcel(order("Q-1", "ada", 4, in(partlyShipped, parcels...))); got.GetTrackingNumber() != want {
			t.Errorf("the current one of %v is %q, want %q", parcels, got.GetTrackingNumber(), want)
		}
	}
}

func TestAmountsAreShownAndNothingIsRefundedThatWasNotCharged(t *testing.T) {
	c := serve(t, silent())
	c.haveDemo(t)
	if got := c.look(t, "demo", "iris", "", `{"item":"sleeping bag"}`).Order; got.Discount != "33.89 EUR" {
		t.Errorf("discount %q", got.Discount)
	}
	unpaid := c.look(t, "demo", "elif", "cancel it", `{"order_id":"QT-10033","wants":["cancel"]}`).Order
	if asked := strings.Join(unpaid.Asked, " "); unpaid.Delivery != "4.95 EUR" || !strings.Contains(asked, "nothing was charged") || strings.Contains(asked, "refunded to") {
		t.Errorf("delivery %q, asked %q", unpaid.Delivery, asked)
	}
	if got := c.look(t, "demo", "dev", "", `{"order_id":"QT-10018"}`).Order; !strings.Contains(got.NextStep, "Nothing was charged") {
		t.Errorf("cancelled before it was paid: %q", got.NextStep)
	}
	if got := c.look(t, "demo", "ben", "", `{"order_id":"QT-10009"}`).Order; strings.Contains(got.NextStep, "charged") {
		t.Errorf("cancelled after it was paid: %q", got.NextStep)
	}
}

func TestAReturnIsProposedUnlessTheGoodsWereUsed(t *testing.T) {
	c := serve(t, silent())
	c.haveDemo(t)
	tests := []struct {
		name, wrote, arguments string
		buttons                []string
		note                   string
	}{
		{"nothing said", "can I return the boots?", `{"wants":["return"]}`, []string{"return"}, ""},
		{"said by the model", "can I return the boots?", `{"wants":["return","exchange"],"condition":"used"}`, nil, "used or opened"},
		{"in German", "kann ich die getragenen Stiefel zurückgeben?", `{"wants":["return"]}`, nil, "used or opened"},
		{"opened, in Spanish", "lo he usado una vez, ¿puedo devolverlo?", `{"wants":["return"]}`, nil, "used or opened"},
		{"opened, but another thing is meant", "I opened it. Can I cancel?", `{"wants":["cancel"]}`, nil, ""},
		{"the model knows better than the words", "I never wore them", `{"wants":["return"],"condition":"unused"}`, []string{"return"}, ""},
		{"a fault", "the boots I wore broke", `{"wants":["return"],"condition":"faulty"}`, []string{"return"}, ""},
	}
	for _, tt := range tests {
		got := c.look(t, "demo", "ben", tt.wrote, tt.arguments)
		if !slices.Equal(got.Buttons, tt.buttons) || !strings.Contains(got.Instruction, tt.note) || tt.note == "" && got.Instruction != "" {
			t.Errorf("%s: buttons %v, instruction %q", tt.name, got.Buttons, got.Instruction)
		}
	}
	asked := strings.Join(c.look(t, "demo", "ben", "", `{"wants":["return"]}`).Order.Asked, " ")
	if !strings.Contains(asked, "condition: unused, with labels on") {
		t.Errorf("the store's condition is not told: %s", asked)
	}
	if all := strings.Join(c.look(t, "demo", "ben", "", `{"wants":["return","exchange"]}`).Order.Asked, " "); strings.Count(all, "condition: unused") != 1 ||
		!strings.HasSuffix(all, "; on the same condition.") {
		t.Errorf("the condition of both is not told once: %s", all)
	}
	if next := c.look(t, "demo", "ben", "", "").Order.NextStep; !strings.Contains(next, "condition: unused") {
		t.Errorf("nor in the next step: %s", next)
	}
}

func TestAnItemThatTheStoreExcludesIsNotProposed(t *testing.T) {
	c := serve(t, silent())
	c.haveDemo(t)
	got := c.look(t, "demo", "chloe", "", `{"order_id":"QT-10017","item":"gas canister","wants":["return"]}`)
	if len(got.Buttons) > 0 || !strings.Contains(got.Instruction, "not possible for the item") {
		t.Errorf("buttons %v, instruction %q", got.Buttons, got.Instruction)
	}
}

func TestProposalsAreFilledInCallByCall(t *testing.T) {
	c := serve(t, scripted.New(
		call(lookupOrder, `{"item":"drystone boots","wants":["return"],"reason":"wrong size"}`),
		call(lookupOrder, `{"item":"trek socks","quantity":1,"wants":["return","exchange"],"options":{"size":"45-47"}}`),
		scripted.Step{Text: "You can return both."}))
	c.haveDemo(t)
	c.haveSettings(t, "demo", &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{
		{Kind: returnItems, Reasons: []string{"Wrong size", "faulty"}}, {Kind: exchangeItems},
	}})
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "demo", CustomerID: "ben"}, "send both back")
	actions := answer.GetSuggestedActions()
	if len(actions) != 2 {
		t.Fatalf("%d actions, want a return and an exchange: %v", len(actions), actions)
	}
	start, change := actions[0].GetStartReturn(), actions[1].GetChangeOrder()
	if start.GetReason() != "Wrong size" || len(start.GetItems()) != 2 || start.GetItems()[0].GetItemIndex() != 0 ||
		start.GetItems()[1].GetItemIndex() != 1 || start.GetItems()[1].GetQuantity() != 1 {
		t.Errorf("the return is %v; want the boots and one pair of socks, with the store's reason", start)
	}
	if len(change.GetItems()) != 1 || change.GetItems()[0].GetOptions()["size"] != "45-47" {
		t.Errorf("the exchange is %v; want the socks in 45-47", change)
	}
}

func TestAllOrdersThatTheTextNamesAreInTheAnswer(t *testing.T) {
	calls := []scripted.Step{
		call(lookupOrder, `{"order_id":"QT-10031","wants":["cancel"]}`), call(lookupOrder, `{"item":"fleece"}`),
	}
	for text, want := range map[string][]string{
		"QT-10031 can be cancelled. Your return of the Hestrel Lamb fleece jacket is in progress.": {"QT-10031", "QT-10019"},
		"QT-10031 can be cancelled.":              {"QT-10031"},
		"Your return of QT-10019 is in progress.": {"QT-10019"},
		"Please have a look.":                     {"QT-10019"},
	} {
		c := serve(t, scripted.New(append(slices.Clone(calls), scripted.Step{Text: text})...))
		c.haveDemo(t)
		answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "demo", CustomerID: "finn"}, "help")
		var got []string
		for _, o := range append(answer.GetOtherOrders(), answer.GetOrder()) {
			got = append(got, o.GetOrderId())
		}
		if !slices.Equal(got, want) || len(answer.GetOtherOrderActions()) != len(answer.GetOtherOrders()) {
			t.Errorf("%q: orders %v, want %v", text, got, want)
		}
		if cancel := slices.Contains(want, "QT-10031"); cancel != slices.Equal(proposed(answer), []string{"cancel"}) {
			t.Errorf("%q: proposed %v", text, proposed(answer))
		}
	}
}

func TestAHandoffHasASummaryForThePerson(t *testing.T) {
	tests := []struct{ name, arguments, want string }{
		{"of the model", `{"reason":"wants a person","summary":"Wants money back for QT-10023, which is late."}`, "Wants money back for QT-10023, which is late."},
		{"of the model, without the order", `{"reason":"wants a person","summary":"Wants a person."}`, "Wants a person. Order QT-10023: shipped."},
		{"of code", `{"reason":"wants a person"}`, `The shopper wrote: "This is the second time! I want a person" Order QT-10023: shipped.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, scripted.New(call("suggest_handoff", tt.arguments), call(lookupOrder, `{}`), scripted.Step{Text: "I am sorry."}))
			c.haveDemo(t)
			answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "demo", CustomerID: "hana"}, "This is the second time! I want a person")
			if got := answer.GetSuggestedActions()[0].GetHandOff().GetSummary(); got != tt.want {
				t.Errorf("summary %q, want %q", got, tt.want)
			}
		})
	}
}

// maxResultBytes keeps results at 350 tokens: they have 3.5 bytes or more for each token of o200k.
const maxResultBytes = 1_270

func TestResultsAndThePromptAreShort(t *testing.T) {
	c := serve(t, silent())
	c.haveDemo(t)
	if n := len(prompt); n > 2_000 {
		t.Errorf("the prompt has %d bytes", n)
	}
	sets, err := demo.Load(noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range sets[0].Orders {
		for _, arguments := range []string{`{"order_id":"` + o.GetOrderId() + `","wants":["return"]}`, `{}`} {
			if raw, _ := json.Marshal(c.look(t, "demo", o.GetCustomerId(), "", arguments)); len(raw) > maxResultBytes {
				t.Errorf("%s, %s: %d bytes: %s", o.GetOrderId(), arguments, len(raw), raw)
			}
		}
	}
	long := &specialist.Turn{Scope: scope.Scope{StoreID: "demo"}, Findings: &specialist.Findings{}}
	for _, query := range []string{"return worn shoes", "delivery abroad cost", "warranty on jackets", "instalments"} {
		got, err := servicetest.Run[searchResult](t.Context(), t, c.service.tools(long), searchPolicies, `{"query":"`+query+`"}`)
		if raw, _ := json.Marshal(got); err != nil || len(raw) > maxResultBytes {
			t.Errorf("%s: %d bytes, %v: %s", query, len(raw), err, raw)
		}
	}
}

func TestALongPassageIsShortenedToTheSentencesThatMatch(t *testing.T) {
	passage := strings.Repeat("Our shop is by the sea and has a red door. ", 8) + "Express delivery to islands costs 9.95 EUR. " +
		strings.Repeat("We are glad to see you there. ", 8)
	got := excerpt(passage, "cost of express delivery")
	if !strings.Contains(got, "Express delivery to islands costs 9.95 EUR.") || !strings.Contains(got, "…") || len(got) > maxExcerpt+20 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if short := "Anything can be sent back."; excerpt(short, "cost") != short {
		t.Error("a short passage was changed")
	}
}

// A customer of many orders is shown the newest.
func TestOtherOrdersAreFew(t *testing.T) {
	c := serve(t, silent())
	var all []*orderv1.Order
	for i := range 12 {
		all = append(all, order("Q-"+string(rune('A'+i)), "ada", i+1))
	}
	c.haveOrders(t, "one", all...)
	latest := c.look(t, "one", "ada", "where is it?", "").OtherOrders
	if len(latest) != maxOthersShown+1 || latest[maxOthersShown] != "and 3 more" || !strings.HasPrefix(latest[0], "Q-B, "+noon.Add(-48*time.Hour).Format("2 January 2006")) {
		t.Errorf("others: %q", latest)
	}
	if beside := c.look(t, "one", "ada", "", `{"order_id":"Q-L"}`).OtherOrders; len(beside) != 0 {
		t.Errorf("beside an order that was named by its number: %q", beside)
	}
}

// The remedy is in the documents, under the words that an upset shopper uses.
func TestAnUpsetShopperGetsTheRemedyOfTheDocuments(t *testing.T) {
	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{
			{Name: lookupOrder, Arguments: `{"order_id":"QT-10023"}`}, {Name: searchPolicies, Arguments: `{"query":"late parcel compensation"}`},
		}},
		scripted.Step{Text: "I am sorry that QT-10023 is late. We refund the delivery fee."})
	c := serve(t, model)
	c.haveDemo(t)
	const wrote = "QT-10023 was supposed to be here two days ago and there's nothing!! This is the second time something goes wrong with you guys."
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "demo", CustomerID: "hana"}, wrote)
	if answer.GetOrder().GetOrderId() != "QT-10023" || len(answer.GetPassages()) == 0 || answer.GetPassages()[0].GetSection() != "Following your parcel" {
		t.Errorf("order %s, passages %v", answer.GetOrder().GetOrderId(), answer.GetPassages())
	}
	var shown strings.Builder
	for _, m := range model.Requests()[1].Messages[1:] {
		shown.WriteString(m.Text)
	}
	if told := shown.String(); !strings.Contains(told, "refund the delivery fee") || !strings.Contains(told, "is late") {
		t.Errorf("the model is told %s", told)
	}
	if said := model.Requests()[0].Messages[0].Text; !strings.Contains(said, "one short apology, then the documents' remedy") {
		t.Error("the prompt does not ask for one apology and the remedy")
	}
}

func TestANewAddressIsTheShoppers(t *testing.T) {
	for wrote, want := range map[string]string{"Send QT-10032 to 7 Hill Road, 1010 Harbour please": "7 Hill Road, 1010 Harbour", "change the address": ""} {
		c := serve(t, scripted.New(call(lookupOrder, `{"order_id":"QT-10032","wants":["change_address"],"new_address":"7 Hill Road\n1010 Harbour"}`),
			scripted.Step{Text: "QT-10032 can go elsewhere."}))
		c.haveDemo(t)
		answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "demo", CustomerID: "chloe"}, wrote)
		if got := answer.GetSuggestedActions()[0].GetChangeOrder().GetNewAddress(); got != want {
			t.Errorf("%q: new address %q, want %q", wrote, got, want)
		}
	}
}
