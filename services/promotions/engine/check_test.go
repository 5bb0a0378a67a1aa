package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func TestCheckPromotionNamesTheFieldsAtFault(t *testing.T) {
	usd := &commonv1.Money{AmountMinor: 500, CurrencyCode: "USD"}
	tests := []struct {
		name   string
		p      *promotionv1.Promotion
		fields []string
	}{
		{"a good one", promo("OK-1_a", percent(1000)), nil},
		{"nothing at all", &promotionv1.Promotion{}, []string{"code", "title", "benefit"}},
		{"code too short", promo("A", percent(1)), []string{"code"}},
		{"code too long", promo(strings.Repeat("A", 41), percent(1)), []string{"code"}},
		{"code with a space", promo("A B", percent(1)), []string{"code"}},
		{"percent of nothing", promo("OK", percent(0)), []string{"percent_off.basis_points"}},
		{"percent above all", promo("OK", percent(10001)), []string{"percent_off.basis_points"}},
		{"negative limit", promo("OK", percentUpTo(1, -1)), []string{"percent_off.maximum_saving.amount_minor"}},
		{"no amount", promo("OK", amountOff(nil)), []string{"amount_off.amount"}},
		{"amount of zero", promo("OK", amountOff(eur(0))), []string{"amount_off.amount.amount_minor"}},
		{"groups of nothing", promo("OK", buyGet(0, 0)), []string{"buy_x_get_y.buy_quantity", "buy_x_get_y.get_quantity"}},
		{"free shipping without a fee", promo("OK", freeShipping(nil)), nil},
		{"no tiers", promo("OK", tiered()), []string{"tiered.tiers"}},
		{"tiers that do not rise", promo("OK", tiered(100, 1, 100, 2)), []string{"tiered.tiers[1].subtotal.amount_minor"}},
		{"tier share", promo("OK", tiered(100, 0)), []string{"tiered.tiers[0].basis_points"}},
		{"set of one", promo("OK", bundle(1, "a")), []string{"bundle.product_ids"}},
		{"set with a repetition", promo("OK", bundle(1, "a", "b", "a")), []string{"bundle.product_ids[2]"}},
		{"bad product in scope", promo("OK", percent(1), scoped(&promotionv1.Scope{ProductIds: []string{"a", "b c"}})), []string{"scope.product_ids[1]"}},
		{"empty category", promo("OK", percent(1), categories("")), []string{"scope.categories[0]"}},
		{"lower-case currency", promo("OK", percent(1), minimum(&commonv1.Money{CurrencyCode: "eur"})), []string{"minimum_subtotal.currency_code"}},
		{"two currencies", promo("OK", amountOff(usd), minimum(eur(1))), []string{"amount_off.amount.currency_code"}},
		{"negative quantity", promo("OK", percent(1), minimumUnits(-1)), []string{"minimum_quantity"}},
		{"end at its start", promo("OK", percent(1), starts(noon), ends(noon)), []string{"end_time"}},
		{"time out of range", &promotionv1.Promotion{Code: "OK", Title: "T", Benefit: promo("X", percent(1)).Benefit,
			StartTime: &timestamppb.Timestamp{Seconds: -1 << 60}}, []string{"start_time"}},
		{"negative limits", promo("OK", percent(1), limits(-1, -1)), []string{"usage_limit", "usage_limit_per_customer"}},
		{"an exclusion that is no code", promo("OK", percent(1), excludes("FINE", "a b")), []string{"excluded_codes[1]"}},
		{"an exclusion of itself", promo("OK", percent(1), excludes("ok")), []string{"excluded_codes"}},
		{"group with a comma", promo("OK", percent(1), groups("vip,staff")), []string{"customer_groups[0]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.fields, fields(Check(tt.p))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckInlineCart(t *testing.T) {
	usd := item("u", 1, 100, "")
	usd.UnitPrice = &commonv1.Money{AmountMinor: 1, CurrencyCode: "USD"}
	tests := []struct {
		name   string
		cart   *cartv1.Cart
		fields []string
	}{
		{"empty", cartOf(), nil},
		{"a good one", walkCart(), nil},
		{"not available and without a price", cartOf(&cartv1.CartItem{ProductId: "x", Quantity: 1}), nil},
		{"no product", cartOf(item("", 1, 1, "")), []string{"cart.items[0].product_id"}},
		{"no quantity", cartOf(item("x", 0, 1, "")), []string{"cart.items[0].quantity"}},
		{"negative price", cartOf(item("x", 1, -1, "")), []string{"cart.items[0].unit_price.amount_minor"}},
		{"two currencies", cartOf(item("x", 1, 1, ""), usd), []string{"cart.items[1].unit_price.currency_code"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c fault.Checker
			CheckCart(&c, tt.cart)
			if diff := cmp.Diff(tt.fields, fields(c.Err())); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func fields(err error) []string {
	var invalid *fault.Invalid
	if !errors.As(err, &invalid) {
		return nil
	}
	var all []string
	for _, v := range invalid.Violations {
		all = append(all, v.Field)
	}
	return all
}

func TestWords(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"whole percent", percentText(1500), "15%"},
		{"half percent", percentText(1250), "12.5%"},
		{"percent with limit and conditions", Offer(promo("P", percentUpTo(1500, 2000), categories("Socks"), minimum(eur(3000)), minimumUnits(2))),
			"15% off Socks, at most 20.00 EUR (from 30.00 EUR, from 2 units)"},
		{"amount on brands", Offer(promo("P", amountOff(eur(500)), scoped(&promotionv1.Scope{Brands: []string{"Nimbolt"}, ProductIds: []string{"x"}}))),
			"5.00 EUR off Nimbolt products or selected products"},
		{"what an offer leaves out", Offer(promo("P", percent(1000), groups("vip"), scoped(&promotionv1.Scope{ExcludeProductIds: []string{"x"}}))),
			"10% off any items (some products excluded, for certain customers only)"},
		{"groups", Offer(promo("P", buyGet(2, 1))), "buy 2 of any items, get 1 free"},
		{"shipping", Offer(promo("P", freeShipping(nil))), "free shipping"},
		{"shipping with a scope", Offer(promo("P", freeShipping(nil), categories("Tents"))), "free shipping with Tents"},
		{"tiers", Offer(promo("P", tiered(5000, 500, 10000, 1000))), "5% off any items from 50.00 EUR, 10% off them from 100.00 EUR"},
		{"set", Offer(promo("P", bundle(9900, "a", "b"))), "a set of 2 products for 99.00 EUR"},
		{"applies", verdict(promo("P", percent(1000)), NewBasket(walkCart()), Buyer{}, noon).GetExplanation(),
			"P applies: 10% off any items, which saves 33.86 EUR on this cart."},
		{"applies, unknown fee", verdict(promo("P", freeShipping(nil)), NewBasket(walkCart()), Buyer{}, noon).GetExplanation(), "P applies: free shipping."},
		{"plurals fold", singular("  Accessories & Dresses, Boxes "), "accessory & dresses, box"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
