package orders

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// redisStore keeps orders in Redis. An order is a hash with a tag of its own, so that orders spread over a cluster:
//
//	order    the order
//	basket   its customer and its products, which say which indexes it belongs to
//	time     when it was placed, in milliseconds
//	revision the number of writes
//	stale    earlier baskets, one a line, whose indexes may still list the order
//
// With a sealer, the order and the baskets are encrypted. Two sealed baskets never look the same, so each write notes the old one.
//
// The indexes are sorted sets of order ids by the time placed: for each customer, for each product, and of all orders that
// count. They have tags of their own too, so no script changes them together with the order. A write first changes the order
// and notes the old basket as stale, then updates the indexes, then removes the note. After a crash in between, the next write
// of the order finds the note and completes the work. A write is acknowledged when its indexes are updated. Readers check an
// entry of an index against the order. Order ids are in the form of NormalID.
//
// Of two writers that change the basket of one order at the same time, the later one may be acknowledged while the earlier one still
// undoes a part of its indexes. The earlier one then repairs them. If it crashes before, the order may be missing in an index until it is
// written again.
type redisStore struct {
	redis  redis.UniversalClient
	sealer *seal.Sealer // may be nil
	cache  *state.TTLCache[*orderv1.OrderSettings]
}

func newRedisStore(r redis.UniversalClient, sealer *seal.Sealer) redisStore {
	return redisStore{redis: r, sealer: sealer, cache: state.NewTTLCache[*orderv1.OrderSettings](settingsTTL)}
}

func orderKey(storeID, id string) string { return state.TaggedKey(storeID, "order/"+id, "order") }

// The fields of an order that are sealed.
const (
	orderField  = "order"
	basketField = "basket"
)

// placeOf is where a field of an order is.
func placeOf(storeID, id, field string) seal.Place {
	return seal.Place{Store: storeID, Key: orderKey(storeID, id), Field: field}
}

func customerKey(storeID, customerID string) string {
	return state.TaggedKey(storeID, "customer/"+customerID, "orders")
}

// Scripts on the key of one order.
const (
	// writeScript writes an order and returns its revision and its stale baskets. ARGV: order, basket, time.
	writeScript = `
local have = redis.call('HMGET', KEYS[1], 'basket', 'stale')
local stale = have[2] or ''
if have[1] and have[1] ~= ARGV[2] then stale = stale .. have[1] .. '\n' end
local revision = redis.call('HINCRBY', KEYS[1], 'revision', 1)
redis.call('HSET', KEYS[1], 'order', ARGV[1], 'basket', ARGV[2], 'time', ARGV[3], 'stale', stale)
return {tostring(revision), ARGV[2], ARGV[3], stale}`

	// settleScript removes the stale baskets if the order is still in revision ARGV[1]. It returns what writeScript does.
	settleScript = `
local have = redis.call('HMGET', KEYS[1], 'revision', 'basket', 'time', 'stale')
if have[1] == ARGV[1] then redis.call('HDEL', KEYS[1], 'stale') end
for i = 1, 4 do have[i] = have[i] or '' end
return have`
)

// maxSettleRounds bounds how often the indexes of an order are updated that other writers keep changing. Each round means that
// another write was made meanwhile.
const maxSettleRounds = 100

// written is an order after a write.
type written struct {
	id       string
	revision string
	basket   string
	time     string
	stale    map[string]bool // baskets whose indexes must not list the order
}

// put writes orders. Of several with the same id, the last counts.
func (s redisStore) put(ctx context.Context, storeID string, orders []*orderv1.Order) error {
	last := make(map[string]*orderv1.Order, len(orders))
	for _, o := range orders {
		last[NormalID(o.GetOrderId())] = o
	}
	open := make([]*written, 0, len(last))
	pipe := s.redis.Pipeline()
	results := make([]*redis.Cmd, 0, len(last))
	for id, o := range last {
		raw, err := s.sealer.Marshal(placeOf(storeID, id, orderField), o)
		if err != nil {
			return fmt.Errorf("write orders: %w", err)
		}
		basket, err := s.sealer.SealLine(placeOf(storeID, id, basketField), basketOf(o).String())
		if err != nil {
			return fmt.Errorf("write orders: %w", err)
		}
		open = append(open, &written{id: id, stale: make(map[string]bool)})
		results = append(results, pipe.Eval(ctx, writeScript, []string{orderKey(storeID, id)},
			raw, basket, o.GetCreateTime().AsTime().UnixMilli()))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return state.Error("write orders", err)
	}
	for i, w := range open {
		if err := s.readWritten(storeID, w, results[i]); err != nil {
			return state.Error("write orders", err)
		}
	}
	for range maxSettleRounds {
		if len(open) == 0 {
			return nil
		}
		var err error
		if open, err = s.settle(ctx, storeID, open); err != nil {
			return state.Error("index orders", err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("index orders: order %q keeps changing", open[0].id)
	}
	return nil
}

// readWritten takes over what a script returned. A basket that is replaced becomes stale: its indexes were updated.
func (s redisStore) readWritten(storeID string, w *written, result *redis.Cmd) error {
	fields, err := result.StringSlice()
	if err != nil {
		return err
	}
	if len(fields) != 4 {
		return fmt.Errorf("%d fields of order %q, want 4", len(fields), w.id)
	}
	if w.basket != "" {
		w.stale[w.basket] = true
	}
	w.revision, w.time = fields[0], fields[2]
	at := placeOf(storeID, w.id, basketField)
	if w.basket, err = s.sealer.OpenLine(at, fields[1]); err != nil {
		return err
	}
	for line := range strings.Lines(fields[3]) {
		basket, err := s.sealer.OpenLine(at, strings.TrimSuffix(line, "\n"))
		if err != nil {
			return err
		}
		w.stale[basket] = true
	}
	delete(w.stale, w.basket)
	return nil
}

// settle updates the indexes of orders and returns the orders that another writer has changed meanwhile.
func (s redisStore) settle(ctx context.Context, storeID string, orders []*written) ([]*written, error) {
	pipe := s.redis.Pipeline()
	for _, w := range orders {
		placed, err := strconv.ParseInt(w.time, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("time of order %q: %w", w.id, err)
		}
		in := parseBasket(w.basket).keys(storeID)
		for _, key := range in {
			pipe.ZAdd(ctx, key, redis.Z{Score: float64(placed), Member: w.id})
		}
		for basket := range w.stale {
			for _, key := range parseBasket(basket).keys(storeID) {
				if !slices.Contains(in, key) {
					pipe.ZRem(ctx, key, w.id)
				}
			}
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	pipe = s.redis.Pipeline()
	results := make([]*redis.Cmd, len(orders))
	for i, w := range orders {
		results[i] = pipe.Eval(ctx, settleScript, []string{orderKey(storeID, w.id)}, w.revision)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var changed []*written
	for i, w := range orders {
		before := w.revision
		if err := s.readWritten(storeID, w, results[i]); err != nil {
			return nil, err
		}
		if w.revision != before {
			changed = append(changed, w)
		}
	}
	return changed, nil
}

// get returns an order of a customer.
func (s redisStore) get(ctx context.Context, storeID, customerID, id string) (*orderv1.Order, error) {
	return s.read(ctx, storeID, id, func(o *orderv1.Order) bool { return o.GetCustomerId() == customerID })
}

// guest returns an order to a guest with the right proof.
func (s redisStore) guest(ctx context.Context, storeID, id string, p Proof) (*orderv1.Order, error) {
	return s.read(ctx, storeID, id, p.of)
}

// read returns an order if it may be seen. A missing order and one that may not are the same *fault.NotFound.
func (s redisStore) read(ctx context.Context, storeID, id string, may func(*orderv1.Order) bool) (*orderv1.Order, error) {
	raw, err := s.redis.HGet(ctx, orderKey(storeID, id), orderField).Result()
	if errors.Is(err, redis.Nil) {
		return nil, notFound(id)
	}
	if err != nil {
		return nil, state.Error("read order", err)
	}
	order, err := s.decodeOrder(storeID, id, raw)
	if err != nil {
		return nil, err
	}
	if !may(order) {
		return nil, notFound(id)
	}
	return withoutProof(order), nil
}

// list returns a page of a customer's orders. It passes over entries of the index that a write which broke off has left there, and
// over orders that cannot be decoded, unless the page has no others.
func (s redisStore) list(ctx context.Context, storeID, customerID, token string, limit int) (page Page, err error) {
	var c fault.Checker
	after := pagetoken.Read(&c, token, pagetoken.ParseCursor)
	if err := c.Err(); err != nil {
		return Page{}, err
	}
	index := customerKey(storeID, customerID)
	total, err := s.redis.ZCard(ctx, index).Result()
	if err != nil || total == 0 {
		return Page{}, state.Error("count orders", err)
	}
	var last pagetoken.Cursor
	var skipped error
	_, err = state.ByTime(ctx, s.redis, index, math.MinInt64, math.MaxInt64, after, limit+1, func(at []pagetoken.Cursor) (more bool, err error) {
		ids := make([]string, len(at))
		for i, entry := range at {
			ids[i] = entry.ID
		}
		raws, err := s.fields(ctx, storeID, ids, orderField)
		if err != nil {
			return false, err
		}
		for _, entry := range at {
			order := &orderv1.Order{} // of no customer, where there is none
			if raw, ok := raws[entry.ID]; ok {
				decoded, err := s.decodeOrder(storeID, entry.ID, raw)
				if err != nil {
					state.SkipRecord(ctx, "order", storeID, entry.ID, err)
					skipped = err
					total--
					continue
				}
				order = decoded
			}
			switch {
			case order.GetCustomerId() != customerID: // another customer's now
				total--
			case len(page.Orders) == limit:
				page.Next = last.Token()
				return false, nil
			default:
				page.Orders, last = append(page.Orders, withoutProof(order)), entry
			}
		}
		return true, nil
	})
	switch {
	case err != nil:
		return Page{}, state.Error("list orders", err)
	case len(page.Orders) == 0 && skipped != nil: // "no orders" would be wrong, and a missing key makes all of them unreadable
		return Page{}, skipped
	}
	page.Total = max(len(page.Orders), int(total))
	return page, nil
}

// fields returns a field of orders, by order id, without the orders that there are not.
func (s redisStore) fields(ctx context.Context, storeID string, ids []string, name string) (map[string]string, error) {
	out := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	pipe := s.redis.Pipeline()
	values := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		values[i] = pipe.HGet(ctx, orderKey(storeID, id), name)
	}
	_, _ = pipe.Exec(ctx) // returns the first error only, which may be that an order is missing; each command has its own
	for i, value := range values {
		switch err := value.Err(); {
		case err == nil:
			out[ids[i]] = value.Val()
		case !errors.Is(err, redis.Nil):
			return nil, err
		}
	}
	return out, nil
}

// withoutProof takes off an order what proves that it is one's own.
func withoutProof(o *orderv1.Order) *orderv1.Order {
	o.Email, o.PostalCode = "", ""
	return o
}

func (s redisStore) decodeOrder(storeID, id, raw string) (*orderv1.Order, error) {
	order := &orderv1.Order{}
	if err := s.sealer.Unmarshal(placeOf(storeID, id, orderField), raw, order); err != nil {
		return nil, fmt.Errorf("read order: %w", err)
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

// settings returns the order settings of a store; empty settings when it has none.
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
