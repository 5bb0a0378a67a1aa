package promotions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/promotions/engine"
)

// store keeps promotions in one Redis hash for each store, by upper-case code.
type store struct {
	redis redis.UniversalClient
}

func key(storeID string) string { return state.Key(storeID, "promotions") }

// put writes promotions in one command, so that readers see all of them or none.
func (s store) put(ctx context.Context, storeID string, promotions []*promotionv1.Promotion) error {
	if len(promotions) == 0 {
		return nil
	}
	fields := make([]any, 0, 2*len(promotions))
	for _, p := range promotions {
		raw, err := proto.Marshal(p)
		if err != nil {
			return fmt.Errorf("encode promotion: %w", err)
		}
		fields = append(fields, strings.ToUpper(p.GetCode()), raw)
	}
	return state.Error("write promotions", s.redis.HSet(ctx, key(storeID), fields...).Err())
}

// list returns the promotions of a store, ordered by code.
func (s store) list(ctx context.Context, storeID string) ([]*promotionv1.Promotion, error) {
	all, err := s.redis.HGetAll(ctx, key(storeID)).Result()
	if err != nil {
		return nil, state.Error("read promotions", err)
	}
	promotions := make([]*promotionv1.Promotion, 0, len(all))
	for code, raw := range all {
		p := &promotionv1.Promotion{}
		if err := proto.Unmarshal([]byte(raw), p); err != nil {
			return nil, fmt.Errorf("decode promotion %q: %w", code, err)
		}
		promotions = append(promotions, p)
	}
	slices.SortFunc(promotions, engine.CompareCodes)
	return promotions, nil
}

// delete removes a promotion and its uses, and reports whether there was one.
func (s store) delete(ctx context.Context, storeID, code string) (bool, error) {
	var removed *redis.IntCmd
	_, err := s.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		removed = tx.HDel(ctx, key(storeID), strings.ToUpper(code))
		tx.Del(ctx, usageKey(storeID, code))
		return nil
	})
	return removed.Val() > 0, state.Error("delete promotion", err)
}

// has reports whether a store has any promotion.
func (s store) has(ctx context.Context, storeID string) (bool, error) {
	n, err := s.redis.HLen(ctx, key(storeID)).Result()
	return n > 0, state.Error("count promotions", err)
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
func (s store) used(ctx context.Context, storeID, customerID string, promotions []*promotionv1.Promotion) (map[string]engine.Use, error) {
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
	used := make(map[string]engine.Use, len(replies))
	for code, reply := range replies {
		all, err := countOf(reply.Val()[0])
		own, errOwn := countOf(reply.Val()[1])
		if err := errors.Join(err, errOwn); err != nil {
			return nil, fmt.Errorf("read uses of promotion %q: %w", code, err)
		}
		used[code] = engine.Use{All: all, Own: own}
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
