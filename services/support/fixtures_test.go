package support

import (
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
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

// handbook is what the test store has written.
func handbook() []*policyv1.Policy {
	return []*policyv1.Policy{
		{PolicyId: "returns", Title: "Returns and refunds", Url: "https://one.example/returns", Body: "Anything can be sent back within 30 days.\n\n" +
			"## How to return\n\nAsk for a label in your account.\nDrop the parcel at any counter.\n\n" +
			"## Opened goods\n\nTents may be pitched once indoors.\n\nSocks can be returned in their packet only."},
		{PolicyId: "shipping", Title: "Delivery times and costs", Body: "Standard delivery takes 2 to 4 days and costs 4.95 EUR.\n\n" +
			"## Norway\n\nParcels to Norway take 5 to 9 days."},
		{PolicyId: "warranty", Title: "Warranty", Body: "Everything is covered for 2 years against faults in material.\n\n## Bags\n\nBags are covered for 10 years."},
		{PolicyId: "contact", Title: "Contact and opening hours", Body: "We answer on working days from 8:00 to 18:00."},
		{PolicyId: "faq", Title: "Questions", Body: "Where are you from?\n\nWe accept cards and bank transfer for payment.\n\nGift wrapping is free in December."},
		{PolicyId: "rueckgabe", Title: "Rückgabe", Language: "de-AT", Body: "Ware kann innerhalb von 30 Tagen zurückgegeben werden."},
	}
}

type clients struct {
	service  *Service
	conn     *grpc.ClientConn
	orders   orderv1.OrderServiceClient
	policies policyv1.PolicyServiceClient
}

// serve runs the service on an in-memory network, with a Redis of its own.
func serve(t *testing.T, model agentloop.Model) clients { return serveBy(t, model, nil) }

// serveBy serves with an embedder.
func serveBy(t *testing.T, model agentloop.Model, embedder Embedder) clients {
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

// search is what the words of a question find.
func (x *passageIndex) search(question, language string, limit int) []*policyv1.Passage {
	found, _ := x.find(question, language)
	return x.passages(found, limit)
}
