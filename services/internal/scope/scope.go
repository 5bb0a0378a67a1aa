// Package scope carries the store, the shopper and the conversation of a turn.
//
// A Scope is set once, from the authenticated caller, and rides in the context; services/internal/rpc carries it
// between processes. It never comes from a model. The package imports nothing of Quartet's.
package scope

import "context"

// Scope says whose data a call may use. The zero value names no store and no shopper.
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
}

type contextKey struct{}

// NewContext returns a context that carries s.
func NewContext(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// FromContext returns the scope that ctx carries, and whether it carries one.
func FromContext(ctx context.Context) (Scope, bool) {
	s, ok := ctx.Value(contextKey{}).(Scope)
	return s, ok
}
