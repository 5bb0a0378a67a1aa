package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/suite"
)

// dump returns all that is in Redis, by key.
func (h *system) dump(t *testing.T) map[string]string {
	t.Helper()
	ctx, r, all := t.Context(), h.cfg.Redis, map[string]string{}
	for _, key := range r.Keys(ctx, "*").Val() {
		switch kind := r.Type(ctx, key).Val(); kind {
		case "string":
			all[key] = r.Get(ctx, key).Val()
		case "hash":
			all[key] = fmt.Sprint(r.HGetAll(ctx, key).Val())
		case "list":
			all[key] = fmt.Sprint(r.LRange(ctx, key, 0, -1).Val())
		case "zset":
			all[key] = fmt.Sprint(r.ZRangeWithScores(ctx, key, 0, -1).Val())
		case "set":
			all[key] = fmt.Sprint(r.SMembers(ctx, key).Val())
		case "stream":
			all[key] = fmt.Sprint(r.XRange(ctx, key, "-", "+").Val())
		case "none": // has expired
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
	}
	return all
}

// customers are the clients of CustomerService by role.
func (h *system) customers(t *testing.T) map[string]customerv1.CustomerServiceClient {
	t.Helper()
	clients := map[string]customerv1.CustomerServiceClient{}
	for _, role := range []string{suite.Gateway, suite.Recommend, suite.Promotions, suite.Support} {
		conn, err := suite.Dial(role, h.cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		clients[role] = customerv1.NewCustomerServiceClient(conn)
	}
	return clients
}

// export returns what all services keep of a customer, by role.
func export(t *testing.T, clients map[string]customerv1.CustomerServiceClient, customer string) map[string][]*customerv1.ExportCustomerResponse {
	t.Helper()
	kept := map[string][]*customerv1.ExportCustomerResponse{}
	for role, client := range clients {
		stream, err := client.ExportCustomer(t.Context(), &customerv1.ExportCustomerRequest{StoreId: "demo", CustomerId: customer})
		for err == nil {
			var resp *customerv1.ExportCustomerResponse
			if resp, err = stream.Recv(); err == nil {
				kept[role] = append(kept[role], resp)
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatalf("%s: %v", role, err)
		}
	}
	return kept
}

// live makes a customer that all services keep something of: two conversations, feedback, a cart, two orders and a used promotion.
func (h *system) live(t *testing.T, customer string) {
	t.Helper()
	ctx := t.Context()
	eur := func(n int64) *commonv1.Money { return &commonv1.Money{AmountMinor: n, CurrencyCode: "EUR"} }
	orders, err := h.data.Orders.UpsertOrders(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var list []*orderv1.Order
	for i := range 2 {
		list = append(list, &orderv1.Order{
			OrderId: fmt.Sprintf("%s-%d", strings.ToUpper(customer), i), CustomerId: customer, Status: orderv1.OrderStatus_ORDER_STATUS_SHIPPED,
			CreateTime: timestamppb.New(time.Now().Add(-time.Hour)), Subtotal: eur(100), Total: eur(100), Email: customer + "@mail.example", PostalCode: "10115",
			Items: []*orderv1.OrderItem{{ProductId: "TRAIL-1", Title: "Trail shoe", Quantity: 1, UnitPrice: eur(100)}},
		})
	}
	if err := orders.Send(&orderv1.UpsertOrdersRequest{StoreId: "demo", Orders: list}); err != nil {
		t.Fatal(err)
	}
	if resp, err := orders.CloseAndRecv(); err != nil || resp.GetUpsertedCount() != 2 {
		t.Fatalf("orders: %v, %v", resp, err)
	}
	products, err := h.data.Catalog.ListProducts(ctx, &catalogv1.ListProductsRequest{StoreId: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	p := products.GetProducts()[0]
	_, err = h.data.Carts.AddItem(ctx, &cartv1.AddItemRequest{StoreId: "demo", CartId: customer, Item: &cartv1.CartItem{
		ProductId: p.GetProductId(), VariantId: p.GetVariants()[0].GetVariantId(), Quantity: 1}})
	if err != nil {
		t.Fatal(err)
	}
	promotions, err := h.data.Promotions.ListPromotions(ctx, &promotionv1.ListPromotionsRequest{StoreId: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.data.Promotions.RecordUsage(ctx, &promotionv1.RecordUsageRequest{
		StoreId: "demo", OrderId: "promo-order-" + customer[:1], CustomerId: customer, Codes: []string{promotions.GetPromotions()[0].GetCode()}})
	if err != nil {
		t.Fatal(err)
	}
	var last *gatewayv1.AskResponse
	for i, thread := range []string{"", "", "again"} {
		req := &gatewayv1.AskRequest{StoreId: "demo", CustomerId: customer, Message: "Where is my order? I am " + customer, RequestId: fmt.Sprint(customer[:1], i)}
		if thread != "" {
			req.ThreadId = last.GetThreadId()
		}
		if last, err = h.gateway.Ask(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	_, err = h.gateway.RecordFeedback(ctx, &gatewayv1.RecordFeedbackRequest{StoreId: "demo", TurnId: last.GetTurnId(), CustomerId: customer,
		Feedback: &gatewayv1.Feedback{Rating: gatewayv1.Rating_RATING_HELPFUL, Reason: "thanks, " + customer}})
	if err != nil {
		t.Fatal(err)
	}
}

// An export has what every service keeps of a customer, and after an erasure nothing in Redis names the customer. Others keep theirs.
func TestACustomerIsExportedAndErased(t *testing.T) {
	h := newSystem(t)
	h.live(t, "zoequist")
	h.live(t, "benquist")
	clients := h.customers(t)
	kinds := func(kept map[string][]*customerv1.ExportCustomerResponse) map[string]int {
		n := map[string]int{}
		for role, records := range kept {
			for _, r := range records {
				name, _, _ := strings.Cut(prototext.MarshalOptions{}.Format(r), ":")
				n[role+" "+strings.TrimSpace(name)]++
			}
		}
		return n
	}
	want := map[string]int{ // one call of the gateway covers all services
		"gateway thread": 2, "gateway turn": 3, "gateway cart": 1, "gateway used_promotion": 1, "gateway order": 2,
		"recommend cart": 1, "promotions used_promotion": 1, "support order": 2,
	}
	kept, others := export(t, clients, "zoequist"), export(t, clients, "benquist")
	if diff := cmp.Diff(want, kinds(kept)); diff != "" {
		t.Errorf("exported (-want +got):\n%s", diff)
	}
	if text := fmt.Sprint(kept); !strings.Contains(text, "zoequist@mail.example") || !strings.Contains(text, "I am zoequist") ||
		!strings.Contains(text, "thanks, zoequist") || strings.Contains(text, "benquist") {
		t.Errorf("exported %s", text)
	}
	for _, want := range []*customerv1.EraseCustomerResponse{{ThreadCount: 2, CartCount: 1, PromotionUseCount: 1, OrderCount: 2}, {}} { // again, there is nothing left
		erased, err := clients[suite.Gateway].EraseCustomer(t.Context(), &customerv1.EraseCustomerRequest{StoreId: "demo", CustomerId: "zoequist"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, erased, protocmp.Transform()); diff != "" {
			t.Errorf("erased (-want +got):\n%s", diff)
		}
	}
	for key, value := range h.dump(t) {
		if strings.Contains(strings.ToLower(key+" "+value), "zoequist") {
			t.Errorf("left: %s: %s", key, value)
		}
	}
	if diff := cmp.Diff(kinds(others), kinds(export(t, clients, "benquist"))); diff != "" {
		t.Errorf("another customer's data (-before +after):\n%s", diff)
	}
	if got := export(t, clients, "zoequist"); len(got) != 0 {
		t.Errorf("exported after the erasure: %v", slices.Collect(maps.Keys(got)))
	}
	// Each service also answers for itself.
	for role, want := range map[string]*customerv1.EraseCustomerResponse{suite.Recommend: {CartCount: 1}, suite.Promotions: {PromotionUseCount: 1}, suite.Support: {OrderCount: 2}} {
		erased, err := clients[role].EraseCustomer(t.Context(), &customerv1.EraseCustomerRequest{StoreId: "demo", CustomerId: "benquist"})
		if err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		if diff := cmp.Diff(want, erased, protocmp.Transform()); diff != "" {
			t.Errorf("%s erased (-want +got):\n%s", role, diff)
		}
	}
	if _, err := clients[suite.Gateway].EraseCustomer(t.Context(), &customerv1.EraseCustomerRequest{StoreId: "dmeo", CustomerId: "ava"}); status.Code(err) != codes.NotFound {
		t.Errorf("a misspelled store: %v", err)
	}
	for role, client := range clients {
		if _, err := client.EraseCustomer(t.Context(), &customerv1.EraseCustomerRequest{StoreId: "demo"}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s erases nobody: %v", role, err)
		}
	}
}
