package load

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

// Demo loads one demo store, whole. A refused item is an error: the demo data must be good.
func Demo(ctx context.Context, c Clients, set demo.Dataset) error {
	storeID := set.Store.GetStoreId()
	if _, err := c.Stores.PutStore(ctx, &gatewayv1.PutStoreRequest{Store: set.Store}); err != nil {
		return err
	}
	l := &Load{Clients: c, StoreID: storeID}
	return errors.Join(
		clean(products(ctx, l, given(set.Products))),
		clean(promotions(ctx, l, given(set.Promotions))),
		clean(each(given(set.Carts), func(cart *cartv1.Cart) error { return setCart(ctx, l, cart) })),
		clean(orderSettings(ctx, l, given(set.OrderSettings))),
		clean(orders(ctx, l, given(set.Orders))),
		clean(policies(ctx, l, given(set.Policies))),
	)
}

// given returns items in memory as lines, numbered from 1.
func given[T proto.Message](items []T) lines[T] {
	return func(yield func(jsonl.Line[T], error) bool) {
		for i, item := range items {
			if !yield(jsonl.Line[T]{Number: i + 1, Item: item}, nil) {
				return
			}
		}
	}
}

// clean turns a refusal into an error.
func clean(r Report, err error) error {
	if err == nil && r.Refused > 0 {
		err = fmt.Errorf("item %d: %s", r.Refusals[0].Line, r.Refusals[0].What)
	}
	return err
}
