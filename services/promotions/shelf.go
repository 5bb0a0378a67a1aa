package promotions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// shelf returns what the catalog offers in the promotion's scope for a price or more, the cheapest first. Of very much
// it is the cheapest.
func (f finder) shelf(ctx context.Context, from int64, currency string, cart *cartv1.Cart) ([]offering, error) {
	if currency == "" {
		currency = f.currency()
	}
	scope := f.promotion.GetScope()
	filter := func() *catalogv1.Filter {
		filter := &catalogv1.Filter{InStock: true, ExcludeProductIds: scope.GetExcludeProductIds()}
		if from > 0 {
			filter.MinPrice = &commonv1.Money{AmountMinor: from, CurrencyCode: currency}
		}
		return filter
	}
	var filters []*catalogv1.Filter // lists of a scope add up, conditions of a filter do not
	if namesNothing(scope) {
		filters = append(filters, filter())
	}
	if names := scope.GetCategories(); len(names) > 0 {
		in := filter()
		in.Categories = names
		filters = append(filters, in)
	}
	if names := scope.GetBrands(); len(names) > 0 {
		of := filter()
		of.Brands = names
		filters = append(filters, of)
	}
	products, err := f.byID(ctx, scope.GetProductIds())
	if err != nil {
		return nil, err
	}
	products = slices.DeleteFunc(products, func(p *catalogv1.Product) bool {
		return slices.Contains(scope.GetExcludeProductIds(), p.GetProductId())
	})
	for _, filter := range filters {
		resp, err := f.goods.SearchProducts(ctx, &catalogv1.SearchProductsRequest{
			StoreId: f.storeID, Filter: filter, Sort: catalogv1.Sort_SORT_PRICE_ASCENDING, Limit: maxShelf,
		})
		if err != nil {
			return nil, fmt.Errorf("search catalog: %w", err)
		}
		for _, hit := range resp.GetHits() {
			products = append(products, hit.GetProduct())
		}
	}
	return offerings(products, currency, cart), nil
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
