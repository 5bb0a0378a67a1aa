package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// kites is a small store. Its carts come from elsewhere, or it has none.
var kites = map[string]string{
	"stores": `{"store_id":"kites","name":"Kite Corner","currency_code":"EUR","default_locale":"en"}`,
	"products": `{"product_id":"K1","title":"Harbour single-line kite","category_path":["Kites"],"tags":["beach","gift"],"complement_ids":["L1"],"variants":[{"variant_id":"red","options":{"colour":"red"},"price":{"amount_minor":2450,"currency_code":"EUR"},"stock":7}]}
{"product_id":"K2","title":"Gale stunt kite","category_path":["Kites"],"tags":["beach"],"variants":[{"variant_id":"std","price":{"amount_minor":6900,"currency_code":"EUR"},"stock":2}]}
{"product_id":"L1","title":"Spare line 50 m","category_path":["Lines"],"tags":["beach"],"variants":[{"variant_id":"std","price":{"amount_minor":950,"currency_code":"EUR"},"stock":20}]}`,
	"promotions": `{"code":"WINDY","title":"Windy weeks","percent_off":{"basis_points":1000},"minimum_subtotal":{"amount_minor":6000,"currency_code":"EUR"},"start_time":"2020-01-01T00:00:00Z"}`,
	"policies":   `{"policy_id":"contact","title":"Your cart and contact","body":"Ask us about your cart by phone: 0800 300 400."}`,
}

func openKites(t *testing.T, h *system) {
	t.Helper()
	for _, kind := range load.Kinds() {
		if kites[kind] == "" {
			continue
		}
		report, err := load.File(t.Context(), h.data, "kites", kind, strings.NewReader(kites[kind]))
		if err != nil || report.Refused > 0 {
			t.Fatalf("%s: %+v, %v", kind, report, err)
		}
	}
}

func askKites(t *testing.T, h *system, message string) *gatewayv1.AskResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	reply, err := h.gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: "kites", CustomerId: "mika", Message: message})
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	return reply
}

// ownCarts builds the cart service of examples/ and runs it for store kites. It ends with the test, or when it is stopped.
func ownCarts(t *testing.T) (address string, stop func()) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "cartservice"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "cartservice")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, "-listen", "127.0.0.1:0", "-store", "kites", "-goods", filepath.Join(dir, "goods.jsonl"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	stop = func() {
		select {
		case <-stopped:
		default:
			cancel()
			_ = cmd.Wait() // it was killed
			close(stopped)
		}
	}
	t.Cleanup(stop)
	address, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the cart service did not start: %v", err)
	}
	return strings.TrimSpace(address), stop
}

// A kite costs less in the store's own carts than in its catalog, so it shows whose prices count.
func TestAStoreWithCartsOfItsOwn(t *testing.T) {
	address, stop := ownCarts(t)
	redis, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redis.Close() })
	h := newSystemWith(t, redis.URL(), newBrain(t), func(cfg *suite.Config) { cfg.Peers = map[string]string{suite.Cart: address} })
	openKites(t, h)
	conn, err := rpc.Dial(address, rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = cartv1.NewCartServiceClient(conn).AddItem(t.Context(), &cartv1.AddItemRequest{
		StoreId: "kites", CartId: "mika", Item: &cartv1.CartItem{ProductId: "K1", VariantId: "red", Quantity: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	if reply := askKites(t, h, "what is in my cart?"); !strings.Contains(reply.GetText(), "Harbour single-line kite") || !strings.Contains(reply.GetText(), "66.00 EUR") {
		t.Errorf("the cart: %s", reply.GetText())
	}
	reply := askKites(t, h, "is there a discount code for my cart?")
	if p := reply.GetPromotion(); p.GetCode() != "WINDY" || p.GetSaving().GetAmountMinor() != 660 {
		t.Errorf("promotion %v: %s", p, reply.GetText())
	}
	reply = askKites(t, h, "what goes with what is in my cart?")
	if ids := productsOf(reply); !slices.Contains(ids, "L1") || slices.Contains(ids, "K1") {
		t.Errorf("company %v: %s", ids, reply.GetText())
	}
	// The demo store's carts are with the recommend service, which is not asked: elsewhere that store has none.
	if reply := h.ask(t, "what is in my cart?"); !strings.Contains(reply.GetText(), "cannot be seen here") {
		t.Errorf("another store's cart: %s", reply.GetText())
	}
	stop()
	for _, message := range []string{"what is in my cart?", "is there a discount code for my cart?", "any gift ideas?"} {
		reply := askKites(t, h, message)
		if reply.GetPromotion() != nil || strings.Contains(reply.GetText(), "66.00") || strings.TrimSpace(reply.GetText()) == "" {
			t.Errorf("without carts, %s: %s", message, reply.GetText())
		}
	}
}

func productsOf(reply *gatewayv1.AskResponse) (ids []string) {
	for _, p := range reply.GetProducts() {
		ids = append(ids, p.GetProductId())
	}
	return ids
}

func TestAStoreWithoutCartsSaysSo(t *testing.T) {
	h := newSystem(t)
	openKites(t, h)
	settings := `{"no_cart":true}`
	if report, err := load.File(t.Context(), h.data, "kites", "cart_settings", strings.NewReader(settings)); err != nil || report.Taken != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	for message, want := range map[string]string{
		"what is in my cart?":                                "cannot be seen here",
		"what goes with what is in my cart?":                 "cannot be seen here",
		"is there a discount code for my cart?":              "cannot be seen here",
		"any gift ideas?":                                    "Harbour single-line kite",
		"is there something similar to the Gale stunt kite?": "Harbour single-line kite",
	} {
		reply := askKites(t, h, message)
		if !strings.Contains(reply.GetText(), want) || strings.Contains(reply.GetText(), "is empty") {
			t.Errorf("%s\nthe reply does not say %q: %s", message, want, reply.GetText())
		}
		if tools := toolsOf(reply); slices.Contains(tools, "get_cart_context") {
			t.Errorf("%s\nthe cart was looked up: %v", message, tools)
		}
		if slices.ContainsFunc(reply.GetSuggestedActions(), func(a *specialistv1.SuggestedAction) bool { return a.GetAddToCart() != nil }) {
			t.Errorf("%s\nsomething is proposed for the cart: %v", message, reply.GetSuggestedActions())
		}
		if reply.GetPromotion() != nil {
			t.Errorf("%s\na saving was computed on no cart: %v", message, reply.GetPromotion())
		}
	}
}

// What some customers bought together is proposed to another, from orders to reply.
func TestWhatOthersBoughtTogetherIsRecommended(t *testing.T) {
	h := newSystem(t)
	const inCart, bought = "HK-BOOT-005", "HOME-005" // ava's shoes, and what nobody but customers would have with them
	price := &commonv1.Money{AmountMinor: 1000, CurrencyCode: "EUR"}
	var orders []*orderv1.Order
	for i := range 8 {
		o := &orderv1.Order{
			OrderId: fmt.Sprintf("CO-%d", i), CustomerId: fmt.Sprintf("walker-%d", i), Status: orderv1.OrderStatus_ORDER_STATUS_DELIVERED,
			CreateTime: timestamppb.New(time.Now().AddDate(0, 0, -i)), Subtotal: price, Total: price,
		}
		for _, id := range []string{inCart, bought} {
			o.Items = append(o.Items, &orderv1.OrderItem{ProductId: id, Title: id, Quantity: 1, UnitPrice: price})
		}
		orders = append(orders, o)
	}
	before := h.ask(t, "what goes with what is in my cart?")
	if slices.Contains(productsOf(before), bought) {
		t.Fatalf("it is recommended anyway: %v", productsOf(before))
	}
	resp, err := servicetest.Upsert(t, h.data.Orders.UpsertOrders, &orderv1.UpsertOrdersRequest{StoreId: "demo", Orders: orders})
	if err != nil || resp.GetErrorCount() > 0 {
		t.Fatalf("%v, %v", resp, err)
	}
	reply := h.ask(t, "what goes with what is in my cart?")
	at := slices.IndexFunc(reply.GetProducts(), func(p *specialistv1.ProductChoice) bool { return p.GetProductId() == bought })
	if at < 0 || !strings.HasPrefix(reply.GetProducts()[at].GetReason(), "often bought with ") {
		t.Fatalf("products %v\n%s", reply.GetProducts(), reply.GetText())
	}
	// What is sold out is not recommended, however often it was bought.
	product, err := h.data.Catalog.GetProduct(t.Context(), &catalogv1.GetProductRequest{StoreId: "demo", ProductId: bought})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range product.GetProduct().GetVariants() {
		v.Stock = 0
	}
	_, err = servicetest.Upsert(t, h.data.Catalog.UpsertProducts, &catalogv1.UpsertProductsRequest{StoreId: "demo", Products: []*catalogv1.Product{product.GetProduct()}})
	if err != nil {
		t.Fatal(err)
	}
	if ids := productsOf(h.ask(t, "what goes with what is in my cart?")); slices.Contains(ids, bought) {
		t.Errorf("sold out, and recommended: %v", ids)
	}
}
