package support

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// maxBasket is how many products an order may hold to count: who buys more stocks up a shop, and does not choose things
	// for each other.
	maxBasket = 100
	// maxBaskets is how many orders with one product are looked at, the latest.
	maxBaskets = 500
	// basketsARead bounds the fields of one command, so that it holds up nobody else's.
	basketsARead = 1_000
)

// basketsKey is the hash from order id to the order's basket.
func basketsKey(storeID string) string { return state.Key(storeID, "orders", "baskets") }

// withKey is the sorted set of the orders that hold a product, by the time they were placed; without a product, of all
// orders that count.
func withKey(storeID, productID string) string {
	if productID == "" {
		return state.Key(storeID, "orders", "counted")
	}
	return state.Key(storeID, "orders", "with", productID)
}

// basket is who ordered, and which products, each once and in their order; none if the order does not count. It is kept
// beside the order, since counting reads many of them.
type basket struct {
	customer string
	products []string
}

func basketOf(o *orderv1.Order) basket {
	b := basket{customer: o.GetCustomerId()}
	switch o.GetStatus() {
	case orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT, orderv1.OrderStatus_ORDER_STATUS_CANCELLED:
		return b
	}
	for _, item := range o.GetItems() {
		b.products = append(b.products, item.GetProductId())
	}
	slices.Sort(b.products)
	if b.products = slices.Compact(b.products); len(b.products) > maxBasket {
		b.products = nil
	}
	return b
}

// String is the basket as it is kept. Ids have no spaces.
func (b basket) String() string {
	return strings.Join(append([]string{b.customer}, b.products...), " ")
}

// parseBasket reads what String wrote. Nothing is an empty basket of nobody.
func parseBasket(text string) basket {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return basket{}
	}
	return basket{fields[0], fields[1:]}
}

// keys are the sorted sets that an order with this basket is in.
func (b basket) keys(storeID string) []string {
	if b.customer == "" {
		return nil
	}
	keys := []string{customerKey(storeID, b.customer)}
	if len(b.products) > 0 {
		keys = append(keys, withKey(storeID, ""))
	}
	for _, id := range b.products {
		keys = append(keys, withKey(storeID, id))
	}
	return keys
}

// company is what was bought with one product.
type company struct {
	looked int                // orders with it that were looked at
	with   map[string]*shared // by the other product
}

// shared is the orders that hold two products.
type shared struct {
	orders    int
	customers map[string]bool
}

// companies returns what was bought with each of some products, which are not company for each other.
func (s orderStore) companies(ctx context.Context, storeID string, products []string) ([]company, error) {
	pipe := s.redis.Pipeline()
	held := make([]*redis.StringSliceCmd, len(products))
	for i, id := range products {
		held[i] = pipe.ZRevRange(ctx, withKey(storeID, id), 0, maxBaskets-1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, state.Error("read orders by product", err)
	}
	var ids []string
	for _, h := range held {
		ids = append(ids, h.Val()...)
	}
	slices.Sort(ids)
	baskets, err := s.baskets(ctx, storeID, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	found := make([]company, len(products))
	for i, h := range held {
		found[i] = company{looked: len(h.Val()), with: make(map[string]*shared)}
		for _, id := range h.Val() {
			found[i].add(baskets[id], products)
		}
	}
	return found, nil
}

// add counts what a basket holds, but for some products.
func (c company) add(b basket, but []string) {
	for _, id := range b.products {
		if slices.Contains(but, id) {
			continue
		}
		s := c.with[id]
		if s == nil {
			s = &shared{customers: make(map[string]bool)}
			c.with[id] = s
		}
		s.orders++
		s.customers[b.customer] = true
	}
}

// baskets returns the baskets of orders, by order id.
func (s orderStore) baskets(ctx context.Context, storeID string, ids []string) (map[string]basket, error) {
	out := make(map[string]basket, len(ids))
	for chunk := range slices.Chunk(ids, basketsARead) {
		texts, err := s.redis.HMGet(ctx, basketsKey(storeID), chunk...).Result()
		if err != nil {
			return nil, state.Error("read baskets", err)
		}
		for i, text := range texts {
			if text, ok := text.(string); ok {
				out[chunk[i]] = parseBasket(text)
			}
		}
	}
	return out, nil
}

// counts returns how many orders hold each of some products, by product, and how many count in all.
func (s orderStore) counts(ctx context.Context, storeID string, products []string) (of map[string]int, all int, err error) {
	pipe := s.redis.Pipeline()
	total := pipe.ZCard(ctx, withKey(storeID, ""))
	cmds := make([]*redis.IntCmd, len(products))
	for i, id := range products {
		cmds[i] = pipe.ZCard(ctx, withKey(storeID, id))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, 0, state.Error("count orders by product", err)
	}
	of = make(map[string]int, len(products))
	for i, id := range products {
		of[id] = int(cmds[i].Val())
	}
	return of, int(total.Val()), nil
}
