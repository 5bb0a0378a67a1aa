package promotions

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

const (
	wayTimeout  = 2 * time.Second // for the catalog, before an answer goes without a way
	maxWays     = 20              // promotions for which a way is looked for, the nearest first
	maxSteps    = 3               // purchases that one way may take, such as for an amount and then for a quantity
	maxOfOne    = 10              // units of one product to reach an amount: nobody buys forty pairs of socks to save
	maxShelf    = 100             // products of one search
	maxSelected = 200             // products of a scope that are looked up by their ids
)

// situation is what a promotion is evaluated on.
type situation struct {
	cart *cartv1.Cart
	who  buyer
	now  time.Time
}

// with is the situation after a purchase.
func (s situation) with(items []*cartv1.CartItem) situation {
	s.cart = &cartv1.Cart{Items: slices.Concat(s.cart.GetItems(), items), Subtotal: s.cart.GetSubtotal()}
	return s
}

// cheapestWay returns the least that has to be bought so that a promotion applies and saves something; of equals the
// one that then saves more, then by code. Nil when there is none, or no catalog that says so in time.
func (s *server) cheapestWay(ctx context.Context, storeID string, evaluations []*promotionv1.Evaluation, at situation) *promotionv1.QualifyingWay {
	if s.goods == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wayTimeout)
	defer cancel()
	var cheapest *promotionv1.QualifyingWay
	for _, e := range nearest(evaluations) {
		f := finder{goods: s.goods, storeID: storeID, promotion: e.GetPromotion()}
		way, err := f.way(ctx, at)
		if err != nil {
			s.logger.WarnContext(ctx, "no way to qualify looked up", slog.Any("error", err))
			return nil // what was found until now may not be the cheapest
		}
		if way != nil && (cheapest == nil || compareWays(way, cheapest) < 0) {
			cheapest = way
		}
	}
	return cheapest
}

func compareWays(x, y *promotionv1.QualifyingWay) int {
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
	slices.SortFunc(near, compareDistance)
	return near[:min(len(near), maxWays)]
}

// finder finds the cheapest way to one promotion.
type finder struct {
	goods     catalogv1.CatalogServiceClient
	storeID   string
	promotion *promotionv1.Promotion
}

// way buys what is missing until the promotion applies. It returns nil when there is no such purchase.
func (f finder) way(ctx context.Context, at situation) (*promotionv1.QualifyingWay, error) {
	var bought []*cartv1.CartItem
	for range maxSteps + 1 {
		now := at.with(bought)
		b := newBasket(now.cart)
		e := verdict(f.promotion, b, now.who, now.now)
		if e.GetEligible() {
			if !worthChoosing(e) {
				return nil, nil
			}
			return &promotionv1.QualifyingWay{
				Code: f.promotion.GetCode(), Items: bought, Cost: newBasket(&cartv1.Cart{Items: bought}).subtotal(), Saving: e.GetSaving(),
			}, nil
		}
		more, err := f.missing(ctx, e, b, now.cart)
		if err != nil || len(more) == 0 {
			return nil, err
		}
		bought = merge(bought, more)
	}
	return nil, nil
}

// missing returns the cheapest purchase of what a verdict says is missing, or nothing.
func (f finder) missing(ctx context.Context, e *promotionv1.Evaluation, b basket, cart *cartv1.Cart) ([]*cartv1.CartItem, error) {
	amount, units := e.GetMissingAmount().GetAmountMinor(), int64(e.GetMissingQuantity())
	switch e.GetRefusalReason() {
	case promotionv1.RefusalReason_REFUSAL_REASON_WRONG_ITEMS, promotionv1.RefusalReason_REFUSAL_REASON_EMPTY_CART:
		amount, units = requirements(f.promotion)
		units = max(units, 1)
	case promotionv1.RefusalReason_REFUSAL_REASON_MINIMUM_NOT_MET, promotionv1.RefusalReason_REFUSAL_REASON_QUANTITY_NOT_MET:
	default:
		return nil, nil
	}
	if set := f.promotion.GetBundle(); set != nil && absent(set, qualifying(f.promotion, b)) > 0 {
		return f.completeSet(ctx, set, b, cart)
	}
	if amount > 0 {
		return f.reach(ctx, amount, b.currency, cart)
	}
	shelf, err := f.shelf(ctx, 0, b.currency, cart)
	return cheapestUnits(shelf.offered, units), err
}

// reach buys one product, as often as it takes to cost amount: what costs least, then the fewest units.
func (f finder) reach(ctx context.Context, amount int64, currency string, cart *cartv1.Cart) ([]*cartv1.CartItem, error) {
	var offered []offering
	// What costs so little that it takes more than units of it can be passed over, and so can, on a shelf that is seen up to
	// some price, what is dearer and yet takes as many units.
	for units := int64(maxOfOne); units > 0; units-- {
		from := perUnit(amount, units)
		shelf, err := f.shelf(ctx, from, currency, cart)
		if err != nil {
			return nil, err
		}
		offered = append(offered, shelf.offered...)
		for units > 1 && perUnit(amount, units-1) <= shelf.seen {
			units--
		}
		if shelf.seen >= amount {
			break
		}
	}
	return cheapestOf(offered, amount), nil
}

// perUnit is the least price of which units cost amount or more.
func perUnit(amount, units int64) int64 { return (amount-1)/units + 1 }

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
		units := perUnit(amount, o.price)
		if units > min(o.stock, maxOfOne) {
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

// completeSet buys the cheapest variant of each product that is missing of a set, or nothing if one can not be had.
func (f finder) completeSet(ctx context.Context, set *promotionv1.Bundle, b basket, cart *cartv1.Cart) ([]*cartv1.CartItem, error) {
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
