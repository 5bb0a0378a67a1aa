package support

import (
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

// noon is now in tests.
var noon = time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)

func daysFromNow(n int) *timestamppb.Timestamp { return timestamppb.New(noon.AddDate(0, 0, n)) }

func eur(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

// order is a valid order that was placed some days ago.
func order(id, customer string, daysAgo int, options ...func(*orderv1.Order)) *orderv1.Order {
	o := &orderv1.Order{
		OrderId: id, CustomerId: customer, Status: orderv1.OrderStatus_ORDER_STATUS_PROCESSING, CreateTime: daysFromNow(-daysAgo),
		Items: []*orderv1.OrderItem{{
			ProductId: "boots", Title: "Nimbolt Walker", Quantity: 1, UnitPrice: eur(14900), Options: map[string]string{"size": "42"},
		}},
		Subtotal: eur(14900), Total: eur(14900),
	}
	for _, option := range options {
		option(o)
	}
	return o
}

func in(status orderv1.OrderStatus, parcels ...*orderv1.Fulfilment) func(*orderv1.Order) {
	return func(o *orderv1.Order) { o.Status, o.Fulfilments = status, parcels }
}

func returnUntil(t *timestamppb.Timestamp) func(*orderv1.Order) {
	return func(o *orderv1.Order) { o.ReturnDeadline = t }
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type clients struct {
	service  *Service
	conn     *grpc.ClientConn
	orders   orderv1.OrderServiceClient
	policies policyv1.PolicyServiceClient
}

// serve runs the service on an in-memory network, with a Redis of its own.
func serve(t *testing.T, model agentloop.Model) clients { return serveBy(t, model, nil) }

// serveBy serves with an embedder.
func serveBy(t *testing.T, model agentloop.Model, embedder policies.Embedder) clients {
	t.Helper()
	service, err := New(Config{
		Deps:     specialist.Deps{Redis: servicetest.Redis(t), Model: model, Logger: slog.New(slog.DiscardHandler)},
		Embedder: embedder, Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	conn := servicetest.Serve(t, "support", service.Register)
	return clients{service, conn, orderv1.NewOrderServiceClient(conn), policyv1.NewPolicyServiceClient(conn)}
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
