package promotions

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
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

// withCatalog makes the tools of a turn in a store with a catalog.
func withCatalog(t *testing.T, promotions ...*promotionv1.Promotion) []agentloop.Tool {
	service, _ := serveCatalog(t, silent(), promotions...)
	return service.data.tools(&specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}})
}

// serveCatalog serves a store with a catalog.
func serveCatalog(t *testing.T, model agentloop.Model, promotions ...*promotionv1.Promotion) (*Service, *grpc.ClientConn) {
	t.Helper()
	service, err := New(Config{
		Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: model, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }},
		Cart: walkCarts(), Catalog: outdoors(),
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Serve(t, "promotions", service.Register)
	client := promotionv1.NewPromotionServiceClient(conn)
	mustUpsert(t, client, "one", promotions...)
	if _, err := client.RecordUsage(t.Context(), &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o1", CustomerId: "ada", Codes: []string{"ONCE"}}); err != nil {
		t.Fatal(err)
	}
	return service, conn
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
	model := scripted.New(list(`{"changes":[{"product":"peg","add":2}]}`), scripted.Step{Text: "With two pegs more, NEAR saves 34.46 EUR."})
	_, conn := serveCatalog(t, model, promo("NEAR", percent(1000), minimum(eur(34465))), promo("ONCE", percent(5000), limits(0, 1)))
	if a := servicetest.Answer(t, conn, shopper("walk"), "and with two pegs?"); a.GetPromotion() != nil || len(a.GetSuggestedActions()) > 0 {
		t.Errorf("proposed %v, actions %v", a.GetPromotion(), a.GetSuggestedActions())
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
	if _, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", `{"codes":["TEN"]}`); err != nil {
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

func list(arguments string) scripted.Step {
	return scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "list_active_promotions", Arguments: arguments}}}
}

func TestAnswerCarriesWhatItsTextProposes(t *testing.T) {
	tests := []struct {
		name, text string
		want       *specialistv1.PromotionChoice
	}{
		{"the saving is computed by code", "Good news. Use ALONE, it saves a million. Soon!",
			&specialistv1.PromotionChoice{Code: "ALONE", Saving: eur(3725), Reason: "Use ALONE, it saves a million."}},
		{"of two that do not go together, the one that saves more", "ALONE saves more than TEN.",
			&specialistv1.PromotionChoice{Code: "ALONE", Saving: eur(3725), Reason: "ALONE saves more than TEN."}},
		{"the best combination", "Enter FIVE and TEN.",
			&specialistv1.PromotionChoice{Code: "TEN", AlsoCodes: []string{"FIVE"}, Saving: eur(5079), Reason: "Enter FIVE and TEN."}},
		{"a code of the best combination alone", "Enter FIVE.",
			&specialistv1.PromotionChoice{Code: "FIVE", Saving: eur(1693), Reason: "Enter FIVE."}},
		{"codes that the shopper asked for together", "SHIP and TEN go together.",
			&specialistv1.PromotionChoice{Code: "SHIP", AlsoCodes: []string{"TEN"}, Saving: eur(3386 + 495), Reason: "SHIP and TEN go together."}},
		{"beside a code that does not apply", "TENTS does not apply, but SHIP does.",
			&specialistv1.PromotionChoice{Code: "SHIP", Saving: eur(495), Reason: "TENTS does not apply, but SHIP does."}},
		{"a code that does not apply is not proposed", "TENTS does not apply.", nil},
		{"no code", "There is an offer, alone or with another.", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, conn := serve(t, walkCarts(), scripted.New(list(`{"codes":["SHIP","TEN"]}`), scripted.Step{Text: tt.text}))
			mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one", append(combinable(), promo("TENTS", percent(1), categories("Tents")))...)
			answer := servicetest.Answer(t, conn, shopper("walk"), "any codes? what of TENTS?")
			if diff := cmp.Diff(tt.want, answer.GetPromotion(), protocmp.Transform(), protocmp.IgnoreFields(tt.want, "title")); diff != "" {
				t.Errorf("promotion (-want +got):\n%s", diff)
			}
			var actions []*specialistv1.SuggestedAction
			if tt.want != nil {
				actions = []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_ApplyPromotion{
					ApplyPromotion: &specialistv1.ApplyPromotion{Code: tt.want.GetCode(), AlsoCodes: tt.want.GetAlsoCodes()},
				}}}
			}
			if diff := cmp.Diff(actions, answer.GetSuggestedActions(), protocmp.Transform()); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// combinable are offers that can be combined, but not all with all.
func combinable() []*promotionv1.Promotion {
	return []*promotionv1.Promotion{
		promo("TEN", percent(1000), stacks), promo("FIVE", percent(500), stacks), promo("SHIP", freeShipping(eur(495)), stacks, excludes("FIVE")),
		promo("ALONE", percent(1100)),
	}
}

func TestTheBestCombinationIsListed(t *testing.T) {
	service, conn := serve(t, walkCarts(), silent())
	mustUpsert(t, promotionv1.NewPromotionServiceClient(conn), "one", combinable()...)
	tools := service.data.tools(&specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}})
	list, err := servicetest.Run[listResult](t.Context(), t, tools, "list_active_promotions", `{"all":true}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&together{Codes: []string{"TEN", "FIVE"}, Saving: "50.79 EUR"}, list.Together); diff != "" || list.BestCode != "ALONE" {
		t.Errorf("best %q; combination (-want +got):\n%s", list.BestCode, diff)
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
	if s := describe("one"); !s.GetAvailable() || s.GetName() != "promotions" || len(s.GetTools()) != 1 || !s.GetReadsCart() || len(s.GetKeywords()) < 40 {
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

// What a category of the cart comes to decides some offers, so the cart's tool is the one of the other specialists.
func TestTheCartHasSubtotalsOfCategories(t *testing.T) {
	service := stocked(t, walkCarts())
	turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}}
	if n := len(service.data.tools(turn)); n != 1 {
		t.Errorf("%d tools without a cart, want 1", n)
	}
	turn.Cart = walkCart()
	got, err := servicetest.Run[carttool.Result](t.Context(), t, service.data.tools(turn), carttool.Name, "{}")
	if err != nil || len(got.Items) == 0 || len(got.Subtotals) < 2 || got.Subtotal != money.Text(walkCart().GetSubtotal()) {
		t.Errorf("%+v, %v", got, err)
	}
}
