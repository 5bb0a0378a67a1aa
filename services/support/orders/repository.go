// Package orders finds a store's orders, says what their customers may ask for, and counts which products are bought together.
// The orders of a store are in Redis, or in an order system of the store's own.
//
// The package must not import a service or another package of the support service.
package orders

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// source is where the orders of a store are. A missing order, another customer's order and a wrong proof are the same
// *fault.NotFound. Orders come without the fields that prove ownership.
type source interface {
	get(ctx context.Context, storeID, customerID, id string) (*orderv1.Order, error)
	// list returns up to limit orders of a customer, the newest first. A token that is not the Next of a page of the customer's is a
	// *fault.Invalid; "" is the first page.
	list(ctx context.Context, storeID, customerID, token string, limit int) (Page, error)
	guest(ctx context.Context, storeID, id string, p Proof) (*orderv1.Order, error)
}

// Page is a part of a customer's orders.
type Page struct {
	Orders []*orderv1.Order // the newest first
	Total  int              // orders of the customer, on all pages
	Next   string           // token of the page after it; "": this is the last
}

// Repository reads orders from wherever their store keeps them, and writes those in Redis. It is safe for concurrent use.
type Repository struct {
	store    redisStore
	remote   map[string]source // order systems, by store
	attempts attempts
	now      func() time.Time
}

// New returns a repository. Stores with an entry in systems keep their orders themselves; the orders of any other store are in
// Redis. The caller owns client. A nil sealer leaves orders in plaintext. now decides which actions are still possible.
func New(
	client redis.UniversalClient, sealer *seal.Sealer, systems map[string]orderhttp.Config, now func() time.Time,
) (*Repository, error) {
	remote, err := remoteStores(systems)
	if err != nil {
		return nil, err
	}
	return &Repository{store: newRedisStore(client, sealer), remote: remote, attempts: attempts{client, sealer}, now: now}, nil
}

// WithActions is an order and what its customer may ask for.
type WithActions struct {
	Order   *orderv1.Order
	Actions *orderv1.OrderActions
	// ReturnRefund is the method by which the store refunds returns. Empty: its rules name none, or several.
	ReturnRefund string
}

// withActions adds to an order what the customer may ask for, by the store's settings.
func (r *Repository) withActions(settings *orderv1.OrderSettings, o *orderv1.Order) WithActions {
	f := WithActions{Order: o, Actions: ActionsFor(settings, o, r.now())}
	var methods []string
	for _, rule := range settings.GetRules() {
		if rule.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN {
			methods = append(methods, rule.GetRefundMethods()...)
		}
	}
	if methods = slices.Compact(methods); len(methods) == 1 {
		f.ReturnRefund = methods[0]
	}
	return f
}

// open returns the source of a store's orders, and the store's settings. The error is a *fault.Precondition for a store without
// an order system.
func (r *Repository) open(ctx context.Context, storeID string) (source, *orderv1.OrderSettings, error) {
	settings, err := r.store.settings(ctx, storeID)
	switch {
	case err != nil:
		return nil, nil, err
	case settings.GetNoOrderSystem():
		return nil, nil, noOrderSystem(storeID)
	}
	if remote, ok := r.remote[storeID]; ok {
		return remote, settings, nil
	}
	return r.store, settings, nil
}

// Put writes orders to Redis. It returns nil when all orders and their indexes are written. After an error, some orders may be
// written and not yet listed; a repeated call completes them.
func (r *Repository) Put(ctx context.Context, storeID string, orders []*orderv1.Order) error {
	return r.store.put(ctx, storeID, orders)
}

// Get returns an order of a customer, by an id in the form of NormalID. A missing order and another customer's order are the same
// *fault.NotFound.
func (r *Repository) Get(ctx context.Context, storeID, customerID, id string) (WithActions, error) {
	source, settings, err := r.open(ctx, storeID)
	if err != nil {
		return WithActions{}, err
	}
	order, err := source.get(ctx, storeID, customerID, id)
	if err != nil {
		return WithActions{}, err
	}
	return r.withActions(settings, order), nil
}

// List returns up to limit orders of a customer, from the page of a token on; "" is the first.
func (r *Repository) List(ctx context.Context, storeID, customerID, token string, limit int) (Page, error) {
	source, _, err := r.open(ctx, storeID)
	if err != nil {
		return Page{}, err
	}
	return source.list(ctx, storeID, customerID, token, limit)
}

// ListWithActions returns up to limit orders of a customer, the newest first, with what the customer may ask for, and how many there are.
func (r *Repository) ListWithActions(ctx context.Context, storeID, customerID string, limit int) ([]WithActions, int, error) {
	source, settings, err := r.open(ctx, storeID)
	if err != nil {
		return nil, 0, err
	}
	page, err := source.list(ctx, storeID, customerID, "", limit)
	var out []WithActions
	for _, o := range page.Orders {
		out = append(out, r.withActions(settings, o))
	}
	return out, page.Total, err
}

// Guest returns an order to a shopper who is not signed in. Wrong attempts are counted, also attempts at orders that do not
// exist; too many end in a *fault.Exhausted.
func (r *Repository) Guest(ctx context.Context, storeID, id string, p Proof) (WithActions, error) {
	source, settings, err := r.open(ctx, storeID)
	if err != nil {
		return WithActions{}, err
	}
	if err := r.attempts.begin(ctx, storeID, id, p); err != nil {
		return WithActions{}, err
	}
	order, err := source.guest(ctx, storeID, id, p)
	if err != nil {
		return WithActions{}, err
	}
	if err := r.attempts.succeeded(ctx, storeID, id, p); err != nil {
		return WithActions{}, err
	}
	return r.withActions(settings, order), nil
}

// CoPurchases returns up to limit products that were bought together with some products in the store's orders in Redis, each
// once, the strongest evidence first.
func (r *Repository) CoPurchases(ctx context.Context, storeID string, products []string, limit int) ([]*orderv1.CoPurchase, error) {
	products = slices.Clone(products)
	slices.Sort(products)
	found, err := r.store.coPurchases(ctx, storeID, slices.Compact(products))
	if err != nil {
		return nil, err
	}
	return found[:min(len(found), limit)], nil
}

// Settings returns a store's settings; empty settings when it has none.
func (r *Repository) Settings(ctx context.Context, storeID string) (*orderv1.OrderSettings, error) {
	return r.store.settings(ctx, storeID)
}

// RecentSettings returns a store's settings as of at most one second ago. The caller must not modify them.
func (r *Repository) RecentSettings(ctx context.Context, storeID string) (*orderv1.OrderSettings, error) {
	return r.store.recentSettings(ctx, storeID)
}

// PutSettings replaces a store's settings.
func (r *Repository) PutSettings(ctx context.Context, storeID string, settings *orderv1.OrderSettings) error {
	return r.store.putSettings(ctx, storeID, settings)
}

// NormalID returns the form under which an order is kept: shoppers write "order # qt-10021" for QT-10021.
func NormalID(id string) string {
	fields := strings.Fields(strings.ToUpper(strings.ReplaceAll(id, "#", " ")))
	for len(fields) > 1 && slices.Contains(orderWords, strings.TrimRight(fields[0], ".:")) {
		fields = fields[1:]
	}
	return strings.Join(fields, "")
}

// orderWords may precede an order's id.
var orderWords = []string{"ORDER", "NUMBER", "NO", "NR"}

func notFound(id string) error {
	return &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_ORDER_NOT_FOUND, Resource: "order", Name: id}
}

// noOrderSystem is the error of a lookup in a store that has no order system.
func noOrderSystem(storeID string) error {
	return &fault.Precondition{
		Reason:  commonv1.ErrorReason_ERROR_REASON_NO_ORDER_SYSTEM,
		Subject: "store/" + storeID, Description: "its orders cannot be looked up here; settings.no_order_system says so",
	}
}
