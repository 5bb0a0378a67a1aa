package rpc

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// HeaderScope is the metadata that carries the signed scope of a turn.
const HeaderScope = "quartet-scope"

// incomingScope verifies the scope of an incoming call. It returns the scope and its token, or "" if the call has none and needs
// none. A method that is a part of a turn needs a scope that was signed for this server.
func (s *Server) incomingScope(ctx context.Context, method string) (scope.Scope, string, error) {
	tokens := metadata.ValueFromIncomingContext(ctx, HeaderScope)
	turn := auth.PartOfTurn(method)
	switch {
	case len(tokens) == 0 && turn:
		return scope.Scope{}, "", scope.Missing()
	case len(tokens) == 0:
		return scope.Scope{}, "", nil
	case len(tokens) > 1:
		return scope.Scope{}, "", scope.Invalid("is sent more than once")
	case s.cfg.Scopes == nil:
		return scope.Scope{}, "", scope.Invalid("cannot be verified: this service has no scope keys")
	}
	sc, err := s.cfg.Scopes.Verify(tokens[0])
	if err == nil && turn && sc.Audience != s.cfg.Name {
		err = scope.Invalid("was signed for another service")
	}
	return sc, tokens[0], err
}
