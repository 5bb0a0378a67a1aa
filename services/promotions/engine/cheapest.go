package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

const (
	catalogTimeout = 2 * time.Second // for the catalog, before an answer goes without a way
	maxNearest     = 20              // promotions for which a way is looked for, the nearest first
	maxSteps       = 3               // purchases that one way may take, such as for an amount and then for a quantity
	maxUnitsOfOne  = 10              // units of one product to reach an amount: few shoppers buy forty pairs of socks to save
	maxSearched    = 100             // products of one search
	maxSelected    = 200             // products of a scope that are looked up by their ids
)

// Situation is the input of an evaluation.
type Situation struct {
	Cart  *cartv1.Cart
	Buyer Buyer
	Now   time.Time
}

// with returns the situation after a purchase.
func (s Situation) with(items []*cartv1.CartItem) Situation {
	s.Cart = &cartv1.Cart{Items: slices.Concat(s.Cart.GetItems(), items), Subtotal: s.Cart.GetSubtotal()}
	return s
}

// CheapestPurchase returns the cheapest purchase from the catalog after which a promotion applies and saves something; nil when
// there is none. Of equal purchases it is the one that saves more, then the first by code. It takes at most two seconds.
func CheapestPurchase(
	ctx context.Context, catalog catalogv1.CatalogServiceClient, storeID string, evaluations []*promotionv1.Evaluation, at Situation,
) (*promotionv1.QualifyingPurchase, error) {
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	var cheapest *promotionv1.QualifyingPurchase
	for _, e := range nearest(evaluations) {
		f := finder{catalog: catalog, storeID: storeID, promotion: e.GetPromotion()}
		purchase, err := f.purchase(ctx, at)
		if err != nil {
			return nil, err // what was found so far may not be the cheapest
		}
		if purchase != nil && (cheapest == nil || comparePurchases(purchase, cheapest) < 0) {
			cheapest = purchase
		}
	}
	return cheapest, nil
}

func comparePurchases(x, y *promotionv1.QualifyingPurchase) int {
	return cmp.Or(
		cmp.Compare(x.GetCost().GetAmountMinor(), y.GetCost().GetAmountMinor()),
		cmp.Compare(y.GetSaving().GetAmountMinor(), x.GetSaving().GetAmountMinor()),
		cmp.Compare(x.GetCode(), y.GetCode()))
}

// nearest returns the promotions that a purchase can make apply, the nearest first, at most maxNearest.
func nearest(evaluations []*promotionv1.Evaluation) []*promotionv1.Evaluation {
	near := slices.DeleteFunc(slices.Clone(evaluations), func(e *promotionv1.Evaluation) bool {
		switch e.GetRefusalReason() {
		case promotionv1.RefusalReason_REFUSAL_REASON_MINIMUM_NOT_MET, promotionv1.RefusalReason_REFUSAL_REASON_QUANTITY_NOT_MET,
			promotionv1.RefusalReason_REFUSAL_REASON_WRONG_ITEMS, promotionv1.RefusalReason_REFUSAL_REASON_EMPTY_CART:
			return false
		}
		return true
	})
	slices.SortFunc(near, CompareDistance)
	return near[:min(len(near), maxNearest)]
}

// finder finds the cheapest qualifying purchase for one promotion.
type finder struct {
	catalog   catalogv1.CatalogServiceClient
	storeID   string
	promotion *promotionv1.Promotion
}

// purchase adds missing items until the promotion applies. It returns nil when there is no such purchase.
func (f finder) purchase(ctx context.Context, at Situation) (*promotionv1.QualifyingPurchase, error) {
	var bought []*cartv1.CartItem
	for range maxSteps + 1 {
		now := at.with(bought)
		b := NewBasket(now.Cart)
		e := verdict(f.promotion, b, now.Buyer, now.Now)
		if e.GetEligible() {
			if !WorthChoosing(e) {
				return nil, nil
			}
			return &promotionv1.QualifyingPurchase{
				Code: f.promotion.GetCode(), Items: bought, Cost: NewBasket(&cartv1.Cart{Items: bought}).Subtotal(), Saving: e.GetSaving(),
			}, nil
		}
		more, err := f.missing(ctx, e, b, now.Cart)
		if err != nil || len(more) == 0 {
			return nil, err
		}
		bought = merge(bought, more)
	}
	return nil, nil
}

// missing returns the cheapest items that a verdict says are missing, or none.
func (f finder) missing(ctx context.Context, e *promotionv1.Evaluation, b Basket, cart *cartv1.Cart) ([]*cartv1.CartItem, error) {
	amount, units := e.GetMissingAmount().GetAmountMinor(), int64(e.GetMissingQuantity())
	switch e.GetRefusalReason() {
	case promotionv1.RefusalReason_REFUSAL_REASON_WRONG_ITEMS, promotionv1.RefusalReason_REFUSAL_REASON_EMPTY_CART:
		amount, units = requirements(f.promotion)
		units = max(units, 1)
	case promotionv1.RefusalReason_REFUSAL_REASON_MINIMUM_NOT_MET, promotionv1.RefusalReason_REFUSAL_REASON_QUANTITY_NOT_MET:
	default:
		return nil, nil
	}
	if set := f.promotion.GetBundle(); set != nil && missingParts(set, qualifying(f.promotion, b)) > 0 {
		return f.completeSet(ctx, set, b, cart)
	}
	if amount > 0 {
		return f.reach(ctx, amount, b.currency, cart)
	}
	offer, err := f.selection(ctx, 0, b.currency, cart)
	return cheapestUnits(offer.offerings, units), err
}

// reach returns units of one product that cost amount or more: the lowest cost first, then the fewest units.
func (f finder) reach(ctx context.Context, amount int64, currency string, cart *cartv1.Cart) ([]*cartv1.CartItem, error) {
	var offered []offering
	// Each search returns the cheapest products from a lowest price on. Products below it would take more than units of them.
	// Numbers of units for which the search was complete up to the needed price are skipped.
	for units := int64(maxUnitsOfOne); units > 0; units-- {
		from := pricePerUnit(amount, units)
		offer, err := f.selection(ctx, from, currency, cart)
		if err != nil {
			return nil, err
		}
		offered = append(offered, offer.offerings...)
		for units > 1 && pricePerUnit(amount, units-1) <= offer.completeTo {
			units--
		}
		if offer.completeTo >= amount {
			break
		}
	}
	return cheapestOf(offered, amount), nil
}

// pricePerUnit returns the lowest price at which units cost amount or more.
func pricePerUnit(amount, units int64) int64 { return (amount-1)/units + 1 }

// cheapestUnits returns a number of units, the cheapest first. It returns nil when there are not enough.
func cheapestUnits(offered []offering, units int64) []*cartv1.CartItem {
	var bought []*cartv1.CartItem
	for _, o := range offered {
		if n := min(units, o.stock); n > 0 {
			bought = append(bought, o.item(n))
			units -= n
		}
	}
	if units > 0 {
		return nil
	}
	return bought
}

// cheapestOf returns units of one offering that cost amount or more.
func cheapestOf(offered []offering, amount int64) []*cartv1.CartItem {
	var best offering
	var bestUnits int64
	for _, o := range offered {
		if o.price <= 0 {
			continue
		}
		units := pricePerUnit(amount, o.price)
		if units > min(o.stock, maxUnitsOfOne) {
			continue
		}
		if bestUnits == 0 || cmp.Or(cmp.Compare(units*o.price, bestUnits*best.price), cmp.Compare(units, bestUnits)) < 0 {
			best, bestUnits = o, units
		}
	}
	if bestUnits == 0 {
		return nil
	}
	return []*cartv1.CartItem{best.item(bestUnits)}
}

// completeSet returns the cheapest variant of each missing product of a set, or none if one is sold out.
func (f finder) completeSet(ctx context.Context, set *promotionv1.Bundle, b Basket, cart *cartv1.Cart) ([]*cartv1.CartItem, error) {
	missing := slices.DeleteFunc(slices.Clone(set.GetProductIds()), func(id string) bool {
		return slices.ContainsFunc(b.lines, func(l line) bool { return l.productID == id })
	})
	products, err := f.byID(ctx, missing)
	if err != nil {
		return nil, err
	}
	offered := offerings(products, b.currency, cart)
	var bought []*cartv1.CartItem
	for _, id := range missing {
		at := slices.IndexFunc(offered, func(o offering) bool { return o.product.GetProductId() == id })
		if at < 0 {
			return nil, nil
		}
		bought = append(bought, offered[at].item(1))
	}
	return bought, nil
}

// merge adds items, joining items of the same variant.
func merge(bought, more []*cartv1.CartItem) []*cartv1.CartItem {
	for _, item := range more {
		at := slices.IndexFunc(bought, func(b *cartv1.CartItem) bool {
			return b.GetProductId() == item.GetProductId() && b.GetVariantId() == item.GetVariantId()
		})
		if at >= 0 {
			bought[at].Quantity += item.GetQuantity()
		} else {
			bought = append(bought, item)
		}
	}
	return bought
}

// offering is a variant that can be bought.
type offering struct {
	product *catalogv1.Product
	variant *catalogv1.Variant
	price   int64
	stock   int64 // beyond what the cart holds
}

func (o offering) item(units int64) *cartv1.CartItem {
	return &cartv1.CartItem{
		ProductId: o.product.GetProductId(), VariantId: o.variant.GetVariantId(), Quantity: int32(min(units, maxCartQuantity)),
		Title: o.product.GetTitle(), Brand: o.product.GetBrand(), CategoryPath: o.product.GetCategoryPath(),
		Options: maps.Clone(o.variant.GetOptions()), UnitPrice: o.variant.GetPrice(), Available: true,
	}
}

// selection is the part of a catalog that is in a promotion's scope.
type selection struct {
	offerings  []offering // the cheapest first
	completeTo int64      // price up to which nothing is left out
}

// selection returns the offerings at a price or more. Of more than maxSearched products it has the cheapest.
func (f finder) selection(ctx context.Context, from int64, currency string, cart *cartv1.Cart) (selection, error) {
	if currency == "" {
		currency = f.currency()
	}
	scope := f.promotion.GetScope()
	products, err := f.byID(ctx, scope.GetProductIds())
	if err != nil {
		return selection{}, err
	}
	products = slices.DeleteFunc(products, func(p *catalogv1.Product) bool {
		return slices.Contains(scope.GetExcludeProductIds(), p.GetProductId())
	})
	s := selection{completeTo: math.MaxInt64}
	for _, filter := range filters(scope) {
		if from > 0 {
			filter.MinPrice = &commonv1.Money{AmountMinor: from, CurrencyCode: currency}
		}
		resp, err := f.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{
			StoreId: f.storeID, Filter: filter, Sort: catalogv1.Sort_SORT_PRICE_ASCENDING, Limit: maxSearched,
		})
		if err != nil {
			return selection{}, fmt.Errorf("search catalog: %w", err)
		}
		for _, hit := range resp.GetHits() {
			products = append(products, hit.GetProduct())
		}
		if hits := resp.GetHits(); len(hits) == maxSearched {
			s.completeTo = min(s.completeTo, lowest(hits[len(hits)-1].GetProduct(), from))
		}
	}
	s.offerings = offerings(products, currency, cart)
	return s, nil
}

// filters match products in stock that a scope names. There is one filter for each list, because the conditions of one filter
// must all hold.
func filters(scope *promotionv1.Scope) []*catalogv1.Filter {
	var filters []*catalogv1.Filter
	filter := func(categories, brands []string) {
		filters = append(filters, &catalogv1.Filter{
			InStock: true, ExcludeProductIds: scope.GetExcludeProductIds(), Categories: categories, Brands: brands,
		})
	}
	if namesNothing(scope) {
		filter(nil, nil)
	}
	if names := scope.GetCategories(); len(names) > 0 {
		filter(names, nil)
	}
	if names := scope.GetBrands(); len(names) > 0 {
		filter(nil, names)
	}
	return filters
}

// lowest returns the lowest price of a product that is from or more. Searches sort by it.
func lowest(p *catalogv1.Product, from int64) int64 {
	var prices []int64
	for _, v := range p.GetVariants() {
		if price := v.GetPrice().GetAmountMinor(); price >= from {
			prices = append(prices, price)
		}
	}
	if len(prices) == 0 {
		return from
	}
	return slices.Min(prices)
}

// currency returns the currency of the promotion's amounts; "" when it has no amounts.
func (f finder) currency() string {
	if all := amounts(f.promotion); len(all) > 0 {
		return all[0].money.GetCurrencyCode()
	}
	return ""
}

func (f finder) byID(ctx context.Context, ids []string) ([]*catalogv1.Product, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	resp, err := f.catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{
		StoreId: f.storeID, ProductIds: ids[:min(len(ids), maxSelected)],
	})
	if err != nil {
		return nil, fmt.Errorf("get products: %w", err)
	}
	return resp.GetProducts(), nil
}

// offerings returns the variants of products with stock beyond the cart's quantity, each once, the cheapest first. An empty
// currency matches any.
func offerings(products []*catalogv1.Product, currency string, cart *cartv1.Cart) []offering {
	type variantOf struct{ product, variant string }
	held := make(map[variantOf]int64)
	for _, item := range cart.GetItems() {
		held[variantOf{item.GetProductId(), item.GetVariantId()}] += int64(item.GetQuantity())
	}
	seen := make(map[variantOf]bool)
	var offered []offering
	for _, p := range products {
		for _, v := range p.GetVariants() {
			key := variantOf{p.GetProductId(), v.GetVariantId()}
			o := offering{product: p, variant: v, price: v.GetPrice().GetAmountMinor(), stock: int64(v.GetStock()) - held[key]}
			if o.stock < 1 || seen[key] || v.GetPrice() == nil || currency != "" && v.GetPrice().GetCurrencyCode() != currency {
				continue
			}
			seen[key] = true
			offered = append(offered, o)
		}
	}
	slices.SortFunc(offered, func(x, y offering) int {
		return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.product.GetProductId(), y.product.GetProductId()),
			cmp.Compare(x.variant.GetVariantId(), y.variant.GetVariantId()))
	})
	return offered
}
