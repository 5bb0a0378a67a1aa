package state

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// escaper keeps a part from looking like several, or like a hash tag.
var escaper = strings.NewReplacer("%", "%25", ":", "%3A", "{", "%7B", "}", "%7D")

// Key returns the key "quartet:{STORE}:PART:PART" of something that a store has once, such as its settings. All such keys
// of a store share one cluster slot. Parts may hold any text; different parts give different keys.
func Key(storeID string, parts ...string) string {
	return key(escaper.Replace(storeID), parts)
}

// TaggedKey returns the key "quartet:{STORE:TAG}:PART:PART". Keys with the same store and tag share one cluster slot, so a
// script or a transaction may touch several of them. Keys with different tags spread over the cluster: the tag names what
// must change together, such as one thread.
func TaggedKey(storeID, tag string, parts ...string) string {
	return key(escaper.Replace(storeID)+":"+escaper.Replace(tag), parts)
}

func key(tag string, parts []string) string {
	var b strings.Builder
	b.WriteString("quartet:{")
	b.WriteString(tag)
	b.WriteString("}")
	for _, p := range parts {
		b.WriteString(":")
		b.WriteString(escaper.Replace(p))
	}
	return b.String()
}

// scanned is how many keys of the database one command looks at.
const scanned = 1_000

// DeleteKeys deletes all keys that Key and TaggedKey make for a store, whose id must be a valid one, and returns how many there were.
// It looks at every key of the database, a thousand at a time: with millions of keys that takes seconds, and holds up nobody.
func DeleteKeys(ctx context.Context, client redis.UniversalClient, storeID string) (int64, error) {
	var deleted atomic.Int64 // of several nodes at once
	prefix := "quartet:{" + storeID
	node := func(ctx context.Context, c *redis.Client) error {
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			keys, next, err := c.Scan(ctx, cursor, prefix+"*", scanned).Result()
			if err != nil {
				return err
			}
			cursor = next
			_, err = c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for _, key := range keys {
					if rest := strings.TrimPrefix(key, prefix); rest[0] == '}' || rest[0] == ':' {
						pipe.Unlink(ctx, key) // one a command: the keys are in several slots
						deleted.Add(1)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	switch c := client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, node)
	case *redis.Client:
		err = node(ctx, c)
	default:
		err = fmt.Errorf("a client of type %T has no nodes", client)
	}
	return deleted.Load(), Error("delete the data of a store", err)
}
