// Package recommend serves shoppers' carts and the recommend specialist, which proposes what goes with a cart and what
// could take the place of a product.
//
// Carts live in Redis as product ids and quantities; titles and prices are read from the catalog at each look, so a
// cart never shows an old price. The package must not import another service; it reaches the catalog, and the orders for
// what was bought together, through their generated clients.
package recommend

import (
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"

	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/recommend/carts"
)

// DefaultCartTTL is how long a cart is kept after its last write.
const DefaultCartTTL = 30 * 24 * time.Hour

// Config is what the service needs.
type Config struct {
	// Deps are what all specialist services share. Redis keeps the carts.
	specialist.Deps
	// Catalog is the store's products. Required.
	Catalog catalogv1.CatalogServiceClient
	// Cart reads carts for the specialist. Nil: those that the service keeps itself.
	Cart cartv1.CartServiceClient
	// Orders say what was bought together. Nil: nothing is known of that.
	Orders CoPurchases
	// CartTTL is how long a cart is kept after its last write. Zero: DefaultCartTTL.
	CartTTL time.Duration
}

// Validate says what is missing or out of range.
func (c Config) Validate() error {
	if err := c.Deps.Validate("recommend"); err != nil {
		return err
	}
	switch {
	case c.Catalog == nil:
		return errors.New("recommend: Catalog is required")
	case c.CartTTL < 0:
		return errors.New("recommend: CartTTL must not be negative")
	}
	return nil
}

// Service is the recommend service. It is safe for concurrent use.
type Service struct {
	carts      *carts.Repository
	cart       cartv1.CartServiceClient // of the store's own; may be nil
	catalog    catalogv1.CatalogServiceClient
	orders     CoPurchases               // may be nil
	languages  *state.TTLCache[[]string] // of the stores' catalogs
	logger     *slog.Logger
	specialist *specialist.Server
}

// New returns a service, or an error that says what the configuration lacks.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.CartTTL == 0 {
		cfg.CartTTL = DefaultCartTTL
	}
	cfg.Logger = cfg.Log()
	s := &Service{
		carts:   carts.New(cfg.Redis, cfg.Sealer, cfg.Catalog, cfg.CartTTL),
		cart:    cfg.Cart,
		catalog: cfg.Catalog, orders: cfg.Orders, logger: cfg.Logger, languages: state.NewTTLCache[[]string](languagesTTL),
	}
	var err error
	s.specialist, err = specialist.New(s.definition(), cfg.Deps)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Register registers CartService and SpecialistService.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	cartv1.RegisterCartServiceServer(r, &server{carts: s.carts})
	customerv1.RegisterCustomerServiceServer(r, &customerServer{carts: s.carts})
	s.specialist.Register(r)
}
