package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

func TestSavingOfEligiblePromotions(t *testing.T) {
	tests := []struct {
		name string
		p    *promotionv1.Promotion
		cart *cartv1.Cart // nil: walkCart
		want int64
	}{
		{"percentage of the whole cart rounds down", promo("P", percent(1500)), nil, 5079}, // 15% of 338.65 = 50.7975
		{"percentage stops at its maximum", promo("P", percentUpTo(5000, 2000)), nil, 2000},
		{"percentage below its maximum is not raised", promo("P", percentUpTo(100, 2000)), nil, 338},
		{"a hundred percent takes all and no more", promo("P", percent(10000)), nil, 33865},
		{"percentage of a huge sum does not overflow", promo("P", percent(10000)),
			cartOf(item("x", 999, 9_000_000_000_000_000, "")), 8_991_000_000_000_000_000},
		{"sum beyond the largest amount stays there", promo("P", percent(5000)),
			cartOf(item("x", 999, 90_000_000_000_000_000, "")), 1<<62 - 1},
		{"a saving below one minor unit is zero", promo("P", percent(1)), cartOf(item("x", 1, 99, "")), 0},
		{"amount", promo("P", amountOff(eur(1000))), nil, 1000},
		{"amount is at most what the items cost", promo("P", amountOff(eur(5000)), categories("Socks")), nil, 2985},
		{"buy 2 get 1: the cheapest unit is free", promo("P", buyGet(2, 1)), nil, 2 * 995}, // 6 units: two groups
		{"buy 1 get 1 on a scope", promo("P", buyGet(1, 1), categories("Rain Jackets")), nil, 7990},
		{"buy 1 get 2 frees two of three", promo("P", buyGet(1, 2), categories("Socks")), nil, 2 * 995},
		{"buy 3 get 1 with units left over", promo("P", buyGet(3, 1)), nil, 995},
		{"free units reach the next cheapest line", promo("P", buyGet(1, 2)), nil, 3*995 + 7990}, // 4 free of 6
		{"free shipping with a known fee", promo("P", freeShipping(eur(495))), nil, 495},
		{"free shipping with an unknown fee", promo("P", freeShipping(nil)), nil, 0},
		{"tier: the highest step reached", promo("P", tiered(10000, 500, 30000, 1000, 50000, 2000)), nil, 3386},
		{"tier: a step is inclusive", promo("P", tiered(33865, 1000)), nil, 3386},
		{"tier: steps in any order", promo("P", tiered(30000, 1000, 10000, 500)), nil, 3386},
		{"bundle", promo("P", bundle(20000, "jacket", "boots")), nil, 2890}, // 79.90 + 149.00 - 200.00
		{"bundle applies as often as the set is there", promo("P", bundle(8000, "jacket", "socks")), nil, 2 * 985},
		{"bundle takes the dearest units first", promo("P", bundle(1000, "a", "b")),
			cartOf(item("a", 1, 700, ""), item("a", 1, 900, ""), item("b", 1, 500, "")), 400},
		{"bundle forms no set that would cost more", promo("P", bundle(1300, "a", "b")),
			cartOf(item("a", 1, 700, ""), item("a", 1, 900, ""), item("b", 2, 500, "")), 100},
		{"bundle dearer than its parts saves nothing", promo("P", bundle(99900, "jacket", "boots")), nil, 0},
		{"category at the top of the path", promo("P", percent(1000), categories("clothing")), nil, 1896},
		{"category in singular and lower case", promo("P", percent(1000), categories("rain jacket")), nil, 1598},
		{"brand without case", promo("P", percent(1000), scoped(&promotionv1.Scope{Brands: []string{"NIMBOLT"}})), nil, 3088},
		{"product", promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"boots"}})), nil, 1490},
		{"lists add up", promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"boots"}, Categories: []string{"Socks"}})), nil, 1788},
		{"exclusion beats a list", promo("P", percent(1000),
			scoped(&promotionv1.Scope{Brands: []string{"Nimbolt"}, ExcludeProductIds: []string{"boots"}})), nil, 1598},
		{"exclusion alone means all others", promo("P", percent(1000), scoped(&promotionv1.Scope{ExcludeProductIds: []string{"boots"}})), nil, 1896},
		{"minimum is inclusive", promo("P", percent(1000), minimum(eur(33865))), nil, 3386},
		{"minimum quantity is inclusive", promo("P", percent(1000), minimumUnits(6)), nil, 3386},
		{"start is inclusive", promo("P", percent(1000), starts(noon)), nil, 3386},
		{"one nanosecond before the end", promo("P", percent(1000), ends(noon.Add(time.Nanosecond))), nil, 3386},
		{"unavailable items add nothing", promo("P", percent(1000)), withUnavailable(), 3386},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cart := tt.cart
			if cart == nil {
				cart = walkCart()
			}
			e := verdict(tt.p, NewBasket(cart), Buyer{}, noon)
			if !e.GetEligible() {
				t.Fatalf("not eligible: %v", e.GetRefusalReason())
			}
			if diff := cmp.Diff(eur(tt.want), e.GetSaving(), protocmp.Transform()); diff != "" {
				t.Errorf("saving (-want +got):\n%s", diff)
			}
		})
	}
}

func withUnavailable() *cartv1.Cart {
	cart := walkCart()
	gone := item("gone", 5, 100000, "Nimbolt", "Clothing")
	gone.Available = false
	cart.Items = append(cart.Items, gone, &cartv1.CartItem{ProductId: "priceless", Quantity: 1, Available: true})
	return cart
}

func TestRefusals(t *testing.T) {
	usd := &commonv1.Money{AmountMinor: 500, CurrencyCode: "USD"}
	vip := Buyer{SignedIn: true, Groups: []string{"vip"}}
	tests := []struct {
		name    string
		p       *promotionv1.Promotion
		cart    *cartv1.Cart
		who     Buyer
		reason  string
		amount  int64
		units   int32
		because string
	}{
		{name: "ended at this instant", p: promo("P", percent(1), ends(noon)), reason: "EXPIRED",
			because: "P does not apply: it ended on 15 March 2026."},
		{name: "ended at midnight names the day before", p: promo("P", percent(1), ends(noon.Truncate(24*time.Hour))), reason: "EXPIRED",
			because: "P does not apply: it ended on 14 March 2026."},
		{name: "starts later", p: promo("P", percent(1), starts(noon.Add(time.Second))), reason: "NOT_STARTED",
			because: "P does not apply: it starts on 15 March 2026."},
		{name: "minimum of the cart", p: promo("P", percent(1), minimum(eur(40000))), reason: "MINIMUM_NOT_MET", amount: 6135,
			because: "P does not apply: add 61.35 EUR of any items."},
		{name: "minimum counts qualifying items only", p: promo("P", percent(1), categories("Socks"), minimum(eur(5000))),
			reason: "MINIMUM_NOT_MET", amount: 2015, because: "P does not apply: add 20.15 EUR of Socks."},
		{name: "first tier is a minimum", p: promo("P", tiered(40000, 500, 60000, 1000)), reason: "MINIMUM_NOT_MET", amount: 6135},
		{name: "the larger of minimum and first tier is missing", p: promo("P", tiered(50000, 500), minimum(eur(40000))),
			reason: "MINIMUM_NOT_MET", amount: 16135},
		{name: "the larger one may be the minimum", p: promo("P", tiered(40000, 500), minimum(eur(50000))),
			reason: "MINIMUM_NOT_MET", amount: 16135},
		{name: "minimum quantity", p: promo("P", percent(1), categories("Socks"), minimumUnits(5)), reason: "QUANTITY_NOT_MET", units: 2,
			because: "P does not apply: add 2 more units of Socks."},
		{name: "no full group", p: promo("P", buyGet(3, 1), categories("Socks")), reason: "QUANTITY_NOT_MET", units: 1,
			because: "P does not apply: add 1 more unit of Socks."},
		{name: "set not complete", p: promo("P", bundle(100, "socks", "hat", "scarf")), reason: "QUANTITY_NOT_MET", units: 2,
			because: "P does not apply: add 2 more products of the set."},
		{name: "amount is missing before units", p: promo("P", percent(1), minimumUnits(50), minimum(eur(40000))),
			reason: "MINIMUM_NOT_MET", amount: 6135},
		{name: "nothing of the category", p: promo("P", percent(1), categories("Tents")), reason: "WRONG_ITEMS",
			because: "P does not apply: it is for Tents, and the cart has none."},
		{name: "nothing of the set", p: promo("P", bundle(100, "hat", "scarf")), reason: "WRONG_ITEMS",
			because: "P does not apply: the cart has nothing of the set."},
		{name: "everything excluded", p: promo("P", percent(1), scoped(&promotionv1.Scope{ExcludeProductIds: []string{"jacket", "socks", "boots"}})),
			reason: "WRONG_ITEMS", because: "P does not apply: the items in the cart are excluded from it."},
		{name: "items without a brand match no brand", p: promo("P", percent(1), scoped(&promotionv1.Scope{Brands: []string{"Nimbolt"}})),
			cart: cartOf(item("x", 1, 100, "")), reason: "WRONG_ITEMS"},
		{name: "items without a brand match no blank brand", p: promo("P", percent(1), scoped(&promotionv1.Scope{Brands: []string{" "}})),
			cart: cartOf(item("x", 1, 100, "")), reason: "WRONG_ITEMS"},
		{name: "group, guest", p: promo("P", percent(1), groups("vip")), reason: "SIGN_IN_NEEDED"},
		{name: "group, another group", p: promo("P", percent(1), groups("staff")), who: vip, reason: "CUSTOMER_NOT_ELIGIBLE"},
		{name: "group, no group", p: promo("P", percent(1), groups("staff")), who: Buyer{SignedIn: true}, reason: "CUSTOMER_NOT_ELIGIBLE"},
		{name: "currency of the benefit", p: promo("P", amountOff(usd)), reason: "CURRENCY"},
		{name: "currency of the minimum", p: promo("P", percent(1), minimum(usd)), reason: "CURRENCY"},
		{name: "currency of the fee", p: promo("P", freeShipping(usd)), reason: "CURRENCY"},
		{name: "empty cart", p: promo("P", percent(1)), cart: cartOf(), reason: "EMPTY_CART", because: "P does not apply: the cart is empty."},
		{name: "empty cart has no currency to differ from", p: promo("P", amountOff(usd)), cart: cartOf(), reason: "EMPTY_CART"},
		{name: "only unavailable items", p: promo("P", percent(1)), cart: cartOf(&cartv1.CartItem{ProductId: "x", Quantity: 1}), reason: "EMPTY_CART"},
		{name: "dates speak before the customer and the cart", p: promo("P", percent(1), groups("staff"), ends(noon)), cart: cartOf(), reason: "EXPIRED"},
		{name: "the customer speaks before the cart", p: promo("P", percent(1), groups("staff")), cart: cartOf(), reason: "SIGN_IN_NEEDED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cart := tt.cart
			if cart == nil {
				cart = walkCart()
			}
			e := verdict(tt.p, NewBasket(cart), tt.who, noon)
			if e.GetEligible() || e.GetSaving() != nil {
				t.Errorf("eligible %v with saving %v, want a refusal without one", e.GetEligible(), e.GetSaving())
			}
			want := promotionv1.RefusalReason(promotionv1.RefusalReason_value["REFUSAL_REASON_"+tt.reason])
			if e.GetRefusalReason() != want {
				t.Errorf("reason = %v, want %v", e.GetRefusalReason(), want)
			}
			if got := e.GetMissingAmount().GetAmountMinor(); got != tt.amount {
				t.Errorf("missing amount = %d, want %d", got, tt.amount)
			}
			if (e.GetMissingAmount() != nil) != (tt.reason == "MINIMUM_NOT_MET") {
				t.Errorf("missing amount %v goes with MINIMUM_NOT_MET only", e.GetMissingAmount())
			}
			if e.GetMissingQuantity() != tt.units {
				t.Errorf("missing quantity = %d, want %d", e.GetMissingQuantity(), tt.units)
			}
			if tt.because != "" && e.GetExplanation() != tt.because {
				t.Errorf("explanation = %q, want %q", e.GetExplanation(), tt.because)
			}
		})
	}
}

func TestGroupMembersMayUseTheirPromotion(t *testing.T) {
	e := verdict(promo("P", percent(1000), groups("staff", "vip")), NewBasket(walkCart()), Buyer{SignedIn: true, Groups: []string{"vip"}}, noon)
	if !e.GetEligible() {
		t.Errorf("refused: %v", e.GetRefusalReason())
	}
}

func TestItemsInAnotherCurrencyThanTheCartDoNotCount(t *testing.T) {
	cart := walkCart()
	cart.Subtotal = eur(33865)
	cart.Items = append([]*cartv1.CartItem{{
		ProductId: "odd", Quantity: 1, Available: true, UnitPrice: &commonv1.Money{AmountMinor: 100, CurrencyCode: "USD"},
	}}, cart.Items...)
	e := verdict(promo("P", percent(10000)), NewBasket(cart), Buyer{}, noon)
	if diff := cmp.Diff(eur(33865), e.GetSaving(), protocmp.Transform()); diff != "" {
		t.Errorf("saving (-want +got):\n%s", diff)
	}
}

func TestOrderAndBestCode(t *testing.T) {
	later, latest := noon.Add(time.Hour), noon.Add(2*time.Hour)
	tests := []struct {
		name       string
		promotions []*promotionv1.Promotion
		order      []string
		best       string
	}{
		{"largest saving first, refused ones last by code",
			[]*promotionv1.Promotion{promo("Z", minimum(eur(1e9)), percent(1)), promo("SMALL", percent(100)), promo("A", percent(1), ends(noon)), promo("BIG", percent(2000))},
			[]string{"BIG", "SMALL", "A", "Z"}, "BIG"},
		{"equal savings are listed by code, and the earlier end is best",
			[]*promotionv1.Promotion{promo("a", amountOff(eur(500))), promo("B", amountOff(eur(500)), ends(latest)), promo("C", amountOff(eur(500)), ends(later))},
			[]string{"a", "B", "C"}, "C"},
		{"equal in all go by code", []*promotionv1.Promotion{promo("B", percent(500)), promo("A", percent(500))}, []string{"A", "B"}, "A"},
		{"free shipping of unknown worth when nothing saves money",
			[]*promotionv1.Promotion{promo("AAA", bundle(99999, "jacket", "boots")), promo("SHIP", freeShipping(nil))}, []string{"AAA", "SHIP"}, "SHIP"},
		{"a saving beats free shipping of unknown worth",
			[]*promotionv1.Promotion{promo("AAA", freeShipping(nil)), promo("CENT", amountOff(eur(1)))}, []string{"CENT", "AAA"}, "CENT"},
		{"nothing worth choosing", []*promotionv1.Promotion{promo("AAA", bundle(99999, "jacket", "boots"))}, []string{"AAA"}, ""},
		{"none eligible", []*promotionv1.Promotion{promo("AAA", percent(1), ends(noon))}, []string{"AAA"}, ""},
		{"no promotions", nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Evaluate(tt.promotions, NewBasket(walkCart()), Buyer{}, noon)
			var order []string
			for _, e := range o.Evaluations {
				order = append(order, e.GetPromotion().GetCode())
			}
			if diff := cmp.Diff(tt.order, order); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if o.BestCode != tt.best {
				t.Errorf("best = %q, want %q", o.BestCode, tt.best)
			}
		})
	}
}

func usedBy(all, own int64) Buyer {
	return Buyer{SignedIn: true, ID: "ada", Used: map[string]Use{"P": {all, own}}}
}

func TestLimitsRefuse(t *testing.T) {
	tests := []struct {
		name   string
		p      *promotionv1.Promotion
		who    Buyer
		reason string
	}{
		{"below both", promo("P", percent(1), limits(3, 2)), usedBy(2, 1), ""},
		{"used up by all", promo("P", percent(1), limits(3, 2)), usedBy(3, 1), "USED_UP"},
		{"used up by this customer", promo("P", percent(1), limits(3, 2)), usedBy(2, 2), "USED_UP"},
		{"the limit was lowered below the count", promo("P", percent(1), limits(1, 0)), usedBy(2, 1), "USED_UP"},
		{"no limit", promo("P", percent(1)), usedBy(1000, 1000), ""},
		{"counts go by the code in any case", promo("p", percent(1), limits(3, 0)), usedBy(3, 0), "USED_UP"},
		{"a guest and a limit for all", promo("P", percent(1), limits(3, 0)), Buyer{}, ""},
		{"a guest and a limit for each customer", promo("P", percent(1), limits(0, 1)), Buyer{}, "SIGN_IN_NEEDED"},
		{"a customer whom the caller does not name", promo("P", percent(1), limits(0, 1)), Buyer{SignedIn: true}, "SIGN_IN_NEEDED"},
		{"dates speak before limits", promo("P", percent(1), limits(1, 0), ends(noon)), usedBy(1, 0), "EXPIRED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := verdict(tt.p, NewBasket(walkCart()), tt.who, noon)
			if got := strings.TrimPrefix(e.GetRefusalReason().String(), "REFUSAL_REASON_"); strings.TrimPrefix(got, "UNSPECIFIED") != tt.reason || e.GetEligible() != (tt.reason == "") {
				t.Errorf("reason %q, eligible %v; want %q", got, e.GetEligible(), tt.reason)
			}
		})
	}
	e := verdict(promo("P", percent(1), limits(1, 0)), NewBasket(walkCart()), usedBy(1, 0), noon)
	if want := "P does not apply: it was used as often as it may be."; e.GetExplanation() != want {
		t.Errorf("explanation = %q, want %q", e.GetExplanation(), want)
	}
}
