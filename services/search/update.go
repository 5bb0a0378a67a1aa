package search

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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

// update applies updates to the products that they name, in order, and returns the version that holds them, zero when they
// changed nothing, and what is wrong with those that do not fit the products as they are.
func (s store) update(
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
func (s store) edit(
	ctx context.Context, storeID string, ids []string, change func(id string, p *catalogv1.Product),
) (version int64, err error) {
	for len(ids) > 0 {
		batch := ids[:min(readBatch, len(ids))]
		ids = ids[len(batch):]
		for len(batch) > 0 { // each further round means that another write got through
			args, err := s.edited(ctx, storeID, batch, change)
			if err != nil {
				return version, err
			}
			if len(args) == 0 {
				break
			}
			written, stale, err := s.swap(ctx, storeID, args)
			if err != nil {
				return version, err
			}
			version, batch = max(version, written), stale
		}
	}
	return version, nil
}

// edited reads products, hands them to change and returns what editScript needs of those that it changed.
func (s store) edited(
	ctx context.Context, storeID string, ids []string, change func(id string, p *catalogv1.Product),
) (args []any, err error) {
	values, err := s.rdb.HMGet(ctx, productKeys(storeID)[0], ids...).Result()
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
		before := new(catalogv1.Product)
		if err := proto.Unmarshal([]byte(raw), before); err != nil {
			return nil, fmt.Errorf("decode product %q: %w", ids[i], err)
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

// swap runs editScript.
func (s store) swap(ctx context.Context, storeID string, products []any) (version int64, stale []string, err error) {
	args := append([]any{time.Now().UnixMilli(), changesKept}, products...)
	reply, err := editScript.Run(ctx, s.rdb, productKeys(storeID), args...).Slice()
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
