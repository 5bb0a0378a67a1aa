// Package promotions is the promotions service: a store's promotions, the engine that computes what they are worth to
// a cart, and the specialist that proposes one of them. The engine is pure and uses integers only; no model is
// involved in any amount.
//
// The package must not import another service. It reads carts and the catalog through the generated clients of their
// services.
package promotions

import (
	"time"

	"google.golang.org/grpc"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// Config is what the service is made of.
type Config struct {
	// Deps are what all specialist services share. Redis keeps the promotions.
	specialist.Deps
	// Cart reads carts. Nil: only inline carts can be evaluated, and the specialist sees no cart.
	Cart cartv1.CartServiceClient
	// Catalog finds the cheapest way to qualify when no promotion applies. Nil: no way is named.
	Catalog catalogv1.CatalogServiceClient
}

// Validate reports what is missing.
func (c Config) Validate() error { return c.Deps.Validate("promotions") }

// Service serves PromotionService and the promotions specialist. It is safe for concurrent use.
type Service struct {
	data  *server
	agent *specialist.Server
}

// New returns a service. It starts nothing and makes no call.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cfg.Log()
	data := &server{repository: repository{cfg.Redis}, cart: cfg.Cart, catalog: cfg.Catalog, now: cfg.Now, logger: cfg.Logger}
	agent, err := specialist.New(data.definition(), cfg.Deps)
	if err != nil {
		return nil, err
	}
	return &Service{data: data, agent: agent}, nil
}

// Register adds both services to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	promotionv1.RegisterPromotionServiceServer(r, s.data)
	customerv1.RegisterCustomerServiceServer(r, &customerServer{repository: s.data.repository})
	specialistv1.RegisterSpecialistServiceServer(r, s.agent)
}
