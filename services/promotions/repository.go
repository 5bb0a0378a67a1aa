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

// repository keeps promotions in one Redis hash for each store, by upper-case code.
type repository struct {
	redis redis.UniversalClient
}

func key(storeID string) string { return state.Key(storeID, "promotions") }

// put writes promotions in one command, so that readers see all of them or none.
func (r repository) put(ctx context.Context, storeID string, promotions []*promotionv1.Promotion) error {
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
	return state.Error("write promotions", r.redis.HSet(ctx, key(storeID), fields...).Err())
}

// list returns the promotions of a store, ordered by code, without those that cannot be decoded.
func (r repository) list(ctx context.Context, storeID string) ([]*promotionv1.Promotion, error) {
	all, err := r.redis.HGetAll(ctx, key(storeID)).Result()
	if err != nil {
		return nil, state.Error("read promotions", err)
	}
	promotions := make([]*promotionv1.Promotion, 0, len(all))
	for code, raw := range all {
		if p := decode(ctx, storeID, code, raw); p != nil {
			promotions = append(promotions, p)
		}
	}
	slices.SortFunc(promotions, engine.CompareCodes)
	return promotions, nil
}

// page returns up to limit promotions of a store, by code, after an upper-case code, and the last code, "" when there are no more. Limit 0
// is as many as one message holds.
func (r repository) page(ctx context.Context, storeID, after string, limit int) (promotions []*promotionv1.Promotion, next string, err error) {
	promotions, next, err = state.HashPage(ctx, r.redis, key(storeID), after, limit, func(code, raw string) *promotionv1.Promotion {
		return decode(ctx, storeID, code, raw)
	})
	return promotions, next, state.Error("read promotions", err)
}

// decode returns a promotion, or nil for one that cannot be decoded.
func decode(ctx context.Context, storeID, code, raw string) *promotionv1.Promotion {
	p := &promotionv1.Promotion{}
	if err := proto.Unmarshal([]byte(raw), p); err != nil {
		state.SkipRecord(ctx, "promotion", storeID, code, err)
		return nil
	}
	return p
}

// has reports whether a store has any promotion.
func (r repository) has(ctx context.Context, storeID string) (bool, error) {
	n, err := r.redis.HLen(ctx, key(storeID)).Result()
	return n > 0, state.Error("count promotions", err)
}

// Fields of the uses of a promotion, a hash: "all" and "customer:ID" are counts, and "order:ID" is the customer of an order that
// was counted, which makes a repeated call change nothing.
const (
	allField = "all"
	ownField = "customer:"
)

// Scripts on the uses of one promotion. Both return whether the counts changed, and how often the promotion was used.
const (
	// recordScript counts order ARGV[1] of customer ARGV[2], who may be "".
	recordScript = `
local changed = redis.call('HSETNX', KEYS[1], 'order:' .. ARGV[1], ARGV[2])
if changed == 1 then
  redis.call('HINCRBY', KEYS[1], 'all', 1)
  if ARGV[2] ~= '' then redis.call('HINCRBY', KEYS[1], 'customer:' .. ARGV[2], 1) end
end
return {changed, tonumber(redis.call('HGET', KEYS[1], 'all'))}`

	// releaseScript takes order ARGV[1] back.
	releaseScript = `
local customer = redis.call('HGET', KEYS[1], 'order:' .. ARGV[1])
if customer then
  redis.call('HDEL', KEYS[1], 'order:' .. ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'all', -1)
  if customer ~= '' then redis.call('HINCRBY', KEYS[1], 'customer:' .. customer, -1) end
end
return {customer and 1 or 0, tonumber(redis.call('HGET', KEYS[1], 'all') or 0)}`
)

// usageKey spreads the uses of promotions over a Redis Cluster: each code has a slot of its own.
func usageKey(storeID, code string) string {
	return state.TaggedKey(storeID, "promotion/"+strings.ToUpper(code), "usage")
}

// delete removes a promotion and then its uses, and reports whether there was a promotion. After an error it can be repeated:
// the second call removes what is left.
func (r repository) delete(ctx context.Context, storeID, code string) (bool, error) {
	removed, err := r.redis.HDel(ctx, key(storeID), strings.ToUpper(code)).Result()
	if err == nil {
		err = r.redis.Del(ctx, usageKey(storeID, code)).Err()
	}
	return removed > 0, state.Error("delete promotion", err)
}

// count runs a script on the uses of each code and returns what they are then. After an error some codes may have been counted
// and others not; a repeated call counts the rest, and none twice.
func (r repository) count(ctx context.Context, script, storeID string, codes []string, args ...any) ([]*promotionv1.Usage, error) {
	pipe := r.redis.Pipeline()
	replies := make([]*redis.Cmd, len(codes))
	for i, code := range codes {
		replies[i] = pipe.Eval(ctx, script, []string{usageKey(storeID, code)}, args...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, state.Error("count promotions", err)
	}
	usages := make([]*promotionv1.Usage, len(codes))
	for i, code := range codes {
		counts, err := replies[i].Int64Slice()
		if err != nil {
			return nil, state.Error("count promotions", err)
		}
		if len(counts) != 2 {
			return nil, fmt.Errorf("count promotions: %d figures for a code, want 2", len(counts))
		}
		usages[i] = &promotionv1.Usage{Code: strings.ToUpper(code), Changed: counts[0] == 1, UsedCount: counts[1]}
	}
	return usages, nil
}

// used reads how often the promotions that have a limit were used, by all customers and by one. An empty customerID is a guest.
func (r repository) used(ctx context.Context, storeID, customerID string, promotions []*promotionv1.Promotion) (map[string]engine.Use, error) {
	replies := make(map[string]*redis.SliceCmd)
	pipe := r.redis.Pipeline()
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
