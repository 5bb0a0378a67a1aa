package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/jsonl"
	"github.com/quartet-commerce/quartet/services/internal/money"
)

// clockSkew is how far the clocks of the order system and of this machine may differ.
const clockSkew = 5 * time.Minute

// maxBatchGet is how many products one BatchGetProducts may ask for.
const maxBatchGet = 100

// checker finds what the services accept because they see one item at a time: mistakes against the store, against the other
// lines of the file, and in the sums and dates of orders.
type checker struct {
	load     *Load
	kind     string
	currency string // of the store; "": unknown, and not checked
	now      time.Time
	lineOf   map[string]int     // by id of the item
	products map[string]bool    // whether the catalog, or a file of this load, has a product; of those that were looked up
	mentions map[string]Refusal // of products by items that are taken without them: the first of each product
}

// newChecker returns a checker of one file. It fails if the store does not exist.
func newChecker(ctx context.Context, l *Load, kind string) (*checker, error) {
	k := &checker{load: l, kind: kind, currency: l.currencies[l.StoreID], now: time.Now(),
		lineOf: make(map[string]int), products: make(map[string]bool), mentions: make(map[string]Refusal)}
	if kind == "stores" || l.Stores == nil || k.currency != "" {
		return k, nil
	}
	reply, err := l.Stores.GetStore(ctx, &gatewayv1.GetStoreRequest{StoreId: l.StoreID})
	if status.Code(err) == codes.NotFound {
		return nil, fmt.Errorf("there is no store %q: load its stores.jsonl first, or correct the id", l.StoreID)
	}
	if err != nil {
		return nil, fmt.Errorf("read the store: %w", err)
	}
	k.currency = reply.GetStore().GetCurrencyCode()
	return k, nil
}

// checked yields items, and a *jsonl.LineError in place of those that k refuses.
func checked[T proto.Message](ctx context.Context, k *checker, items lines[T]) lines[T] {
	return func(yield func(jsonl.Line[T], error) bool) {
		for line, err := range items {
			if err == nil {
				var wrongs []string
				if wrongs, err = k.check(ctx, line.Number, line.Item); len(wrongs) > 0 {
					err = &jsonl.LineError{Line: line.Number, Err: errors.New(strings.Join(wrongs, "; "))}
				}
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// check returns what is wrong with an item, each with the field and what it must be.
func (k *checker) check(ctx context.Context, line int, item proto.Message) ([]string, error) {
	k.load.seen.Add(1)
	id, field := identity(item)
	wrongs := k.otherCurrency(item.ProtoReflect(), "")
	if first, again := k.lineOf[id]; again && id != "" {
		wrongs = append(wrongs, fmt.Sprintf("%s: is that of line %d; keep one of the two", field, first))
	} else {
		k.lineOf[id] = line
		k.load.note(k.kind, id)
	}
	switch item := item.(type) {
	case *gatewayv1.Store:
		k.load.noteStore(item)
	case *orderv1.Order:
		wrongs = append(wrongs, wrongSums(item)...)
		wrongs = append(wrongs, k.futureDates(item)...)
		for i, bought := range item.GetItems() { // it may be sold no longer
			k.mention(line, fmt.Sprintf("%s: items[%d].product_id", id, i), bought.GetProductId())
		}
	case *catalogv1.Product:
		for _, other := range item.GetComplementIds() {
			k.mention(line, id+": complement_ids", other)
		}
	}
	unknown, err := k.unknownProducts(ctx, item)
	if err != nil {
		return nil, fmt.Errorf("line %d: look up products: %w", line, err)
	}
	wrongs = append(wrongs, unknown...)
	if len(wrongs) > 0 && id != "" {
		wrongs[0] = id + ": " + wrongs[0]
	}
	return wrongs, nil
}

// identity returns what names an item in its file, and the field that does; both are "" where a file may name it twice.
func identity(item proto.Message) (id, field string) {
	switch item := item.(type) {
	case *gatewayv1.Store:
		return item.GetStoreId(), "store_id"
	case *catalogv1.Product:
		return item.GetProductId(), "product_id"
	case *promotionv1.Promotion:
		return strings.ToUpper(strings.TrimSpace(item.GetCode())), "code"
	case *cartv1.Cart:
		return item.GetCartId(), "cart_id"
	case *orderv1.Order:
		return item.GetOrderId(), "order_id"
	case *policyv1.Policy:
		return item.GetPolicyId(), "policy_id"
	}
	return "", ""
}

// otherCurrency reports every amount of a message that is not in the store's currency. An ill-formed code is left to the
// service, whose refusal says more.
func (k *checker) otherCurrency(m protoreflect.Message, path string) []string {
	if k.currency == "" {
		return nil
	}
	if amount, ok := m.Interface().(*commonv1.Money); ok {
		if code := amount.GetCurrencyCode(); len(code) == 3 && code != k.currency {
			return []string{fmt.Sprintf("%s.currency_code: is %s, must be %s, the store's currency", path, code, k.currency)}
		}
		return nil
	}
	var wrongs []string
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := strings.TrimPrefix(path+"."+string(fd.Name()), ".")
		switch {
		case fd.IsMap() || fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				wrongs = append(wrongs, k.otherCurrency(v.List().Get(i).Message(), fmt.Sprintf("%s[%d]", at, i))...)
			}
		default:
			wrongs = append(wrongs, k.otherCurrency(v.Message(), at)...)
		}
		return true
	})
	slices.Sort(wrongs)
	return wrongs
}

// wrongSums reports a subtotal that is not the sum of the items, and a total below what its parts come to. A total above them is
// right: it has taxes and fees. Orders whose items were changed are not added up.
func wrongSums(o *orderv1.Order) []string {
	if o.GetItemsChanged() || o.GetSubtotal() == nil || o.GetTotal() == nil {
		return nil
	}
	var wrongs []string
	var sum int64
	for _, item := range o.GetItems() {
		sum += int64(item.GetQuantity()) * item.GetUnitPrice().GetAmountMinor()
	}
	text := func(minor int64) string {
		return money.Text(&commonv1.Money{AmountMinor: minor, CurrencyCode: o.GetTotal().GetCurrencyCode()})
	}
	subtotal, total := o.GetSubtotal().GetAmountMinor(), o.GetTotal().GetAmountMinor()
	if subtotal != sum {
		wrongs = append(wrongs, fmt.Sprintf("subtotal: is %s, must be %s, the sum of the items", text(subtotal), text(sum)))
	}
	if least := subtotal - o.GetDiscount().GetAmountMinor() + o.GetShipping().GetAmountMinor(); total < least {
		wrongs = append(wrongs, fmt.Sprintf("total: is %s, must be %s or more: subtotal less discount, plus shipping", text(total), text(least)))
	}
	return wrongs
}

// futureDates reports what has happened at a time that has not come.
func (k *checker) futureDates(o *orderv1.Order) []string {
	var wrongs []string
	past := func(field string, t *timestamppb.Timestamp) {
		if t != nil && t.AsTime().After(k.now.Add(clockSkew)) {
			wrongs = append(wrongs, fmt.Sprintf("%s: is %s, must not be in the future", field, t.AsTime().Format(time.RFC3339)))
		}
	}
	past("create_time", o.GetCreateTime())
	for i, h := range o.GetHistory() {
		past(fmt.Sprintf("history[%d].time", i), h.GetTime())
	}
	for i, f := range o.GetFulfilments() {
		past(fmt.Sprintf("fulfilments[%d].ship_time", i), f.GetShipTime())
		past(fmt.Sprintf("fulfilments[%d].delivery_time", i), f.GetDeliveryTime())
	}
	for i, r := range o.GetReturns() {
		past(fmt.Sprintf("returns[%d].request_time", i), r.GetRequestTime())
	}
	return wrongs
}

// unknownProducts reports products that an item needs and the catalog does not have. A cart and an update of a variant are refused by
// their service, which sees them only if they are written.
func (k *checker) unknownProducts(ctx context.Context, item proto.Message) ([]string, error) {
	fieldOf := make(map[string]string)
	note := func(field string, ids ...string) {
		for _, id := range ids {
			fieldOf[id] = cmp.Or(fieldOf[id], field)
		}
	}
	switch item := item.(type) {
	case *promotionv1.Promotion:
		note("scope.product_ids", item.GetScope().GetProductIds()...)
		note("scope.exclude_product_ids", item.GetScope().GetExcludeProductIds()...)
		note("bundle.product_ids", item.GetBundle().GetProductIds()...)
	case *cartv1.Cart:
		for i, it := range item.GetItems() {
			note(fmt.Sprintf("items[%d].product_id", i), it.GetProductId())
		}
	case *catalogv1.VariantUpdate:
		note("product_id", item.GetProductId())
	}
	if _, ok := item.(*promotionv1.Promotion); !ok && !k.load.DryRun {
		return nil, nil
	}
	missing, err := k.missing(ctx, slices.Sorted(maps.Keys(fieldOf)))
	var wrongs []string
	for _, id := range missing {
		wrongs = append(wrongs, fmt.Sprintf("%s: the catalog has no product %q; load it first, or leave it out", fieldOf[id], id))
	}
	return wrongs, err
}

// missing returns those of some products that neither the catalog nor a file of this load has.
func (k *checker) missing(ctx context.Context, ids []string) (missing []string, err error) {
	if k.load.Catalog == nil {
		return nil, nil
	}
	wanted := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, known := k.products[id]
		return known || !fault.ValidID(id) // the service says what is wrong with the form
	})
	for chunk := range slices.Chunk(wanted, maxBatchGet) {
		reply, err := k.load.Catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: k.load.StoreID, ProductIds: chunk})
		if err != nil {
			return nil, err
		}
		for _, id := range chunk {
			// A dry run has not written what its files have.
			k.products[id] = k.load.read["products"][id] || !slices.Contains(reply.GetMissingProductIds(), id)
		}
	}
	for _, id := range ids {
		if has, looked := k.products[id]; looked && !has {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// mention notes that an item names a product, which it can do without.
func (k *checker) mention(line int, where, id string) {
	if _, before := k.mentions[id]; !before && id != "" {
		k.mentions[id] = Refusal{Line: line, What: fmt.Sprintf("%s: the catalog has no product %q", where, id)}
	}
}

// noted returns what adds the products that were mentioned, and are not there, to the report of a file.
func (k *checker) noted(ctx context.Context) func(Report, error) (Report, error) {
	return func(report Report, err error) (Report, error) {
		if err != nil || len(k.mentions) == 0 {
			return report, err
		}
		ids := slices.DeleteFunc(slices.Sorted(maps.Keys(k.mentions)), func(id string) bool { return k.load.read["products"][id] })
		missing, err := k.missing(ctx, ids)
		if err != nil {
			return report, fmt.Errorf("look up products: %w", err)
		}
		for _, id := range missing[:min(len(missing), maxRefusals)] {
			report.Notes = append(report.Notes, k.mentions[id])
		}
		slices.SortStableFunc(report.Notes, func(a, b Refusal) int { return a.Line - b.Line })
		return report, nil
	}
}

// noteStore notes a store of this load, which a dry run does not write.
func (l *Load) noteStore(s *gatewayv1.Store) {
	if l.currencies == nil {
		l.currencies = make(map[string]string)
	}
	l.currencies[s.GetStoreId()] = s.GetCurrencyCode()
}

// note notes that a file of a kind has an item.
func (l *Load) note(kind, id string) {
	if l.read == nil {
		l.read = make(map[string]map[string]bool)
	}
	if l.read[kind] == nil {
		l.read[kind] = make(map[string]bool)
	}
	l.read[kind][id] = true
}
