package offline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// orderTools can be told what is to be done with an order.
var orderTools = []tool{
	fn("lookup_order", "Look up an order of this customer by its id; without an id, the latest one. Returns status, total, tracking and next step.",
		`{"type":"object","properties":{"order_id":{"type":"string","description":"Order number, such as QT-10021"},"wants":{"type":"array","description":"what the shopper wants to do with the order","items":{"type":"string","enum":["cancel","cancel_items","change_items","change_address","change_payment","return","exchange"]}}}}`),
	supportTools[1],
}

func TestWhatIsWantedOfOnesOwnOrderIsLookedUpThere(t *testing.T) {
	for _, tc := range []struct{ question, want string }{
		{"can I cancel my order?", `lookup_order{"wants":["cancel"]} search_policies{"query":"cancel order"}`},
		{"please cancel order QT-7", `lookup_order{"order_id":"QT-7","wants":["cancel"]} search_policies{"query":"cancel order"}`},
		{"can I return it?", `lookup_order{"wants":["return"]} search_policies{"query":"return"}`},
		{"can I still return my boots?", `lookup_order{"wants":["return"]} search_policies{"query":"return boots"}`},
		{"I want to change the address", `lookup_order{"wants":["change_address"]} search_policies{"query":"change address"}`},
		{"I want a refund for my order", `lookup_order{"wants":["return","exchange"]} search_policies{"query":"refund order"}`},
		{"¿puedo cancelar mi pedido?", `lookup_order{"wants":["cancel"]} search_policies{"query":"cancel order"}`},
		{"Kann ich meine Bestellung stornieren?", `lookup_order{"wants":["cancel"]} search_policies{"query":"order cancel"}`},
		{"puis-je annuler ma commande ?", `lookup_order{"wants":["cancel"]} search_policies{"query":"cancel order"}`},
		{"where is order QT-8? and please cancel order QT-7", `lookup_order{"order_id":"QT-8"} lookup_order{"order_id":"QT-7","wants":["cancel"]} search_policies{"query":"cancel order"}`},
		// Nothing is to be done with an order of the shopper's.
		{"where is my order?", `lookup_order{}`},
		{"where is my refund?", `lookup_order{}`},
		{"can I return things within 30 days?", `search_policies{"query":"return 30 days"}`},
		{"can I return a pitched tent?", `search_policies{"query":"return pitched tent"}`},
		{"can I return it opened? (about: tents)", `search_policies{"query":"return opened tents"}`},
		{"what is your return policy?", `search_policies{"query":"return policy"}`},
		{"how much is delivery?", `search_policies{"query":"delivery cost"}`},
	} {
		t.Run(tc.question, func(t *testing.T) {
			if got := firstCalls(orderTools, tc.question); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestAnItThatMeansSomethingShownIsNoOrder(t *testing.T) {
	for question, system := range map[string]string{
		"can I return the second one?": "Shown:\n1. {\"product_id\":\"P1\",\"title\":\"Alder\"}\n2. {\"product_id\":\"P2\",\"title\":\"Birch\"}",
		"can I return it?":             "Shown:\n1. {\"product_id\":\"P1\",\"title\":\"Alder\"}",
	} {
		for _, c := range respond(ask(system, question, orderTools), today).calls {
			if c.Function.Name != "search_policies" {
				t.Errorf("%q leads to %s%s", question, c.Function.Name, c.Function.Arguments)
			}
		}
	}
	after := ask("", "can I return it?", orderTools)
	after.Messages = append([]message{{Role: "user", Content: "do you have a tent?"}, {Role: "assistant", Content: "Yes."}}, after.Messages...)
	for _, c := range respond(after, today).calls {
		if c.Function.Name != "search_policies" {
			t.Errorf("after a question about tents: %s%s", c.Function.Name, c.Function.Arguments)
		}
	}
}

func TestWhatIsPossibleIsToldFirst(t *testing.T) {
	got := play(t, orderTools, "can I cancel my order?",
		`{"order":{"order_id":"QT-7","asked":["The order can be cancelled, until 5 March 2026."],"status":"being prepared","next_step":"Nothing to do.","items":[{"title":"Moss mat","quantity":2}],"total":"23.00 EUR","paid_by":"card","returns":[{"status":"refused"}]},"other_orders":2}`,
		`{"passages":[{"policy":"Changes","text":"Orders can be cancelled until they are packed."}]}`)
	want := "The order can be cancelled, until 5 March 2026. Your order QT-7 is being prepared.\n\nFrom \"Changes\": Orders can be cancelled until they are packed."
	if diff := cmp.Diff(want, got[len(got)-1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPostalCodeIsFoundBehindItsName(t *testing.T) {
	guest := fn("lookup_order", "Look up an order by its number and the postal code given with it.",
		`{"type":"object","properties":{"order_id":{"type":"string","description":"Order number, such as QT-10021"},"postal_code":{"type":"string"}}}`)
	for question, want := range map[string]string{
		"where is order QT-7, postal code 6060FI?":              `{"order_id":"QT-7","postal_code":"6060FI"}`,
		"order QT-7, zip code is 6060 FI please":                `{"order_id":"QT-7","postal_code":"6060 FI"}`,
		"my order is QT-7 and my postcode SW1A 1AA":             `{"order_id":"QT-7","postal_code":"SW1A 1AA"}`,
		"Wo ist Bestellung QT-7? Postleitzahl: 20457":           `{"order_id":"QT-7","postal_code":"20457"}`,
		"¿dónde está el pedido QT-7? código postal 28013":       `{"order_id":"QT-7","postal_code":"28013"}`,
		"où est la commande QT-7 ? le code postal est 75011":    `{"order_id":"QT-7","postal_code":"75011"}`,
		"where is my order QT-7? I forgot the postal code":      `{"order_id":"QT-7"}`,
		"where is order QT-7? it was 2 parcels, no postal code": `{"order_id":"QT-7"}`,
	} {
		calls := respond(ask("", question, []tool{guest, supportTools[1]}), today).calls
		if len(calls) == 0 || calls[0].Function.Arguments != want {
			t.Errorf("%s: %+v, want %s", question, calls, want)
		}
	}
}
