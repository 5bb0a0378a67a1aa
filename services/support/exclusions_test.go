package support

import (
	"strings"
	"testing"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// What a document excludes from returns without a condition is not proposed, and the model reads why.
func TestWhatTheDocumentsExcludeIsNotProposed(t *testing.T) {
	for name, c := range map[string]struct {
		document, title string
		excluded        bool
	}{
		"by name":            {"Underwear, swimwear and earrings cannot be returned for hygiene reasons.", "Kelp merino underwear", true},
		"the last of a list": {"Underwear, swimwear and earrings cannot be returned for hygiene reasons.", "Silver earrings", true},
		"after a colon":      {"Excluded from returns: gas canisters, fresh food and magazines.", "Gas canister 230 g", true},
		"another thing":      {"Underwear, swimwear and earrings cannot be returned for hygiene reasons.", "Kelp merino socks", false},
		"only opened ones":   {"Opened tea and used teapots cannot be returned.", "Green tea", false},
		"with a condition":   {"A sleeping bag or mat that has been slept in cannot be returned.", "Tarn sleeping bag", false},
		"only sealed":        {"Ropes and helmets can be returned only sealed.", "Climbing rope", false},
		"in German":          {"Unterwäsche und Ohrringe sind vom Umtausch ausgeschlossen.", "Silberne Ohrringe", true},
		"in German, opened":  {"Geöffnete Lebensmittel können nicht zurückgegeben werden.", "Lebensmittel im Glas", false},
		"in Spanish":         {"Los pendientes y la ropa interior no se pueden devolver.", "Pendientes de plata", true},
		"in French":          {"Les boucles d'oreilles et les denrées fraîches ne peuvent pas être retournées.", "Boucles d'oreilles", true},
		"in French, if used": {"Les matelas qui ont été utilisés ne peuvent pas être retournés.", "Matelas gonflable", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, silent())
			s.haveSettings(t, "one", &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{{Kind: returnItems}}})
			s.havePolicies(t, "one", &policyv1.Policy{PolicyId: "returns", Title: "Returns", Body: "Send back what you do not like within 30 days. " + c.document})
			s.haveOrders(t, "one", order("Q-1", "ada", 9, in(orderv1.OrderStatus_ORDER_STATUS_DELIVERED), func(o *orderv1.Order) { o.Items[0].Title = c.title }))
			got := s.look(t, "one", "ada", "send it back", `{"wants":["return"]}`)
			if excluded := len(got.Buttons) == 0; excluded != c.excluded || strings.Contains(got.Instruction, strings.TrimRight(c.document, ".")) != c.excluded {
				t.Errorf("buttons %v, instruction %q", got.Buttons, got.Instruction)
			}
		})
	}
}

// The rest of an order can still come back.
func TestOnlyTheExcludedItemIsLeftOutOfAReturn(t *testing.T) {
	c := serve(t, scripted.New(call(lookupOrder, `{"wants":["return"]}`), scripted.Step{Text: "The boots can come back, the socks cannot."}))
	c.haveSettings(t, "one", &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{{Kind: returnItems}}})
	c.havePolicies(t, "one", &policyv1.Policy{PolicyId: "returns", Title: "Returns", Body: "Socks cannot be returned."})
	c.haveOrders(t, "one", order("Q-1", "ada", 9, in(orderv1.OrderStatus_ORDER_STATUS_DELIVERED), twoItems))
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "I want to send it all back")
	actions := answer.GetSuggestedActions()
	if len(actions) != 1 || len(actions[0].GetStartReturn().GetAction().GetItems()) != 1 || actions[0].GetStartReturn().GetAction().GetItems()[0].GetItemIndex() != 0 {
		t.Errorf("proposed %v, want a return without the socks", actions)
	}
}
