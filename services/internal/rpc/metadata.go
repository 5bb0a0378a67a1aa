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

// mostPairs is room for the names and values of a scope and a trace: groups, traceparent and tracestate beside the ids.
const mostPairs = 2 * (len(idHeaders) + 3)

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
		values := metadata.ValueFromIncomingContext(ctx, idHeaders[i]) // all of the metadata at once would be a copy
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

// outgoing returns ctx with the metadata of the scope and of the trace that it carries, in place of any such metadata before.
func outgoing(ctx context.Context, c *carrier) context.Context {
	s, scoped := scope.FromContext(ctx)
	pairs := c.addTrace(ctx, addScope(make([]string, 0, mostPairs), &s))
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		if scoped {
			for _, name := range append(idHeaders[:], headerGroups) {
				md.Delete(name)
			}
		}
		for i := 0; i < len(pairs); i += 2 {
			md.Delete(pairs[i])
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	if len(pairs) == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// addScope adds the metadata of a scope to pairs.
func addScope(pairs []string, s *scope.Scope) []string {
	for i, field := range idFields(s) {
		if *field != "" {
			pairs = append(pairs, idHeaders[i], *field)
		}
	}
	if len(s.CustomerGroups) > 0 {
		pairs = append(pairs, headerGroups, strings.Join(s.CustomerGroups, ","))
	}
	return pairs
}
