package carts

import (
	"context"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// Kept returns a cart as it is kept, without titles and prices. Nil: there is none.
func (r *Repository) Kept(ctx context.Context, storeID, cartID string) (*cartv1.Cart, error) {
	kept, err := r.store.load(ctx, storeID, cartID)
	if err != nil || kept.version == 0 {
		return nil, err
	}
	return &cartv1.Cart{StoreId: storeID, CartId: cartID, Version: kept.version, Items: kept.items}, nil
}

// Erase removes a cart with its version, and returns how many there were: one or none.
func (r *Repository) Erase(ctx context.Context, storeID, cartID string) (int64, error) {
	n, err := r.store.redis.Del(ctx, cartKey(storeID, cartID)).Result()
	return n, state.Error("erase cart", err)
}
