// Package catalog keeps the products of the stores in Redis: it validates and writes them, and tells readers what has changed
// since a version. A write is seen by every read that begins after it has returned.
//
// The package knows nothing of searching: it must not import package index or a backend.
package catalog

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// Store keeps products in Redis: a hash of products, a version that each write raises, and a capped stream of changed
// product ids. An entry of the stream is named "<version>-<n>", n from 1, and the first of a version has the version before
// it, so that a reader sees whether any is missing.
type Store struct {
	Redis redis.UniversalClient
}

const (
	// ChangesKept bounds the stream of changes, about. A replica that is further behind loads everything.
	ChangesKept = 10_000
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

func ProductKeys(storeID string) []string {
	return []string{state.Key(storeID, "catalog", "products"), VersionKey(storeID), ChangesKey(storeID)}
}

func VersionKey(storeID string) string { return state.Key(storeID, "catalog", "version") }
func ChangesKey(storeID string) string { return state.Key(storeID, "catalog", "changes") }

// Put writes products in one step and returns the version that holds them.
func (s Store) Put(ctx context.Context, storeID string, products []*catalogv1.Product) (int64, error) {
	args := make([]any, 0, 2+2*len(products))
	args = append(args, time.Now().UnixMilli(), ChangesKept)
	for _, p := range products {
		raw, err := proto.Marshal(p)
		if err != nil {
			return 0, fmt.Errorf("encode product %q: %w", p.GetProductId(), err)
		}
		args = append(args, p.GetProductId(), raw)
	}
	version, err := putScript.Run(ctx, s.Redis, ProductKeys(storeID), args...).Int64()
	return version, state.Error("write products", err)
}

// Remove deletes a product and reports whether there was one.
func (s Store) Remove(ctx context.Context, storeID, productID string) (bool, error) {
	version, err := deleteScript.Run(ctx, s.Redis, ProductKeys(storeID), time.Now().UnixMilli(), ChangesKept, productID).Int64()
	return version > 0, state.Error("delete product", err)
}

// Version returns the store's version, zero when nothing was ever written.
func (s Store) Version(ctx context.Context, storeID string) (int64, error) {
	v, err := s.Redis.Get(ctx, VersionKey(storeID)).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return v, state.Error("read catalog version", err)
}

// Change is what has happened to products between two versions.
type Change struct {
	Version int64
	Put     []*catalogv1.Product
	Removed []string
}

// Changes returns the changes after a version, and false if they are no longer all known.
func (s Store) Changes(ctx context.Context, storeID string, version int64) (Change, bool, error) {
	entries, err := s.Redis.XRange(ctx, ChangesKey(storeID), strconv.FormatInt(version+1, 10), "+").Result()
	if err != nil {
		return Change{}, false, state.Error("read catalog changes", err)
	}
	if len(entries) == 0 || entries[0].Values["after"] != strconv.FormatInt(version, 10) {
		return Change{}, false, nil
	}
	last, _, _ := strings.Cut(entries[len(entries)-1].ID, "-")
	c := Change{}
	if c.Version, err = strconv.ParseInt(last, 10, 64); err != nil {
		return Change{}, false, fmt.Errorf("read catalog changes: version %q: %w", last, err)
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
func (s Store) fetch(ctx context.Context, storeID string, ids []string, into *Change) error {
	products, err := s.Get(ctx, storeID, ids)
	for i, p := range products {
		if p != nil {
			into.Put = append(into.Put, p)
		} else {
			into.Removed = append(into.Removed, ids[i])
		}
	}
	return err
}

// Get returns the products of ids, in order, nil where there is none.
func (s Store) Get(ctx context.Context, storeID string, ids []string) ([]*catalogv1.Product, error) {
	out := make([]*catalogv1.Product, 0, len(ids))
	for len(ids) > 0 {
		batch := ids[:min(readBatch, len(ids))]
		ids = ids[len(batch):]
		values, err := s.Redis.HMGet(ctx, ProductKeys(storeID)[0], batch...).Result()
		if err != nil {
			return nil, state.Error("read products", err)
		}
		for i, value := range values {
			raw, ok := value.(string)
			if !ok {
				out = append(out, nil)
				continue
			}
			p, err := decode(batch[i], raw)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// Load reads the whole catalog, as of the returned version or later: what is written meanwhile is seen again through
// the changes.
func (s Store) Load(ctx context.Context, storeID string) (Change, error) {
	version, err := s.Version(ctx, storeID)
	if err != nil {
		return Change{}, err
	}
	c := Change{Version: version}
	seen := make(map[string]bool)
	for cursor := uint64(0); ; {
		var fields []string
		fields, cursor, err = s.Redis.HScan(ctx, ProductKeys(storeID)[0], cursor, "", readBatch).Result()
		if err != nil {
			return Change{}, state.Error("read products", err)
		}
		for i := 0; i+1 < len(fields); i += 2 {
			if seen[fields[i]] {
				continue // HSCAN may return a field twice
			}
			seen[fields[i]] = true
			p, err := decode(fields[i], fields[i+1])
			if err != nil {
				return Change{}, err
			}
			c.Put = append(c.Put, p)
		}
		if cursor == 0 {
			return c, nil
		}
	}
}

func decode(id, raw string) (*catalogv1.Product, error) {
	p := new(catalogv1.Product)
	if err := proto.Unmarshal([]byte(raw), p); err != nil {
		return nil, fmt.Errorf("decode product %q: %w", id, err)
	}
	return p, nil
}

// Update applies updates to the products that they name, in order, and returns the version that holds them, zero when they
// changed nothing, and what is wrong with those that do not fit the products as they are.
func (s Store) Update(
	ctx context.Context, storeID string, updates []*catalogv1.VariantUpdate,
) (version int64, refused bulk.Refused, err error) {
	var ids []string
	of := make(map[string][]int) // positions of a product's updates
	for i, u := range updates {
		if of[u.GetProductId()] == nil {
			ids = append(ids, u.GetProductId())
		}
		of[u.GetProductId()] = append(of[u.GetProductId()], i)
	}
	refused = make(bulk.Refused)
	version, err = s.edit(ctx, storeID, ids, func(id string, p *catalogv1.Product) {
		for _, i := range of[id] {
			delete(refused, i) // said of the product as it was before
			var invalid *fault.Invalid
			if errors.As(applyUpdate(p, updates[i]), &invalid) {
				refused[i] = invalid
			}
		}
	})
	return version, refused, err
}

// applyUpdate changes a variant of p, which is nil when there is no such product. With an error it changes nothing.
func applyUpdate(p *catalogv1.Product, u *catalogv1.VariantUpdate) error {
	var c fault.Checker
	if p == nil {
		c.Addf("product_id", "the store has no product %q; upsert it whole first", u.GetProductId())
		return c.Err()
	}
	at := slices.IndexFunc(p.GetVariants(), func(v *catalogv1.Variant) bool { return v.GetVariantId() == u.GetVariantId() })
	if at < 0 {
		c.Addf("variant_id", "the product has no variant %q; it has %s", u.GetVariantId(), variantNames(p))
		return c.Err()
	}
	old := p.GetVariants()[at]
	v := proto.CloneOf(old)
	if u.GetPrice() != nil {
		v.Price = u.GetPrice()
	}
	if u.GetListPrice() != nil {
		v.ListPrice = u.GetListPrice()
	}
	if u.GetClearListPrice() {
		v.ListPrice = nil
	}
	if u.Stock != nil {
		v.Stock = u.GetStock()
	}
	checkUpdated(&c, v, old.GetPrice().GetCurrencyCode())
	if err := c.Err(); err != nil {
		return err
	}
	p.Variants[at] = v
	return nil
}

// checkUpdated checks the prices that an update makes, which must stay in the currency of the product.
func checkUpdated(c *fault.Checker, v *catalogv1.Variant, code string) {
	currency := func(field string, m *commonv1.Money) {
		if m != nil && m.GetCurrencyCode() != code {
			c.Addf(field+".currency_code", "is %q, must be %q as it was; upsert the product whole to change it", m.GetCurrencyCode(), code)
		}
	}
	currency("price", v.GetPrice())
	currency("list_price", v.GetListPrice())
	if l := v.GetListPrice(); l != nil && l.GetAmountMinor() <= v.GetPrice().GetAmountMinor() {
		c.Addf("list_price.amount_minor", "would be %d, must be above the price, %d; set list_price, or clear_list_price to end the markdown",
			l.GetAmountMinor(), v.GetPrice().GetAmountMinor())
	}
}

// maxNamed bounds the variants that an error lists.
const maxNamed = 8

// variantNames lists the variants of a product.
func variantNames(p *catalogv1.Product) string {
	var ids []string
	for _, v := range p.GetVariants()[:min(maxNamed, len(p.GetVariants()))] {
		ids = append(ids, v.GetVariantId())
	}
	if more := len(p.GetVariants()) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ids, ", ")
}

// editScript writes those of the products that are still what was read of them: of each it gets the id, the SHA-1 of what was
// read and what is to be written. It returns the version, zero when it wrote none, and the ids that others have written.
var editScript = redis.NewScript(`
local fits, stale = {}, {}
for i = 3, #ARGV, 3 do
  local now = redis.call('HGET', KEYS[1], ARGV[i])
  if now and redis.sha1hex(now) == ARGV[i + 1] then
    fits[#fits + 1] = i
  else
    stale[#stale + 1] = ARGV[i]
  end
end
if #fits == 0 then return {0, stale} end
` + bumpVersion + `
for n, i in ipairs(fits) do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
  changed(n, ARGV[i])
end
return {version, stale}`)

// edit changes products in place, each in one step with reading it: change gets a product as it is now, nil when there is
// none, and is called again for one that somebody else has written meanwhile. ids must not repeat. It returns the version that
// holds the changes, zero when nothing is different.
func (s Store) edit(
	ctx context.Context, storeID string, ids []string, change func(id string, p *catalogv1.Product),
) (version int64, err error) {
	for len(ids) > 0 {
		batch := ids[:min(readBatch, len(ids))]
		ids = ids[len(batch):]
		for len(batch) > 0 { // each further round means that another write got through
			args, err := s.readEdits(ctx, storeID, batch, change)
			if err != nil {
				return version, err
			}
			if len(args) == 0 {
				break
			}
			written, stale, err := s.compareAndSet(ctx, storeID, args)
			if err != nil {
				return version, err
			}
			version, batch = max(version, written), stale
		}
	}
	return version, nil
}

// readEdits reads products, hands them to change and returns what editScript needs of those that it changed.
func (s Store) readEdits(
	ctx context.Context, storeID string, ids []string, change func(id string, p *catalogv1.Product),
) (args []any, err error) {
	values, err := s.Redis.HMGet(ctx, ProductKeys(storeID)[0], ids...).Result()
	if err != nil {
		return nil, state.Error("read products", err)
	}
	written := timestamppb.Now()
	for i, value := range values {
		raw, ok := value.(string)
		if !ok {
			change(ids[i], nil)
			continue
		}
		before, err := decode(ids[i], raw)
		if err != nil {
			return nil, err
		}
		after := proto.CloneOf(before)
		change(ids[i], after)
		if proto.Equal(before, after) {
			continue
		}
		after.UpdateTime = written
		now, err := proto.Marshal(after)
		if err != nil {
			return nil, fmt.Errorf("encode product %q: %w", ids[i], err)
		}
		sum := sha1.Sum([]byte(raw))
		args = append(args, ids[i], hex.EncodeToString(sum[:]), now)
	}
	return args, nil
}

// compareAndSet runs editScript.
func (s Store) compareAndSet(ctx context.Context, storeID string, products []any) (version int64, stale []string, err error) {
	args := append([]any{time.Now().UnixMilli(), ChangesKept}, products...)
	reply, err := editScript.Run(ctx, s.Redis, ProductKeys(storeID), args...).Slice()
	if err != nil {
		return 0, nil, state.Error("write products", err)
	}
	version, _ = reply[0].(int64)
	left, _ := reply[1].([]any)
	for _, id := range left {
		stale = append(stale, fmt.Sprint(id))
	}
	return version, stale, nil
}
