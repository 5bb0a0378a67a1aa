// Package load fills stores through the services' own RPCs: from JSON Lines, so that a store can bring its data, and with
// the demo stores. It imports no service.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/jsonl"
	"github.com/quartet-commerce/quartet/services/internal/productfeed"
)

const (
	// batchSize is how many items one message of a bulk stream carries.
	batchSize = 100
	// batchBytes closes a batch early, well below gRPC's usual 4 MiB limit of a message.
	batchBytes = 1 << 20
	// maxItemBytes is the largest item that is sent. A larger one would end the stream, because the gateway takes messages of 4 MiB.
	maxItemBytes = 4<<20 - 4<<10
	// maxRefusals bounds the refusals that a report lists. It counts all.
	maxRefusals = 1000
)

// Clients are the services that own a store's data.
type Clients struct {
	Stores     gatewayv1.StoreServiceClient
	Catalog    catalogv1.CatalogServiceClient
	Carts      cartv1.CartServiceClient
	Promotions promotionv1.PromotionServiceClient
	Orders     orderv1.OrderServiceClient
	Policies   policyv1.PolicyServiceClient
}

// Kinds are the kinds of files, in the order in which they must be loaded: a cart needs its products.
func Kinds() []string {
	return []string{
		"stores", "products", "variant_updates", "promotions", "cart_settings", "carts", "order_settings", "orders", "policies",
	}
}

// Refusal is one item that was not taken.
type Refusal struct {
	// Line is the 1-based number of its line.
	Line int
	// What is wrong with it, and where.
	What string
}

// Report counts what became of the items of one file.
type Report struct {
	// Taken items are in the store.
	Taken int
	// Refused items are not.
	Refused int
	// Refusals are the first 1,000 of them, by line.
	Refusals []Refusal
	// Notes name products that the items mention and the catalog does not have, by line, at most 1,000. The items were taken.
	Notes []Refusal
}

// refuse notes an item that was not taken.
func (r *Report) refuse(line int, what string) {
	r.Refused++
	if len(r.Refusals) < maxRefusals {
		r.Refusals = append(r.Refusals, Refusal{Line: line, What: what})
	}
}

// Load is the loading of files into a store. Only Seen may be called by several goroutines at once.
type Load struct {
	// Clients are the services to load into. Required.
	Clients
	// StoreID is the store. Not needed for stores, which name themselves.
	StoreID string
	// DryRun writes nothing. The services check the items; settings of carts are only read.
	DryRun bool

	seen       atomic.Int64
	currencies map[string]string          // of the stores that were loaded, by their ids
	read       map[string]map[string]bool // the ids that files have, by kind
}

// Seen returns how many items were read so far. It may be called while a file is loaded.
func (l *Load) Seen() int { return int(l.seen.Load()) }

// File loads one file with a Load of its own.
func File(ctx context.Context, c Clients, storeID, kind string, in io.Reader) (Report, error) {
	return (&Load{Clients: c, StoreID: storeID}).File(ctx, kind, in)
}

// File loads JSON Lines of one kind. Bad lines are reported and the others loaded. An error means that loading stopped; the report
// counts what was loaded before.
func (l *Load) File(ctx context.Context, kind string, in io.Reader) (Report, error) {
	if !slices.Contains(Kinds(), kind) {
		return Report{}, fmt.Errorf("unknown kind %q; the kinds are %v", kind, Kinds())
	}
	k, err := newChecker(ctx, l, kind)
	if err != nil {
		return Report{}, err
	}
	return k.noted(ctx)(l.items(ctx, k, kind, in))
}

// items loads the items of one file.
func (l *Load) items(ctx context.Context, k *checker, kind string, in io.Reader) (Report, error) {
	switch kind {
	case "stores":
		return each(checked(ctx, k, read[gatewayv1.Store](in)), func(s *gatewayv1.Store) error {
			_, err := l.Stores.PutStore(ctx, &gatewayv1.PutStoreRequest{Store: s, ValidateOnly: l.DryRun})
			return err
		})
	case "products":
		return products(ctx, l, checked(ctx, k, read[catalogv1.Product](in)))
	case "variant_updates":
		return variantUpdates(ctx, l, checked(ctx, k, read[catalogv1.VariantUpdate](in)))
	case "promotions":
		return promotions(ctx, l, checked(ctx, k, read[promotionv1.Promotion](in)))
	case "cart_settings":
		return each(checked(ctx, k, read[cartv1.CartSettings](in)), func(settings *cartv1.CartSettings) error {
			if l.DryRun {
				return nil
			}
			_, err := l.Carts.PutCartSettings(ctx, &cartv1.PutCartSettingsRequest{StoreId: l.StoreID, Settings: settings})
			return err
		})
	case "carts":
		return each(checked(ctx, k, read[cartv1.Cart](in)), func(cart *cartv1.Cart) error { return setCart(ctx, l, cart) })
	case "order_settings":
		return orderSettings(ctx, l, checked(ctx, k, read[orderv1.OrderSettings](in)))
	case "orders":
		return orders(ctx, l, checked(ctx, k, read[orderv1.Order](in)))
	default:
		return policies(ctx, l, checked(ctx, k, read[policyv1.Policy](in)))
	}
}

// Feed loads products from a file that package productfeed reads, such as one of CSV, as File does. The extension is one of
// productfeed.Extensions.
func (l *Load) Feed(ctx context.Context, extension string, in io.Reader) (Report, error) {
	k, err := newChecker(ctx, l, "products")
	if err != nil {
		return Report{}, err
	}
	cfg := productfeed.Config{Extension: extension, Currency: k.currency, Now: k.now}
	return k.noted(ctx)(products(ctx, l, checked(ctx, k, productfeed.Read(in, cfg))))
}

// orderSettings writes each record over the one before.
func orderSettings(ctx context.Context, l *Load, items lines[*orderv1.OrderSettings]) (Report, error) {
	return each(items, func(settings *orderv1.OrderSettings) error {
		_, err := l.Orders.PutOrderSettings(ctx, &orderv1.PutOrderSettingsRequest{StoreId: l.StoreID, Settings: settings, ValidateOnly: l.DryRun})
		return err
	})
}

// Products loads products that were read already into a store, as File does.
func Products(
	ctx context.Context, c catalogv1.CatalogServiceClient, storeID string, items iter.Seq2[jsonl.Line[*catalogv1.Product], error],
) (Report, error) {
	return products(ctx, &Load{Clients: Clients{Catalog: c}, StoreID: storeID}, items)
}

// message is a pointer to a generated message.
type message[T any] interface {
	*T
	proto.Message
}

// lines are items with their line numbers.
type lines[T proto.Message] = iter.Seq2[jsonl.Line[T], error]

func read[T any, M message[T]](in io.Reader) lines[M] {
	return jsonl.Read(in, func() M { return M(new(T)) }, jsonl.Config{})
}

func setCart(ctx context.Context, l *Load, cart *cartv1.Cart) error {
	_, err := l.Carts.SetCart(ctx, &cartv1.SetCartRequest{StoreId: l.StoreID, CartId: cart.GetCartId(), Items: cart.GetItems(), ValidateOnly: l.DryRun})
	return err
}

// each loads items by one call each.
func each[T proto.Message](items lines[T], put func(T) error) (Report, error) {
	var report Report
	err := readable(items, &report, func(line jsonl.Line[T]) error {
		err := put(line.Item)
		switch status.Code(err) {
		case codes.OK:
			report.Taken++
		case codes.InvalidArgument, codes.NotFound:
			report.refuse(line.Number, status.Convert(err).Message())
		default:
			return fmt.Errorf("line %d: %w", line.Number, err)
		}
		return nil
	})
	return report, err
}

// readable calls take for every readable line and reports the others as refused. It stops at the first error of take or
// of the reader.
func readable[T proto.Message](items lines[T], report *Report, take func(jsonl.Line[T]) error) error {
	for line, err := range items {
		var bad *jsonl.LineError
		switch {
		case errors.As(err, &bad):
			report.refuse(bad.Line, bad.What())
			continue
		case err != nil:
			return err
		}
		if err := take(line); err != nil {
			return err
		}
	}
	return nil
}

// stream is one bulk write in the words that all four services share.
type stream[T proto.Message] struct {
	send   func([]T) error
	finish func() (taken, refused int32, refusals []*commonv1.ItemError, err error)
}

// bulk loads items by a stream of batches, which is opened with the first one.
func bulk[T proto.Message](items lines[T], open func() (stream[T], error)) (Report, error) {
	var report Report
	b := batcher[T]{open: open}
	err := readable(items, &report, func(line jsonl.Line[T]) error {
		if size := proto.Size(line.Item); size > maxItemBytes {
			report.refuse(line.Number, fmt.Sprintf("has %d bytes, must have at most %d", size, maxItemBytes))
			return nil
		}
		return b.add(line)
	})
	if err != nil {
		return report, err
	}
	taken, refused, refusals, err := b.finish()
	if err != nil {
		return report, err
	}
	for _, r := range refusals {
		report.refuse(b.lineOf[r.GetIndex()], fmt.Sprintf("%s: %s: %s", r.GetItemId(), r.GetField(), r.GetDescription()))
	}
	report.Taken, report.Refused = int(taken), report.Refused+int(refused)-len(refusals)
	slices.SortStableFunc(report.Refusals, func(a, b Refusal) int { return a.Line - b.Line })
	return report, nil
}

// batcher cuts items into the messages of a stream.
type batcher[T proto.Message] struct {
	open   func() (stream[T], error)
	stream stream[T]
	batch  []T
	bytes  int
	lineOf []int // by position in the stream
}

// add takes one item, and sends the batch before it when that is full.
func (b *batcher[T]) add(line jsonl.Line[T]) error {
	size := proto.Size(line.Item)
	if len(b.batch) == batchSize || b.bytes+size > batchBytes {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.batch, b.bytes, b.lineOf = append(b.batch, line.Item), b.bytes+size, append(b.lineOf, line.Number)
	return nil
}

// flush sends the batch. If the server has ended the stream, finish returns the reason.
func (b *batcher[T]) flush() error {
	if len(b.batch) == 0 {
		return nil
	}
	if b.stream.send == nil {
		var err error
		if b.stream, err = b.open(); err != nil {
			return err
		}
	}
	err := b.stream.send(b.batch)
	b.batch, b.bytes = nil, 0
	if errors.Is(err, io.EOF) {
		_, _, _, err = b.stream.finish()
	}
	return err
}

// finish sends what is left and returns the server's report; nothing was sent when there was no item.
func (b *batcher[T]) finish() (taken, refused int32, refusals []*commonv1.ItemError, err error) {
	if err := b.flush(); err != nil || b.stream.finish == nil {
		return 0, 0, nil, err
	}
	return b.stream.finish()
}
