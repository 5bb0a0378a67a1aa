package carts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// redisStore keeps carts in Redis: one hash per cart, with the items and the version.
type redisStore struct {
	redis  redis.UniversalClient
	sealer *seal.Sealer // of the items; may be nil
	ttl    time.Duration
}

// stored is a cart as it is kept: product ids, variant ids and quantities only.
type stored struct {
	items   []*cartv1.CartItem
	version int64
	expire  time.Time // zero for a cart that was never written
}

// cartKey spreads carts over a Redis Cluster: each is in a slot of its own.
func cartKey(storeID, cartID string) string { return state.TaggedKey(storeID, cartID, "cart") }

// itemsOf is where the items of a cart are.
func itemsOf(storeID, cartID string) seal.Place {
	return seal.Place{Store: storeID, Key: cartKey(storeID, cartID), Field: "items"}
}

// load reads a cart. One that does not exist is empty, in version zero.
func (s redisStore) load(ctx context.Context, storeID, cartID string) (stored, error) {
	key := cartKey(storeID, cartID)
	pipe := s.redis.Pipeline()
	fields, ttl := pipe.HMGet(ctx, key, "items", "version"), pipe.PTTL(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil {
		return stored{}, state.Error("load cart", err)
	}
	raw, exists := fields.Val()[0].(string)
	version, _ := fields.Val()[1].(string)
	if !exists {
		return stored{}, nil
	}
	var kept cartv1.Cart
	if err := s.sealer.Unmarshal(itemsOf(storeID, cartID), raw, &kept); err != nil {
		return stored{}, fmt.Errorf("load cart: %w", err)
	}
	out := stored{items: kept.GetItems()}
	var err error
	if out.version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return stored{}, fmt.Errorf("decode cart: version %q: %w", version, err)
	}
	if ttl.Val() > 0 {
		out.expire = time.Now().Add(ttl.Val())
	}
	return out, nil
}

// saveScript writes ARGV[2] if the cart is still in version ARGV[1], and returns the new version, or minus one less the
// version that it found.
var saveScript = redis.NewScript(`
local have = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
if have ~= tonumber(ARGV[1]) then return -1 - have end
redis.call('HSET', KEYS[1], 'items', ARGV[2], 'version', have + 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return have + 1`)

// errChanged says that another writer changed the cart in between.
var errChanged = errors.New("the cart was changed meanwhile")

// save writes the items over the given version. Errors: errChanged, or state.Error's.
func (s redisStore) save(ctx context.Context, storeID, cartID string, over int64, items []*cartv1.CartItem) (stored, error) {
	raw, err := s.sealer.Marshal(itemsOf(storeID, cartID), &cartv1.Cart{Items: items})
	if err != nil {
		return stored{}, fmt.Errorf("save cart: %w", err)
	}
	keys := []string{cartKey(storeID, cartID)}
	version, err := saveScript.Run(ctx, s.redis, keys, over, raw, s.ttl.Milliseconds()).Int64()
	switch {
	case err != nil:
		return stored{}, state.Error("save cart", err)
	case version < 0:
		return stored{}, errChanged
	}
	return stored{items: items, version: version, expire: time.Now().Add(s.ttl)}, nil
}

// attempts bounds how often a write is done again because of another writer.
const attempts = 10

// change loads the cart, applies edit to its items and saves them, again if another writer changes the cart in between. With an
// expected version, the cart must be in it. edit must not change the slice that it gets.
func (s redisStore) change(
	ctx context.Context, storeID, cartID string, expected *int64, edit func([]*cartv1.CartItem) ([]*cartv1.CartItem, error),
) (stored, error) {
	for range attempts {
		have, err := s.load(ctx, storeID, cartID)
		if err != nil {
			return stored{}, err
		}
		if expected != nil && *expected != have.version {
			return stored{}, versionMismatch(*expected, have.version)
		}
		items, err := edit(have.items)
		if err != nil {
			return stored{}, err
		}
		saved, err := s.save(ctx, storeID, cartID, have.version, items)
		if !errors.Is(err, errChanged) {
			return saved, err
		}
	}
	return stored{}, &fault.Unavailable{
		Reason: commonv1.ErrorReason_ERROR_REASON_STATE_UNAVAILABLE, What: "save cart", Err: errChanged,
	}
}

func versionMismatch(expected, current int64) error {
	return &fault.Precondition{
		Reason:      commonv1.ErrorReason_ERROR_REASON_VERSION_MISMATCH,
		Subject:     "cart", // its id may be that of a customer
		Description: fmt.Sprintf("is in version %d, not %d; read it again and repeat the change", current, expected),
		Metadata:    map[string]string{"current_version": strconv.FormatInt(current, 10)},
	}
}

func settingsKey(storeID string) string { return state.Key(storeID, "carts", "settings") }

// settings returns what a store says of its carts. A store that has said nothing has empty ones.
func (s redisStore) settings(ctx context.Context, storeID string) (*cartv1.CartSettings, error) {
	out := &cartv1.CartSettings{}
	raw, err := s.redis.Get(ctx, settingsKey(storeID)).Bytes()
	if errors.Is(err, redis.Nil) {
		return out, nil
	}
	if err != nil {
		return nil, state.Error("read cart settings", err)
	}
	if err := proto.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode cart settings: %w", err)
	}
	return out, nil
}

func (s redisStore) putSettings(ctx context.Context, storeID string, settings *cartv1.CartSettings) error {
	raw, err := proto.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encode cart settings: %w", err)
	}
	return state.Error("write cart settings", s.redis.Set(ctx, settingsKey(storeID), raw, 0).Err())
}

// open refuses the carts of a store that has none.
func (s redisStore) open(ctx context.Context, storeID string) error {
	settings, err := s.settings(ctx, storeID)
	if err == nil && settings.GetNoCart() {
		err = cartclient.NoCart(storeID)
	}
	return err
}
