// Package mcpserver offers what a store's services can read to other agents, as tools of the Model Context Protocol over HTTP.
//
// An agent connects to /mcp/STORE with the token of a caller, who needs the right to ask in that store. The tools change nothing: each
// request gets a signed scope that allows to read, as a turn does, and the services check it. The store and the shopper come from the
// connection, so a model can name neither. The package must not import a service.
package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// CustomerHeader names the signed-in shopper for whom the connection acts. Without it, the shopper is a guest. A caller whose token is
// of one customer acts for that customer in any case.
const CustomerHeader = "Quartet-Customer"

const (
	// callTimeout bounds one call of a tool.
	callTimeout = 15 * time.Second
	// maxBody is the largest request.
	maxBody = 64 << 10
)

// Config says what the tools read. All clients are required.
type Config struct {
	Catalog    catalogv1.CatalogServiceClient
	Carts      cartv1.CartServiceClient
	Promotions promotionv1.PromotionServiceClient
	Orders     orderv1.OrderServiceClient
	Policies   policyv1.PolicyServiceClient
	// Signer signs the scopes of requests. Required.
	Signer *scope.Signer
	// Audience is who the scopes are for: the name of this server. Required.
	Audience string
	// Authenticator finds out who calls. Nil: every caller is local, with all rights.
	Authenticator auth.Authenticator
	// Limiter bounds the requests of each caller. Nil: no limit.
	Limiter *auth.Limiter
	// Version of the program, which agents are told.
	Version string
	// Logger gets the errors of services. Nil: slog.Default().
	Logger *slog.Logger
	// Now decides which promotions run. Nil: time.Now.
	Now func() time.Time
}

// New returns the handler of /mcp/{store}.
func New(cfg Config) http.Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	schemas := mcp.NewSchemaCache()
	tools := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		sc, _ := scope.FromContext(r.Context())
		server := mcp.NewServer(&mcp.Implementation{Name: "quartet", Title: "Store " + sc.StoreID, Version: cfg.Version}, &mcp.ServerOptions{
			SchemaCache:  schemas,
			Instructions: "Tools to read one store: its products, promotions, policies, and the shopper's orders and cart. Nothing can be changed.",
		})
		(&session{cfg: cfg, scope: sc}).addTools(server)
		return server
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp/{store}", cfg.authorized(tools))
	return http.NewCrossOriginProtection().Handler(mux)
}

// authorized lets requests pass that a caller may make, with what they may read in the context.
func (cfg Config) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := cfg.caller(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		sc := scope.Scope{StoreID: r.PathValue("store"), CustomerID: r.Header.Get(CustomerHeader), Audience: cfg.Audience}
		if caller.Customer != "" && (sc.CustomerID == "" || sc.CustomerID == caller.Customer) {
			sc.CustomerID, sc.CustomerGroups = caller.Customer, caller.CustomerGroups
		}
		switch {
		case !fault.ValidID(sc.StoreID), sc.CustomerID != "" && !fault.ValidID(sc.CustomerID):
			http.Error(w, "the store and the customer must be identifiers", http.StatusBadRequest)
			return
		case !caller.May(sc.StoreID, auth.RightAsk), caller.Customer != "" && sc.CustomerID != caller.Customer:
			http.Error(w, "the caller lacks the right to ask in this store, or for this customer", http.StatusForbidden)
			return
		}
		if err := cfg.Limiter.Take(caller, sc.StoreID); err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		sc.CartID = sc.CustomerID
		sc.Reads = []scope.Read{scope.ReadCatalog, scope.ReadPromotions, scope.ReadPolicies}
		if sc.CustomerID != "" {
			sc.Reads = append(sc.Reads, scope.ReadOrders, scope.ReadCarts)
		}
		next.ServeHTTP(w, r.WithContext(scope.NewContext(r.Context(), sc)))
	})
}

// caller finds out who makes a request.
func (cfg Config) caller(r *http.Request) (auth.Caller, error) {
	if cfg.Authenticator == nil {
		return auth.Caller{Name: auth.LocalName, Local: true}, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") || strings.TrimSpace(token) == "" {
		return auth.Caller{}, errors.New(`send the header "Authorization: Bearer TOKEN"`)
	}
	return cfg.Authenticator.Authenticate(r.Context(), strings.TrimSpace(token))
}

// session is what the tools of one request may read.
type session struct {
	cfg   Config
	scope scope.Scope
}

// call returns the context of the calls of one tool, signed for as long as they may take.
func (s *session) call(ctx context.Context) (context.Context, context.CancelFunc, error) {
	sc := s.scope
	sc.Expiry = time.Now().Add(callTimeout)
	token, err := s.cfg.Signer.Sign(sc)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	return scope.WithToken(scope.NewContext(ctx, sc), token), cancel, nil
}
