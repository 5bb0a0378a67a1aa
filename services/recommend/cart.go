package recommend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/carts"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	maxItems    = 200
	maxQuantity = 999
)

// cartBook is the shoppers' carts, as the catalog describes their items now.
type cartBook struct {
	store   store
	catalog catalogv1.CatalogServiceClient
}

// get returns a cart with titles and prices of now.
func (c *cartBook) get(ctx context.Context, storeID, cartID string) (*cartv1.Cart, error) {
	if err := c.store.open(ctx, storeID); err != nil {
		return nil, err
	}
	kept, err := c.store.load(ctx, storeID, cartID)
	if err != nil {
		return nil, err
	}
	return c.describe(ctx, storeID, cartID, kept)
}

// set replaces all items.
func (c *cartBook) set(ctx context.Context, req *cartv1.SetCartRequest) (*cartv1.Cart, error) {
	items, err := c.resolve(ctx, req.GetStoreId(), "items[%d]", req.GetItems())
	if err != nil {
		return nil, err
	}
	replaced, err := merged(nil, items)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func([]*cartv1.CartItem) ([]*cartv1.CartItem, error) { return replaced, nil })
}

// add adds a quantity of one variant.
func (c *cartBook) add(ctx context.Context, req *cartv1.AddItemRequest) (*cartv1.Cart, error) {
	items, err := c.resolve(ctx, req.GetStoreId(), "item", []*cartv1.CartItem{req.GetItem()})
	if err != nil {
		return nil, err
	}
	return c.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func(have []*cartv1.CartItem) ([]*cartv1.CartItem, error) { return merged(have, items) })
}

// remove removes a variant, or all variants of a product.
func (c *cartBook) remove(ctx context.Context, req *cartv1.RemoveItemRequest) (*cartv1.Cart, error) {
	return c.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func(have []*cartv1.CartItem) ([]*cartv1.CartItem, error) {
			return slices.DeleteFunc(slices.Clone(have), func(i *cartv1.CartItem) bool {
				// The catalog forgives the case of ids, so what was added as "sock-1" may be kept as SOCK-1.
				return strings.EqualFold(i.GetProductId(), req.GetProductId()) &&
					(req.GetVariantId() == "" || i.GetVariantId() == req.GetVariantId())
			}), nil
		})
}

// clear removes every item.
func (c *cartBook) clear(ctx context.Context, req *cartv1.ClearCartRequest) (*cartv1.Cart, error) {
	return c.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func([]*cartv1.CartItem) ([]*cartv1.CartItem, error) { return nil, nil })
}

// change edits the stored cart and describes what came of it.
func (c *cartBook) change(
	ctx context.Context, storeID, cartID string, expected *int64, edit func([]*cartv1.CartItem) ([]*cartv1.CartItem, error),
) (*cartv1.Cart, error) {
	if err := c.store.open(ctx, storeID); err != nil {
		return nil, err
	}
	kept, err := c.store.change(ctx, storeID, cartID, expected, edit)
	if err != nil {
		return nil, err
	}
	return c.describe(ctx, storeID, cartID, kept)
}

// merged adds items to those of a cart: to the item of the same variant, or at the end. The cart's own are not changed.
func merged(have, more []*cartv1.CartItem) ([]*cartv1.CartItem, error) {
	var check fault.Checker
	out := slices.Clone(have)
	for _, m := range more {
		at := slices.IndexFunc(out, func(i *cartv1.CartItem) bool {
			return i.GetProductId() == m.GetProductId() && i.GetVariantId() == m.GetVariantId()
		})
		if at < 0 {
			out = append(out, m)
			continue
		}
		sum := out[at].GetQuantity() + m.GetQuantity()
		if sum > maxQuantity {
			check.Addf("item.quantity", "makes %d of variant %q, must be at most %d in all", sum, m.GetVariantId(), maxQuantity)
		}
		out[at] = &cartv1.CartItem{ProductId: m.GetProductId(), VariantId: m.GetVariantId(), Quantity: sum}
	}
	if len(out) > maxItems {
		check.Addf("items", "the cart would have %d items, must have at most %d", len(out), maxItems)
	}
	return out, check.Err()
}

// resolve checks items against the catalog and returns what of them is kept, with the variant filled in where the
// product has only one. path is the items' field, with a %d for the index if there are several.
func (c *cartBook) resolve(
	ctx context.Context, storeID, path string, items []*cartv1.CartItem,
) ([]*cartv1.CartItem, error) {
	products, err := c.products(ctx, storeID, items)
	if err != nil {
		return nil, err
	}
	var check fault.Checker
	out := make([]*cartv1.CartItem, 0, len(items))
	for i, item := range items {
		p := products[item.GetProductId()]
		if p == nil {
			return nil, &fault.NotFound{
				Reason:   commonv1.ErrorReason_ERROR_REASON_PRODUCT_NOT_FOUND,
				Resource: "product", Name: item.GetProductId(),
			}
		}
		variantID := item.GetVariantId()
		if variantID == "" && len(p.GetVariants()) == 1 {
			variantID = p.GetVariants()[0].GetVariantId()
		}
		if v := variantOf(p, variantID); v == nil {
			check.Addf(pathOf(path, i)+".variant_id", "%s", noVariant(p, variantID))
		}
		out = append(out, &cartv1.CartItem{ProductId: p.GetProductId(), VariantId: variantID, Quantity: item.GetQuantity()})
	}
	return out, check.Err()
}

func pathOf(path string, i int) string {
	if strings.Contains(path, "%d") {
		return fmt.Sprintf(path, i)
	}
	return path
}

// noVariant says which variants there are instead.
func noVariant(p *catalogv1.Product, id string) string {
	ids := make([]string, 0, len(p.GetVariants()))
	for _, v := range p.GetVariants()[:min(20, len(p.GetVariants()))] {
		ids = append(ids, v.GetVariantId())
	}
	if id == "" {
		return "is required: the product has several variants, such as " + strings.Join(ids, ", ")
	}
	return fmt.Sprintf("product %q has no variant %q; there are %s", p.GetProductId(), id, strings.Join(ids, ", "))
}

// describe adds to a kept cart what the catalog says of its items.
func (c *cartBook) describe(ctx context.Context, storeID, cartID string, kept stored) (*cartv1.Cart, error) {
	out := &cartv1.Cart{StoreId: storeID, CartId: cartID, Version: kept.version}
	if !kept.expire.IsZero() {
		out.ExpireTime = timestamppb.New(kept.expire)
	}
	products, err := c.products(ctx, storeID, kept.items)
	if err != nil {
		return nil, err
	}
	for _, item := range kept.items {
		out.Items = append(out.Items, describeItem(item, products[item.GetProductId()]))
	}
	out.Subtotal = carts.Subtotal(out.Items)
	return out, nil
}

func describeItem(item *cartv1.CartItem, p *catalogv1.Product) *cartv1.CartItem {
	out := &cartv1.CartItem{
		ProductId: item.GetProductId(), VariantId: item.GetVariantId(), Quantity: item.GetQuantity(),
	}
	v := variantOf(p, item.GetVariantId())
	if v == nil {
		return out
	}
	out.Title, out.Brand, out.CategoryPath = p.GetTitle(), p.GetBrand(), p.GetCategoryPath()
	out.Options, out.UnitPrice, out.Available = v.GetOptions(), v.GetPrice(), true
	return out
}

// products reads the products of items from the catalog, by the id as the item has it.
func (c *cartBook) products(
	ctx context.Context, storeID string, items []*cartv1.CartItem,
) (map[string]*catalogv1.Product, error) {
	out := make(map[string]*catalogv1.Product, len(items))
	var ids []string
	for _, i := range items {
		if id := i.GetProductId(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	// At most maxItems ids, which is what one call takes.
	resp, err := c.catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: storeID, ProductIds: ids})
	if err != nil {
		return nil, fmt.Errorf("read the cart's products: %w", err)
	}
	found := resp.GetProducts() // in the order of ids, less those that are missing
	for _, id := range ids {
		if len(found) > 0 && !slices.Contains(resp.GetMissingProductIds(), id) {
			out[id], found = found[0], found[1:]
		}
	}
	return out, nil
}

func variantOf(p *catalogv1.Product, id string) *catalogv1.Variant {
	for _, v := range p.GetVariants() {
		if v.GetVariantId() == id {
			return v
		}
	}
	return nil
}
