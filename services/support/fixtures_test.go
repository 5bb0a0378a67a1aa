package support

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/support/orders/orderstest"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

// Short names of the orders of tests.
var (
	noon        = orderstest.Noon
	daysFromNow = orderstest.DaysFromNow
	order       = orderstest.Order
	in          = orderstest.In
	returnUntil = orderstest.ReturnUntil
	units       = orderstest.Units
	twoItems    = orderstest.TwoItems
	days        = orderstest.Days
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type clients struct {
	service  *Service
	redis    redis.UniversalClient
	conn     *grpc.ClientConn
	orders   orderv1.OrderServiceClient
	policies policyv1.PolicyServiceClient
}

// serve runs the service on an in-memory network, with a Redis of its own.
func serve(t *testing.T, model agentloop.Model) clients { return serveBy(t, model, nil) }

// serveBy serves with an embedder.
func serveBy(t *testing.T, model agentloop.Model, embedder policies.Embedder) clients {
	t.Helper()
	client := servicetest.Redis(t)
	service, err := New(Config{
		Deps:     specialist.Deps{Redis: client, Model: model, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }},
		Embedder: embedder,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	conn := servicetest.Serve(t, "support", service.Register)
	return clients{service, client, conn, orderv1.NewOrderServiceClient(conn), policyv1.NewPolicyServiceClient(conn)}
}

func silent() agentloop.Model { return scripted.New() }

func (c clients) haveOrders(t *testing.T, storeID string, orders ...*orderv1.Order) {
	t.Helper()
	resp, err := servicetest.Upsert(t, c.orders.UpsertOrders, &orderv1.UpsertOrdersRequest{StoreId: storeID, Orders: orders})
	if err != nil || resp.GetErrorCount() > 0 {
		t.Fatalf("upsert: %v, %v", resp, err)
	}
}

func (c clients) havePolicies(t *testing.T, storeID string, policies ...*policyv1.Policy) {
	t.Helper()
	resp, err := servicetest.Upsert(t, c.policies.UpsertPolicies, &policyv1.UpsertPoliciesRequest{StoreId: storeID, Policies: policies})
	if err != nil || resp.GetErrorCount() > 0 {
		t.Fatalf("upsert: %v, %v", resp, err)
	}
}
