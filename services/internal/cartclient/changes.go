package cartclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// MaxChanges is the largest number of changes of a cart at a time.
const MaxChanges = 50

// CheckChanges reports what is wrong with changes by themselves. field is the name of the list.
func CheckChanges(c *fault.Checker, field string, changes []*cartv1.CartChange) {
	if !c.Count(field, len(changes), MaxChanges) {
		return
	}
	for i, change := range changes {
		at := fault.At(field, i)
		c.ID(at+".product_id", change.GetProductId())
		c.OptionalID(at+".variant_id", change.GetVariantId())
		switch how := change.GetChange().(type) {
		case *cartv1.CartChange_AddQuantity:
			c.Range(at+".add_quantity", int64(how.AddQuantity), 1, maxQuantity)
		case *cartv1.CartChange_SetQuantity:
			c.Range(at+".set_quantity", int64(how.SetQuantity), 0, maxQuantity)
		default:
			c.Addf(at+".change", "is required: one of add_quantity, set_quantity")
		}
	}
}

// With returns a copy of a cart with changes, which have passed CheckChanges, and its new subtotal. What is added has the catalog's
// titles and prices. The cart may be nil.
//
// Errors: a *fault.NotFound for a product that the catalog does not have; a *fault.Invalid for a variant that the product does not
// have, and for too many units or items; those of the catalog.
func With(
	ctx context.Context, catalog catalogv1.CatalogServiceClient, storeID string, cart *cartv1.Cart, changes []*cartv1.CartChange,
) (*cartv1.Cart, error) {
	out := &cartv1.Cart{StoreId: storeID}
	if cart != nil {
		out = proto.CloneOf(cart)
	}
	products, err := productsOf(ctx, catalog, storeID, changes)
	if err != nil {
		return nil, err
	}
	var check fault.Checker
	for i, change := range changes {
		apply(&check, fault.At("changes", i), out, products[change.GetProductId()], change)
	}
	if len(out.GetItems()) > maxItems {
		check.Addf("changes", "the cart would have %d items, must have at most %d", len(out.GetItems()), maxItems)
	}
	out.Subtotal = Subtotal(out.GetItems())
	return out, check.Err()
}

// productsOf reads the products of changes that add something.
func productsOf(
	ctx context.Context, catalog catalogv1.CatalogServiceClient, storeID string, changes []*cartv1.CartChange,
) (map[string]*catalogv1.Product, error) {
	var ids []string
	for _, change := range changes {
		removes := change.GetAddQuantity() == 0 && change.GetSetQuantity() == 0
		if id := change.GetProductId(); !removes && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	products := make(map[string]*catalogv1.Product, len(ids))
	if len(ids) == 0 {
		return products, nil
	}
	resp, err := catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: storeID, ProductIds: ids})
	if err != nil {
		return nil, fmt.Errorf("read the products of the changes: %w", err)
	}
	if missing := resp.GetMissingProductIds(); len(missing) > 0 {
		return nil, &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_PRODUCT_NOT_FOUND, Resource: "product", Name: missing[0]}
	}
	if len(resp.GetProducts()) != len(ids) {
		return nil, fmt.Errorf("read the products of the changes: %d products for %d ids", len(resp.GetProducts()), len(ids))
	}
	for i, p := range resp.GetProducts() { // in the order of ids, which may be written otherwise than the catalog writes them
		products[ids[i]] = p
	}
	return products, nil
}

// apply makes one change. The product is nil if the change removes.
func apply(check *fault.Checker, field string, cart *cartv1.Cart, p *catalogv1.Product, change *cartv1.CartChange) {
	productID, variantID := cmp.Or(p.GetProductId(), change.GetProductId()), change.GetVariantId()
	meant := func(item *cartv1.CartItem) bool {
		return item.GetProductId() == productID && (variantID == "" || item.GetVariantId() == variantID)
	}
	if p == nil {
		cart.Items = slices.DeleteFunc(cart.Items, meant)
		return
	}
	at := slices.IndexFunc(cart.GetItems(), meant)
	if at < 0 {
		v := variantOf(p, variantID)
		if v == nil {
			check.Addf(field+".variant_id", "product %q has no variant %q", productID, variantID)
			return
		}
		cart.Items = append(cart.Items, &cartv1.CartItem{
			ProductId: productID, VariantId: v.GetVariantId(), Title: p.GetTitle(), Brand: p.GetBrand(),
			CategoryPath: p.GetCategoryPath(), Options: v.GetOptions(), UnitPrice: v.GetPrice(), Available: true,
		})
		at = len(cart.Items) - 1
	}
	item := cart.Items[at]
	if how, ok := change.GetChange().(*cartv1.CartChange_SetQuantity); ok {
		item.Quantity = how.SetQuantity
	} else {
		item.Quantity += change.GetAddQuantity()
	}
	if item.Quantity > maxQuantity {
		check.Addf(field, "makes %d units of variant %q, must be at most %d in all", item.Quantity, item.GetVariantId(), maxQuantity)
	}
}

// variantOf returns a variant by its id or, without one, the cheapest variant in stock, or else the cheapest. Nil: there is no such
// variant.
func variantOf(p *catalogv1.Product, id string) *catalogv1.Variant {
	var best *catalogv1.Variant
	for _, v := range p.GetVariants() {
		switch {
		case id != "" && v.GetVariantId() == id:
			return v
		case id != "":
		case best == nil, v.GetStock() > 0 && best.GetStock() <= 0,
			(v.GetStock() > 0) == (best.GetStock() > 0) && v.GetPrice().GetAmountMinor() < best.GetPrice().GetAmountMinor():
			best = v
		}
	}
	return best
}
