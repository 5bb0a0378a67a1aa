// Package enginetest makes carts, promotions and a catalog for tests of the promotions service.
package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// Noon is the instant at which tests evaluate.
var Noon = time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)

// EUR returns an amount in euro cents.
func EUR(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

// Item returns an available item of a cart, at a price in euro cents.
func Item(id string, quantity int32, price int64, brand string, categories ...string) *cartv1.CartItem {
	return &cartv1.CartItem{
		ProductId: id, Quantity: quantity, Title: id, Brand: brand, CategoryPath: categories, UnitPrice: EUR(price), Available: true,
	}
}

// CartOf returns a cart of items.
func CartOf(items ...*cartv1.CartItem) *cartv1.Cart { return &cartv1.Cart{Items: items} }

// WalkCart costs 2 x 79.90 + 3 x 9.95 + 149.00 = 338.65 EUR.
func WalkCart() *cartv1.Cart {
	return CartOf(
		Item("jacket", 2, 7990, "Nimbolt", "Clothing", "Rain Jackets"),
		Item("socks", 3, 995, "Toeloom", "Clothing", "Socks"),
		Item("boots", 1, 14900, "Nimbolt", "Footwear", "Hiking Boots"),
	)
}

// Option changes a promotion.
type Option func(*promotionv1.Promotion)

// Promo returns a promotion with the options.
func Promo(code string, options ...Option) *promotionv1.Promotion {
	p := &promotionv1.Promotion{Code: code, Title: "Offer " + code}
	for _, o := range options {
		o(p)
	}
	return p
}

// Percent gives basis points off.
func Percent(basisPoints int32) Option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_PercentOff{PercentOff: &promotionv1.PercentOff{BasisPoints: basisPoints}}
	}
}

// PercentUpTo gives basis points off, up to a limit in euro cents.
func PercentUpTo(basisPoints int32, limit int64) Option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_PercentOff{
			PercentOff: &promotionv1.PercentOff{BasisPoints: basisPoints, MaximumSaving: EUR(limit)},
		}
	}
}

// AmountOff gives an amount off.
func AmountOff(m *commonv1.Money) Option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_AmountOff{AmountOff: &promotionv1.AmountOff{Amount: m}}
	}
}

// BuyGet gives units for free.
func BuyGet(buy, get int32) Option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_BuyXGetY{BuyXGetY: &promotionv1.BuyXGetY{BuyQuantity: buy, GetQuantity: get}}
	}
}

// FreeShipping waives the shipping fee; nil: not known.
func FreeShipping(fee *commonv1.Money) Option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_FreeShipping{FreeShipping: &promotionv1.FreeShipping{Fee: fee}}
	}
}

// Tiered takes pairs of subtotal and basis points.
func Tiered(steps ...int64) Option {
	return func(p *promotionv1.Promotion) {
		t := &promotionv1.Tiered{}
		for i := 0; i+1 < len(steps); i += 2 {
			t.Tiers = append(t.Tiers, &promotionv1.Tier{Subtotal: EUR(steps[i]), BasisPoints: int32(steps[i+1])})
		}
		p.Benefit = &promotionv1.Promotion_Tiered{Tiered: t}
	}
}

// Bundle gives a set for a price in euro cents.
func Bundle(price int64, ids ...string) Option {
	return func(p *promotionv1.Promotion) {
		p.Benefit = &promotionv1.Promotion_Bundle{Bundle: &promotionv1.Bundle{ProductIds: ids, Price: EUR(price)}}
	}
}

// Scoped sets the scope.
func Scoped(s *promotionv1.Scope) Option { return func(p *promotionv1.Promotion) { p.Scope = s } }

// Categories sets a scope of categories.
func Categories(names ...string) Option { return Scoped(&promotionv1.Scope{Categories: names}) }

// Minimum sets the minimum subtotal.
func Minimum(m *commonv1.Money) Option {
	return func(p *promotionv1.Promotion) { p.MinimumSubtotal = m }
}

// MinimumUnits sets the minimum quantity.
func MinimumUnits(n int32) Option {
	return func(p *promotionv1.Promotion) { p.MinimumQuantity = n }
}

// Starts sets the start.
func Starts(t time.Time) Option {
	return func(p *promotionv1.Promotion) { p.StartTime = timestamppb.New(t) }
}

// Ends sets the end.
func Ends(t time.Time) Option {
	return func(p *promotionv1.Promotion) { p.EndTime = timestamppb.New(t) }
}

// Groups sets the customer groups.
func Groups(names ...string) Option {
	return func(p *promotionv1.Promotion) { p.CustomerGroups = names }
}

// Catalog is a catalog in memory; Err is the error of every call. It filters and sorts as the contract says, for the conditions that the package uses.
type Catalog struct {
	catalogv1.CatalogServiceClient
	Products []*catalogv1.Product
	Err      error
}

// BatchGetProducts implements CatalogServiceClient.
func (f *Catalog) BatchGetProducts(_ context.Context, req *catalogv1.BatchGetProductsRequest, _ ...grpc.CallOption) (*catalogv1.BatchGetProductsResponse, error) {
	resp := &catalogv1.BatchGetProductsResponse{}
	for _, id := range req.GetProductIds() {
		at := slices.IndexFunc(f.Products, func(p *catalogv1.Product) bool { return p.GetProductId() == id })
		if at < 0 {
			resp.MissingProductIds = append(resp.MissingProductIds, id)
			continue
		}
		resp.Products = append(resp.Products, f.Products[at])
	}
	return resp, f.Err
}

// SearchProducts implements CatalogServiceClient.
func (f *Catalog) SearchProducts(_ context.Context, req *catalogv1.SearchProductsRequest, _ ...grpc.CallOption) (*catalogv1.SearchProductsResponse, error) {
	in := req.GetFilter()
	resp := &catalogv1.SearchProductsResponse{}
	for _, p := range f.Products {
		price, stock := p.GetVariants()[0].GetPrice().GetAmountMinor(), p.GetVariants()[0].GetStock()
		wrongCategory := len(in.GetCategories()) > 0 && !slices.Contains(in.GetCategories(), p.GetCategoryPath()[0])
		wrongBrand := len(in.GetBrands()) > 0 && !slices.Contains(in.GetBrands(), p.GetBrand())
		if wrongCategory || wrongBrand || in.GetInStock() && stock == 0 || price < in.GetMinPrice().GetAmountMinor() ||
			slices.Contains(in.GetExcludeProductIds(), p.GetProductId()) {
			continue
		}
		resp.Hits = append(resp.Hits, &catalogv1.Hit{Product: p})
	}
	slices.SortFunc(resp.Hits, func(x, y *catalogv1.Hit) int {
		return cmp.Compare(x.GetProduct().GetVariants()[0].GetPrice().GetAmountMinor(), y.GetProduct().GetVariants()[0].GetPrice().GetAmountMinor())
	})
	resp.Hits = resp.Hits[:min(len(resp.Hits), int(req.GetLimit()))]
	return resp, f.Err
}

// Product returns a product of one variant, at a price in euro cents.
func Product(id, category, brand string, price int64, stock int32) *catalogv1.Product {
	return &catalogv1.Product{ProductId: id, Title: "The " + id, CategoryPath: []string{category}, Brand: brand,
		Variants: []*catalogv1.Variant{{VariantId: "v", Price: EUR(price), Stock: stock}}}
}

// Outdoors returns a catalog of outdoor products.
func Outdoors() *Catalog {
	dollars := Product("dollars", "Tents", "", 100, 9)
	dollars.Variants[0].Price = &commonv1.Money{AmountMinor: 1, CurrencyCode: "USD"}
	catalog := &Catalog{Products: []*catalogv1.Product{
		Product("pin", "Tents", "Nimbolt", 200, 50), Product("peg", "Tents", "Nimbolt", 300, 4), Product("rope", "Tents", "Reef", 700, 20),
		Product("tent", "Tents", "Reef", 9900, 2), Product("cup", "Kitchen", "Reef", 450, 1), Product("pan", "Kitchen", "Nimbolt", 1900, 5),
		Product("gone", "Kitchen", "Nimbolt", 1, 0), dollars,
	}}
	for i := range 100 { // hides what is dearer from a search for the cheapest
		catalog.Products = append(catalog.Products, Product(fmt.Sprintf("bead%d", i), "Beads", "", 50, 1))
	}
	return catalog
}

// Promos returns its arguments.
func Promos(all ...*promotionv1.Promotion) []*promotionv1.Promotion { return all }

// PurchaseText returns a purchase as "CODE: 2 x product"; "" for nil.
func PurchaseText(purchase *promotionv1.QualifyingPurchase) string {
	if purchase == nil {
		return ""
	}
	var items []string
	for _, it := range purchase.GetItems() {
		items = append(items, fmt.Sprintf("%d x %s", it.GetQuantity(), it.GetProductId()))
	}
	return purchase.GetCode() + ": " + strings.Join(items, ", ")
}

// Limits sets the usage limits, for all and for each customer.
func Limits(all, each int32) Option {
	return func(p *promotionv1.Promotion) { p.UsageLimit, p.UsageLimitPerCustomer = all, each }
}

// Stacks makes a promotion stackable.
func Stacks(p *promotionv1.Promotion) { p.Stackable = true }

// Excludes sets the codes that a promotion excludes.
func Excludes(codes ...string) Option {
	return func(p *promotionv1.Promotion) { p.ExcludedCodes = codes }
}
