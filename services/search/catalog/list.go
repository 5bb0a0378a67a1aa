package catalog

import (
	"context"
	"strconv"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

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
	page := state.Page[*catalogv1.Product]{Limit: limit}
	get := func(ctx context.Context, ids []string) ([]*catalogv1.Product, error) { return s.Get(ctx, storeID, ids) }
	for ; from.partition < Partitions; from = (Place{partition: from.partition + 1}) {
		last, full, err := page.Fill(ctx, s.Redis, keysOf(storeID, from.partition).Products, from.after, get)
		if err != nil {
			return nil, Place{}, state.Error("list products", err)
		}
		if full {
			return page.Records, Place{from.partition, last}, nil
		}
	}
	return page.Records, Place{}, nil
}
