package search

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// store keeps products in Redis: a hash of products, a version that each write raises, and a capped stream of changed
// product ids. An entry of the stream is named "<version>-<n>", n from 1, and the first of a version has the version before
// it, so that a reader sees whether any is missing.
type store struct {
	rdb redis.UniversalClient
}

const (
	// changesKept bounds the stream of changes, about. A replica that is further behind loads everything.
	changesKept = 10_000
	// readBatch is how many products one command reads.
	readBatch = 500
)

// bumpVersion raises the version in KEYS[2] to the clock (ARGV[1], Unix milliseconds), or by one where it is ahead of that.
// So no version comes twice with other products behind it, although Redis forgot the last writes when it was restarted or
// its replica took over: a version that readers have seen is older than the clock by then.
const bumpVersion = `
local before = tonumber(redis.call('GET', KEYS[2]) or 0)
local version = math.max(before + 1, tonumber(ARGV[1]))
redis.call('SET', KEYS[2], string.format('%d', version))
if before == 0 then redis.call('DEL', KEYS[3]) end
local function changed(n, id)
  local entry = {'id', id}
  if n == 1 then entry = {'id', id, 'after', string.format('%d', before)} end
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[2], string.format('%d-%d', version, n), unpack(entry))
end
`

var putScript = redis.NewScript(bumpVersion + `
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  changed((i - 1) / 2, ARGV[i])
end
return version`)

var deleteScript = redis.NewScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return 0 end
` + bumpVersion + `
redis.call('HDEL', KEYS[1], ARGV[3])
changed(1, ARGV[3])
return version`)

func productKeys(storeID string) []string {
	return []string{state.Key(storeID, "catalog", "products"), versionKey(storeID), changesKey(storeID)}
}

func versionKey(storeID string) string { return state.Key(storeID, "catalog", "version") }
func changesKey(storeID string) string { return state.Key(storeID, "catalog", "changes") }

// put writes products in one step and returns the version that holds them.
func (s store) put(ctx context.Context, storeID string, products []*catalogv1.Product) (int64, error) {
	args := make([]any, 0, 2+2*len(products))
	args = append(args, time.Now().UnixMilli(), changesKept)
	for _, p := range products {
		raw, err := proto.Marshal(p)
		if err != nil {
			return 0, fmt.Errorf("encode product %q: %w", p.GetProductId(), err)
		}
		args = append(args, p.GetProductId(), raw)
	}
	version, err := putScript.Run(ctx, s.rdb, productKeys(storeID), args...).Int64()
	return version, state.Error("write products", err)
}

// remove deletes a product and reports whether there was one.
func (s store) remove(ctx context.Context, storeID, productID string) (bool, error) {
	version, err := deleteScript.Run(ctx, s.rdb, productKeys(storeID), time.Now().UnixMilli(), changesKept, productID).Int64()
	return version > 0, state.Error("delete product", err)
}

// version returns the store's version, zero when nothing was ever written.
func (s store) version(ctx context.Context, storeID string) (int64, error) {
	v, err := s.rdb.Get(ctx, versionKey(storeID)).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return v, state.Error("read catalog version", err)
}

// change is what has happened to products between two versions.
type change struct {
	version int64
	put     []*catalogv1.Product
	removed []string
}

// since returns the changes after a version, and false if they are no longer all known.
func (s store) since(ctx context.Context, storeID string, version int64) (change, bool, error) {
	entries, err := s.rdb.XRange(ctx, changesKey(storeID), strconv.FormatInt(version+1, 10), "+").Result()
	if err != nil {
		return change{}, false, state.Error("read catalog changes", err)
	}
	if len(entries) == 0 || entries[0].Values["after"] != strconv.FormatInt(version, 10) {
		return change{}, false, nil
	}
	last, _, _ := strings.Cut(entries[len(entries)-1].ID, "-")
	c := change{}
	if c.version, err = strconv.ParseInt(last, 10, 64); err != nil {
		return change{}, false, fmt.Errorf("read catalog changes: version %q: %w", last, err)
	}
	seen := make(map[string]bool, len(entries))
	var ids []string
	for _, e := range entries {
		if id, _ := e.Values["id"].(string); id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	err = s.fetch(ctx, storeID, ids, &c)
	return c, err == nil, err
}

// fetch reads the products of ids as they are now.
func (s store) fetch(ctx context.Context, storeID string, ids []string, into *change) error {
	for len(ids) > 0 {
		batch := ids[:min(readBatch, len(ids))]
		ids = ids[len(batch):]
		values, err := s.rdb.HMGet(ctx, productKeys(storeID)[0], batch...).Result()
		if err != nil {
			return state.Error("read products", err)
		}
		for i, value := range values {
			raw, ok := value.(string)
			if !ok {
				into.removed = append(into.removed, batch[i])
				continue
			}
			if err := into.add(batch[i], raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads the whole catalog, as of the returned version or later: what is written meanwhile is seen again through
// the changes.
func (s store) load(ctx context.Context, storeID string) (change, error) {
	version, err := s.version(ctx, storeID)
	if err != nil {
		return change{}, err
	}
	c := change{version: version}
	seen := make(map[string]bool)
	for cursor := uint64(0); ; {
		var fields []string
		fields, cursor, err = s.rdb.HScan(ctx, productKeys(storeID)[0], cursor, "", readBatch).Result()
		if err != nil {
			return change{}, state.Error("read products", err)
		}
		for i := 0; i+1 < len(fields); i += 2 {
			if seen[fields[i]] {
				continue // HSCAN may return a field twice
			}
			seen[fields[i]] = true
			if err := c.add(fields[i], fields[i+1]); err != nil {
				return change{}, err
			}
		}
		if cursor == 0 {
			return c, nil
		}
	}
}

func (c *change) add(id, raw string) error {
	p := new(catalogv1.Product)
	if err := proto.Unmarshal([]byte(raw), p); err != nil {
		return fmt.Errorf("decode product %q: %w", id, err)
	}
	c.put = append(c.put, p)
	return nil
}
