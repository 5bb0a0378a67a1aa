package support

import (
	"slices"
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/support/policies/policiestest"
)

// A model that lists products all the same gives the backend none: no tool of support finds any.
func TestSupportGivesNoProducts(t *testing.T) {
	model := scripted.New(call("lookup_order", `{}`), call("search_policies", `{"query":"returns"}`),
		scripted.Step{Text: "You could buy: Nimbolt Walker (boots), 149.00 EUR."})
	c := serve(t, model)
	c.havePolicies(t, "one", policiestest.Handbook()...)
	c.haveOrders(t, "one", order("Q-1", "ada", 1))
	answer := servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "what else could I buy?")
	if len(answer.GetProducts()) > 0 || answer.GetOrder() == nil || len(answer.GetPassages()) == 0 {
		t.Errorf("products %v, order %v", answer.GetProducts(), answer.GetOrder().GetOrderId())
	}
	if slices.ContainsFunc(answer.GetSuggestedActions(), func(a *specialistv1.SuggestedAction) bool { return a.GetAddToCart() != nil }) {
		t.Errorf("something is to be put into the cart: %v", answer.GetSuggestedActions())
	}
	var names []string
	for _, tool := range model.Requests()[0].Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"lookup_order", "search_policies", "suggest_handoff", "ask_shopper"}; !slices.Equal(names, want) {
		t.Errorf("tools are %v, want %v", names, want)
	}
}

// The model is told how to speak, on every turn.
func TestThePromptSaysHowToSpeak(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "Hello."})
	c := serve(t, model)
	servicetest.Answer(t, c.conn, scope.Scope{StoreID: "one", CustomerID: "ada"}, "hi")
	said := model.Requests()[0].Messages[0].Text
	for _, rule := range []string{
		"one short apology", "one to four sentences", "in the named language", "Never list or recommend products", "promise only what tools returned",
		"you can confirm it below", "Never claim, promise or offer to do or pass on anything",
	} {
		if !strings.Contains(said, rule) {
			t.Errorf("the prompt does not say %q", rule)
		}
	}
	for _, tool := range model.Requests()[0].Tools {
		if tool.Name == "ask_shopper" && !strings.Contains(tool.Description, `one short question if something is missing, not "I do not know"`) {
			t.Errorf("the tool for questions: %q", tool.Description)
		}
	}
}
