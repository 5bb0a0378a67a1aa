package orders

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// customerBatch is how many orders of a customer are looked up at once.
	customerBatch = 100
	// eraseScript removes an order if it is still in revision ARGV[1].
	eraseScript = `
if redis.call('HGET', KEYS[1], 'revision') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`
)

// Export calls visit for each order of a customer that is in Redis, with what proves that it is the customer's.
func (r *Repository) Export(ctx context.Context, storeID, customerID string, visit func(*orderv1.Order) error) error {
	s := r.store
	ids, err := s.redis.ZRange(ctx, customerKey(storeID, customerID), 0, -1).Result()
	if err != nil {
		return state.Error("list orders", err)
	}
	for len(ids) > 0 {
		batch := ids[:min(customerBatch, len(ids))]
		ids = ids[len(batch):]
		raws, err := s.fields(ctx, storeID, batch, orderField)
		if err != nil {
			return state.Error("read orders", err)
		}
		for _, id := range batch {
			raw, ok := raws[id]
			if !ok {
				continue
			}
			o, err := s.decodeOrder(storeID, id, raw)
			if err == nil && o.GetCustomerId() == customerID {
				err = visit(o)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Erase removes all orders of a customer from Redis, and from the indexes by which products are found that were bought together. It
// returns how many there were. What counts wrong attempts at an order expires by itself.
func (r *Repository) Erase(ctx context.Context, storeID, customerID string) (erased int64, err error) {
	index := customerKey(storeID, customerID)
	for {
		ids, err := r.store.redis.ZRange(ctx, index, 0, customerBatch-1).Result()
		if err != nil || len(ids) == 0 {
			return erased, state.Error("list orders", err)
		}
		for _, id := range ids {
			done, err := r.store.erase(ctx, storeID, customerID, id)
			if err != nil {
				return erased, state.Error("erase order", err)
			}
			if done {
				erased++
			}
		}
	}
}

// erase removes an order if it is a customer's, and then its entry in the customer's index, and reports whether there was an order. The
// entry goes last: a call that broke off is completed by the next.
func (s redisStore) erase(ctx context.Context, storeID, customerID, id string) (bool, error) {
	at := placeOf(storeID, id, basketField)
	for {
		have, err := s.redis.HMGet(ctx, orderKey(storeID, id), "revision", basketField, "stale").Result()
		if err != nil {
			return false, err
		}
		revision, _ := have[0].(string)
		sealed, exists := have[1].(string)
		var now basket
		if exists {
			text, err := s.sealer.OpenLine(at, sealed)
			if err != nil {
				return false, err
			}
			now = parseBasket(text)
		}
		if now.customer != customerID { // gone, or another customer's
			return false, s.redis.ZRem(ctx, customerKey(storeID, customerID), id).Err()
		}
		keys := now.keys(storeID)
		stale, _ := have[2].(string)
		for line := range strings.Lines(stale) {
			text, err := s.sealer.OpenLine(at, strings.TrimSuffix(line, "\n"))
			if err != nil {
				return false, err
			}
			keys = append(keys, parseBasket(text).keys(storeID)...)
		}
		_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range keys {
				if key != customerKey(storeID, customerID) {
					p.ZRem(ctx, key, id)
				}
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		n, err := s.redis.Eval(ctx, eraseScript, []string{orderKey(storeID, id)}, revision).Int64()
		if err != nil {
			return false, err
		}
		if n == 1 {
			return true, s.redis.ZRem(ctx, customerKey(storeID, customerID), id).Err()
		}
	}
}
