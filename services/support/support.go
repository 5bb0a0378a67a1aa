// Package support is the support service: a store's orders and policy documents, and the specialist that answers
// questions about them. It is also where everything goes that no other specialist is for.
//
// The package must not import another service.
package support

import (
	"time"

	"google.golang.org/grpc"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

// Config is what the service is made of.
type Config struct {
	// Deps are what all specialist services share. Redis keeps orders and policies.
	specialist.Deps
	// Embedder makes the vectors for searching documents by meaning. Nil: they are searched by words alone.
	Embedder policies.Embedder
	// OrderSystems are those of the stores that keep their orders themselves, by store. The orders of any other store are kept
	// in Redis. Nil: no store has one.
	OrderSystems map[string]orderhttp.Config
	// Now is the clock that decides whether a return is still possible. Nil: time.Now.
	Now func() time.Time
}

// Validate reports what is missing.
func (c Config) Validate() error { return c.Deps.Validate("support") }

// Service serves OrderService, PolicyService and the support specialist. It is safe for concurrent use.
type Service struct {
	orders   *orderServer
	policies *policyServer
	agent    *specialist.Server
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
	documents, err := policies.New(cfg.Redis, cfg.Embedder, cfg.Logger)
	if err != nil {
		return nil, err
	}
	own, err := openRemote(cfg.OrderSystems)
	if err != nil {
		return nil, err
	}
	book := &orderBook{store: newOrderStore(cfg.Redis), own: own, attempts: attempts{cfg.Redis}, now: cfg.Now}
	d := &desk{orders: book, policies: documents, logger: cfg.Logger}
	agent, err := specialist.New(d.definition(), cfg.Deps)
	if err != nil {
		return nil, err
	}
	return &Service{
		orders:   &orderServer{book: book},
		policies: &policyServer{repository: documents, now: cfg.Now},
		agent:    agent,
	}, nil
}

// Close ends the work on vectors. No call may be under way.
func (s *Service) Close() error {
	s.policies.repository.Close()
	return nil
}

// Register adds the three services to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	orderv1.RegisterOrderServiceServer(r, s.orders)
	policyv1.RegisterPolicyServiceServer(r, s.policies)
	specialistv1.RegisterSpecialistServiceServer(r, s.agent)
}
