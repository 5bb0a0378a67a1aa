// Package demo holds two invented stores that come with the program, so that a fresh clone has something to ask about:
// "demo", an outdoor shop, and "tea", a small second one that shows that stores do not see each other's things.
//
// The stores are JSON Lines under data, one message of the contract a line, in the form that `quartet load` reads.
// They differ from that form in one thing. A demo's orders must be days old whenever it is run, so a time is written
// relative to the moment of loading: "now", "now-3d", "now+2d12h", "now-45m" (days of 24 hours, hours, minutes, in
// this order), and Load puts the instant in its place. No other package knows that form.
//
// The customers of the store "demo" are plain names. Ava's latest order is on its way, with tracking. Ben's latest has
// arrived. Chloe, Dev, Elif, Finn, Hana and Iris have orders in every other state; Gus has none. Hana's shipped order
// is late. Carts are named after their customers, as the gateway expects. Groups of customers ("members", "new") come
// with each request and are not stored.
//
// The package imports the contract's messages and jsonl. It must not import a service or dial one: it is data.
package demo

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"time"

	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

//go:embed data
var files embed.FS

// Dataset is one store and all that it holds, in the order of the files. Everything in it belongs to the caller.
type Dataset struct {
	// Store is the shop itself. Never nil.
	Store *gatewayv1.Store
	// Products is the catalog.
	Products []*catalogv1.Product
	// Carts have store_id, cart_id and each item's product, variant and quantity set: what a write takes.
	Carts []*cartv1.Cart
	// Promotions include some that have ended and some that have not begun.
	Promotions []*promotionv1.Promotion
	// OrderSettings holds one record, of what customers may ask for.
	OrderSettings []*orderv1.OrderSettings
	// Orders of several customers, the oldest first.
	Orders []*orderv1.Order
	// Policies are the store's documents.
	Policies []*policyv1.Policy
}

// Load returns the demo stores with every time set relative to now, to the second. Equal instants give equal data, and
// no two calls share a message. An error means that the embedded files are damaged; it names file and line.
func Load(now time.Time) ([]Dataset, error) {
	data, err := fs.Sub(files, "data")
	if err != nil {
		return nil, fmt.Errorf("open demo data: %w", err)
	}
	return Read(data, now)
}

// Read returns the stores of a folder with the layout of the demo's own, as Load does.
func Read(data fs.FS, now time.Time) ([]Dataset, error) {
	r := reader{files: data, now: now}
	stores := read[gatewayv1.Store](&r, "stores.jsonl")
	sets := make([]Dataset, 0, len(stores))
	for _, store := range stores {
		id := store.GetStoreId()
		sets = append(sets, Dataset{
			Store:         store,
			Products:      read[catalogv1.Product](&r, path.Join(id, "products.jsonl")),
			Carts:         read[cartv1.Cart](&r, path.Join(id, "carts.jsonl")),
			Promotions:    read[promotionv1.Promotion](&r, path.Join(id, "promotions.jsonl")),
			Orders:        read[orderv1.Order](&r, path.Join(id, "orders.jsonl")),
			OrderSettings: read[orderv1.OrderSettings](&r, path.Join(id, "order_settings.jsonl")),
			Policies:      read[policyv1.Policy](&r, path.Join(id, "policies.jsonl")),
		})
	}
	if r.err != nil {
		return nil, fmt.Errorf("load demo data: %w", r.err)
	}
	return sets, nil
}

// reader reads files and keeps the first error, after which it reads nothing.
type reader struct {
	files fs.FS
	now   time.Time
	err   error
}

// message is a *M that is a protobuf message.
type message[M any] interface {
	*M
	proto.Message
}

// read returns the messages of one file, none once the reader has an error.
func read[M any, T message[M]](r *reader, name string) []T {
	if r.err != nil {
		return nil
	}
	text, err := fs.ReadFile(r.files, name)
	if err != nil {
		r.err = err
		return nil
	}
	var items []T
	newItem := func() T { return new(M) }
	for line, err := range jsonl.Read(bytes.NewReader(AbsoluteTimes(text, r.now)), newItem, jsonl.Config{}) {
		if err != nil {
			r.err = fmt.Errorf("%s: %w", name, err)
			return nil
		}
		items = append(items, line.Item)
	}
	return items
}
