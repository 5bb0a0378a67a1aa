// Package auth says who makes a call and what that caller may do: the rights, the rule of each method, and the limits on the
// number of calls.
//
// A Caller is set once, by the interceptors of services/internal/rpc, from the credentials of the call. Rights hold per store.
// The package imports no service, and nothing of gRPC's transport.
package auth

import (
	"context"
	"slices"
)

// Authenticator finds out who makes a call.
type Authenticator interface {
	// Authenticate returns the caller that a bearer token stands for, or a *fault.Unauthenticated. No error quotes the token.
	Authenticate(ctx context.Context, token string) (Caller, error)
}

// Right is something that a caller may do in a store.
type Right string

// The rights. The right to an area of data includes reading it.
const (
	// RightAsk allows asking for shoppers, and reading and deleting the threads of the customers for whom the caller asks.
	RightAsk Right = "ask"
	// RightThreads allows reading all threads and turns of the store, and using the threads of guests without naming their carts.
	RightThreads Right = "threads"
	// RightErase allows deleting any thread of the store, and giving out and removing all data of its customers.
	RightErase Right = "erase"
	// RightAgents allows writing into any thread as a person of the store, and muting the assistant there.
	RightAgents Right = "agents"
	// RightStores allows writing the settings of the store.
	RightStores Right = "stores"
	// RightCatalog allows writing and reading products.
	RightCatalog Right = "catalog"
	// RightCarts allows writing and reading carts and cart settings.
	RightCarts Right = "carts"
	// RightOrders allows writing and reading orders and order settings.
	RightOrders Right = "orders"
	// RightPromotions allows writing and reading promotions, and evaluating carts that come with the request. To evaluate a cart by
	// its id takes RightCarts, too.
	RightPromotions Right = "promotions"
	// RightPolicies allows writing and reading policy documents.
	RightPolicies Right = "policies"
	// RightPrompts allows writing and reading prompts.
	RightPrompts Right = "prompts"
	// RightUsage allows reading usage and reports.
	RightUsage Right = "usage"
)

// Rights returns all rights.
func Rights() []Right {
	return []Right{RightAsk, RightThreads, RightErase, RightAgents, RightStores, RightCatalog, RightCarts, RightOrders, RightPromotions,
		RightPolicies, RightPrompts, RightUsage}
}

// AnyStore in a Grant stands for every store.
const AnyStore = "*"

// Grant gives rights in one store, or in every store.
type Grant struct {
	// Store is the id of a store, or AnyStore.
	Store string
	// Rights that hold there.
	Rights []Right
}

// LocalName is the name of local callers. No other caller has it.
const LocalName = "local"

// Caller is who makes a call. The zero value may do nothing. It must not be modified once in a context.
type Caller struct {
	// Name tells callers apart, in limits, request ids and logs. Empty only for the zero value.
	Name string
	// Grants are the caller's rights.
	Grants []Grant
	// Customer, if not empty, is the only customer for whom the caller may act.
	Customer string
	// CustomerGroups are the only groups that a caller with a Customer may name.
	CustomerGroups []string
	// Rate replaces the default limit of calls per second and store. Zero: the default. Negative: no limit.
	Rate float64
	// Local says that the server does not ask for credentials, so the caller has every right.
	Local bool
}

// May reports whether the caller has a right in a store.
func (c Caller) May(storeID string, right Right) bool {
	return c.Local || c.granted(storeID, func(g Grant) bool { return slices.Contains(g.Rights, right) })
}

// MayEnter reports whether the caller has any right in a store.
func (c Caller) MayEnter(storeID string) bool {
	return c.Local || c.granted(storeID, func(g Grant) bool { return len(g.Rights) > 0 })
}

// granted reports whether a grant for a store meets a condition.
func (c Caller) granted(storeID string, meets func(Grant) bool) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool {
		return (g.Store == AnyStore || g.Store == storeID) && meets(g)
	})
}

// mayAnywhere reports whether the caller has a right in some store.
func (c Caller) mayAnywhere(right Right) bool {
	return c.Local || slices.ContainsFunc(c.Grants, func(g Grant) bool { return slices.Contains(g.Rights, right) })
}

type contextKey struct{}

// NewContext returns a context that carries c.
func NewContext(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// FromContext returns the caller that ctx carries, or else the zero Caller, who may do nothing.
func FromContext(ctx context.Context) Caller {
	c, _ := ctx.Value(contextKey{}).(Caller)
	return c
}
