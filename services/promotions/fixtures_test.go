package promotions

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// noon is the instant at which tests evaluate.
var noon = time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)

func eur(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

func item(id string, quantity int32, price int64, brand string, categories ...string) *cartv1.CartItem {
	return &cartv1.CartItem{
		ProductId: id, Quantity: quantity, Title: id, Brand: brand, CategoryPath: categories, UnitPrice: eur(price), Available: true,
	}
}

func cartOf(items ...*cartv1.CartItem) *cartv1.Cart { return &cartv1.Cart{Items: items} }

// walkCart costs 2 x 79.90 + 3 x 9.95 + 149.00 = 338.65 EUR.
func walkCart() *cartv1.Cart {
	return cartOf(
		item("jacket", 2, 7990, "Nimbolt", "Clothing", "Rain Jackets"),
		item("socks", 3, 995, "Toeloom", "Clothing", "Socks"),
		item("boots", 1, 14900, "Nimbolt", "Footwear", "Hiking Boots"),
	)
}

type option func(*promotionv1.Promotion)

func promo(code string, options ...option) *promotionv1.Promotion {
	p := &promotionv1.Promotion{Code: code, Title: "Offer " + code}
	for _, o := range options {
		o(p)
	}
	return p
}

func percent(basisPoints int32) option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_PercentOff{PercentOff: &promotionv1.PercentOff{BasisPoints: basisPoints}}
	}
}

func percentUpTo(basisPoints int32, limit int64) option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_PercentOff{
			PercentOff: &promotionv1.PercentOff{BasisPoints: basisPoints, MaximumSaving: eur(limit)},
		}
	}
}

func amountOff(m *commonv1.Money) option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_AmountOff{AmountOff: &promotionv1.AmountOff{Amount: m}}
	}
}

func buyGet(buy, get int32) option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_BuyXGetY{BuyXGetY: &promotionv1.BuyXGetY{BuyQuantity: buy, GetQuantity: get}}
	}
}

func freeShipping(fee *commonv1.Money) option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_FreeShipping{FreeShipping: &promotionv1.FreeShipping{Fee: fee}}
	}
}

// tiered takes pairs of subtotal and basis points.
func tiered(steps ...int64) option {
	return func(p *promotionv1.Promotion) {
		t := &promotionv1.Tiered{}
		for i := 0; i+1 < len(steps); i += 2 {
			t.Tiers = append(t.Tiers, &promotionv1.Tier{Subtotal: eur(steps[i]), BasisPoints: int32(steps[i+1])})
		}
		p.Benefit = &promotionv1.Promotion_Tiered{Tiered: t}
	}
}

func bundle(price int64, ids ...string) option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_Bundle{Bundle: &promotionv1.Bundle{ProductIds: ids, Price: eur(price)}}
	}
}

func scoped(s *promotionv1.Scope) option { return func(p *promotionv1.Promotion) { p.Scope = s } }

func categories(names ...string) option { return scoped(&promotionv1.Scope{Categories: names}) }

func minimum(m *commonv1.Money) option {
	return func(p *promotionv1.Promotion) { p.MinimumSubtotal = m }
}

func minimumUnits(n int32) option {
	return func(p *promotionv1.Promotion) { p.MinimumQuantity = n }
}

func starts(t time.Time) option {
	return func(p *promotionv1.Promotion) { p.StartTime = timestamppb.New(t) }
}

func ends(t time.Time) option {
	return func(p *promotionv1.Promotion) { p.EndTime = timestamppb.New(t) }
}

func groups(names ...string) option {
	return func(p *promotionv1.Promotion) { p.CustomerGroups = names }
}
