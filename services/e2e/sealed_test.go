package e2e

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// secret is in each text of a customer that Redis must not hold.
const secret = "zqsecret"

// talk writes an order and a cart with secrets, and takes turns about them. It returns the replies.
func (h *system) talk(t *testing.T) (replies []*gatewayv1.AskResponse) {
	t.Helper()
	eur := func(minor int64) *commonv1.Money { return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"} }
	resp, err := servicetest.Upsert(t, h.data.Orders.UpsertOrders, &orderv1.UpsertOrdersRequest{StoreId: "demo", Orders: []*orderv1.Order{{
		OrderId: "QT-77777", CustomerId: "ava", Status: orderv1.OrderStatus_ORDER_STATUS_PROCESSING, Email: secret + "@mail.example",
		PostalCode: secret + "1", CreateTime: timestamppb.New(time.Now().Add(-time.Hour)), Subtotal: eur(1000), Total: eur(1000),
		Items: []*orderv1.OrderItem{{ProductId: "P-1", Title: secret + " lamp", Quantity: 1, UnitPrice: eur(1000)}},
	}}})
	if err != nil || resp.GetUpsertedCount() != 1 {
		t.Fatalf("orders: %v, %v", resp, err)
	}
	if _, err := h.data.Orders.GetGuestOrder(t.Context(), &orderv1.GetGuestOrderRequest{
		StoreId: "demo", OrderId: "QT-77777", Proof: &orderv1.GetGuestOrderRequest_Email{Email: secret + "@mail.example"},
	}); err != nil {
		t.Fatal(err)
	}
	for i, message := range []string{"Where is my order QT-77777? " + secret, "Do you have trail running shoes, and what is your return policy? " + secret, "and in blue? " + secret} {
		req := &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", ThreadId: "t1", Message: message, RequestId: "r" + string(rune('1'+i))}
		reply, err := h.gateway.Ask(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		again, err := h.gateway.Ask(t.Context(), req)
		if err != nil || again.GetTurnId() != reply.GetTurnId() || again.GetText() != reply.GetText() {
			t.Errorf("repeated: %v, %v", again, err)
		}
		replies = append(replies, reply)
	}
	if !strings.Contains(replies[0].GetText(), secret) {
		t.Errorf("the reply does not name the order's item: %q", replies[0].GetText())
	}
	return replies
}

// threadKey returns the key of the one thread.
func threadKey(t *testing.T, h *system) string {
	t.Helper()
	keys, err := h.cfg.Redis.Keys(t.Context(), "quartet:*:thread:t1").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("threads: %v, %v", keys, err)
	}
	return keys[0]
}

// found returns how many of the secrets and the replies Redis holds.
func (h *system) found(t *testing.T, replies []*gatewayv1.AskResponse) int {
	t.Helper()
	kept := servicetest.Contents(t, h.cfg.Redis)
	n := strings.Count(kept, secret)
	for _, r := range replies {
		n += strings.Count(kept, r.GetText())
	}
	return n
}

// All that the services keep of a customer is encrypted, in both kinds of Redis; without keys, the same search finds it.
func TestRedisHoldsNothingThatCustomersSay(t *testing.T) {
	for name, start := range map[string]func(testing.TB) string{
		"embedded": func(t testing.TB) string {
			server, err := state.Embedded()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Close() })
			return server.URL()
		},
		"real": redistest.Single,
	} {
		t.Run(name, func(t *testing.T) {
			h := newSystemWith(t, start(t), newBrain(t), func(cfg *suite.Config) { cfg.Sealer = servicetest.Sealer(t) })
			replies := h.talk(t)
			if n := h.found(t, replies); n > 0 {
				t.Errorf("Redis holds %d of the texts", n)
			}
			thread, err := h.gateway.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: "t1"})
			if err != nil || len(thread.GetMessages()) != 6 || !strings.Contains(thread.GetMessages()[0].GetText(), secret) {
				t.Errorf("thread: %v, %v", thread, err)
			}

			// Whoever writes to Redis breaks data, and cannot plant any.
			for key, field := range map[string]string{"{demo:ava}:cart": "items", "{demo:order/QT-77777}:order": "order", threadKey(t, h): "customer"} {
				if n, err := h.cfg.Redis.HSet(t.Context(), "quartet:"+strings.TrimPrefix(key, "quartet:"), field, "bob").Result(); err != nil || n != 0 {
					t.Fatalf("%s %s is not there: %v", key, field, err)
				}
			}
			_, err1 := h.gateway.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: "t1"})
			_, err2 := h.data.Orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "demo", CustomerId: "ava", OrderId: "QT-77777"})
			_, err3 := h.data.Carts.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "demo", CartId: "ava"})
			for _, err := range []error{err1, err2, err3} {
				if status.Code(err) != codes.DataLoss {
					t.Errorf("after a change in Redis: %v, want DATA_LOSS", err)
				}
			}
		})
	}
	h := newSystem(t)
	if n := h.found(t, h.talk(t)); n < 10 {
		t.Errorf("only %d of the texts are found in plaintext: the search is worth nothing", n)
	}
}
