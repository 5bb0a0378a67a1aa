package promotions

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// shelf is what a catalog offers in a promotion's scope.
type shelf struct {
	offered []offering // the cheapest first
	seen    int64      // price up to which nothing is left out
}

// shelf returns what is offered for a price or more; of very much, the cheapest.
func (f finder) shelf(ctx context.Context, from int64, currency string, cart *cartv1.Cart) (shelf, error) {
	if currency == "" {
		currency = f.currency()
	}
	scope := f.promotion.GetScope()
	products, err := f.byID(ctx, scope.GetProductIds())
	if err != nil {
		return shelf{}, err
	}
	products = slices.DeleteFunc(products, func(p *catalogv1.Product) bool {
		return slices.Contains(scope.GetExcludeProductIds(), p.GetProductId())
	})
	s := shelf{seen: math.MaxInt64}
	for _, filter := range filters(scope) {
		if from > 0 {
			filter.MinPrice = &commonv1.Money{AmountMinor: from, CurrencyCode: currency}
		}
		resp, err := f.goods.SearchProducts(ctx, &catalogv1.SearchProductsRequest{
			StoreId: f.storeID, Filter: filter, Sort: catalogv1.Sort_SORT_PRICE_ASCENDING, Limit: maxShelf,
		})
		if err != nil {
			return shelf{}, fmt.Errorf("search catalog: %w", err)
		}
		for _, hit := range resp.GetHits() {
			products = append(products, hit.GetProduct())
		}
		if hits := resp.GetHits(); len(hits) == maxShelf {
			s.seen = min(s.seen, lowest(hits[len(hits)-1].GetProduct(), from))
		}
	}
	s.offered = offerings(products, currency, cart)
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
	resp, err := f.goods.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{
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
