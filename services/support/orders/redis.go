package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// redisStore keeps orders in Redis. For each store: a hash from order id to the order, a hash from order id to its
// basket, and for each customer and each product a sorted set of order ids by the time they were placed. Order ids are in
// upper case. All keys of a store share a slot, so that a script can change them together.
type redisStore struct {
	redis redis.UniversalClient
	cache *state.TTLCache[*orderv1.OrderSettings]
}

func newRedisStore(r redis.UniversalClient) redisStore {
	return redisStore{redis: r, cache: state.NewTTLCache[*orderv1.OrderSettings](settingsTTL)}
}

func ordersKey(storeID string) string { return state.Key(storeID, "orders") }
func customerKey(storeID, customerID string) string {
	return state.Key(storeID, "orders", "by-customer", customerID)
}

// putScript writes one order with its indexes. It refuses when the order's basket is not the one that the caller read,
// because the keys of the old indexes would then be the wrong ones: keys must be named before a script runs.
//
// KEYS: orders, baskets, the indexes that it will be in, those that it leaves.
// ARGV: id, order, new basket, time placed in milliseconds, old basket or "", number of indexes that it will be in.
const putScript = `
local basket = redis.call('HGET', KEYS[2], ARGV[1]) or ''
if basket ~= ARGV[5] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
for i = 3, #KEYS do
  if i <= 2 + tonumber(ARGV[6]) then
    redis.call('ZADD', KEYS[i], ARGV[4], ARGV[1])
  else
    redis.call('ZREM', KEYS[i], ARGV[1])
  end
end
return 1`

// maxPutRounds bounds how often orders are tried again whose basket changed while they were written. One round is enough
// unless an order is in a batch twice or is written by several at once.
const maxPutRounds = 8

// put writes orders, each with its indexes or not at all.
func (s redisStore) put(ctx context.Context, storeID string, orders []*orderv1.Order) error {
	for range maxPutRounds {
		if len(orders) == 0 {
			return nil
		}
		var err error
		if orders, err = s.putRound(ctx, storeID, orders); err != nil {
			return state.Error("write orders", err)
		}
	}
	if len(orders) > 0 {
		return fmt.Errorf("write orders: order %q keeps changing", orders[0].GetOrderId())
	}
	return nil
}

// putRound returns the orders that were not written because their basket had changed.
func (s redisStore) putRound(ctx context.Context, storeID string, orders []*orderv1.Order) ([]*orderv1.Order, error) {
	ids := make([]string, len(orders))
	for i, o := range orders {
		ids[i] = NormalID(o.GetOrderId())
	}
	baskets, err := s.redis.HMGet(ctx, basketsKey(storeID), ids...).Result()
	if err != nil {
		return nil, err
	}
	pipe := s.redis.Pipeline()
	results := make([]*redis.Cmd, len(orders))
	for i, o := range orders {
		raw, err := proto.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encode order: %w", err)
		}
		was, _ := baskets[i].(string)
		b := basketOf(o)
		in := b.keys(storeID)
		left := slices.DeleteFunc(parseBasket(was).keys(storeID), func(key string) bool { return slices.Contains(in, key) })
		results[i] = pipe.Eval(ctx, putScript, slices.Concat([]string{ordersKey(storeID), basketsKey(storeID)}, in, left),
			ids[i], raw, b.String(), o.GetCreateTime().AsTime().UnixMilli(), was, len(in))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var again []*orderv1.Order
	for i, r := range results {
		if done, err := r.Bool(); err != nil {
			return nil, err
		} else if !done {
			again = append(again, orders[i])
		}
	}
	return again, nil
}

// get returns an order of a customer.
func (s redisStore) get(ctx context.Context, storeID, customerID, id string) (*orderv1.Order, error) {
	return s.read(ctx, storeID, id, func(o *orderv1.Order) bool { return o.GetCustomerId() == customerID })
}

// guest returns an order to who can prove that it is theirs.
func (s redisStore) guest(ctx context.Context, storeID, id string, p Proof) (*orderv1.Order, error) {
	return s.read(ctx, storeID, id, p.of)
}

// read returns an order if it may be seen. A missing order and one that may not are the same *fault.NotFound.
func (s redisStore) read(ctx context.Context, storeID, id string, may func(*orderv1.Order) bool) (*orderv1.Order, error) {
	raw, err := s.redis.HGet(ctx, ordersKey(storeID), id).Result()
	if errors.Is(err, redis.Nil) {
		return nil, notFound(id)
	}
	if err != nil {
		return nil, state.Error("read order", err)
	}
	order, err := decodeOrder(raw)
	if err != nil {
		return nil, err
	}
	if !may(order) {
		return nil, notFound(id)
	}
	return withoutProof(order), nil
}

// list returns up to limit orders of a customer, the newest first, and how many there are.
func (s redisStore) list(ctx context.Context, storeID, customerID string, limit int) ([]*orderv1.Order, int, error) {
	index := customerKey(storeID, customerID)
	total, err := s.redis.ZCard(ctx, index).Result()
	if err != nil || total == 0 {
		return nil, 0, state.Error("count orders", err)
	}
	ids, err := s.redis.ZRevRange(ctx, index, 0, int64(limit)-1).Result()
	if err != nil || len(ids) == 0 {
		return nil, 0, state.Error("list orders", err)
	}
	raws, err := s.redis.HMGet(ctx, ordersKey(storeID), ids...).Result()
	if err != nil {
		return nil, 0, state.Error("read orders", err)
	}
	orders := make([]*orderv1.Order, 0, len(raws))
	for _, raw := range raws {
		text, ok := raw.(string)
		if !ok {
			continue
		}
		order, err := decodeOrder(text)
		if err != nil {
			return nil, 0, err
		}
		if order.GetCustomerId() == customerID { // else it changed hands between the two reads
			orders = append(orders, withoutProof(order))
		}
	}
	return orders, int(total), nil
}

// withoutProof takes off an order what proves that it is one's own.
func withoutProof(o *orderv1.Order) *orderv1.Order {
	o.Email, o.PostalCode = "", ""
	return o
}

func decodeOrder(raw string) (*orderv1.Order, error) {
	order := &orderv1.Order{}
	if err := proto.Unmarshal([]byte(raw), order); err != nil {
		return nil, fmt.Errorf("decode order: %w", err)
	}
	return order, nil
}

func settingsKey(storeID string) string { return state.Key(storeID, "orders", "settings") }

// settingsTTL is how long a change of a store's settings may go unnoticed by the turns of replicas other than the one
// that was told.
const settingsTTL = time.Second

// recentSettings returns what settings does, as of at most settingsTTL ago. It must not be modified.
func (s redisStore) recentSettings(ctx context.Context, storeID string) (*orderv1.OrderSettings, error) {
	return s.cache.Get(ctx, storeID, func(ctx context.Context) (*orderv1.OrderSettings, error) { return s.settings(ctx, storeID) })
}

// settings returns what a store says of its orders. A store that has said nothing has empty ones.
func (s redisStore) settings(ctx context.Context, storeID string) (*orderv1.OrderSettings, error) {
	out := &orderv1.OrderSettings{}
	raw, err := s.redis.Get(ctx, settingsKey(storeID)).Bytes()
	if errors.Is(err, redis.Nil) {
		return out, nil
	}
	if err != nil {
		return nil, state.Error("read order settings", err)
	}
	if err := proto.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode order settings: %w", err)
	}
	return out, nil
}

func (s redisStore) putSettings(ctx context.Context, storeID string, settings *orderv1.OrderSettings) error {
	raw, err := proto.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encode order settings: %w", err)
	}
	defer s.cache.Forget(storeID)
	return state.Error("write order settings", s.redis.Set(ctx, settingsKey(storeID), raw, 0).Err())
}
