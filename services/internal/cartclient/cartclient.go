// Package cartclient reads carts through any CartService: the recommend service, or a store's own,
// of which nothing is believed that the contract does not allow. It imports no service.
package cartclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

const (
	// MaxReadTime bounds one read, so that a cart service that hangs does not delay a turn.
	MaxReadTime = 2 * time.Second
	// maxSettingsTime bounds one read of a store's settings.
	maxSettingsTime = 500 * time.Millisecond
	// Limits of the contract, and of amounts that still add up in 64 bits.
	maxItems    = 200
	maxQuantity = 999
	maxPrice    = 1_000_000_000_000 // minor units; a full cart of it still fits in 64 bits
	maxText     = 500               // characters of a title or a brand
	maxPath     = 20
	maxOptions  = 50
)

// NoCart is the error of a store that has no cart.
func NoCart(storeID string) error {
	return &fault.Precondition{
		Reason:  commonv1.ErrorReason_ERROR_REASON_NO_CART,
		Subject: "store/" + storeID, Description: "it has no cart here; its cart settings say so (no_cart)",
	}
}

// None reports whether an error says that the store has no cart.
func None(err error) bool { return err != nil && rpc.Reason(rpc.Status(err)) == "NO_CART" }

// Read returns a cart in the form of the recommend service: with the requested store and id, and with the subtotal of its
// items. A cart that its service does not know is empty.
//
// Errors: the error of an ended ctx; an error for which None is true; else a *fault.Unavailable or an UNAVAILABLE of the service.
func Read(ctx context.Context, service cartv1.CartServiceClient, storeID, cartID string) (*cartv1.Cart, error) {
	reading, cancel := context.WithTimeout(ctx, MaxReadTime)
	defer cancel()
	resp, err := service.GetCart(reading, &cartv1.GetCartRequest{StoreId: storeID, CartId: cartID})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("get cart: %w", ctx.Err())
	case None(err):
		return nil, fmt.Errorf("get cart: %w", err)
	case status.Code(err) == codes.NotFound:
		return &cartv1.Cart{StoreId: storeID, CartId: cartID}, nil
	case status.Code(err) == codes.Unavailable:
		return nil, fmt.Errorf("get cart: %w", err)
	case err != nil:
		// The caller did not call the cart service, so other codes mean nothing to it.
		return nil, unavailable(err)
	}
	cart := proto.CloneOf(resp.GetCart())
	if err := check(cart, storeID, cartID); err != nil {
		return nil, unavailable(fmt.Errorf("its answer is invalid: %w", err))
	}
	cart.StoreId, cart.CartId = storeID, cartID
	cart.Subtotal = Subtotal(cart.GetItems())
	return cart, nil
}

func unavailable(cause error) error {
	return &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "cart service", Err: cause}
}

// check reports what the contract does not allow in a cart.
func check(cart *cartv1.Cart, storeID, cartID string) error {
	if cart == nil {
		return errors.New("it has no cart")
	}
	var c fault.Checker
	if id := cart.GetStoreId(); id != "" && id != storeID {
		c.Addf("store_id", "is not the one that was asked for")
	}
	if id := cart.GetCartId(); id != "" && id != cartID {
		c.Addf("cart_id", "is not the one that was asked for")
	}
	if !c.Count("items", len(cart.GetItems()), maxItems) {
		return c.Err()
	}
	for i, item := range cart.GetItems() {
		checkItem(&c, fmt.Sprintf("items[%d]", i), item)
	}
	return c.Err()
}

func checkItem(c *fault.Checker, field string, item *cartv1.CartItem) {
	c.ID(field+".product_id", item.GetProductId())
	c.OptionalID(field+".variant_id", item.GetVariantId())
	c.Range(field+".quantity", int64(item.GetQuantity()), 1, maxQuantity)
	c.Text(field+".title", item.GetTitle(), 0, maxText)
	c.Text(field+".brand", item.GetBrand(), 0, maxText)
	c.Range(field+".category_path", int64(len(item.GetCategoryPath())), 0, maxPath)
	c.Range(field+".options", int64(len(item.GetOptions())), 0, maxOptions)
	if !item.GetAvailable() {
		return
	}
	c.Text(field+".title", item.GetTitle(), 1, maxText)
	c.Money(field+".unit_price", item.GetUnitPrice(), true)
	c.Range(field+".unit_price.amount_minor", item.GetUnitPrice().GetAmountMinor(), 0, maxPrice)
}

// Subtotal sums the available items, in the currency of the first one. It is nil when no item is available.
func Subtotal(items []*cartv1.CartItem) *commonv1.Money {
	var sum *commonv1.Money
	for _, item := range items {
		price := item.GetUnitPrice()
		if !item.GetAvailable() || price == nil {
			continue
		}
		if sum == nil {
			sum = &commonv1.Money{CurrencyCode: price.GetCurrencyCode()}
		}
		if price.GetCurrencyCode() == sum.GetCurrencyCode() {
			sum.AmountMinor += price.GetAmountMinor() * int64(item.GetQuantity())
		}
	}
	return sum
}

// Lacking reports whether a store has no cart, according to its cart service. A store whose service does not say has a cart.
func Lacking(ctx context.Context, service cartv1.CartServiceClient, storeID string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSettingsTime)
	defer cancel()
	resp, err := service.GetCartSettings(ctx, &cartv1.GetCartSettingsRequest{StoreId: storeID})
	switch {
	case status.Code(err) == codes.Unimplemented:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get cart settings: %w", err)
	}
	return resp.GetSettings().GetNoCart(), nil
}
