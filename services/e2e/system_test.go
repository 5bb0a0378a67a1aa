package e2e

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"google.golang.org/grpc"

	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// system is all six services over in-memory connections, with the demo stores and the offline model over real HTTP.
type system struct {
	cfg     suite.Config
	gateway gatewayv1.GatewayServiceClient
	prompts gatewayv1.PromptServiceClient
	data    load.Clients
}

// newSystem starts a system with an embedded Redis, which ends with the test.
func newSystem(t *testing.T) *system {
	t.Helper()
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := redisServer.Close(); err != nil {
			t.Error(err)
		}
	})
	return newSystemOn(t, redisServer.URL())
}

// newSystemOn starts a system whose state is in the Redis at url, and loads the demo stores.
func newSystemOn(t *testing.T, url string) *system {
	t.Helper()
	return newSystemWith(t, url, newBrain(t))
}

// newSystemWith is newSystemOn with a model of its own, which speaks for both models, and a configuration that tune changes.
func newSystemWith(t *testing.T, url string, brain http.Handler, tune ...func(*suite.Config)) *system {
	t.Helper()
	h := startSystem(t, url, brain, tune...)
	h.loadDemo(t)
	return h
}

// startSystem is newSystemWith, but loads nothing.
func startSystem(t *testing.T, url string, brain http.Handler, tune ...func(*suite.Config)) *system {
	t.Helper()
	client, err := state.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	modelServer := httptest.NewServer(brain)
	h := &system{cfg: suite.Config{
		ScopeSigner: scopetest.Signer(), Scopes: scopetest.Verifier(),
		Redis: client, Network: rpc.NewNetwork(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), DrainTimeout: time.Second,
		Model: newModel(t, modelServer.URL, offline.Model), FastModel: newModel(t, modelServer.URL, offline.ModelFast),
	}}
	for _, change := range tune {
		change(&h.cfg)
	}
	six, err := suite.NewAll(h.cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- six.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		modelServer.Close()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	h.connect(t)
	return h
}

func newModel(t *testing.T, url, name string) *model.Traced {
	t.Helper()
	m, err := model.New(model.Config{URL: url + "/v1", Name: name, IdleTimeout: soakTimeout})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// connect dials every service that a backend calls.
func (h *system) connect(t *testing.T) {
	t.Helper()
	dial := func(role string) *grpc.ClientConn {
		conn, err := suite.Dial(role, h.cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	gatewayConn, supportConn := dial(suite.Gateway), dial(suite.Support)
	h.gateway, h.prompts = gatewayv1.NewGatewayServiceClient(gatewayConn), gatewayv1.NewPromptServiceClient(gatewayConn)
	h.data = load.Clients{
		Stores:     gatewayv1.NewStoreServiceClient(gatewayConn),
		Catalog:    catalogv1.NewCatalogServiceClient(dial(suite.Search)),
		Carts:      cartv1.NewCartServiceClient(dial(suite.Recommend)),
		Promotions: promotionv1.NewPromotionServiceClient(dial(suite.Promotions)),
		Orders:     orderv1.NewOrderServiceClient(supportConn),
		Policies:   policyv1.NewPolicyServiceClient(supportConn),
	}
}

func (h *system) loadDemo(t *testing.T) {
	t.Helper()
	sets, err := demo.Load(h.cfg.Time())
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if err := load.Demo(t.Context(), h.data, set); err != nil {
			t.Fatalf("load %s: %v", set.Store.GetStoreId(), err)
		}
	}
}

// ask asks as the demo store's customer ava.
func (h *system) ask(t *testing.T, message string) *gatewayv1.AskResponse {
	t.Helper()
	reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: message})
	if err != nil {
		t.Fatalf("Ask(%q): %v", message, err)
	}
	return reply
}

// specialists returns who answered, in order.
func specialists(reply *gatewayv1.AskResponse) []string {
	var names []string
	for _, r := range reply.GetResults() {
		names = append(names, r.GetAssignment().GetSpecialist())
	}
	return names
}
