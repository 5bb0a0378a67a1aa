package suite

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// minimal returns what every role needs, and nothing else: an embedded Redis, the offline model and a network.
func minimal(t testing.TB) Config {
	t.Helper()
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	client, err := state.Open(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	brain, err := offline.New(offline.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := httptest.NewServer(brain)
	answering, err := model.New(model.Config{URL: endpoint.URL + "/v1", Name: offline.Model})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		ScopeSigner: scopetest.Signer(), Scopes: scopetest.Verifier(), Redis: client, Model: answering, Network: rpc.NewNetwork(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	t.Cleanup(func() {
		endpoint.Close()
		if err := errors.Join(cfg.Network.Close(), client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return cfg
}

// serve serves all six services until the test ends.
func serve(t testing.TB, cfg Config) {
	t.Helper()
	six, err := NewAll(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- six.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func dial(t testing.TB, role string, cfg Config) *grpc.ClientConn {
	t.Helper()
	conn, err := Dial(role, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // nothing to lose
	return conn
}

func TestEveryRoleBuildsWithAMinimalConfig(t *testing.T) {
	cfg := minimal(t)
	for _, role := range Roles() {
		inst, err := New(role, cfg)
		if err != nil {
			t.Errorf("%s: %v", role, err)
			continue
		}
		if Port(role) == 0 {
			t.Errorf("%s has no port", role)
		}
		if err := inst.close(t.Context()); err != nil {
			t.Errorf("close %s: %v", role, err)
		}
	}
	if _, err := New("till", cfg); err == nil || !strings.Contains(err.Error(), `"till"`) || !strings.Contains(err.Error(), Gateway) {
		t.Errorf("of a role that does not exist it says: %v", err)
	}
}

func TestMissingDependenciesAreNamed(t *testing.T) {
	whole := minimal(t)
	for _, role := range Roles() {
		for missing, without := range map[string]func(*Config){
			"Redis":   func(c *Config) { c.Redis = nil },
			"Model":   func(c *Config) { c.Model = nil },
			"Network": func(c *Config) { c.Network = nil },
		} {
			cfg := whole
			without(&cfg)
			inst, err := New(role, cfg)
			needed := role != Router && (missing != "Network" || role == Gateway || role == Recommend || role == Promotions)
			if needed != (err != nil) || err != nil && (!strings.Contains(err.Error(), missing) || !strings.HasPrefix(err.Error(), role+": ")) {
				t.Errorf("%s without %s: %v", role, missing, err)
			}
			if inst != nil {
				_ = inst.close(t.Context())
			}
		}
	}
}

// Peers may name every role, so that each service builds without a network.
func TestNewAllNeedsANetwork(t *testing.T) {
	cfg := minimal(t)
	cfg.Network, cfg.Peers = nil, make(map[string]string)
	for _, role := range Roles() {
		cfg.Peers[role] = "127.0.0.1:1"
	}
	if _, err := NewAll(cfg, nil); err == nil || !strings.Contains(err.Error(), "Network is required") {
		t.Errorf("error is %v", err)
	}
}

// That no goroutine is left is checked when all tests have ended.
func TestNewAllClosesWhatItOpened(t *testing.T) {
	cfg := minimal(t)
	taken, err := cfg.Network.Listen(Support) // the last role, so that the others are open by then
	if err != nil {
		t.Fatal(err)
	}
	further, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer further.Close()
	if _, err := NewAll(cfg, map[string][]net.Listener{Gateway: {further}}); err == nil || !strings.Contains(err.Error(), Support) {
		t.Fatalf("error is %v, want the name that is taken", err)
	}
	for _, role := range Roles() {
		if role == Support {
			continue
		}
		if _, err := cfg.Network.Listen(role); err != nil {
			t.Errorf("the listener of %s was not closed: %v", role, err)
		}
	}
	conn, err := net.Dial("tcp", further.Addr().String())
	if err != nil {
		t.Errorf("the caller's listener was closed: %v", err)
	} else {
		_ = conn.Close()
	}
	_ = taken.Close()
}

// What the services do with their settings is tested beside them.
func TestSettingsArriveAtTheServices(t *testing.T) {
	ask := func(t *testing.T, cfg Config) error {
		serve(t, cfg)
		stores := gatewayv1.NewStoreServiceClient(dial(t, Gateway, cfg))
		store := &gatewayv1.Store{StoreId: "s", Name: "S", CurrencyCode: "EUR", DefaultLocale: "en"}
		if _, err := stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: store}); err != nil {
			t.Fatal(err)
		}
		gateway := gatewayv1.NewGatewayServiceClient(dial(t, Gateway, cfg))
		_, err := gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "s", Message: "where is my order?"})
		return err
	}
	t.Run("times to live", func(t *testing.T) {
		cfg := minimal(t)
		cfg.CartTTL, cfg.Gateway.ThreadTTL = 7*time.Minute, 11*time.Minute
		if err := ask(t, cfg); err != nil {
			t.Fatal(err)
		}
		carts := cartv1.NewCartServiceClient(dial(t, Cart, cfg))
		if _, err := carts.SetCart(t.Context(), &cartv1.SetCartRequest{StoreId: "s", CartId: "c"}); err != nil {
			t.Fatal(err)
		}
		if ttls := keyTTLs(t, cfg.Redis); ttls[7*time.Minute] == 0 || ttls[11*time.Minute] == 0 {
			t.Errorf("no key of a cart lives 7 minutes, or none of a thread 11: %v", ttls)
		}
	})
	t.Run("budget", func(t *testing.T) {
		cfg := minimal(t)
		cfg.Gateway.Budget = &commonv1.Budget{MaxTokens: 1}
		if err := ask(t, cfg); err == nil {
			t.Error("a turn was answered with one token")
		}
	})
}

// keyTTLs counts the keys by their time to live, rounded to minutes.
func keyTTLs(t *testing.T, client redis.UniversalClient) map[time.Duration]int {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	ttls := make(map[time.Duration]int)
	for _, key := range keys {
		ttl, err := client.PTTL(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		ttls[ttl.Round(time.Minute)]++
	}
	return ttls
}

// elsewhere is a catalog and a cart of another process.
type elsewhere struct {
	catalogv1.UnimplementedCatalogServiceServer
	cartv1.UnimplementedCartServiceServer
}

var errElsewhere = status.Error(codes.DataLoss, "answered elsewhere")

func (elsewhere) GetProduct(context.Context, *catalogv1.GetProductRequest) (*catalogv1.GetProductResponse, error) {
	return nil, errElsewhere
}

func (elsewhere) GetCart(context.Context, *cartv1.GetCartRequest) (*cartv1.GetCartResponse, error) {
	return nil, errElsewhere
}

func TestPeersReplaceTheServicesOfThisProcess(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, health.NewServer())
	catalogv1.RegisterCatalogServiceServer(server, elsewhere{})
	cartv1.RegisterCartServiceServer(server, elsewhere{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	t.Cleanup(func() { server.Stop(); <-served })

	cfg := minimal(t)
	serve(t, cfg)
	product := func(cfg Config) error {
		_, err := catalogv1.NewCatalogServiceClient(dial(t, Search, cfg)).GetProduct(t.Context(), &catalogv1.GetProductRequest{StoreId: "s", ProductId: "p"})
		return err
	}
	cart := func(cfg Config) error {
		_, err := cartv1.NewCartServiceClient(dial(t, Cart, cfg)).GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "s", CartId: "c"})
		return err
	}
	for name, call := range map[string]func(Config) error{"catalog": product, "cart": cart} {
		if code := status.Code(call(cfg)); code == codes.DataLoss || code == codes.Unavailable || code == codes.Unimplemented {
			t.Errorf("%s: without peers the code is %v, want that of this process's service", name, code)
		}
		peers := cfg
		peers.Peers = map[string]string{Search: lis.Addr().String(), Cart: lis.Addr().String()}
		if code := status.Code(call(peers)); code != codes.DataLoss {
			t.Errorf("%s: with peers the code is %v, want that of the peer", name, code)
		}
	}
}

// A method that changes something must not be sent twice, and a name with a mistake in it would never be retried.
func TestIdempotentMethodsExistAndOnlyRead(t *testing.T) {
	for _, full := range idempotent {
		service, method, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			t.Errorf("%s: %v", full, err)
			continue
		}
		if d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method)) == nil {
			t.Errorf("%s has no method %s", service, method)
		}
		reads := false
		for _, verb := range []string{"Get", "BatchGet", "List", "Search", "Find", "Describe"} {
			reads = reads || strings.HasPrefix(method, verb)
		}
		if !reads {
			t.Errorf("%s is not named after a read", full)
		}
	}
}
