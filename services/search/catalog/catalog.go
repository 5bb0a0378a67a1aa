// Package catalog keeps the products of the stores in Redis: it validates and writes them, and tells readers what has changed
// since a version. A write is seen by every read that begins after it has returned.
//
// The package knows nothing of searching: it must not import package index or a backend.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// Store keeps products in Redis. The products of a store are spread over partitions, each in a cluster slot of its own: a hash
// of products, a version, and a capped stream of changed product ids, which a script changes together. A write raises the version
// of the store after it has changed its partitions and before it returns, so that readers compare one number and read the
// partitions only when it has changed. A write that breaks off in between is seen with the next one, also when that finds nothing
// left to change.
//
// An entry of a stream is named "<version>-<n>", n from 1, and the first of a version has the version before it, so that a reader
// sees whether any is missing. The zero value is not usable; a Store is safe for concurrent use.
type Store struct {
	// Redis is where the products are. Required; the caller owns its lifecycle.
	Redis redis.UniversalClient
}

const (
	// Partitions is how many parts a store's products are spread over. To change it is to lose what was written.
	Partitions = 16
	// ChangesKept bounds each stream of changes, about. For a reader that is further behind the partition is read as a whole.
	ChangesKept = 2_000
	// partSize is how many products NextChanges reads before it leaves further partitions to the next call.
	partSize = 5_000
	// readBatch is how many products one command reads.
	readBatch = 500
	// raiseTime bounds raising the version of a store, which is done also when the writer's time is up.
	raiseTime = 5 * time.Second
)

// PartitionKeys are the keys of one partition.
type PartitionKeys struct{ Products, Version, Changes string }

// KeysOf returns the keys of the partition that holds a product.
func KeysOf(storeID, productID string) PartitionKeys { return keysOf(storeID, partitionOf(productID)) }

func keysOf(storeID string, partition int) PartitionKeys {
	tag := "products-" + strconv.Itoa(partition)
	return PartitionKeys{
		state.TaggedKey(storeID, tag, "catalog"), state.TaggedKey(storeID, tag, "version"), state.TaggedKey(storeID, tag, "changes"),
	}
}

func (k PartitionKeys) list() []string { return []string{k.Products, k.Version, k.Changes} }

func partitionOf(productID string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(productID)) // never fails
	return int(h.Sum32() % Partitions)
}

// byPartition groups ids by their partition, each group in the order of ids.
func byPartition(ids []string) map[int][]string {
	out := make(map[int][]string)
	for _, id := range ids {
		out[partitionOf(id)] = append(out[partitionOf(id)], id)
	}
	return out
}

// VersionKey is the key of the version of a store.
func VersionKey(storeID string) string { return state.Key(storeID, "catalog", "version") }

// nextVersion is the Lua expression of the version after one: the clock (ARGV[1], Unix milliseconds), or one more where the version is
// ahead of that. So no version comes twice with other products behind it, although Redis forgot the last writes when it was
// restarted or its replica took over: a version that readers have seen is older than the clock by then.
const nextVersion = `math.max(before + 1, tonumber(ARGV[1]))`

// versionScript raises the version of a store, KEYS[1], and returns it. Where ARGV[2] is 0, nothing was written, and a store that has
// no version does not get one.
var versionScript = redis.NewScript(`
local before = tonumber(redis.call('GET', KEYS[1]) or 0)
if before == 0 and ARGV[2] == '0' then return 0 end
local version = ` + nextVersion + `
redis.call('SET', KEYS[1], string.format('%d', version))
return version`)

// Scripts of a partition. KEYS are those of PartitionKeys; ARGV[1] is the clock, ARGV[2] bounds the stream.
const (
	begin = `
local before = tonumber(redis.call('GET', KEYS[2]) or 0)
local version = ` + nextVersion + `
redis.call('SET', KEYS[2], string.format('%d', version))
if before == 0 then redis.call('DEL', KEYS[3]) end
local function changed(n, id)
  local entry = {'id', id}
  if n == 1 then entry = {'id', id, 'after', string.format('%d', before)} end
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[2], string.format('%d-%d', version, n), unpack(entry))
end
`
	// putScript writes products, each as an id and its bytes.
	putScript = begin + `
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  changed((i - 1) / 2, ARGV[i])
end
return 1`
	// removeScript deletes the product ARGV[3], and returns whether there was one.
	removeScript = `
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return 0 end
` + begin + `
redis.call('HDEL', KEYS[1], ARGV[3])
changed(1, ARGV[3])
return 1`
	// swapScript writes those of the products that are still what was read of them: of each it gets the id, the SHA-1 of what was
	// read and what is to be written. It returns the ids of the others.
	swapScript = `
local fits, stale = {}, {}
for i = 3, #ARGV, 3 do
  local now = redis.call('HGET', KEYS[1], ARGV[i])
  if now and redis.sha1hex(now) == ARGV[i + 1] then
    fits[#fits + 1] = i
  else
    stale[#stale + 1] = ARGV[i]
  end
end
if #fits == 0 then return stale end
` + begin + `
for n, i in ipairs(fits) do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
  changed(n, ARGV[i])
end
return stale`
)

// run runs a script in each partition that has arguments, at once, and returns what the scripts returned, by partition. The caller
// then raises the version of the store, also after an error: some of the scripts may have written.
func (s Store) run(ctx context.Context, storeID, script string, args map[int][]any) (map[int]*redis.Cmd, error) {
	now := time.Now().UnixMilli()
	pipe := s.Redis.Pipeline()
	out := make(map[int]*redis.Cmd, len(args))
	for partition, some := range args {
		out[partition] = pipe.Eval(ctx, script, keysOf(storeID, partition).list(), append([]any{now, ChangesKept}, some...)...)
	}
	_, err := pipe.Exec(ctx)
	return out, err
}

// raise raises the version of a store, so that readers look for what has changed. Without wrote, nothing was written now, but this
// may repeat a write that broke off before it raised the version: then raise does nothing only where there is no version yet.
func (s Store) raise(ctx context.Context, storeID string, wrote bool) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), raiseTime)
	defer cancel()
	return versionScript.Run(ctx, s.Redis, []string{VersionKey(storeID)}, time.Now().UnixMilli(), wrote).Int64()
}

// Put writes products and returns the version that holds them. Readers may see some of them before the others.
func (s Store) Put(ctx context.Context, storeID string, products []*catalogv1.Product) (int64, error) {
	args := make(map[int][]any)
	for _, p := range products {
		raw, err := proto.Marshal(p)
		if err != nil {
			return 0, fmt.Errorf("encode product %q: %w", p.GetProductId(), err)
		}
		at := partitionOf(p.GetProductId())
		args[at] = append(args[at], p.GetProductId(), raw)
	}
	_, err := s.run(ctx, storeID, putScript, args)
	version, errRaise := s.raise(ctx, storeID, true)
	return version, state.Error("write products", errors.Join(err, errRaise))
}

// Remove deletes a product and reports whether there was one.
func (s Store) Remove(ctx context.Context, storeID, productID string) (bool, error) {
	at := partitionOf(productID)
	replies, err := s.run(ctx, storeID, removeScript, map[int][]any{at: {productID}})
	n, errReply := replies[at].Int()
	_, errRaise := s.raise(ctx, storeID, n > 0 || err != nil)
	return n > 0, state.Error("delete product", cmp.Or(err, errReply, errRaise))
}

// Version returns the store's version, zero when nothing was ever written.
func (s Store) Version(ctx context.Context, storeID string) (int64, error) {
	v, err := s.Redis.Get(ctx, VersionKey(storeID)).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return v, state.Error("read catalog version", err)
}

// Position is what a reader has seen of a store. The zero value has seen nothing.
type Position struct {
	// Version is of the store.
	Version int64
	// Partitions are the versions of the partitions.
	Partitions [Partitions]int64
}

// Change is what has happened to the products of a store since a position.
type Change struct {
	// Position is what a reader has seen that has taken in the change.
	Position Position
	// Put are products that may have changed, as they are now.
	Put []*catalogv1.Product
	// Removed are ids that no product has any more.
	Removed []string
	// whole are the partitions of which Put has all products, since what has changed in them is no longer known.
	whole [Partitions]bool
}

// Complete reports whether Removed has all ids that are gone: then a reader need not compare its own.
func (c Change) Complete() bool { return c.whole == [Partitions]bool{} }

// Gone returns those of the ids that a reader has that no product has any more: Removed, and what the partitions that were read as
// a whole do not have.
func (c Change) Gone(ids iter.Seq[string]) []string {
	there := make(map[string]bool, len(c.Put))
	for _, p := range c.Put {
		there[p.GetProductId()] = true
	}
	out := slices.Clone(c.Removed)
	for id := range ids {
		if c.whole[partitionOf(id)] && !there[id] {
			out = append(out, id)
		}
	}
	return out
}

// Changes returns what has happened since a position, as of now or later: what is written meanwhile is seen again with the
// next call. Where the version of the store is that of the position, nothing has happened, and the partitions are not asked. A
// position with another version, such as -1, has them compared in any case: that finds a write that broke off.
func (s Store) Changes(ctx context.Context, storeID string, since Position) (Change, error) {
	c, _, err := s.changes(ctx, storeID, since, math.MaxInt)
	return c, err
}

// NextChanges is as Changes, but reads no further partition as a whole once it has some thousand products, so that its caller never
// holds all of a large store. With more, there are others: the next call goes on from the position of the change.
func (s Store) NextChanges(ctx context.Context, storeID string, since Position) (c Change, more bool, err error) {
	return s.changes(ctx, storeID, since, partSize)
}

// changes reads no further partition as a whole once it has so many products.
func (s Store) changes(ctx context.Context, storeID string, since Position, enough int) (c Change, more bool, err error) {
	version, err := s.Version(ctx, storeID) // before the partitions, which are then at least as new
	if err != nil {
		return Change{}, false, err
	}
	c.Position = since
	if version == since.Version {
		return c, false, nil
	}
	c.Position.Version = version
	var versions [Partitions]*redis.StringCmd
	var logs [Partitions]*redis.XMessageSliceCmd
	pipe := s.Redis.Pipeline()
	for i := range Partitions {
		keys := keysOf(storeID, i)
		versions[i] = pipe.Get(ctx, keys.Version)
		if since.Partitions[i] > 0 {
			logs[i] = pipe.XRange(ctx, keys.Changes, strconv.FormatInt(since.Partitions[i]+1, 10), "+")
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	var ids []string
	for i := range Partitions {
		now, err := versions[i].Int64() // zero where there is none
		if err == nil && logs[i] != nil {
			err = logs[i].Err()
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			return Change{}, false, state.Error("read catalog changes", err)
		}
		if now == since.Partitions[i] {
			continue
		}
		if logs[i] != nil {
			if last, changed, ok := readLog(logs[i].Val(), since.Partitions[i]); ok {
				c.Position.Partitions[i] = last
				ids = append(ids, changed...)
				continue
			}
		}
		if len(c.Put) >= enough {
			more, c.Position.Version = true, since.Version
			continue
		}
		c.Position.Partitions[i], c.whole[i] = now, true
		if err := s.readPartition(ctx, storeID, i, &c); err != nil {
			return Change{}, false, err
		}
	}
	products, err := s.Get(ctx, storeID, ids)
	for i, p := range products {
		if p != nil {
			c.Put = append(c.Put, p)
		} else {
			c.Removed = append(c.Removed, ids[i])
		}
	}
	return c, more, err
}

// readLog returns the version that a stream's entries lead to from a version, and the ids in them, each once. It returns false
// when the stream no longer has all of them.
func readLog(entries []redis.XMessage, since int64) (version int64, ids []string, ok bool) {
	if len(entries) == 0 || entries[0].Values["after"] != strconv.FormatInt(since, 10) {
		return 0, nil, false
	}
	last, _, _ := strings.Cut(entries[len(entries)-1].ID, "-")
	version, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		return 0, nil, false
	}
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if id, _ := e.Values["id"].(string); id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return version, ids, true
}

// readPartition adds all products of a partition to c.
func (s Store) readPartition(ctx context.Context, storeID string, partition int, c *Change) error {
	seen := make(map[string]bool)
	for cursor := uint64(0); ; {
		var fields []string
		var err error
		fields, cursor, err = s.Redis.HScan(ctx, keysOf(storeID, partition).Products, cursor, "", readBatch).Result()
		if err != nil {
			return state.Error("read products", err)
		}
		for i := 0; i+1 < len(fields); i += 2 {
			if seen[fields[i]] {
				continue // HSCAN may return a field twice
			}
			seen[fields[i]] = true
			if p := decode(ctx, storeID, fields[i], fields[i+1]); p != nil {
				c.Put = append(c.Put, p)
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

// Get returns the products of ids, in order, nil where there is none or where it cannot be decoded.
func (s Store) Get(ctx context.Context, storeID string, ids []string) ([]*catalogv1.Product, error) {
	raw, err := s.read(ctx, storeID, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*catalogv1.Product, len(ids))
	for i, id := range ids {
		if raw[id] != "" {
			out[i] = decode(ctx, storeID, id, raw[id])
		}
	}
	return out, nil
}

// read returns the bytes of products by their ids, without those that there are not.
func (s Store) read(ctx context.Context, storeID string, ids []string) (map[string]string, error) {
	out := make(map[string]string, len(ids))
	for batch := range slices.Chunk(ids, readBatch) {
		commands := make(map[*redis.SliceCmd][]string)
		_, err := s.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for partition, some := range byPartition(batch) {
				commands[pipe.HMGet(ctx, keysOf(storeID, partition).Products, some...)] = some
			}
			return nil
		})
		if err != nil {
			return nil, state.Error("read products", err)
		}
		for command, some := range commands {
			for i, value := range command.Val() {
				if raw, ok := value.(string); ok {
					out[some[i]] = raw
				}
			}
		}
	}
	return out, nil
}

// decode returns a product, or nil if what is stored is none: it counts as absent, so that it costs no other product.
func decode(ctx context.Context, storeID, id, raw string) *catalogv1.Product {
	p := new(catalogv1.Product)
	if err := proto.Unmarshal([]byte(raw), p); err != nil {
		state.SkipRecord(ctx, "product", storeID, id, err)
		return nil
	}
	return p
}
