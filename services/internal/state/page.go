package state

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
)

const (
	// maxPageBytes ends a page early, well below gRPC's usual 4 MiB limit of a message.
	maxPageBytes = 2 << 20
	// pageBatch is how many records of a page are read at once.
	pageBatch = 200
)

// Page collects the records of one page of a list, by the fields of the hashes that they are in.
type Page[M proto.Message] struct {
	Limit   int // most records; 0: as many as one message holds
	Records []M
	bytes   int
}

// Fill appends the records of a hash whose fields come after one, in the order of the fields, as get returns them: one for each field,
// nil for a field without a record. It returns the last field that it has read, and whether the page is full: there is another record,
// which would exceed Limit or what a message may hold.
func (p *Page[M]) Fill(
	ctx context.Context, client redis.Cmdable, key, after string, get func(ctx context.Context, fields []string) ([]M, error),
) (last string, full bool, err error) {
	fields, err := client.HKeys(ctx, key).Result()
	if err != nil {
		return after, false, err
	}
	slices.Sort(fields)
	at, found := slices.BinarySearch(fields, after)
	if found {
		at++
	}
	limit := p.Limit
	if limit == 0 {
		limit = math.MaxInt
	}
	for batch := range slices.Chunk(fields[at:], max(1, min(pageBatch, limit-len(p.Records)))) {
		records, err := get(ctx, batch)
		if err != nil {
			return after, false, err
		}
		for i, m := range records {
			if !m.ProtoReflect().IsValid() { // deleted meanwhile, or not to be decoded
				continue
			}
			p.bytes += proto.Size(m)
			if n := len(p.Records); n == limit || n > 0 && p.bytes > maxPageBytes {
				return after, true, nil
			}
			p.Records = append(p.Records, m)
			after = batch[i]
		}
	}
	return after, false, nil
}

// HashPage returns up to limit records of a hash, by field, after a field, and the last field that it has read, "" when there are no more.
// Limit 0 is as many as one message holds. Decode returns nil for a record to leave out.
func HashPage[M proto.Message](
	ctx context.Context, client redis.Cmdable, key, after string, limit int, decode func(field, raw string) M,
) (records []M, next string, err error) {
	page := Page[M]{Limit: limit}
	next, full, err := page.Fill(ctx, client, key, after, func(ctx context.Context, fields []string) ([]M, error) {
		values, err := client.HMGet(ctx, key, fields...).Result()
		out := make([]M, len(values))
		for i, value := range values {
			if raw, ok := value.(string); ok {
				out[i] = decode(fields[i], raw)
			}
		}
		return out, err
	})
	if !full {
		next = ""
	}
	return page.Records, next, err
}

// ByTime calls visit for the entries of a sorted set with scores from low to high that come after a cursor, in batches, the greatest
// score first, until visit returns false. It reports whether visit wants more.
func ByTime(
	ctx context.Context, client redis.Cmdable, key string, low, high int64, after pagetoken.Cursor, batch int,
	visit func([]pagetoken.Cursor) (more bool, err error),
) (more bool, err error) {
	if after.ID != "" {
		high = min(high, after.Score)
	}
	for offset := 0; ; offset += batch {
		entries, err := client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
			Key: key, ByScore: true, Rev: true, Start: strconv.FormatInt(high, 10), Stop: strconv.FormatInt(low, 10),
			Offset: int64(offset), Count: int64(batch),
		}).Result()
		if err != nil {
			return false, err
		}
		var at []pagetoken.Cursor
		for _, e := range entries {
			entry := pagetoken.Cursor{Score: int64(e.Score), ID: e.Member.(string)}
			if after.Passes(entry) {
				at = append(at, entry)
			}
		}
		if more, err := visit(at); err != nil || !more {
			return false, err
		}
		if len(entries) < batch {
			return true, nil
		}
	}
}
