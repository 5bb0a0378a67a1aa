package state

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Schema is the version of the keys and values that this release keeps in Redis. A release that cannot read what an older one wrote, or
// writes what an older one cannot read, has a higher one.
const Schema = 1

// schemaKey is the key of the version of what is in Redis.
const schemaKey = "quartet:schema"

// CheckSchema returns an error if Redis holds the data of a release with another Schema. An empty Redis gets this one's.
func CheckSchema(ctx context.Context, client redis.Cmdable) error {
	if err := client.SetNX(ctx, schemaKey, Schema, 0).Err(); err != nil {
		return Error("write the version of the data", err)
	}
	found, err := client.Get(ctx, schemaKey).Result()
	if err != nil {
		return Error("read the version of the data", err)
	}
	switch n, err := strconv.Atoi(found); {
	case err != nil:
		return fmt.Errorf("redis: key %s is %q, want a number: is this the Redis of another program?", schemaKey, found)
	case n > Schema:
		return fmt.Errorf("redis: the data is of a newer Quartet (version %d; this one knows %d): start that one, or restore a backup from before the upgrade", n, Schema)
	case n < Schema:
		return fmt.Errorf("redis: the data is of an older Quartet (version %d; this one needs %d): the changelog says how to upgrade it", n, Schema)
	}
	return nil
}
