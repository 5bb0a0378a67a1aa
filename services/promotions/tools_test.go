package promotions

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/promotions/engine"
)

func shopper(cartID string) scope.Scope {
	return scope.Scope{StoreID: "one", CustomerID: "ada", CartID: cartID, Reads: scope.Reads()}
}

// stocked serves a store with one promotion for each way of (not) applying to walkCart.
func stocked(t *testing.T, carts *fakeCarts) *Service {
	t.Helper()
	service, conn := serve(t, carts, silent())
	mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one",
		promo("TEN", percent(1000), ends(noon.Add(36*time.Hour))),
		promo("SHIP", freeShipping(nil)),
		promo("NEAR", percent(3000), minimum(eur(35000))),
		promo("FAR", percent(9000), minimum(eur(90000))),
		promo("SOCKS5", percent(2000), categories("Socks"), minimumUnits(5)),
		promo("TENTS", percent(5000), categories("Tents")),
		promo("STAFF", percent(5000), groups("staff")),
		promo("OLD", percent(9000), ends(noon)),
		promo("TOMORROW", percent(9000), starts(noon.Add(24*time.Hour))),
		promo("NEXTYEAR", percent(9000), starts(noon.Add(365*24*time.Hour))),
	)
	return service
}

func walkCarts() *fakeCarts {
	return &fakeCarts{carts: map[string]*cartv1.Cart{"one/walk": walkCart(), "two/walk": walkCart()}}
}

func TestListActivePromotions(t *testing.T) {
	service := stocked(t, walkCarts())
	turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}}
	got, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", `{"all":true}`)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, p := range got.Promotions {
		codes = append(codes, p.Code)
	}
	want := []string{"TEN", "SHIP", "NEAR", "FAR", "SOCKS5", "TENTS", "TOMORROW"}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("eligible by saving, then by distance, without what cannot be used (-want +got):\n%s", diff)
	}
	if got.BestCode != "TEN" || got.CartSubtotal != "338.65 EUR" || got.ExpiredCount != 1 || got.Note != "" {
		t.Errorf("best %q, subtotal %q, expired %d, note %q", got.BestCode, got.CartSubtotal, got.ExpiredCount, got.Note)
	}
	ten := listedPromotion{
		Code: "TEN", Title: "Offer TEN", Offer: "10% off any items", Eligible: true, Saving: "33.86 EUR",
		Explanation: "TEN applies: 10% off any items, which saves 33.86 EUR on this cart.", Ends: "16 March 2026",
	}
	if diff := cmp.Diff(ten, got.Promotions[0]); diff != "" {
		t.Errorf("TEN (-want +got):\n%s", diff)
	}
	if ship := got.Promotions[1]; !ship.Eligible || ship.Saving != "" {
		t.Errorf("shipping of unknown worth must not be said to save 0.00: %+v", ship)
	}
	if near, socks := got.Promotions[2], got.Promotions[4]; near.Missing != "11.35 EUR" || socks.Missing != "2 units" {
		t.Errorf("missing = %q and %q", near.Missing, socks.Missing)
	}
	if got.Promotions[6].Starts != "16 March 2026" {
		t.Errorf("starts = %q", got.Promotions[6].Starts)
	}
}

func TestListNotes(t *testing.T) {
	near := []*promotionv1.Promotion{promo("FAR", percent(1), minimum(eur(90000))), promo("NEAR", percent(1), minimum(eur(34000)))}
	tests := []struct {
		name       string
		promotions []*promotionv1.Promotion
		cartID     string
		note       string
	}{
		{"the cheapest way to qualify", near, "walk", "No promotion applies to this cart yet. The nearest: NEAR does not apply: add 1.35 EUR of any items."},
		{"nothing could apply", []*promotionv1.Promotion{promo("TENTS", percent(1), categories("Tents"))}, "walk", "No promotion applies to this cart."},
		{"no cart", near, "", "There is no cart yet, so no saving can be computed; these are the offers of the store."},
		{"an empty cart", near, "unknown", "The cart is empty, so no promotion applies yet; these are the offers of the store."},
		{"no promotions but old ones", []*promotionv1.Promotion{promo("OLD", percent(1), ends(noon))}, "walk", "There are no promotions at the moment."},
		{"one that saves nothing", []*promotionv1.Promotion{promo("SET", bundle(99999, "jacket", "boots"))}, "walk", "No promotion saves anything on this cart."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service, conn := serve(t, walkCarts(), silent())
			mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one", tt.promotions...)
			turn := &specialist.Turn{Scope: shopper(tt.cartID), Findings: &specialist.Findings{}}
			got, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", "")
			if err != nil || got.Note != tt.note || got.BestCode != "" {
				t.Errorf("best %q, note %q, %v; want note %q", got.BestCode, got.Note, err, tt.note)
			}
			if raw, _ := json.Marshal(got); !strings.Contains(string(raw), `"promotions":[`) {
				t.Errorf("promotions must be a list, also when empty: %s", raw)
			}
		})
	}
}

func TestAStoreWithoutCartsIsToldSo(t *testing.T) {
	for name, sc := range map[string]scope.Scope{"a customer": shopper("walk"), "a guest": {StoreID: "one", Reads: scope.Reads()}} {
		service, conn := serve(t, &fakeCarts{none: true}, silent())
		mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one", promo("TEN", percent(1000)))
		tools := service.data.tools(&specialist.Turn{Scope: sc, Findings: &specialist.Findings{}})
		got, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", "")
		if err != nil || len(got.Promotions) != 1 || got.Promotions[0].Eligible || got.Promotions[0].Explanation != "" || !strings.HasPrefix(got.Note, "This store's carts cannot be seen here") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestListCutsLongLists(t *testing.T) {
	service, conn := serve(t, walkCarts(), silent())
	var many []*promotionv1.Promotion
	for _, a := range "ABCDE" {
		for _, b := range "12345" {
			many = append(many, promo(string([]rune{a, b}), percent(100)))
		}
	}
	mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one", many...)
	turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}}
	got, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", `{"all":true}`)
	if err != nil || len(got.Promotions) != maxListedAll || got.Total != 25 {
		t.Errorf("%d listed of %d, %v", len(got.Promotions), got.Total, err)
	}
}

func TestChoosePromotionRefuses(t *testing.T) {
	service := stocked(t, walkCarts())
	tests := []struct{ name, cartID, code, want string }{
		{"an unknown code", "walk", "NOPE", `The store has no promotion with the code "NOPE". The best code for this cart is TEN.`},
		{"one that does not apply, with the reason", "walk", "near", "NEAR does not apply: add 11.35 EUR of any items. The best code for this cart is TEN."},
		{"an expired one", "walk", "OLD", "OLD does not apply: it ended on 15 March 2026. The best code for this cart is TEN."},
		{"another group's", "walk", "STAFF", "STAFF does not apply: it is for certain customers only. The best code for this cart is TEN."},
		{"anything on an empty cart", "", "TEN", "TEN does not apply: the cart is empty. No promotion is worth choosing now: choose none, and tell the shopper what is missing."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := &specialist.Turn{Scope: shopper(tt.cartID), Findings: &specialist.Findings{}}
			arguments, _ := json.Marshal(chooseArgs{Code: tt.code, Reason: "because"})
			_, err := servicetest.Run[chooseResult](t.Context(), t, service.data.tools(turn), "choose_promotion", string(arguments))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

// withCatalog serves a store with a catalog.
func withCatalog(t *testing.T, promotions ...*promotionv1.Promotion) []agentloop.Tool {
	t.Helper()
	service, err := New(Config{
		Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: silent(), Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }},
		Cart: walkCarts(), Catalog: outdoors(),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := promotionv1.NewPromotionServiceClient(servicetest.Serve(t, "promotions", service.Register))
	mustUpsert(t, client, "one", promotions...)
	if _, err := client.RecordUsage(t.Context(), &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o1", CustomerId: "ada", Codes: []string{"ONCE"}}); err != nil {
		t.Fatal(err)
	}
	return service.data.tools(&specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}})
}

func TestListPricesACartWithChangesAndCodes(t *testing.T) {
	tools := withCatalog(t,
		promo("NEAR", percent(1000), minimum(eur(34465)), stacks), promo("TENTS", percent(2000), categories("Tents"), stacks),
		promo("ALONE", percent(100)), promo("ONCE", percent(5000), limits(0, 1)))
	for name, c := range map[string]struct {
		arguments, subtotal, best string
		codes                     *codesResult
		err                       string
	}{
		"today": {`{}`, "338.65 EUR", "ALONE", nil, ""},
		"more":  {`{"changes":[{"product":"peg","add":2}]}`, "344.65 EUR", "NEAR", nil, ""},
		"less":  {`{"changes":[{"product":"boots","quantity":0}]}`, "189.65 EUR", "ALONE", nil, ""},
		"two codes": {`{"changes":[{"product":"peg","add":2}],"codes":[" near ","TENTS"]}`, "344.65 EUR", "NEAR",
			&codesResult{Entered: []string{"NEAR", "TENTS"}, Saving: "35.66 EUR", Total: "308.99 EUR"}, ""},
		"codes that do not go together": {`{"changes":[{"product":"peg","add":2}],"codes":["NEAR","ALONE","NOPE"]}`, "344.65 EUR", "NEAR",
			&codesResult{Entered: []string{"NEAR"}, Saving: "34.46 EUR", Total: "310.19 EUR", Refused: []string{
				"ALONE does not apply: it cannot be combined with NEAR.", `The store has no promotion with the code "NOPE".`}}, ""},
		"a code that was used": {`{"codes":["ONCE"]}`, "338.65 EUR", "ALONE",
			&codesResult{Entered: []string{}, Saving: "0.00 EUR", Total: "338.65 EUR", Refused: []string{"ONCE does not apply: the customer has used it already."}}, ""},
		"what the store does not sell": {`{"changes":[{"product":"moon"}]}`, "", "", nil, `the store has no product "moon"; give the product_id or the exact title`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", c.arguments)
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.codes, got.WithCodes); diff != "" || got.CartSubtotal != c.subtotal || got.BestCode != c.best {
				t.Errorf("subtotal %q, best %q; with codes (-want +got):\n%s", got.CartSubtotal, got.BestCode, diff)
			}
			if changed := strings.Contains(c.arguments, "changes"); changed != (len(got.Cart) > 0) || changed != strings.HasPrefix(got.Note, "This is for the cart with the changes") {
				t.Errorf("cart %q, note %q", got.Cart, got.Note)
			}
		})
	}
}

func TestACodeThatAppliesToAChangedCartOnlyIsNotProposed(t *testing.T) {
	tools := withCatalog(t, promo("NEAR", percent(1000), minimum(eur(34465))), promo("ONCE", percent(5000), limits(0, 1)))
	if _, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", `{"changes":[{"product":"peg","add":2}]}`); err != nil {
		t.Fatal(err)
	}
	_, err := servicetest.Run[chooseResult](t.Context(), t, tools, "choose_promotion", `{"code":"NEAR","reason":"it saves most"}`)
	if err == nil || !strings.HasPrefix(err.Error(), "NEAR does not apply: add 6.00 EUR of any items.") {
		t.Errorf("error %v", err)
	}
}

// maxResultBytes keeps a result below 350 tokens: JSON has more than 4 bytes for each.
const maxResultBytes = 1_400

func TestAListIsShortAndBeginsWithWhatWasAskedFor(t *testing.T) {
	var many []*promotionv1.Promotion
	for _, code := range []string{"A1", "B2", "C3", "D4", "E5", "F6"} {
		many = append(many, promo(code, percent(1000), minimum(eur(900000)), func(p *promotionv1.Promotion) {
			p.Description = strings.Repeat("Long terms that nobody asked for. ", 20)
		}))
	}
	tools := withCatalog(t, append(many, promo("FEET", percent(500), categories("Socks")), promo("ONCE", percent(5000), limits(0, 1)))...)
	got, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", `{"query":"a sock"}`)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(got)
	if len(got.Promotions) != maxListed || got.Total != 8 || got.Promotions[0].Code != "FEET" || len(raw) > maxResultBytes {
		t.Errorf("%d of %d, %d bytes: %s", len(got.Promotions), got.Total, len(raw), raw)
	}
	if !strings.Contains(string(raw), `"combinable":false`) {
		t.Errorf("the result does not say that a code is not combinable: %s", raw)
	}
}

func TestTheCartOfTheAssignmentServesInPlaceOfTheStoredOne(t *testing.T) {
	service := stocked(t, walkCarts())
	service.data.cart = nil // also without a cart service
	cart := walkCart()
	cart.Items = cart.GetItems()[:1]
	turn := &specialist.Turn{Scope: shopper("elsewhere"), Findings: &specialist.Findings{}, Cart: cart}
	got, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", `{"all":true}`)
	if err != nil || got.CartSubtotal == "" || got.CartSubtotal != money.Text(engine.NewBasket(cart).Subtotal()) || got.BestCode != "TEN" {
		t.Errorf("subtotal %q, best %q, %v", got.CartSubtotal, got.BestCode, err)
	}
}

func TestAllToolsOfATurnSeeTheSameOffers(t *testing.T) {
	carts := walkCarts()
	service := stocked(t, carts)
	tools := service.data.tools(&specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}})
	carts.err = errors.New("unavailable for a moment")
	if _, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", `{"all":true}`); err == nil {
		t.Fatal("the cart was read while it could not be")
	}
	carts.err = nil
	if _, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", `{"all":true}`); err != nil {
		t.Error(err)
	}
	if _, err := servicetest.Run[chooseResult](t.Context(), t, tools, "choose_promotion", `{"code":"TEN","reason":"it saves most"}`); err != nil {
		t.Error(err)
	}
	if carts.reads != 2 {
		t.Errorf("the cart was read %d times; want once after the read that failed", carts.reads)
	}
}

func TestToolsHideTheCauseOfAFailure(t *testing.T) {
	carts := walkCarts()
	service := stocked(t, carts)
	carts.err = errors.New("dial tcp 10.0.0.7:9003: connection refused")
	turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}}
	_, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", `{"all":true}`)
	if err == nil || strings.Contains(err.Error(), "10.0.0.7") || !strings.Contains(err.Error(), "cart") {
		t.Errorf("error = %v, want words for the model", err)
	}
}

// ask runs the specialist over the wire with a scripted model.
func ask(t *testing.T, steps ...scripted.Step) *specialistv1.Answer {
	t.Helper()
	_, conn := serve(t, walkCarts(), scripted.New(steps...))
	mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one",
		promo("TEN", percent(1000)), promo("SHIP", freeShipping(nil)), promo("TENTS", percent(1), categories("Tents")))
	return servicetest.Answer(t, conn, shopper("walk"), "any codes?")
}

func choice(code string) scripted.Step {
	return scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "choose_promotion", Arguments: `{"code":"` + code + `","reason":"it saves most"}`}}}
}

func TestAnswerCarriesTheTypedChoice(t *testing.T) {
	list := scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "list_active_promotions"}}}
	tests := []struct {
		name  string
		steps []scripted.Step
		want  *specialistv1.PromotionChoice
	}{
		{"the saving is computed by code, the code is spelled as the store has it", []scripted.Step{list, choice(" ten "), {Text: "Use TEN, it saves a million."}},
			&specialistv1.PromotionChoice{Code: "TEN", Title: "Offer TEN", Saving: eur(3386), Reason: "it saves most"}},
		{"the last choice counts", []scripted.Step{choice("SHIP"), choice("TEN"), {Text: "TEN."}},
			&specialistv1.PromotionChoice{Code: "TEN", Title: "Offer TEN", Saving: eur(3386), Reason: "it saves most"}},
		{"a refused choice changes nothing", []scripted.Step{choice("SHIP"), choice("TENTS"), {Text: "Use SHIP; TENTS does not apply."}},
			&specialistv1.PromotionChoice{Code: "SHIP", Title: "Offer SHIP", Saving: eur(0), Reason: "it saves most"}},
		{"a code in the text is no choice", []scripted.Step{list, {Text: "TENTS does not apply."}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := ask(t, tt.steps...)
			if diff := cmp.Diff(tt.want, answer.GetPromotion(), protocmp.Transform()); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
			var actions []*specialistv1.SuggestedAction
			if tt.want != nil {
				actions = []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_ApplyPromotion{
					ApplyPromotion: &specialistv1.ApplyPromotion{Code: tt.want.GetCode()},
				}}}
			}
			if diff := cmp.Diff(actions, answer.GetSuggestedActions(), protocmp.Transform()); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// several serves a store whose offers can be combined, but not all with all.
func several(t *testing.T) *Service {
	t.Helper()
	service, conn := serve(t, walkCarts(), silent())
	mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one",
		promo("TEN", percent(1000), stacks), promo("FIVE", percent(500), stacks), promo("SHIP", freeShipping(eur(495)), stacks, excludes("FIVE")),
		promo("ALONE", percent(1100)))
	return service
}

func TestTheBestCombinationIsListedAndCanBeChosen(t *testing.T) {
	tools := func(f *specialist.Findings) []agentloop.Tool {
		return several(t).data.tools(&specialist.Turn{Scope: shopper("walk"), Findings: f})
	}
	list, err := servicetest.Run[listResult](t.Context(), t, tools(&specialist.Findings{}), "list_active_promotions", `{"all":true}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&together{Codes: []string{"TEN", "FIVE"}, Saving: "50.79 EUR"}, list.Together); diff != "" || list.BestCode != "ALONE" {
		t.Errorf("best %q; combination (-want +got):\n%s", list.BestCode, diff)
	}
	tests := []struct {
		name, arguments string
		want            chooseResult
		err             string
	}{
		{"all of it, each once, in any case", `{"code":"five","reason":"r","also":["ten","FIVE","TEN"]}`,
			chooseResult{Code: "FIVE", Also: []string{"TEN"}, Title: "Offer FIVE", Saving: "50.79 EUR", Reason: "r"}, ""},
		{"one that stands alone", `{"code":"TEN","reason":"r","also":["ALONE"]}`, chooseResult{},
			"ALONE does not apply: it cannot be combined with TEN. The best code for this cart is ALONE, the best combination TEN with FIVE."},
		{"two that exclude each other", `{"code":"TEN","reason":"r","also":["SHIP","FIVE"]}`, chooseResult{},
			"FIVE does not apply: it cannot be combined with SHIP. The best code for this cart is ALONE, the best combination TEN with FIVE."},
		{"one that does not exist", `{"code":"TEN","reason":"r","also":["NOPE"]}`, chooseResult{},
			`The store has no promotion with the code "NOPE". The best code for this cart is ALONE, the best combination TEN with FIVE.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := servicetest.Run[chooseResult](t.Context(), t, tools(&specialist.Findings{}), "choose_promotion", tt.arguments)
			if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
				t.Errorf("error %v, want %q; choice (-want +got):\n%s", err, tt.err, diff)
			}
		})
	}
}

func TestAnswerCarriesACombination(t *testing.T) {
	several := agentloop.ToolCall{Name: "choose_promotion", Arguments: `{"code":"TEN","reason":"most","also":["SHIP"]}`}
	_, conn := serve(t, walkCarts(), scripted.New(scripted.Step{ToolCalls: []agentloop.ToolCall{several}}, scripted.Step{Text: "TEN with SHIP."}))
	mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one", promo("TEN", percent(1000), stacks), promo("SHIP", freeShipping(eur(495)), stacks))
	answer := servicetest.Answer(t, conn, shopper("walk"), "any codes?")
	want := &specialistv1.PromotionChoice{Code: "TEN", AlsoCodes: []string{"SHIP"}, Title: "Offer TEN", Saving: eur(3386 + 495), Reason: "most"}
	if diff := cmp.Diff(want, answer.GetPromotion(), protocmp.Transform()); diff != "" {
		t.Errorf("choice (-want +got):\n%s", diff)
	}
	action := answer.GetSuggestedActions()[0].GetApplyPromotion()
	if diff := cmp.Diff(&specialistv1.ApplyPromotion{Code: "TEN", AlsoCodes: []string{"SHIP"}}, action, protocmp.Transform()); diff != "" {
		t.Errorf("action (-want +got):\n%s", diff)
	}
}

func TestACodeThatTheShopperNamesIsListedWhateverItsState(t *testing.T) {
	service := stocked(t, walkCarts())
	tests := []struct{ asked, code, refused string }{
		{"why does old not work?", "OLD", "expired"},
		{"is STAFF for me", "STAFF", "customer_not_eligible"},
		{"when can I use (nextyear)?", "NEXTYEAR", "not_started"},
		{"I folded my oldest tent", "", ""},
	}
	for _, tt := range tests {
		turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}, SubQuery: tt.asked}
		got, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", `{"all":true}`)
		if err != nil {
			t.Fatal(err)
		}
		var code, refused string
		for _, p := range got.Promotions {
			if p.Refused == "expired" || p.Code == "STAFF" || p.Code == "NEXTYEAR" {
				code, refused = p.Code, p.Refused
			}
		}
		if code != tt.code || refused != tt.refused {
			t.Errorf("%s: lists %q as %q, want %q as %q", tt.asked, code, refused, tt.code, tt.refused)
		}
	}
}

func TestToolsKnowWhatThisCustomerHasUsed(t *testing.T) {
	service, conn := serve(t, walkCarts(), silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	mustUpsert(t, client, "one", promo("ONCE", percent(2000), limits(0, 1)), promo("TEN", percent(1000)))
	for _, want := range []string{"ONCE", "TEN"} {
		turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}}
		got, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", `{"all":true}`)
		if err != nil || got.BestCode != want {
			t.Errorf("best %q, %v; want %q", got.BestCode, err, want)
		}
		req := &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o1", CustomerId: "ada", Codes: []string{"ONCE"}}
		if _, err := client.RecordUsage(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDescribe(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := specialistv1.NewSpecialistServiceClient(conn)
	describe := func(storeID string) *specialistv1.Specialist {
		resp, err := client.Describe(servicetest.Context(t, conn, scope.Scope{StoreID: storeID}), &specialistv1.DescribeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetSpecialist()
	}
	if s := describe("one"); s.GetAvailable() || s.GetUnavailableReason() == "" {
		t.Errorf("a store without promotions has the specialist: %v", s)
	}
	mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one", promo("TEN", percent(1000)))
	if s := describe("one"); !s.GetAvailable() || s.GetName() != "promotions" || len(s.GetTools()) != 2 || !s.GetReadsCart() || len(s.GetKeywords()) < 40 {
		t.Errorf("described as %v", s)
	}
	if describe("two").GetAvailable() {
		t.Error("the promotions of one store switch the specialist on in another")
	}
	seen := map[string]bool{}
	for _, k := range describe("one").GetKeywords() {
		if seen[k.GetTerm()] || k.GetTerm() != strings.ToLower(k.GetTerm()) {
			t.Errorf("keyword %q is named twice or is not in lower case", k.GetTerm())
		}
		seen[k.GetTerm()] = true
	}
}
