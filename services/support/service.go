// Package support is the support service: a store's orders and policy documents, and the specialist that answers
// questions about them. It is also where everything goes that no other specialist is for.
//
// The package must not import another service.
package support

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/support/orders"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

// Config is what the service is made of.
type Config struct {
	// Deps are what all specialist services share. Redis keeps orders and policies.
	specialist.Deps
	// Embedder makes the vectors for searching documents by meaning. Nil: they are searched by words alone.
	Embedder policies.Embedder
	// OrderSystems are the order systems of stores that keep their orders themselves, by store. The orders of any other store
	// are in Redis. Nil: no store has an order system.
	OrderSystems map[string]orderhttp.Config
}

// Validate reports what is missing.
func (c Config) Validate() error { return c.Deps.Validate("support") }

// Service serves OrderService, PolicyService and the support specialist. It is safe for concurrent use.
type Service struct {
	orders     *orders.Repository
	policies   *policies.Repository
	now        func() time.Time
	logger     *slog.Logger
	specialist *specialist.Server
}

// New returns a service. It starts nothing and makes no call. Close it after the server has stopped.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cfg.Log()
	s := &Service{now: cfg.Now, logger: cfg.Logger}
	var err error
	s.policies = policies.New(cfg.Redis, cfg.Embedder, cfg.Logger)
	if s.orders, err = orders.New(cfg.Redis, cfg.Sealer, cfg.OrderSystems, cfg.Now); err != nil {
		return nil, err
	}
	if s.specialist, err = specialist.New(s.definition(), cfg.Deps); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the background work. No call may be under way.
func (s *Service) Close() error {
	s.policies.Close()
	return nil
}

// Register adds the three services to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	orderv1.RegisterOrderServiceServer(r, &orderServer{orders: s.orders})
	customerv1.RegisterCustomerServiceServer(r, &customerServer{orders: s.orders})
	policyv1.RegisterPolicyServiceServer(r, &policyServer{policies: s.policies, now: s.now})
	s.specialist.Register(r)
}
