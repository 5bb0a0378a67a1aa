package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// manifest says in Redis what a cluster's collection holds of a store: its products, and statistics of them all. The writer of a
// collection holds a lease.
type manifest struct {
	rdb     redis.UniversalClient
	storeID string
	token   string // of the lease that a writer holds
}

// checkLease begins the scripts that only the holder of the lease may run: KEYS[1] is the lease, ARGV[1] its token.
const checkLease = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('OVERTAKEN') end
`

// errLeaseLost says that a writer did not extend its lease in time and that another replica has taken it.
var errLeaseLost = errors.New("another replica has taken over the writing")

// leaseError is the error of a writer's script.
func leaseError(err error) error {
	if err != nil && strings.Contains(err.Error(), "OVERTAKEN") {
		return errLeaseLost
	}
	return state.Error("write index", err)
}

// record is a product in the manifest.
type record struct {
	Hash uuid.UUID `json:"h"` // of what the product says
	Text string    `json:"t"` // of what is embedded of it
	Sums string    `json:"s"` // what it adds to the sums
}

// status is the state of a store's catalog in Redis and in the cluster.
type status struct {
	version int64            // of the catalog; zero: there is none
	active  string           // the collection that is searched; empty: none yet
	indexed map[string]int64 // version that a collection is up to, zero while it is filled the first time
	// positions are what the writers of collections have seen of the catalog.
	positions map[string]catalog.Position
	sums      map[string]int64 // revision of a collection's sums
}

func (m manifest) statusKey() string { return state.Key(m.storeID, "index", "status") }

// keys are all that belong to a collection: records, sums, stems, the counts of the sample, and which products the objects are.
func (m manifest) keys(collection string) []string {
	var out []string
	for _, part := range [...]string{"records", "sums", "stems", "sample", "objects"} {
		out = append(out, state.Key(m.storeID, "index", collection, part))
	}
	return out
}

// leaseKey is the key of the lease that the only writer of a collection holds.
func (m manifest) leaseKey(collection string) string {
	return state.Key(m.storeID, "index", collection, "lease")
}

// status reads how the store stands.
func (m manifest) status(ctx context.Context) (status, error) {
	st := status{indexed: make(map[string]int64), positions: make(map[string]catalog.Position), sums: make(map[string]int64)}
	pipe := m.rdb.Pipeline()
	version, all := pipe.Get(ctx, catalog.VersionKey(m.storeID)), pipe.HGetAll(ctx, m.statusKey())
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return st, state.Error("read catalog version", err)
	}
	if v, err := version.Int64(); err == nil {
		st.version = v
	}
	for field, value := range all.Val() {
		collection, what, _ := strings.Cut(field, " ")
		n, _ := strconv.ParseInt(value, 10, 64) // zero for what is no number
		switch {
		case field == "active":
			st.active = value
		case what == "version":
			st.indexed[collection] = n
		case what == "position":
			var p catalog.Position
			if err := json.Unmarshal([]byte(value), &p); err != nil {
				return st, fmt.Errorf("read index: position: %w", err)
			}
			st.positions[collection] = p
		case what == "sums":
			st.sums[collection] = n
		}
	}
	return st, nil
}

// commitScript takes products into the manifest. KEYS: lease, records, sums, status, objects. ARGV: token, collection, then for each
// product its id, its record, which is empty for one that is gone, the id of its object, and what is said of that.
var commitScript = redis.NewScript(checkLease + `
local sums, changed = {}, false
local function add(raw, by)
  if not raw or raw == '' then return end
  for field, n in pairs(cjson.decode(cjson.decode(raw).s)) do sums[field] = (sums[field] or 0) + by * n end
end
for i = 3, #ARGV, 4 do
  add(redis.call('HGET', KEYS[2], ARGV[i]), -1)
  add(ARGV[i + 1], 1)
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[2], ARGV[i])
    redis.call('HDEL', KEYS[5], ARGV[i + 2])
  else
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
    redis.call('HSET', KEYS[5], ARGV[i + 2], ARGV[i + 3])
  end
end
for field, n in pairs(sums) do
  if n ~= 0 then
    changed = true
    if redis.call('HINCRBY', KEYS[3], field, n) == 0 then redis.call('HDEL', KEYS[3], field) end
  end
end
if changed then redis.call('HINCRBY', KEYS[4], ARGV[2] .. ' sums', 1) end
return 0`)

// commit takes products into the manifest, nil for those that are gone.
func (m manifest) commit(ctx context.Context, collection string, products map[string]*record) error {
	args := []any{m.token, collection}
	for id, l := range products {
		raw, object := []byte{}, identity{}
		if l != nil {
			var err error
			if raw, err = json.Marshal(l); err != nil {
				return fmt.Errorf("commit to index: %w", err)
			}
			object = identity{hash: l.Hash, productID: id}
		}
		name := objectID(m.storeID, id)
		args = append(args, id, raw, name[:], object.encode())
	}
	keys := m.keys(collection)
	return leaseError(commitScript.Run(ctx, m.rdb, []string{m.leaseKey(collection), keys[0], keys[1], m.statusKey(), keys[4]}, args...).Err())
}

// identity is which product an object is.
type identity struct {
	hash      uuid.UUID // of what the product says
	productID string
}

func (o identity) encode() []byte { return append(o.hash[:], o.productID...) }

// decodeIdentity returns the identity that was encoded. None: what it reads is too short.
func decodeIdentity(raw string) (o identity) {
	if n := copy(o.hash[:], raw); n == len(o.hash) {
		o.productID = raw[n:]
	}
	return o
}

// identities returns which products objects are, in order, none for an object that the manifest does not have.
func (m manifest) identities(ctx context.Context, collection string, objects []weaviate.Hit) ([]identity, error) {
	out := make([]identity, len(objects))
	if len(objects) == 0 {
		return out, nil
	}
	fields := make([]string, len(objects))
	for i, o := range objects {
		fields[i] = string(o.ID[:])
	}
	values, err := m.rdb.HMGet(ctx, m.keys(collection)[4], fields...).Result()
	if err != nil {
		return nil, state.Error("read index", err)
	}
	for i, value := range values {
		if text, ok := value.(string); ok {
			out[i] = decodeIdentity(text)
		}
	}
	return out, nil
}

// begun reports whether the collection has products.
func (m manifest) begun(ctx context.Context, collection string) (bool, error) {
	n, err := m.rdb.Exists(ctx, m.keys(collection)[4]).Result()
	return n > 0, state.Error("read index", err)
}

// records returns what the manifest says of products, nil where it says nothing that can be decoded.
func (m manifest) records(ctx context.Context, collection string, ids []string) ([]*record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	values, err := m.rdb.HMGet(ctx, m.keys(collection)[0], ids...).Result()
	if err != nil {
		return nil, state.Error("read index", err)
	}
	out := make([]*record, len(ids))
	for i, value := range values {
		if raw, ok := value.(string); ok {
			r := new(record)
			if err := json.Unmarshal([]byte(raw), r); err != nil {
				state.SkipRecord(ctx, "index entry", m.storeID, ids[i], err)
				continue
			}
			out[i] = r
		}
	}
	return out, nil
}

// positionScript says that a collection is up to a version, and never less. KEYS: lease, status. ARGV: token, collection, version,
// position.
var positionScript = redis.NewScript(checkLease + `
local field = ARGV[2] .. ' version'
if tonumber(redis.call('HGET', KEYS[2], field) or '0') < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[2], field, ARGV[3], ARGV[2] .. ' position', ARGV[4])
end
return 0`)

// setPosition notes what the writer of a collection has seen of the catalog.
func (m manifest) setPosition(ctx context.Context, collection string, p catalog.Position) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	keys := []string{m.leaseKey(collection), m.statusKey()}
	return leaseError(positionScript.Run(ctx, m.rdb, keys, m.token, collection, p.Version, raw).Err())
}

// switchScript makes a collection the one that is searched, unless another writer has switched in the meantime.
var switchScript = redis.NewScript(`
if (redis.call('HGET', KEYS[1], 'active') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'active', ARGV[2])
return 1`)

func (m manifest) activate(ctx context.Context, from, to string) error {
	return state.Error("switch index", switchScript.Run(ctx, m.rdb, []string{m.statusKey()}, from, to).Err())
}

// forgetScript drops all that is said of a collection. KEYS: lease, status, then all that belong to the collection. ARGV: token,
// collection.
var forgetScript = redis.NewScript(checkLease + `
redis.call('HDEL', KEYS[2], ARGV[2] .. ' version', ARGV[2] .. ' position', ARGV[2] .. ' sums')
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 0`)

// forget drops all that is said of a collection.
func (m manifest) forget(ctx context.Context, collection string) error {
	keys := append([]string{m.leaseKey(collection), m.statusKey()}, m.keys(collection)...)
	return leaseError(forgetScript.Run(ctx, m.rdb, keys, m.token, collection).Err())
}

// addStems adds stems that a misspelt word may stand for. They stay when the last product with them goes: a stem that no
// product has finds nothing.
func (m manifest) addStems(ctx context.Context, collection string, stems map[string]bool) error {
	if len(stems) == 0 {
		return nil
	}
	all := make([]redis.Z, 0, len(stems))
	for s := range stems {
		all = append(all, redis.Z{Member: s})
	}
	return state.Error("write index", m.rdb.ZAdd(ctx, m.keys(collection)[2], all...).Err())
}

// stems returns those that begin with a letter and have no digit.
func (m manifest) stems(ctx context.Context, collection, letter string) ([]string, error) {
	all, err := m.rdb.ZRangeByLex(ctx, m.keys(collection)[2], &redis.ZRangeBy{Min: "[" + letter, Max: "[" + letter + "\xff"}).Result()
	return slices.DeleteFunc(all, retrieval.HasDigit), state.Error("read index", err)
}

// countedProducts counts the products of the sample. Stems are counted under their keys, and n-grams by themselves: those have letters,
// digits and spaces only.
const countedProducts = "n:"

func countedStem(stem string) string { return "w:" + stem }

// countSample adds to the counts of the sample: those of products that are removed or replaced stay, which hardly matters.
func (m manifest) countSample(ctx context.Context, collection string, counts map[string]int) error {
	if len(counts) == 0 {
		return nil
	}
	pipe := m.rdb.Pipeline()
	for field, n := range counts {
		pipe.HIncrBy(ctx, m.keys(collection)[3], field, int64(n))
	}
	_, err := pipe.Exec(ctx)
	return state.Error("write index", err)
}

// sample returns counts of the sample, by field. None: zero.
func (m manifest) sample(ctx context.Context, collection string, fields []string) (map[string]int, error) {
	values, err := m.rdb.HMGet(ctx, m.keys(collection)[3], fields...).Result()
	if err != nil {
		return nil, state.Error("read index", err)
	}
	out := make(map[string]int, len(fields))
	for i, value := range values {
		if text, ok := value.(string); ok {
			out[fields[i]], _ = strconv.Atoi(text) // only HINCRBY writes it
		}
	}
	return out, nil
}

const (
	// leaseTime is how long others wait for a writer that does not extend its lease.
	leaseTime = 15 * time.Second
	// leasePoll is how often the others ask.
	leasePoll = 50 * time.Millisecond
)

var (
	extendScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)
	releaseScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`)
)

// lease tries to make this the only writer of a collection. A writer that has lost the lease learns it at its next commit.
func (m manifest) lease(ctx context.Context, collection string) (bool, error) {
	ok, err := m.rdb.SetNX(ctx, m.leaseKey(collection), m.token, leaseTime).Result()
	return ok, state.Error("write index", err)
}

// extend reports whether the lease is still held.
func (m manifest) extend(ctx context.Context, collection string) (bool, error) {
	n, err := extendScript.Run(ctx, m.rdb, []string{m.leaseKey(collection)}, m.token, leaseTime.Milliseconds()).Int()
	return n == 1, state.Error("write index", err)
}

func (m manifest) release(ctx context.Context, collection string) error {
	return state.Error("write index", releaseScript.Run(ctx, m.rdb, []string{m.leaseKey(collection)}, m.token).Err())
}

// statisticsOf is what a product adds to the statistics of a store and to the lengths of fields.
func statisticsOf(e *index.Entry, ps index.FieldTerms) map[string]int {
	f := index.NewStatistics()
	f.Add(e, 1)
	out := map[string]int{"products": 1}
	if f.Gifts > 0 {
		out["presents"] = 1
	}
	for i, key := range e.Categories {
		out["path|"+key+"|"+e.Product.GetCategoryPath()[i]]++
	}
	for kind, counts := range map[string]map[string]int{
		"tag|": f.Tags, "attribute|": f.Attributes, "option|": f.Options, "broadest|": f.TopCategories, "currency|": f.Currencies,
		"language|": f.Languages, "brand|": f.Brands,
	} {
		for name, n := range counts {
			out[kind+name] = n
		}
	}
	for i, stems := range ps {
		if len(stems) > 0 {
			out["words|"+index.Fields[i].Name] = len(stems)
			out["filled|"+index.Fields[i].Name] = 1
		}
	}
	return out
}

// statistics makes statistics of the sums.
func (m manifest) statistics(ctx context.Context, collection string) (f index.Statistics, means [index.NumFields]float64, err error) {
	all, err := m.rdb.HGetAll(ctx, m.keys(collection)[1]).Result()
	if err != nil {
		return f, means, state.Error("read index", err)
	}
	f = index.NewStatistics()
	sums := make(map[string]int, len(all))
	for field, value := range all {
		n, err := strconv.Atoi(value)
		if err != nil {
			return f, means, fmt.Errorf("read index: sum %q: %w", field, err)
		}
		sums[field] = n
	}
	written := make(map[string]int)
	for field, n := range sums {
		kind, name, _ := strings.Cut(field, "|")
		switch kind {
		case "products":
			f.Products = n
		case "presents":
			f.Gifts = n
		case "tag":
			f.Tags[name] = n
		case "attribute":
			f.Attributes[name] = n
		case "option":
			f.Options[name] = n
		case "broadest":
			f.TopCategories[name] = n
		case "currency":
			f.Currencies[name] = n
		case "language":
			f.Languages[name] = n
		case "brand":
			f.Brands[name] = n
		case "path":
			key, as, _ := strings.Cut(name, "|")
			f.CategoryProducts[key] += n
			if best := f.Categories[key]; n > written[key] || n == written[key] && as < best {
				f.Categories[key], written[key] = as, n
			}
		}
	}
	f.SetCurrency()
	for i, field := range index.Fields {
		means[i] = float64(sums["words|"+field.Name]) / float64(max(1, sums["filled|"+field.Name]))
	}
	return f, means, nil
}
