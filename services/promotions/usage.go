package promotions

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

const maxCodesAnOrder = 100

// use is how often a promotion was used: by all, and by the customer at hand.
type use struct {
	all, own int64
}

// A promotion's uses are a hash of their own: "all" and "customer:ID" are counts, and "order:ID" is the customer of an
// order that was counted, which makes both calls safe to repeat.
const (
	allField    = "all"
	ownField    = "customer:"
	recordWords = `
local counts = {}
for i, key in ipairs(KEYS) do
  local changed = redis.call('HSETNX', key, 'order:' .. ARGV[1], ARGV[2])
  if changed == 1 then
    redis.call('HINCRBY', key, 'all', 1)
    if ARGV[2] ~= '' then redis.call('HINCRBY', key, 'customer:' .. ARGV[2], 1) end
  end
  counts[2*i-1], counts[2*i] = changed, tonumber(redis.call('HGET', key, 'all'))
end
return counts`
	releaseWords = `
local counts = {}
for i, key in ipairs(KEYS) do
  local customer = redis.call('HGET', key, 'order:' .. ARGV[1])
  if customer then
    redis.call('HDEL', key, 'order:' .. ARGV[1])
    redis.call('HINCRBY', key, 'all', -1)
    if customer ~= '' then redis.call('HINCRBY', key, 'customer:' .. customer, -1) end
  end
  counts[2*i-1], counts[2*i] = customer and 1 or 0, tonumber(redis.call('HGET', key, 'all') or 0)
end
return counts`
)

var (
	recordScript  = redis.NewScript(recordWords)
	releaseScript = redis.NewScript(releaseWords)
)

func usageKey(storeID, code string) string {
	return state.Key(storeID, "promotion_usage", strings.ToUpper(code))
}

// RecordUsage counts the promotions of one order.
func (s *server) RecordUsage(ctx context.Context, req *promotionv1.RecordUsageRequest) (*promotionv1.RecordUsageResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("order_id", req.GetOrderId())
	c.OptionalID("customer_id", req.GetCustomerId())
	checkUsedCodes(&c, req.GetCodes())
	if err := c.Err(); err != nil {
		return nil, err
	}
	usages, err := s.store.count(ctx, recordScript, req.GetStoreId(), req.GetCodes(), req.GetOrderId(), req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	return &promotionv1.RecordUsageResponse{Usages: usages}, nil
}

// ReleaseUsage takes back what RecordUsage counted.
func (s *server) ReleaseUsage(ctx context.Context, req *promotionv1.ReleaseUsageRequest) (*promotionv1.ReleaseUsageResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("order_id", req.GetOrderId())
	checkUsedCodes(&c, req.GetCodes())
	if err := c.Err(); err != nil {
		return nil, err
	}
	usages, err := s.store.count(ctx, releaseScript, req.GetStoreId(), req.GetCodes(), req.GetOrderId())
	if err != nil {
		return nil, err
	}
	return &promotionv1.ReleaseUsageResponse{Usages: usages}, nil
}

func checkUsedCodes(c *fault.Checker, codes []string) {
	if n := len(codes); n == 0 || n > maxCodesAnOrder {
		c.Addf("codes", "has %d entries, must have 1 to %d", n, maxCodesAnOrder)
		return
	}
	for i, code := range codes {
		checkCode(c, fault.At("codes", i), code)
		if containsCode(codes[:i], code) {
			c.Addf(fault.At("codes", i), "is named twice")
		}
	}
}

// count runs a script, which changes all counts of an order or none, and returns them.
func (s store) count(ctx context.Context, script *redis.Script, storeID string, codes []string, args ...any) ([]*promotionv1.Usage, error) {
	keys := make([]string, len(codes))
	for i, code := range codes {
		keys[i] = usageKey(storeID, code)
	}
	counts, err := script.Run(ctx, s.redis, keys, args...).Int64Slice()
	if err != nil {
		return nil, state.Error("count promotions", err)
	}
	if len(counts) != 2*len(codes) {
		return nil, fmt.Errorf("count promotions: %d figures for %d codes", len(counts), len(codes))
	}
	usages := make([]*promotionv1.Usage, len(codes))
	for i, code := range codes {
		usages[i] = &promotionv1.Usage{Code: strings.ToUpper(code), Changed: counts[2*i] == 1, UsedCount: counts[2*i+1]}
	}
	return usages, nil
}

// used reads how often the promotions that have a limit were used, by all and by a customer, who may be nobody.
func (s store) used(ctx context.Context, storeID, customerID string, promotions []*promotionv1.Promotion) (map[string]use, error) {
	replies := make(map[string]*redis.SliceCmd)
	pipe := s.redis.Pipeline()
	for _, p := range promotions {
		if p.GetUsageLimit() > 0 || p.GetUsageLimitPerCustomer() > 0 {
			code := strings.ToUpper(p.GetCode())
			replies[code] = pipe.HMGet(ctx, usageKey(storeID, code), allField, ownField+customerID)
		}
	}
	if len(replies) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, state.Error("read uses of promotions", err)
	}
	used := make(map[string]use, len(replies))
	for code, reply := range replies {
		all, err := countOf(reply.Val()[0])
		own, errOwn := countOf(reply.Val()[1])
		if err := errors.Join(err, errOwn); err != nil {
			return nil, fmt.Errorf("read uses of promotion %q: %w", code, err)
		}
		used[code] = use{all, own}
	}
	return used, nil
}

// countOf reads a field of a hash, which is nil when it is not there.
func countOf(field any) (int64, error) {
	text, ok := field.(string)
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}
