package output

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

var (
	refund  = &orderv1.AllowedAction{Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN, Items: []*orderv1.ItemQuantity{{Quantity: 1}}}
	cancel  = &orderv1.AllowedAction{Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL}
	address = &orderv1.AllowedAction{Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS}
)

func apply(code string, also ...string) *specialistv1.SuggestedAction {
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_ApplyPromotion{
		ApplyPromotion: &specialistv1.ApplyPromotion{Code: code, AlsoCodes: also}}}
}

func add(product, variant string, quantity int32) *specialistv1.SuggestedAction {
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_AddToCart{
		AddToCart: &specialistv1.AddToCart{ProductId: product, VariantId: variant, Quantity: quantity}}}
}

func start(order string, a *orderv1.AllowedAction) *specialistv1.SuggestedAction {
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_StartReturn{
		StartReturn: &specialistv1.StartReturn{OrderId: order, Action: a}}}
}

func change(order string, a *orderv1.AllowedAction) *specialistv1.SuggestedAction {
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_ChangeOrder{
		ChangeOrder: &specialistv1.ChangeOrder{OrderId: order, Action: a}}}
}

func handOff(reason string) *specialistv1.SuggestedAction {
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{Reason: reason}}}
}

func event(a *specialistv1.Answer) *specialistv1.AnswerResponse {
	return &specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{Answer: a}}
}

func TestActionsNeedTheirFacts(t *testing.T) {
	facts := func() *specialistv1.Answer {
		return &specialistv1.Answer{
			Text: "Yes.", Promotion: &specialistv1.PromotionChoice{Code: "SAVE", AlsoCodes: []string{"SHIP"}},
			Products: []*specialistv1.ProductChoice{{ProductId: "P1", VariantId: "V1"}, {ProductId: "P2"}},
			Order:    &orderv1.Order{OrderId: "O1"}, OrderActions: &orderv1.OrderActions{Allowed: []*orderv1.AllowedAction{refund, address}},
			OtherOrders: []*orderv1.Order{{OrderId: "O3"}}, OtherOrderActions: []*orderv1.OrderActions{{Allowed: []*orderv1.AllowedAction{cancel}}},
		}
	}
	for _, c := range []struct {
		action *specialistv1.SuggestedAction
		want   bool
	}{
		{apply("SAVE", "SHIP"), true}, {apply("SAVE"), false}, {apply("OTHER"), false}, {apply(""), false},
		{add("P1", "V1", 1), true}, {add("P1", "", 2), true}, {add("P2", "", 1), true},
		{add("P1", "V2", 1), false}, {add("P2", "V1", 1), false}, {add("P3", "", 1), false}, {add("P1", "V1", 0), false}, {add("P1", "V1", -1), false},
		{start("O1", refund), true}, {start("O2", refund), false}, {start("O1", address), false}, {start("O1", nil), false},
		{start("O1", &orderv1.AllowedAction{Kind: refund.GetKind()}), false}, // of other units
		{change("O1", address), true}, {change("O1", cancel), false}, {change("O2", address), false}, {change("", address), false},
		{change("O3", cancel), true}, {change("O3", address), false},
		{handOff("angry"), true}, {&specialistv1.SuggestedAction{}, false},
	} {
		a := facts()
		a.SuggestedActions = []*specialistv1.SuggestedAction{c.action}
		New(store, "en").Event(event(a))
		if got := len(a.GetSuggestedActions()) == 1; got != c.want {
			t.Errorf("%v is kept: %v, want %v", c.action, got, c.want)
		}
		bare := &specialistv1.Answer{Text: "Yes.", SuggestedActions: []*specialistv1.SuggestedAction{c.action}}
		New(store, "en").Event(event(bare))
		if got := len(bare.GetSuggestedActions()) == 1; got != (c.action.GetHandOff() != nil) {
			t.Errorf("%v is kept without facts: %v", c.action, got)
		}
	}
}

func TestWhatAShopperWantsOfAnOrderIsChecked(t *testing.T) {
	want := change("O1", address)
	want.GetChangeOrder().NewAddress = "See https://evil.example now"
	want.GetChangeOrder().Items = []*specialistv1.ItemChange{{Quantity: 1, Options: map[string]string{"size": "https://evil.example"}}}
	a := &specialistv1.Answer{
		Text: "Yes.", Order: &orderv1.Order{OrderId: "O1"}, OrderActions: &orderv1.OrderActions{Allowed: []*orderv1.AllowedAction{address}},
		OtherOrders:      []*orderv1.Order{{OrderId: "O3", Items: []*orderv1.OrderItem{{Title: "See https://evil.example now"}}}},
		SuggestedActions: []*specialistv1.SuggestedAction{want},
	}
	New(store, "en").Event(event(a))
	got := a.GetSuggestedActions()[0].GetChangeOrder()
	if got.GetNewAddress() != "See (link removed) now" || got.GetItems()[0].GetOptions()["size"] != "(link removed)" ||
		a.GetOtherOrders()[0].GetItems()[0].GetTitle() != "See (link removed) now" {
		t.Errorf("%v of %v", got, a.GetOtherOrders())
	}
}

func TestAnAnswersFieldsAreChecked(t *testing.T) {
	const bad, hidden = "See https://evil.example now", "x\u202ey"
	answer := &specialistv1.Answer{
		Text: bad, UnsupportedClaims: []string{"evil.example/a"}, Model: hidden,
		Products: []*specialistv1.ProductChoice{
			{ProductId: hidden, Title: hidden, Reason: bad, Url: "https://evil.example/p", Options: map[string]string{"si\u200bze": "4\u20602"}},
			{ProductId: "P2", Title: "Tent", Url: "https://shop.example/p"}, {ProductId: "P3", Url: "javascript:alert(1)"},
			{ProductId: "P4", Audience: bad, Tags: []string{"kids", bad}, ImageUrls: []string{"https://evil.example/1.png", "https://shop.example/2.png"}},
		},
		Comparison: &specialistv1.Comparison{
			Products: []*specialistv1.ProductChoice{{ProductId: "P2", Title: bad, Url: "https://evil.example/p"}},
			Facts:    []*specialistv1.ComparedFact{{Name: bad, Values: []string{bad, "310 g"}}},
		},
		Promotion: &specialistv1.PromotionChoice{Code: hidden, Title: bad, Reason: bad},
		Order: &orderv1.Order{OrderId: hidden, Items: []*orderv1.OrderItem{{Title: hidden}, {Title: bad}}, Fulfilments: []*orderv1.Fulfilment{
			{TrackingUrl: "https://track.parcel.example/1"}, {TrackingUrl: "https://evil.example/1", Carrier: hidden}}},
		Passages:         []*policyv1.Passage{{Text: bad, Section: hidden, Url: "https://evil.example"}},
		ToolCalls:        []*specialistv1.ToolCall{{ArgumentsJson: hidden, ResultPreview: hidden, Error: hidden}},
		SuggestedActions: []*specialistv1.SuggestedAction{handOff(bad + "\U000e0041")},
	}
	New(store, "en").Event(event(answer))
	const shown = "See (link removed) now"
	want := &specialistv1.Answer{
		Text: shown, UnsupportedClaims: []string{"(link removed)"}, Model: "xy",
		Products: []*specialistv1.ProductChoice{
			{ProductId: "xy", Title: "xy", Reason: shown, Options: map[string]string{"size": "42"}},
			{ProductId: "P2", Title: "Tent", Url: "https://shop.example/p"}, {ProductId: "P3"},
			{ProductId: "P4", Audience: shown, Tags: []string{"kids"}, ImageUrls: []string{"https://shop.example/2.png"}},
		},
		Comparison: &specialistv1.Comparison{
			Products: []*specialistv1.ProductChoice{{ProductId: "P2", Title: shown}},
			Facts:    []*specialistv1.ComparedFact{{Name: shown, Values: []string{shown, "310 g"}}},
		},
		Promotion: &specialistv1.PromotionChoice{Code: "xy", Title: shown, Reason: shown},
		Order: &orderv1.Order{OrderId: "xy", Items: []*orderv1.OrderItem{{Title: "xy"}, {Title: shown}}, Fulfilments: []*orderv1.Fulfilment{
			{TrackingUrl: "https://track.parcel.example/1"}, {Carrier: "xy"}}},
		Passages:         []*policyv1.Passage{{Text: shown, Section: "xy"}},
		ToolCalls:        []*specialistv1.ToolCall{{ArgumentsJson: "xy", ResultPreview: "xy", Error: "xy"}},
		SuggestedActions: []*specialistv1.SuggestedAction{handOff(shown)},
	}
	if diff := cmp.Diff(want, answer, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALargeExtensionIsLeftOut(t *testing.T) {
	for size, kept := range map[int]bool{100: true, maxExtension: false} {
		answer := &specialistv1.Answer{Text: "Yes.", Extension: &anypb.Any{TypeUrl: "type.example/x", Value: make([]byte, size)}}
		New(store, "en").Event(event(answer))
		if (answer.GetExtension() != nil) != kept {
			t.Errorf("%d bytes: kept %v", size, !kept)
		}
	}
}

func TestCleanReachesEveryString(t *testing.T) {
	p := &catalogv1.Product{Title: "a\u200b", CategoryPath: []string{"b\u200b"}, Variants: []*catalogv1.Variant{{VariantId: "c\u200b", Options: map[string]string{"d\u200b": "e\u200b"}}}}
	Clean(p)
	want := &catalogv1.Product{Title: "a", CategoryPath: []string{"b"}, Variants: []*catalogv1.Variant{{VariantId: "c", Options: map[string]string{"d": "e"}}}}
	if diff := cmp.Diff(want, p, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	Clean(nil)
}

// BenchmarkEvent is what the check of an answer with six products costs.
func BenchmarkEvent(b *testing.B) {
	a := &specialistv1.Answer{Text: reply, Specialist: "search", Model: "m"}
	for range 6 {
		a.Products = append(a.Products, &specialistv1.ProductChoice{
			ProductId: "P1", Title: "Dunmarrow Sleet waterproof sock", VariantId: "V1", Options: map[string]string{"colour": "black", "size": "42"},
			Reason: "matches the question", Url: "https://shop.example/p/P1",
		})
	}
	p := New(store, "en")
	b.ReportAllocs()
	for b.Loop() {
		p.Event(event(a))
	}
}
