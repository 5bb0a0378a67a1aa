package promotions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
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
	slices.SortFunc(promotions, compareCodes)
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
