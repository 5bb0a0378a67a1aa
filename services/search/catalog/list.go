package catalog

import (
	"context"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// maxPageBytes ends a page of products early, well below gRPC's usual 4 MiB limit of a message.
const maxPageBytes = 2 << 20

// Place is where a page of products begins: after a product in a partition. The zero value is the beginning.
type Place struct {
	partition int
	after     string // id; empty: the beginning of the partition
}

// Token returns the place as a page token, "" for the beginning.
func (p Place) Token() string {
	if p == (Place{}) {
		return ""
	}
	return pagetoken.New(strconv.Itoa(p.partition), p.after)
}

// ParsePlace reads a page token. It returns false for one that Token did not make.
func ParsePlace(token string) (Place, bool) {
	parts, ok := pagetoken.Parse(token, 2)
	if !ok || parts[1] != "" && !fault.ValidID(parts[1]) {
		return Place{}, false
	}
	n, err := strconv.Atoi(parts[0])
	return Place{n, parts[1]}, err == nil && n >= 0 && n < Partitions
}

// List returns up to limit products from a place on, by partition and id, and the place after them, zero when these are the last. A
// page that would be too large for one message has fewer.
func (s Store) List(ctx context.Context, storeID string, from Place, limit int) ([]*catalogv1.Product, Place, error) {
	var out []*catalogv1.Product
	size := 0
	for ; from.partition < Partitions; from = (Place{partition: from.partition + 1}) {
		ids, err := s.Redis.HKeys(ctx, keysOf(storeID, from.partition).Products).Result()
		if err != nil {
			return nil, Place{}, state.Error("list products", err)
		}
		slices.Sort(ids)
		at, found := slices.BinarySearch(ids, from.after)
		if found {
			at++
		}
		for batch := range slices.Chunk(ids[at:], max(1, min(readBatch, limit-len(out)))) {
			products, err := s.Get(ctx, storeID, batch)
			if err != nil {
				return nil, Place{}, err
			}
			for i, p := range products {
				if p == nil {
					continue // deleted meanwhile
				}
				if size += proto.Size(p); len(out) == limit || len(out) > 0 && size > maxPageBytes {
					return out, from, nil
				}
				out = append(out, p)
				from.after = batch[i]
			}
		}
	}
	return out, Place{}, nil
}
