package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/promotions"
	"github.com/quartet-commerce/quartet/services/recommend"
	"github.com/quartet-commerce/quartet/services/router"
	"github.com/quartet-commerce/quartet/services/search"
	"github.com/quartet-commerce/quartet/services/support"
)

// The roles of a deployment.
const (
	Gateway    = "gateway"
	Router     = "router"
	Search     = "search"
	Recommend  = "recommend"
	Promotions = "promotions"
	Support    = "support"
)

// Cart is the name of the cart service in Config.Peers. It is not a role: without a target in Peers, the recommend service
// serves carts.
const Cart = "cart"

// role is one row of the table of services.
type role struct {
	name       string
	port       int
	specialist bool         // has a SpecialistService that the gateway calls
	reads      []scope.Read // what the scopes of a specialist allow to read
	needsState bool         // needs Redis and a model
	maxRequest int          // bytes of the largest request of any method; the gateway takes no larger one of those that it forwards
	callers    []string     // the other roles that call it
	data       []string     // services by full name that the gateway forwards, so that one address takes a store's data
	build      func(Config, *dialer) (registrar, error)
}

// roles are the services. To add one takes one row here, one package and one manifest. A specialist reads nothing that its row
// does not name.
func roles() []role {
	return []role{
		{Gateway, 7300, false, nil, true, 4 * mib, nil, nil, buildGateway},
		{Router, 7301, false, nil, false, 4 * mib, []string{Gateway}, nil, buildRouter},
		{Search, 7302, true, []scope.Read{scope.ReadCatalog}, true, 16 * mib, []string{Gateway, Recommend, Promotions},
			[]string{catalogv1.CatalogService_ServiceDesc.ServiceName}, buildSearch},
		{Recommend, 7303, true, []scope.Read{scope.ReadCatalog, scope.ReadCarts, scope.ReadCoPurchases}, true, 4 * mib,
			[]string{Gateway, Promotions}, []string{cartv1.CartService_ServiceDesc.ServiceName}, buildRecommend},
		{Promotions, 7304, true, []scope.Read{scope.ReadPromotions, scope.ReadCarts, scope.ReadCatalog}, true, 16 * mib,
			[]string{Gateway}, []string{promotionv1.PromotionService_ServiceDesc.ServiceName}, buildPromotions},
		{Support, 7305, true, []scope.Read{scope.ReadOrders, scope.ReadPolicies, scope.ReadCarts}, true, 16 * mib, []string{Gateway, Recommend},
			[]string{orderv1.OrderService_ServiceDesc.ServiceName, policyv1.PolicyService_ServiceDesc.ServiceName}, buildSupport},
	}
}

// forwardData registers the services of data of all roles on the gateway's server.
func forwardData(server grpc.ServiceRegistrar, d *dialer) error {
	for _, r := range roles() {
		if len(r.data) == 0 {
			continue
		}
		conn := d.dialForCallers(r.name)
		for _, service := range r.data {
			if d.err == nil {
				d.err = rpc.Forward(server, protoreflect.FullName(service), conn)
			}
		}
	}
	return d.err
}

// gatewayOnly are the services that only the gateway calls, whatever other data a peer may read from the same server.
var gatewayOnly = map[string][]string{
	routerv1.RouterService_ServiceDesc.ServiceName:         {Gateway},
	specialistv1.SpecialistService_ServiceDesc.ServiceName: {Gateway},
}

// Roles returns the names of all roles.
func Roles() []string {
	var names []string
	for _, r := range roles() {
		names = append(names, r.name)
	}
	return names
}

// Specialists returns the names of the roles that are specialists.
func Specialists() []string {
	var names []string
	for _, r := range roles() {
		if r.specialist {
			names = append(names, r.name)
		}
	}
	return names
}

// Port returns the TCP port that a role listens on unless told otherwise; zero for an unknown role.
func Port(name string) int {
	r, err := roleOf(name)
	if err != nil {
		return 0
	}
	return r.port
}

// Narrow returns what a role gets of a scope. The router gets no reads, and neither does a role that is no specialist.
func Narrow(name string, sc scope.Scope) (scope.Scope, error) {
	r, err := roleOf(name)
	return sc.Narrow(name, r.reads), err
}

func roleOf(name string) (role, error) {
	for _, r := range roles() {
		if r.name == name {
			return r, nil
		}
	}
	return role{}, fmt.Errorf("unknown role %q; the roles are: %s", name, strings.Join(Roles(), ", "))
}

func buildGateway(cfg Config, d *dialer) (registrar, error) {
	dial := func(role string) grpc.ClientConnInterface {
		conn := d.dial(role)
		if cfg.Tape == nil || conn == nil {
			return conn
		}
		return cfg.Tape.Conn(role, conn)
	}
	var peers []gateway.Peer
	for _, r := range roles() {
		if r.specialist {
			peers = append(peers, gateway.Peer{
				Name: r.name, Client: specialistv1.NewSpecialistServiceClient(dial(r.name)), Reads: r.reads,
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Further)) {
		if _, err := roleOf(name); err == nil || name == Cart {
			return nil, fmt.Errorf("the name %q of a further specialist is taken", name)
		}
		peers = append(peers, gateway.Peer{Name: name, Client: specialistv1.NewSpecialistServiceClient(dial(name))})
	}
	c := gateway.Config{
		Redis: cfg.Redis, Sealer: cfg.Sealer, Model: cfg.Model.Model, Price: cfg.Model.Price, NamedModel: cfg.namedModel(Gateway), Specialists: peers,
		RouterPrompt: router.BuiltIn(),
		Router:       routerv1.NewRouterServiceClient(d.dial(Router)), Cart: cartv1.NewCartServiceClient(dial(Cart)),
		Orders: orderv1.NewOrderServiceClient(dial(Support)), Signer: cfg.ScopeSigner, Settings: cfg.Gateway, Logger: cfg.Logger, Now: cfg.Now,
		Tape: cfg.Tape, NewID: cfg.NewID,
	}
	for _, role := range []string{Recommend, Promotions, Support} {
		c.Customers = append(c.Customers, customerv1.NewCustomerServiceClient(d.dialForCallers(role)))
	}
	if cfg.FastModel != nil {
		c.FastModel, c.FastPrice = cfg.FastModel.Model, cfg.FastModel.Price
	}
	if d.err != nil {
		return nil, d.err
	}
	return gateway.New(c)
}

func buildRouter(cfg Config, _ *dialer) (registrar, error) {
	c := router.Config{Logger: cfg.Logger, AlwaysAskModel: cfg.AlwaysAskModel, Embedder: cfg.RouteEmbedder}
	if cfg.FastModel != nil && !cfg.RulesOnly {
		c.Model, c.Price, c.NamedModel = cfg.FastModel.Model, cfg.FastModel.Price, cfg.namedModel(Router)
	}
	return router.New(c)
}

// modelOf returns the model of a specialist.
func (cfg Config) modelOf(role string) *model.Traced {
	if m := cfg.Models[role]; m != nil {
		return m
	}
	return cfg.Model
}

// namedModel returns what gives a role the models that stores choose, or nil.
func (cfg Config) namedModel(role string) prompt.NamedModel {
	if cfg.NamedModel == nil {
		return nil
	}
	return func(name string) (agentloop.Model, *agentloop.Price, error) {
		m, err := cfg.NamedModel(name)
		switch {
		case err != nil:
			return nil, nil, err
		case cfg.Tape != nil:
			return cfg.Tape.Model(role, m.Model), m.Price, nil
		}
		return m.Model, m.Price, nil
	}
}

// tapeModels puts the tape before the models of a role. Summaries of threads are written after their turn, so they are not on tape.
func (cfg *Config) tapeModels(role string) {
	if cfg.Tape == nil {
		return
	}
	taped := func(m *model.Traced) *model.Traced {
		if m == nil {
			return nil
		}
		t := *m
		t.Model = cfg.Tape.Model(role, m.Model)
		return &t
	}
	cfg.Model = taped(cfg.Model)
	if role == Router {
		cfg.FastModel = taped(cfg.FastModel)
	}
	if m := cfg.Models[role]; m != nil {
		cfg.Models = map[string]*model.Traced{role: taped(m)}
	}
}

// TapeSettings returns the settings that a bundle needs so that its turn can be played back.
func (cfg Config) TapeSettings() bundle.Settings {
	s := bundle.Settings{
		RulesOnly: cfg.RulesOnly, AlwaysAskModel: cfg.AlwaysAskModel, NoFastModel: cfg.FastModel == nil, Prices: make(map[string]agentloop.Price),
	}
	add := func(name string, m *model.Traced) {
		if m != nil && m.Price != nil {
			s.Prices[name] = *m.Price
		}
	}
	for _, name := range cfg.Gateway.StoreModels {
		if m, err := cfg.NamedModel(name); err == nil {
			add(name, m)
		}
	}
	add(Gateway, cfg.Model)
	add(Router, cfg.FastModel)
	for _, name := range Specialists() {
		add(name, cfg.modelOf(name))
	}
	return s
}

// deps are what all specialist services get.
func (cfg Config) deps(role string) specialist.Deps {
	m := cfg.modelOf(role)
	return specialist.Deps{
		Redis: cfg.Redis, Sealer: cfg.Sealer, Model: m.Model, Price: m.Price, NamedModel: cfg.namedModel(role), CaptureContent: cfg.CaptureContent,
		Logger: cfg.Logger, Now: cfg.Now, Tape: cfg.Tape, Tools: cfg.Tools[role],
	}
}

func buildSearch(cfg Config, _ *dialer) (registrar, error) {
	return search.New(search.Config{Deps: cfg.deps(Search), Settings: cfg.Search})
}

func buildRecommend(cfg Config, d *dialer) (registrar, error) {
	catalog := catalogv1.NewCatalogServiceClient(d.dialForCallers(Search))
	orders := orderv1.NewOrderServiceClient(d.dialForCallers(Support))
	var cart cartv1.CartServiceClient // nil: its own carts
	if cfg.Peers[Cart] != "" {
		cart = cartv1.NewCartServiceClient(d.dialForCallers(Cart))
	}
	if d.err != nil {
		return nil, d.err
	}
	return recommend.New(recommend.Config{
		Deps: cfg.deps(Recommend), Catalog: catalog, Orders: orders, Cart: cart, CartTTL: cfg.CartTTL,
	})
}

func buildPromotions(cfg Config, d *dialer) (registrar, error) {
	cart := cartv1.NewCartServiceClient(d.dialForCallers(Cart))
	catalog := catalogv1.NewCatalogServiceClient(d.dialForCallers(Search))
	if d.err != nil {
		return nil, d.err
	}
	return promotions.New(promotions.Config{Deps: cfg.deps(Promotions), Cart: cart, Catalog: catalog})
}

func buildSupport(cfg Config, _ *dialer) (registrar, error) {
	return support.New(support.Config{Deps: cfg.deps(Support), Embedder: cfg.Search.Embedder, OrderSystems: cfg.OrderSystems})
}

// idempotent are the methods that a client may retry by itself when it cannot reach a server.
var idempotent = []string{
	catalogv1.CatalogService_GetProduct_FullMethodName,
	catalogv1.CatalogService_BatchGetProducts_FullMethodName,
	catalogv1.CatalogService_SearchProducts_FullMethodName,
	catalogv1.CatalogService_FindSimilarProducts_FullMethodName,
	cartv1.CartService_GetCart_FullMethodName,
	cartv1.CartService_GetCartSettings_FullMethodName,
	orderv1.OrderService_ListCoPurchases_FullMethodName,
	specialistv1.SpecialistService_Describe_FullMethodName,
}
