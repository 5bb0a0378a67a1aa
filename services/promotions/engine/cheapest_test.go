package engine

import (
	"testing"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

func TestCheapestPurchase(t *testing.T) {
	tents, kitchen := categories("Tents"), categories("Kitchen")
	tests := []struct {
		name  string
		p     []*promotionv1.Promotion
		cart  *cartv1.Cart // nil: walkCart
		want  string       // code: quantity x product, cost, saving
		cents [2]int64
	}{
		{"an amount by several of one product", promos(promo("P", percent(1000), minimum(eur(34465)))), nil, "P: 2 x peg", [2]int64{600, 3446}},
		{"an amount by one product that is far up the shelf", promos(promo("P", percent(1000), minimum(eur(43765)))), nil, "P: 1 x tent", [2]int64{9900, 4376}},
		{"no more than ten of one", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"pin", "rope"}}), minimum(eur(2150)))), nil, "P: 4 x rope", [2]int64{2800, 280}},
		{"an amount by something between what hides it and what reaches it alone", promos(promo("P", percent(1000), minimum(eur(34265)))), nil,
			"P: 2 x pin", [2]int64{400, 3426}},
		{"no more than there are", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"peg"}}), minimum(eur(1500)))), nil, "", [2]int64{}},
		{"a scope that the cart has nothing of", promos(promo("P", percent(1000), kitchen)), nil, "P: 1 x cup", [2]int64{450, 45}},
		{"a scope of lists adds up", promos(promo("P", percent(1000), minimumUnits(3),
			scoped(&promotionv1.Scope{Brands: []string{"Reef"}, ProductIds: []string{"pan"}, Categories: []string{"Kitchen"}}))), nil,
			"P: 1 x cup, 2 x rope", [2]int64{1850, 185}},
		{"exclusions stay out", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{Categories: []string{"Kitchen"}, ExcludeProductIds: []string{"cup"}}))),
			nil, "P: 1 x pan", [2]int64{1900, 190}},
		{"also of products that are named", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"cup", "pan"}, ExcludeProductIds: []string{"cup"}}))),
			nil, "P: 1 x pan", [2]int64{1900, 190}},
		{"units of a group", promos(promo("P", buyGet(2, 1), tents)), nil, "P: 3 x pin", [2]int64{600, 200}},
		{"the rest of a set", promos(promo("P", bundle(8000, "jacket", "pan"))), nil, "P: 1 x pan", [2]int64{1900, 1890}},
		{"a set of which one is sold out", promos(promo("P", bundle(1, "jacket", "gone"))), nil, "", [2]int64{}},
		{"an amount and then units", promos(promo("P", percent(1000), tents, minimum(eur(9900)), minimumUnits(2))), nil,
			"P: 1 x tent, 1 x pin", [2]int64{10100, 1010}},
		{"of several the cheapest, not the nearest", promos(promo("NEAR", percent(9000), minimum(eur(42000))), promo("CHEAP", percent(1000), kitchen)), nil,
			"CHEAP: 1 x cup", [2]int64{450, 45}},
		{"what the cart holds is not in stock again", promos(promo("P", percent(1000), kitchen, minimumUnits(2))),
			cartOf(&cartv1.CartItem{ProductId: "cup", VariantId: "v", Quantity: 1, UnitPrice: eur(450), Available: true, CategoryPath: []string{"Kitchen"}}),
			"P: 1 x pan", [2]int64{1900, 235}},
		{"from an empty cart", promos(promo("P", amountOff(eur(500)), minimum(eur(1900)))), cartOf(), "P: 1 x pan", [2]int64{1900, 500}},
		{"nothing that a purchase could change", promos(promo("P", percent(1000), ends(noon)), promo("Q", percent(1), groups("vip"))), nil, "", [2]int64{}},
		{"a promotion that would save nothing", promos(promo("P", bundle(99_000, "jacket", "pan"))), nil, "", [2]int64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := Situation{Cart: tt.cart, Now: noon}
			if at.Cart == nil {
				at.Cart = walkCart()
			}
			o := Evaluate(tt.p, NewBasket(at.Cart), at.Buyer, noon)
			got, err := CheapestPurchase(t.Context(), outdoors(), "one", o.Evaluations, at)
			if err != nil {
				t.Fatal(err)
			}
			if text := purchaseText(got); text != tt.want || got.GetCost().GetAmountMinor() != tt.cents[0] || got.GetSaving().GetAmountMinor() != tt.cents[1] {
				t.Errorf("%q at %v saves %v; want %q, %v", text, got.GetCost(), got.GetSaving(), tt.want, tt.cents)
			}
		})
	}
}
