package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// The metadata that carries a scope.Scope. Values are identifiers; groups are a list separated by commas.
const (
	headerStore    = "quartet-store"
	headerCustomer = "quartet-customer"
	headerGroups   = "quartet-customer-groups"
	headerCart     = "quartet-cart"
	headerLocale   = "quartet-locale"
	headerThread   = "quartet-thread"
	headerTurn     = "quartet-turn"
)

// maxGroups is the most customer groups that a scope may have.
const maxGroups = 64

// idHeaders are the headers that carry one identifier each.
var idHeaders = [...]string{headerStore, headerCustomer, headerCart, headerLocale, headerThread, headerTurn}

// idFields are the fields of a scope that idHeaders carry, in their order.
func idFields(s *scope.Scope) [len(idHeaders)]*string {
	return [...]*string{&s.StoreID, &s.CustomerID, &s.CartID, &s.Locale, &s.ThreadID, &s.TurnID}
}

// incomingScope reads the scope of an incoming call and whether there is one.
// The error is a *fault.Invalid that names every bad header.
func incomingScope(ctx context.Context) (scope.Scope, bool, error) {
	var (
		s     scope.Scope
		found bool
		check fault.Checker
	)
	for i, field := range idFields(&s) {
		values := metadata.ValueFromIncomingContext(ctx, idHeaders[i])
		if len(values) > 1 {
			check.Addf(idHeaders[i], "is sent %d times, must be sent once", len(values))
		}
		if len(values) != 1 || values[0] == "" {
			continue
		}
		check.OptionalID(idHeaders[i], values[0])
		*field, found = values[0], true
	}
	for _, value := range metadata.ValueFromIncomingContext(ctx, headerGroups) {
		for group := range strings.SplitSeq(value, ",") {
			if group = strings.TrimSpace(group); group != "" {
				s.CustomerGroups, found = append(s.CustomerGroups, group), true
			}
		}
	}
	if len(s.CustomerGroups) > maxGroups {
		check.Addf(headerGroups, "has %d groups, must have at most %d", len(s.CustomerGroups), maxGroups)
	}
	for _, group := range s.CustomerGroups {
		if !fault.ValidID(group) {
			check.OptionalID(headerGroups, group)
			break // one violation tells enough
		}
	}
	return s, found, check.Err()
}

// incomingStore returns the store that an incoming call names, or "" if it names none or a bad one.
func incomingStore(ctx context.Context) string {
	values := metadata.ValueFromIncomingContext(ctx, headerStore)
	if len(values) != 1 || !fault.ValidID(values[0]) {
		return ""
	}
	return values[0]
}

// outgoing returns ctx with the metadata of the scope that it carries, in place of any such metadata before.
func outgoing(ctx context.Context) context.Context {
	s, ok := scope.FromContext(ctx)
	if !ok {
		return ctx
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy() // never nil
	set := func(name, value string) {
		if md.Delete(name); value != "" {
			md.Set(name, value)
		}
	}
	for i, field := range idFields(&s) {
		set(idHeaders[i], *field)
	}
	set(headerGroups, strings.Join(s.CustomerGroups, ","))
	return metadata.NewOutgoingContext(ctx, md)
}
