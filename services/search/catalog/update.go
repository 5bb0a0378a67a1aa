package catalog

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

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
			c.Addf(field+".currency_code", "must be %s as it was; upsert the product whole to change it", code)
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

// edit changes products in place, each in one step with reading it: change gets a product as it is now, nil when there is
// none, and is called again for one that another writer has changed meanwhile. ids must not repeat. It returns the version that
// holds the changes, zero when nothing is different.
func (s Store) edit(
	ctx context.Context, storeID string, ids []string, change func(id string, p *catalogv1.Product),
) (version int64, err error) {
	for batch := range slices.Chunk(ids, readBatch) {
		for len(batch) > 0 { // each further round means that another write got through
			args, err := s.readEdits(ctx, storeID, batch, change)
			if err != nil || len(args) == 0 {
				if err != nil {
					return version, err
				}
				break
			}
			replies, err := s.run(ctx, storeID, swapScript, args)
			written, errRaise := s.raise(ctx, storeID, true)
			if err := errors.Join(err, errRaise); err != nil {
				return version, state.Error("write products", err)
			}
			version, batch = max(version, written), nil
			for _, reply := range replies {
				stale, err := reply.StringSlice()
				if err != nil {
					return version, state.Error("write products", err)
				}
				batch = append(batch, stale...)
			}
		}
	}
	if version == 0 {
		_, err = s.raise(ctx, storeID, false)
	}
	return version, state.Error("write products", err)
}

// readEdits reads products, hands them to change and returns what swapScript needs of those that it changed, by partition.
func (s Store) readEdits(
	ctx context.Context, storeID string, ids []string, change func(id string, p *catalogv1.Product),
) (map[int][]any, error) {
	raw, err := s.read(ctx, storeID, ids)
	if err != nil {
		return nil, err
	}
	written := timestamppb.Now()
	args := make(map[int][]any)
	for _, id := range ids {
		if raw[id] == "" {
			change(id, nil)
			continue
		}
		before := decode(ctx, storeID, id, raw[id])
		if before == nil {
			change(id, nil)
			continue
		}
		after := proto.CloneOf(before)
		change(id, after)
		if proto.Equal(before, after) {
			continue
		}
		after.UpdateTime = written
		now, err := proto.Marshal(after)
		if err != nil {
			return nil, fmt.Errorf("encode product %q: %w", id, err)
		}
		sum := sha1.Sum([]byte(raw[id]))
		at := partitionOf(id)
		args[at] = append(args[at], id, hex.EncodeToString(sum[:]), now)
	}
	return args, nil
}
