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

// idHeader binds a header to the field of a scope that it carries.
type idHeader struct {
	name  string
	field *string
}

func idHeaders(s *scope.Scope) []idHeader {
	return []idHeader{
		{headerStore, &s.StoreID},
		{headerCustomer, &s.CustomerID},
		{headerCart, &s.CartID},
		{headerLocale, &s.Locale},
		{headerThread, &s.ThreadID},
		{headerTurn, &s.TurnID},
	}
}

// incomingScope reads the scope of an incoming call and whether there is one.
// The error is a *fault.Invalid that names every bad header.
func incomingScope(ctx context.Context) (scope.Scope, bool, error) {
	var (
		s     scope.Scope
		found bool
		check fault.Checker
	)
	md, _ := metadata.FromIncomingContext(ctx)
	for _, h := range idHeaders(&s) {
		values := md.Get(h.name)
		if len(values) > 1 {
			check.Addf(h.name, "is sent %d times, must be sent once", len(values))
		}
		if len(values) != 1 || values[0] == "" {
			continue
		}
		check.OptionalID(h.name, values[0])
		*h.field, found = values[0], true
	}
	for _, value := range md.Get(headerGroups) {
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

// outgoingScope returns ctx with the metadata of the scope that it carries, in place of any such metadata before.
func outgoingScope(ctx context.Context) context.Context {
	s, ok := scope.FromContext(ctx)
	if !ok {
		return ctx
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	if md == nil {
		md = metadata.MD{}
	}
	for _, h := range idHeaders(&s) {
		setHeader(md, h.name, *h.field)
	}
	setHeader(md, headerGroups, strings.Join(s.CustomerGroups, ","))
	return metadata.NewOutgoingContext(ctx, md)
}

func setHeader(md metadata.MD, name, value string) {
	md.Delete(name)
	if value != "" {
		md.Set(name, value)
	}
}
