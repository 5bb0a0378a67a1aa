package main

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// carts implements CartService for one store. Quartet itself calls GetCart and GetCartSettings only; the rest is for the
// store's own shop.
type carts struct {
	cartv1.UnimplementedCartServiceServer // PutCartSettings: who has carts of their own writes no settings of them
	storeID                               string
	goods                                 []*cartv1.CartItem

	mu   sync.Mutex
	byID map[string]*cartv1.Cart // ids, variants and quantities; the rest is added on the way out
}

func newCarts(storeID string, goods []*cartv1.CartItem) *carts {
	return &carts{storeID: storeID, goods: goods, byID: make(map[string]*cartv1.Cart)}
}

// GetCartSettings says which stores have a cart here.
func (c *carts) GetCartSettings(_ context.Context, req *cartv1.GetCartSettingsRequest) (*cartv1.GetCartSettingsResponse, error) {
	return &cartv1.GetCartSettingsResponse{Settings: &cartv1.CartSettings{NoCart: req.GetStoreId() != c.storeID}}, nil
}

// GetCart returns a cart. One that was never written is empty.
func (c *carts) GetCart(_ context.Context, req *cartv1.GetCartRequest) (*cartv1.GetCartResponse, error) {
	if req.GetStoreId() != c.storeID {
		return nil, refusal("NO_CART", nil, "store %q has no cart here", req.GetStoreId())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &cartv1.GetCartResponse{Cart: c.priced(req.GetCartId())}, nil
}

// SetCart replaces all items.
func (c *carts) SetCart(_ context.Context, req *cartv1.SetCartRequest) (*cartv1.SetCartResponse, error) {
	cart, err := c.change(req, req.ExpectedVersion, req.GetItems(), func([]*cartv1.CartItem) []*cartv1.CartItem { return req.GetItems() })
	return &cartv1.SetCartResponse{Cart: cart}, err
}

// AddItem adds a quantity of one variant.
func (c *carts) AddItem(_ context.Context, req *cartv1.AddItemRequest) (*cartv1.AddItemResponse, error) {
	more := []*cartv1.CartItem{req.GetItem()}
	cart, err := c.change(req, req.ExpectedVersion, more, func(have []*cartv1.CartItem) []*cartv1.CartItem {
		for _, item := range have {
			if same(item, req.GetItem()) {
				item.Quantity += req.GetItem().GetQuantity()
				return have
			}
		}
		return append(have, more...)
	})
	return &cartv1.AddItemResponse{Cart: cart}, err
}

// RemoveItem removes a variant, or all variants of a product.
func (c *carts) RemoveItem(_ context.Context, req *cartv1.RemoveItemRequest) (*cartv1.RemoveItemResponse, error) {
	cart, err := c.change(req, req.ExpectedVersion, nil, func(have []*cartv1.CartItem) []*cartv1.CartItem {
		return slices.DeleteFunc(have, func(i *cartv1.CartItem) bool {
			return i.GetProductId() == req.GetProductId() && (req.GetVariantId() == "" || i.GetVariantId() == req.GetVariantId())
		})
	})
	return &cartv1.RemoveItemResponse{Cart: cart}, err
}

// ClearCart removes every item.
func (c *carts) ClearCart(_ context.Context, req *cartv1.ClearCartRequest) (*cartv1.ClearCartResponse, error) {
	cart, err := c.change(req, req.ExpectedVersion, nil, func([]*cartv1.CartItem) []*cartv1.CartItem { return nil })
	return &cartv1.ClearCartResponse{Cart: cart}, err
}

// change edits a cart whose version is the expected one, and returns the new cart.
func (c *carts) change(
	req interface {
		GetStoreId() string
		GetCartId() string
	}, expected *int64, added []*cartv1.CartItem,
	edit func([]*cartv1.CartItem) []*cartv1.CartItem,
) (*cartv1.Cart, error) {
	if req.GetStoreId() != c.storeID {
		return nil, refusal("NO_CART", nil, "store %q has no cart here", req.GetStoreId())
	}
	for _, item := range added {
		if c.find(item) == nil || item.GetQuantity() < 1 {
			return nil, status.Errorf(codes.InvalidArgument, "%d of product %q, variant %q, cannot be bought", item.GetQuantity(), item.GetProductId(), item.GetVariantId())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cart := c.byID[req.GetCartId()]
	if cart == nil {
		cart = &cartv1.Cart{StoreId: c.storeID, CartId: req.GetCartId()}
	}
	if expected != nil && *expected != cart.GetVersion() {
		current := strconv.FormatInt(cart.GetVersion(), 10)
		return nil, refusal("VERSION_MISMATCH", map[string]string{"current_version": current}, "the cart is in version %s, not %d", current, *expected)
	}
	cart.Items, cart.Version = edit(cart.GetItems()), cart.GetVersion()+1
	c.byID[req.GetCartId()] = cart
	return c.priced(req.GetCartId()), nil
}

// priced is a cart with titles and prices of now, and its total.
func (c *carts) priced(id string) *cartv1.Cart {
	cart := &cartv1.Cart{StoreId: c.storeID, CartId: id}
	if kept := c.byID[id]; kept != nil {
		cart = proto.CloneOf(kept)
	}
	for i, item := range cart.GetItems() {
		good := c.find(item)
		if good == nil {
			continue // available stays false: the store has it no more
		}
		cart.Items[i] = proto.CloneOf(good)
		cart.Items[i].Quantity, cart.Items[i].Available = item.GetQuantity(), true
		if cart.Subtotal == nil {
			cart.Subtotal = &commonv1.Money{CurrencyCode: good.GetUnitPrice().GetCurrencyCode()}
		}
		cart.Subtotal.AmountMinor += good.GetUnitPrice().GetAmountMinor() * int64(item.GetQuantity())
	}
	return cart
}

func (c *carts) find(item *cartv1.CartItem) *cartv1.CartItem {
	for _, good := range c.goods {
		if same(good, item) {
			return good
		}
	}
	return nil
}

func same(a, b *cartv1.CartItem) bool {
	return a.GetProductId() == b.GetProductId() && a.GetVariantId() == b.GetVariantId()
}

// refusal is FAILED_PRECONDITION with a reason that programs can read.
func refusal(reason string, metadata map[string]string, format string, args ...any) error {
	st := status.Newf(codes.FailedPrecondition, format, args...)
	if detailed, err := st.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "quartet", Metadata: metadata}); err == nil {
		st = detailed
	}
	return st.Err()
}
