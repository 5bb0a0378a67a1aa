package rpc

import (
	"context"
	"errors"
	"io"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	headerAuthorization = "authorization"
	// maxToken is the longest bearer token, in bytes.
	maxToken = 8 << 10
)

// instrumentation names the package in metrics.
const instrumentation = "github.com/quartet-commerce/quartet/services/internal/rpc"

// localCaller makes the calls to a server that asks for no credentials.
var localCaller = auth.Caller{Name: auth.LocalName, Local: true}

// isReflection reports whether method belongs to the reflection service, which is open where it is registered.
func isReflection(method string) bool { return strings.HasPrefix(method, "/grpc.reflection.") }

// authenticate puts the caller, its token and the scope of an incoming call into the context. A call needs a token or a scope,
// unless the server asks for no credentials.
func (s *Server) authenticate(ctx context.Context, info *callInfo) (context.Context, error) {
	var caller auth.Caller
	token, err := bearer(ctx)
	if err != nil {
		return ctx, err
	}
	switch {
	case s.cfg.Authenticator == nil && s.cfg.Credentials == nil:
		caller = localCaller
	case token != "" && s.cfg.Authenticator == nil:
		return ctx, unauthenticated(commonv1.ErrorReason_ERROR_REASON_CREDENTIALS_INVALID, "this server accepts no tokens")
	case token != "":
		if caller, err = s.cfg.Authenticator.Authenticate(ctx, token); err != nil {
			return ctx, err
		}
		ctx = context.WithValue(ctx, tokenKey{}, token)
	}
	info.caller = caller.Name
	sc, signed, err := s.incomingScope(ctx, info.method)
	switch {
	case err != nil:
		return ctx, err
	case signed != "":
		info.store = sc.StoreID
		ctx = scope.WithToken(scope.NewContext(ctx, sc), signed) // the handler's own calls carry it, too
	case caller.Name == "":
		return ctx, unauthenticated(commonv1.ErrorReason_ERROR_REASON_CREDENTIALS_MISSING,
			"the call has no credentials; send the metadata \"authorization: Bearer TOKEN\"")
	}
	return auth.NewContext(ctx, caller), nil
}

// bearer returns the bearer token of an incoming call, or "" if it has none.
func bearer(ctx context.Context) (string, error) {
	values := metadata.ValueFromIncomingContext(ctx, headerAuthorization)
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "bearer") || token == "" || len(token) > maxToken {
		return "", unauthenticated(commonv1.ErrorReason_ERROR_REASON_CREDENTIALS_INVALID,
			"the metadata \"authorization\" must be sent once, as \"Bearer TOKEN\"")
	}
	return token, nil
}

func unauthenticated(reason commonv1.ErrorReason, description string) error {
	return &fault.Unauthenticated{Reason: reason, Description: description}
}

// authorize returns nil if the caller of ctx may call a method with a request now. It comes before anything else looks at the
// request.
func (s *Server) authorize(ctx context.Context, method string, request any) error {
	if isReflection(method) {
		return nil
	}
	if err := auth.Authorize(ctx, method, request); err != nil {
		return err
	}
	if _, scoped := scope.FromContext(ctx); scoped {
		return nil // the turn's own call was counted
	}
	return s.cfg.Limiter.Take(auth.FromContext(ctx), auth.StoreOf(request))
}

// authorizedStream is a stream whose handler receives only requests that its caller may make, and sees another context.
type authorizedStream struct {
	grpc.ServerStream
	ctx    context.Context
	server *Server
	method string
	store  string // of the last request that named one
	begun  bool
}

func (s *authorizedStream) Context() context.Context { return s.ctx }

// RecvMsg receives a request and authorizes it. In a stream of requests, a later one that names no store is for the same store
// as those before.
func (s *authorizedStream) RecvMsg(request any) error {
	err := s.ServerStream.RecvMsg(request)
	switch {
	case errors.Is(err, io.EOF) && !s.begun && !isReflection(s.method):
		s.begun = true
		if err := auth.AuthorizeEmpty(s.ctx, s.method); err != nil {
			return err
		}
		return err
	case err != nil:
		return err
	case !s.begun:
		s.begun, s.store = true, auth.StoreOf(request)
		return s.server.authorize(s.ctx, s.method, request)
	case isReflection(s.method):
		return nil
	}
	if store := auth.StoreOf(request); store != "" && store != s.store {
		s.store = store
		return s.server.authorize(s.ctx, s.method, request) // another store has a limit of its own
	}
	return nil
}

// tokenKey is the key of a context's value for the bearer token of the call that is being served.
type tokenKey struct{}

// outgoing returns ctx with what proves to the peer of a call what it may do: the signed scope of ctx or, outside a turn, a token.
// It takes the place of what the metadata had before.
func outgoing(ctx context.Context, cfg DialConfig) context.Context {
	name, value := HeaderScope, scope.Token(ctx)
	if _, turn := scope.FromContext(ctx); !turn && value == "" {
		name, value = headerAuthorization, cfg.bearer(ctx)
	}
	if value == "" || cfg.External {
		return ctx
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy() // never nil
	md.Set(name, value)
	return metadata.NewOutgoingContext(ctx, md)
}

// bearer is the metadata with which an outgoing call proves who calls, or "".
func (c DialConfig) bearer(ctx context.Context) string {
	token := c.Token
	if c.ForwardCaller {
		if t, ok := ctx.Value(tokenKey{}).(string); ok {
			token = t
		}
	}
	if token == "" {
		return ""
	}
	return "Bearer " + token
}

// refusalCounter counts the calls that a server refuses because of who makes them.
type refusalCounter struct{ counter metric.Int64Counter }

func newRefusalCounter() refusalCounter {
	return refusalCounter{telemetry.Counter(instrumentation, telemetry.MetricRefusals, "{call}", "Calls refused because of who makes them.")}
}

func (r refusalCounter) count(ctx context.Context, st *status.Status) {
	reason := Reason(st)
	limited := st.Code() == codes.ResourceExhausted && reason == reasonText(commonv1.ErrorReason_ERROR_REASON_RATE_LIMITED)
	if st.Code() == codes.Unauthenticated || st.Code() == codes.PermissionDenied || limited {
		r.counter.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyErrorType, reason)))
	}
}
