// Package carts keeps shoppers' carts in Redis as product ids and quantities. It reads titles and prices from the catalog with
// each call, so a cart never shows an old price.
//
// The package must not import a service.
package carts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

const (
	// MaxItems is how many different variants a cart may have.
	MaxItems = 200
	// MaxQuantity is how many of one variant a cart may have.
	MaxQuantity = 999
)

// Repository keeps carts. It is safe for concurrent use.
type Repository struct {
	store   redisStore
	catalog catalogv1.CatalogServiceClient
}

// New returns a repository that keeps a cart for ttl after its last write. The caller owns client. A nil sealer leaves carts in
// plaintext.
func New(
	client redis.UniversalClient, sealer *seal.Sealer, catalog catalogv1.CatalogServiceClient, ttl time.Duration,
) *Repository {
	return &Repository{store: redisStore{redis: client, sealer: sealer, ttl: ttl}, catalog: catalog}
}

// Settings returns a store's cart settings; empty settings when it has none.
func (r *Repository) Settings(ctx context.Context, storeID string) (*cartv1.CartSettings, error) {
	return r.store.settings(ctx, storeID)
}

// PutSettings replaces a store's cart settings.
func (r *Repository) PutSettings(ctx context.Context, storeID string, settings *cartv1.CartSettings) error {
	return r.store.putSettings(ctx, storeID, settings)
}

// Get returns a cart with current titles and prices.
func (r *Repository) Get(ctx context.Context, storeID, cartID string) (*cartv1.Cart, error) {
	if err := r.store.open(ctx, storeID); err != nil {
		return nil, err
	}
	kept, err := r.store.load(ctx, storeID, cartID)
	if err != nil {
		return nil, err
	}
	return r.withCatalogData(ctx, storeID, cartID, kept)
}

// Set replaces all items of a cart.
func (r *Repository) Set(ctx context.Context, req *cartv1.SetCartRequest) (*cartv1.Cart, error) {
	items, err := r.resolve(ctx, req.GetStoreId(), "items[%d]", req.GetItems())
	if err != nil {
		return nil, err
	}
	replaced, err := merge(nil, items)
	if err != nil {
		return nil, err
	}
	return r.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func([]*cartv1.CartItem) ([]*cartv1.CartItem, error) { return replaced, nil })
}

// Add adds a quantity of one variant.
func (r *Repository) Add(ctx context.Context, req *cartv1.AddItemRequest) (*cartv1.Cart, error) {
	items, err := r.resolve(ctx, req.GetStoreId(), "item", []*cartv1.CartItem{req.GetItem()})
	if err != nil {
		return nil, err
	}
	return r.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func(have []*cartv1.CartItem) ([]*cartv1.CartItem, error) { return merge(have, items) })
}

// Remove removes a variant, or all variants of a product.
func (r *Repository) Remove(ctx context.Context, req *cartv1.RemoveItemRequest) (*cartv1.Cart, error) {
	return r.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func(have []*cartv1.CartItem) ([]*cartv1.CartItem, error) {
			return slices.DeleteFunc(slices.Clone(have), func(i *cartv1.CartItem) bool {
				// The catalog ignores the case of ids, so an item added as "sock-1" may be kept as SOCK-1.
				return strings.EqualFold(i.GetProductId(), req.GetProductId()) &&
					(req.GetVariantId() == "" || i.GetVariantId() == req.GetVariantId())
			}), nil
		})
}

// Clear removes every item.
func (r *Repository) Clear(ctx context.Context, req *cartv1.ClearCartRequest) (*cartv1.Cart, error) {
	return r.change(ctx, req.GetStoreId(), req.GetCartId(), req.ExpectedVersion,
		func([]*cartv1.CartItem) ([]*cartv1.CartItem, error) { return nil, nil })
}

// change edits the stored cart and describes what came of it.
func (r *Repository) change(
	ctx context.Context, storeID, cartID string, expected *int64, edit func([]*cartv1.CartItem) ([]*cartv1.CartItem, error),
) (*cartv1.Cart, error) {
	if err := r.store.open(ctx, storeID); err != nil {
		return nil, err
	}
	kept, err := r.store.change(ctx, storeID, cartID, expected, edit)
	if err != nil {
		return nil, err
	}
	return r.withCatalogData(ctx, storeID, cartID, kept)
}

// merge adds items to those of a cart: to the item of the same variant, or at the end. The cart's own are not changed.
func merge(have, more []*cartv1.CartItem) ([]*cartv1.CartItem, error) {
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
		if sum > MaxQuantity {
			check.Addf("item.quantity", "makes %d of variant %q, must be at most %d in all", sum, m.GetVariantId(), MaxQuantity)
		}
		out[at] = &cartv1.CartItem{ProductId: m.GetProductId(), VariantId: m.GetVariantId(), Quantity: sum}
	}
	if len(out) > MaxItems {
		check.Addf("items", "the cart would have %d items, must have at most %d", len(out), MaxItems)
	}
	return out, check.Err()
}

// resolve checks items against the catalog and returns what of them is kept, with the variant filled in where the
// product has only one. path is the items' field, with a %d for the index if there are several.
func (r *Repository) resolve(
	ctx context.Context, storeID, path string, items []*cartv1.CartItem,
) ([]*cartv1.CartItem, error) {
	products, err := r.products(ctx, storeID, items)
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
			check.Addf(fieldPath(path, i)+".variant_id", "%s", variantError(p, variantID))
		}
		out = append(out, &cartv1.CartItem{ProductId: p.GetProductId(), VariantId: variantID, Quantity: item.GetQuantity()})
	}
	return out, check.Err()
}

func fieldPath(path string, i int) string {
	if strings.Contains(path, "%d") {
		return fmt.Sprintf(path, i)
	}
	return path
}

// variantError says which variants there are instead.
func variantError(p *catalogv1.Product, id string) string {
	ids := make([]string, 0, len(p.GetVariants()))
	for _, v := range p.GetVariants()[:min(20, len(p.GetVariants()))] {
		ids = append(ids, v.GetVariantId())
	}
	if id == "" {
		return "is required: the product has several variants, such as " + strings.Join(ids, ", ")
	}
	return fmt.Sprintf("product %q has no variant %q; there are %s", p.GetProductId(), id, strings.Join(ids, ", "))
}

// withCatalogData adds to a kept cart what the catalog says of its items.
func (r *Repository) withCatalogData(ctx context.Context, storeID, cartID string, kept stored) (*cartv1.Cart, error) {
	out := &cartv1.Cart{StoreId: storeID, CartId: cartID, Version: kept.version}
	if !kept.expire.IsZero() {
		out.ExpireTime = timestamppb.New(kept.expire)
	}
	products, err := r.products(ctx, storeID, kept.items)
	if err != nil {
		return nil, err
	}
	for _, item := range kept.items {
		out.Items = append(out.Items, withCatalogData(item, products[item.GetProductId()]))
	}
	out.Subtotal = cartclient.Subtotal(out.Items)
	return out, nil
}

func withCatalogData(item *cartv1.CartItem, p *catalogv1.Product) *cartv1.CartItem {
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
func (r *Repository) products(
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
	// At most MaxItems ids, which is what one call takes.
	resp, err := r.catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: storeID, ProductIds: ids})
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
