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

// Situation is what a promotion is evaluated on.
type Situation struct {
	Cart  *cartv1.Cart
	Buyer Buyer
	Now   time.Time
}

// with is the situation after a purchase.
func (s Situation) with(items []*cartv1.CartItem) Situation {
	s.Cart = &cartv1.Cart{Items: slices.Concat(s.Cart.GetItems(), items), Subtotal: s.Cart.GetSubtotal()}
	return s
}

// CheapestPurchase returns the cheapest purchase from the catalog after which a promotion applies and saves something; nil when
// there is none. Of equal purchases it is the one that saves more, then the first by code. It takes at most two seconds.
func CheapestPurchase(
	ctx context.Context, catalog catalogv1.CatalogServiceClient, storeID string, evaluations []*promotionv1.Evaluation, at Situation,
) (*promotionv1.QualifyingWay, error) {
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	var cheapest *promotionv1.QualifyingWay
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

func comparePurchases(x, y *promotionv1.QualifyingWay) int {
	return cmp.Or(
		cmp.Compare(x.GetCost().GetAmountMinor(), y.GetCost().GetAmountMinor()),
		cmp.Compare(y.GetSaving().GetAmountMinor(), x.GetSaving().GetAmountMinor()),
		cmp.Compare(x.GetCode(), y.GetCode()))
}

// nearest are the promotions that a purchase can bring about.
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

// finder finds the cheapest way to one promotion.
type finder struct {
	catalog   catalogv1.CatalogServiceClient
	storeID   string
	promotion *promotionv1.Promotion
}

// purchase buys what is missing until the promotion applies. It returns nil when there is no such purchase.
func (f finder) purchase(ctx context.Context, at Situation) (*promotionv1.QualifyingWay, error) {
	var bought []*cartv1.CartItem
	for range maxSteps + 1 {
		now := at.with(bought)
		b := NewBasket(now.Cart)
		e := verdict(f.promotion, b, now.Buyer, now.Now)
		if e.GetEligible() {
			if !WorthChoosing(e) {
				return nil, nil
			}
			return &promotionv1.QualifyingWay{
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

// missing returns the cheapest purchase of what a verdict says is missing, or nothing.
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
	shelf, err := f.selection(ctx, 0, b.currency, cart)
	return cheapestUnits(shelf.offerings, units), err
}

// reach buys one product, as often as it takes to cost amount: what costs least, then the fewest units.
func (f finder) reach(ctx context.Context, amount int64, currency string, cart *cartv1.Cart) ([]*cartv1.CartItem, error) {
	var offered []offering
	// What costs so little that it takes more than units of it can be passed over, and so can, on a shelf that is seen up to
	// some price, what is dearer and yet takes as many units.
	for units := int64(maxUnitsOfOne); units > 0; units-- {
		from := pricePerUnit(amount, units)
		shelf, err := f.selection(ctx, from, currency, cart)
		if err != nil {
			return nil, err
		}
		offered = append(offered, shelf.offerings...)
		for units > 1 && pricePerUnit(amount, units-1) <= shelf.completeTo {
			units--
		}
		if shelf.completeTo >= amount {
			break
		}
	}
	return cheapestOf(offered, amount), nil
}

// pricePerUnit is the least price of which units cost amount or more.
func pricePerUnit(amount, units int64) int64 { return (amount-1)/units + 1 }

// cheapestUnits takes units, the cheapest first.
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

// cheapestOf buys one of what is offered to cost amount or more.
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

// completeSet buys the cheapest variant of each product that is missing of a set, or nothing if one cannot be had.
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

// merge joins items of one variant.
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

// selection is what a catalog offers in a promotion's scope.
type selection struct {
	offerings  []offering // the cheapest first
	completeTo int64      // price up to which nothing is left out
}

// selection returns what is offered for a price or more; of very much, the cheapest.
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

// filters admit what a scope names and is in stock: its lists add up, which the conditions of one filter do not.
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

// lowest is the lowest price of a product that is from or more: by it a search has sorted.
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

// currency is the one that the promotion's amounts are in; empty when it has none.
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

// offerings are the variants of products that can be bought beyond what the cart holds, each once, the cheapest first. An
// empty currency is any.
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
