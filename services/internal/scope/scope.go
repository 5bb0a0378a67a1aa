// Package scope says what the calls of a turn may do: for which store, shopper and conversation, and which data they may read.
//
// The gateway fixes the scope of a turn, and signs a part of it for each service that it calls. Services verify the signature,
// and forward the token with their own calls: they have no key to make another. A scope never comes from a model.
// services/internal/rpc carries the token between processes. The package must not import a service.
package scope

import (
	"context"
	"slices"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Read is a kind of data that a scope may allow to read.
type Read string

// The kinds of data.
const (
	// ReadCatalog is products.
	ReadCatalog Read = "catalog"
	// ReadCarts is the shopper's cart, and the settings of the store's carts.
	ReadCarts Read = "carts"
	// ReadPromotions is promotions, and what they save the shopper.
	ReadPromotions Read = "promotions"
	// ReadOrders is the shopper's orders, and the settings of the store's orders.
	ReadOrders Read = "orders"
	// ReadCoPurchases is what was bought together, without saying by whom.
	ReadCoPurchases Read = "co-purchases"
	// ReadPolicies is policy documents.
	ReadPolicies Read = "policies"
)

// Reads returns all kinds of data.
func Reads() []Read {
	return []Read{ReadCatalog, ReadCarts, ReadPromotions, ReadOrders, ReadCoPurchases, ReadPolicies}
}

// Scope says whose data a call may use. The zero value names no store and no shopper, and allows no read.
// Identifiers are 1 to 64 characters of A-Z a-z 0-9 . _ and -, or empty when absent.
type Scope struct {
	// StoreID is the shop. Every key and every query is bound to it.
	StoreID string
	// CustomerID is the signed-in shopper; empty for a guest.
	CustomerID string
	// CustomerGroups are the shopper's groups, such as "wholesale". Must not be modified once in a context.
	CustomerGroups []string
	// CartID is the shopper's cart; empty when there is none.
	CartID string
	// Locale is a BCP 47 tag, such as "de-AT"; empty means the store's default.
	Locale string
	// ThreadID is the conversation; empty outside one.
	ThreadID string
	// TurnID is the request within the conversation; empty outside one.
	TurnID string
	// Reads are the kinds of data that may be read. Must not be modified once in a context.
	Reads []Read
	// Audience is the service that the scope was signed for, such as "support". That service may forward it. Empty: not signed.
	Audience string
	// Expiry is when the signed scope expires. Zero: not signed.
	Expiry time.Time
}

// Allows reports whether the scope allows a read.
func (s Scope) Allows(read Read) bool { return slices.Contains(s.Reads, read) }

// Narrow returns what a service gets of a scope: its reads, and of the shopper only what these are about. The customer and the
// groups go with carts, promotions and orders, and the cart goes with carts.
func (s Scope) Narrow(audience string, reads []Read) Scope {
	s.Audience, s.Reads, s.Expiry = audience, reads, time.Time{}
	if !s.Allows(ReadCarts) {
		s.CartID = ""
		if !s.Allows(ReadPromotions) && !s.Allows(ReadOrders) {
			s.CustomerID, s.CustomerGroups = "", nil
		}
	}
	return s
}

// maxGroups is the most customer groups that a scope may have, and maxReads the most reads.
const (
	maxGroups = 64
	maxReads  = 64
)

// check reports identifiers that do not have their form.
func (s Scope) check() error {
	var c fault.Checker
	c.ID("store", s.StoreID)
	c.ID("audience", s.Audience)
	c.OptionalID("customer", s.CustomerID)
	c.OptionalID("cart", s.CartID)
	c.OptionalID("locale", s.Locale)
	c.OptionalID("thread", s.ThreadID)
	c.OptionalID("turn", s.TurnID)
	c.Range("groups", int64(len(s.CustomerGroups)), 0, maxGroups)
	for _, g := range s.CustomerGroups {
		c.ID("groups", g)
	}
	c.Range("reads", int64(len(s.Reads)), 0, maxReads)
	for _, r := range s.Reads {
		c.ID("reads", string(r))
	}
	return c.Err()
}

type (
	contextKey struct{}
	tokenKey   struct{}
)

// NewContext returns a context that carries s. Outgoing calls carry it only once it is signed: see WithToken.
func NewContext(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// FromContext returns the scope that ctx carries, and whether it carries one.
func FromContext(ctx context.Context) (Scope, bool) {
	s, ok := ctx.Value(contextKey{}).(Scope)
	return s, ok
}

// WithToken returns a context whose outgoing calls carry a signed scope.
func WithToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// Token returns the signed scope that outgoing calls of ctx carry, or "".
func Token(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}
