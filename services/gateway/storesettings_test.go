package gateway

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

func TestAStoreAnswersInItsLanguages(t *testing.T) {
	h := open(t, nil)
	if _, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "alps", Name: "Alps", DefaultLocale: "de-AT", CurrencyCode: "EUR", Languages: []string{"de", "fr"},
	}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ locale, message, want string }{
		{"fr-CH", "search: 42", "fr-CH"},
		{"", "search: haben Sie die blauen Schuhe", ""}, // the specialist reads the message
		{"", "search: do you have the blue shoes", "de-AT"},
		{"it", "search: 42", "de-AT"},
	} {
		if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "alps", Message: tt.message, Locale: tt.locale}); err != nil {
			t.Fatal(err)
		}
		_, scopes := h.specialists["search"].calls()
		if got := scopes[len(scopes)-1].Locale; got != tt.want {
			t.Errorf("%q with locale %q: scope has %q, want %q", tt.message, tt.locale, got, tt.want)
		}
	}
}

func TestTheLowerBudgetCounts(t *testing.T) {
	budget := func(tokens, micros int64, currency string) *commonv1.Budget {
		b := &commonv1.Budget{MaxTokens: tokens}
		if currency != "" {
			b.MaxCost = &commonv1.Cost{AmountMicros: micros, CurrencyCode: currency}
		}
		return b
	}
	for _, tt := range []struct{ a, b, want *commonv1.Budget }{
		{nil, nil, nil},
		{nil, budget(5, 0, ""), budget(5, 0, "")},
		{budget(5, 0, ""), nil, budget(5, 0, "")},
		{budget(5, 0, ""), budget(9, 0, ""), budget(5, 0, "")},
		{budget(0, 7, "USD"), budget(9, 0, ""), budget(9, 7, "USD")},
		{budget(5, 7, "USD"), budget(4, 6, "USD"), budget(4, 6, "USD")},
		{budget(5, 7, "USD"), budget(0, 6, "EUR"), budget(5, 7, "USD")},
		{budget(5, 0, ""), budget(0, 6, "EUR"), budget(5, 6, "EUR")},
	} {
		if diff := cmp.Diff(tt.want, lower(tt.a, tt.b), protocmp.Transform()); diff != "" {
			t.Errorf("of %v and %v (-want +got):\n%s", tt.a, tt.b, diff)
		}
	}
	h := open(t, nil)
	if _, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "demo", Name: "Demo", CurrencyCode: "EUR", TurnBudget: budget(1000, 0, ""),
	}}); err != nil {
		t.Fatal(err)
	}
	h.ask("search: a")
	requests, _ := h.specialists["search"].calls()
	if got := requests[len(requests)-1].GetBudget().GetMaxTokens(); got <= 0 || got > 1000 {
		t.Errorf("the specialist has a budget of %d tokens", got)
	}
}

func TestBadStoreSettingsAreRefused(t *testing.T) {
	h := open(t, nil)
	_, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "demo", Name: "Demo", CurrencyCode: "EUR", DefaultLocale: "it", Languages: []string{"de", "", "German, please"},
		TurnBudget: &commonv1.Budget{MaxTokens: -1, MaxCost: &commonv1.Cost{AmountMicros: -1, CurrencyCode: "dollars"}},
	}})
	want := []string{
		"store.turn_budget.max_tokens", "store.turn_budget.max_cost.amount_micros", "store.turn_budget.max_cost.currency_code",
		"store.languages[1]", "store.languages[2]", "store.languages",
	}
	if diff := cmp.Diff(want, badFields(err)); diff != "" {
		t.Errorf("%v: fields (-want +got):\n%s", err, diff)
	}
}
