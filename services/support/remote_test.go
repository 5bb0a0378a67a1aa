package support

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/support/orders/orderstest"
)

// sharedKey is the key of the order systems of these tests.
var sharedKey = orderhttp.Key{ID: "test", Secret: []byte("a secret of the tests of support")}

// serveWith runs the service with the order system of store "one".
func serveWith(t *testing.T, cfg orderhttp.Config) clients {
	t.Helper()
	cfg.Keys = append(cfg.Keys, sharedKey)
	service, err := New(Config{
		Deps:         specialist.Deps{Redis: servicetest.Redis(t), Model: silent(), Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }},
		OrderSystems: map[string]orderhttp.Config{"one": cfg},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Serve(t, "support", service.Register)
	return clients{service: service, conn: conn, orders: orderv1.NewOrderServiceClient(conn)}
}

// referenceSystem builds the order system of examples/ and runs it for store "one"; it ends with the test.
func referenceSystem(t *testing.T) (url string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "ordersystem"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "ordersystem")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, "-listen", "127.0.0.1:0", "-store", "one", "-orders", filepath.Join(dir, "orders.jsonl"))
	cmd.Env = append(os.Environ(), "ORDER_KEYS="+sharedKey.ID+"="+string(sharedKey.Secret))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
	})
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the order system did not start: %v", err)
	}
	return strings.TrimSpace(url)
}

func TestOrdersOfTheReferenceSystem(t *testing.T) {
	c := serveWith(t, orderhttp.Config{URL: referenceSystem(t)})
	c.haveSettings(t, "one", &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{{Kind: cancelItems}, {Kind: returnItems, Window: days(30)}}})
	ctx := t.Context()
	resp, err := c.orders.GetOrder(ctx, &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "mika", OrderId: "order #kc-1001"})
	if err != nil || resp.GetOrder().GetOrderId() != "KC-1001" || resp.GetOrder().GetEmail() != "" || resp.GetOrder().GetPostalCode() != "" {
		t.Errorf("an order: %v, %v", resp.GetOrder(), err)
	}
	if a := resp.GetActions().GetAllowed(); len(a) != 1 || orderstest.KindName(a[0].GetKind()) != "RETURN" {
		t.Errorf("allowed: %v, want a return", a)
	}
	if diff := cmp.Diff([]string{"KC-1002", "KC-1001"}, listed(t, c, "one", "mika", 5)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	req := &orderv1.ListOrdersRequest{StoreId: "one", CustomerId: "mika", Limit: 1}
	first, err := c.orders.ListOrders(ctx, req)
	if err != nil || first.GetNextPageToken() == "" || first.GetTotalCount() != 2 {
		t.Fatalf("the first page: %v, %v", first, err)
	}
	req.PageToken = first.GetNextPageToken()
	second, err := c.orders.ListOrders(ctx, req)
	if err != nil || second.GetNextPageToken() != "" || len(second.GetOrders()) != 1 || second.GetOrders()[0].GetOrderId() != "KC-1001" {
		t.Errorf("the second page: %v, %v", second, err)
	}
	for range 6 { // more often than opens the circuit breaker
		req.PageToken = "another"
		if _, err := c.orders.ListOrders(ctx, req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a page that the system does not know: %v", err)
		}
	}
	guest, err := c.orders.GetGuestOrder(ctx, byPostalCode("kc-1001", "1010-ab"))
	if err != nil || guest.GetOrder().GetOrderId() != "KC-1001" {
		t.Errorf("a guest's: %v, %v", guest.GetOrder(), err)
	}
	got, err := servicetest.Run[orderResult](ctx, t, toolsFor(c, "mika"), "lookup_order", "")
	if err != nil || got.Order.OrderID != "KC-1002" || len(got.OtherOrders) != 1 || len(got.Order.Possible) != 1 {
		t.Errorf("the latest for the model: %+v, %v", got.Order, err)
	}
	ask := func(id string) *status.Status {
		_, err := c.orders.GetOrder(ctx, &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "jona", OrderId: id})
		return status.Convert(err)
	}
	if ask("KC-1001").Code() != codes.NotFound || ask("KC-1").Code() != codes.NotFound {
		t.Errorf("another's: %v; a missing one: %v", ask("KC-1001"), ask("KC-1"))
	}
}

func TestAWrongSecretReadsAsAnOrderSystemThatIsDown(t *testing.T) {
	c := serveWith(t, orderhttp.Config{URL: referenceSystem(t), Keys: []orderhttp.Key{{ID: "other", Secret: []byte("another secret of the tests")}}})
	if _, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "mika", OrderId: "KC-1001"}); err != nil {
		t.Errorf("with one good key of two: %v", err)
	}
	sharedOnly := serveWith(t, orderhttp.Config{Transport: forging{}, URL: referenceSystem(t)})
	_, err := sharedOnly.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "mika", OrderId: "KC-1001"})
	if status.Code(err) != codes.Unavailable || !cmp.Equal(reasons(err), []string{"ORDER_SYSTEM_UNAVAILABLE"}) || strings.Contains(err.Error(), "key") {
		t.Errorf("with a bad signature: %v", err)
	}
}

// forging sends requests with a signature of something else.
type forging struct{}

func (forging) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(orderhttp.HeaderNonce, "another nonce")
	return http.DefaultTransport.RoundTrip(r)
}

// answering answers every request with one JSON text.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

func asJSON(t *testing.T, orders ...*orderv1.Order) answering {
	t.Helper()
	raw, err := protojson.Marshal(&orderv1.ListOrdersResponse{Orders: orders, TotalCount: int32(len(orders))})
	if err == nil && len(orders) == 1 {
		raw, err = protojson.Marshal(&orderv1.GetOrderResponse{Order: orders[0]})
	}
	if err != nil {
		t.Fatal(err)
	}
	return answering(raw)
}

func TestAnOrderSystemIsNotBelieved(t *testing.T) {
	get := func(c clients) error {
		_, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "ada", OrderId: "Q-1"})
		return err
	}
	list := func(c clients) error {
		_, err := c.orders.ListOrders(t.Context(), &orderv1.ListOrdersRequest{StoreId: "one", CustomerId: "ada"})
		return err
	}
	guest := func(c clients) error {
		_, err := c.orders.GetGuestOrder(t.Context(), byEmail("Q-1", "ada@one.example"))
		return err
	}
	script := func(o *orderv1.Order) { o.Fulfilments = []*orderv1.Fulfilment{{TrackingUrl: "javascript:alert(1)"}} }
	tests := []struct {
		name   string
		answer answering
		call   func(clients) error
		want   codes.Code
	}{
		{"a good order", asJSON(t, order("Q-1", "ada", 1)), get, codes.OK},
		{"another customer's order", asJSON(t, order("Q-1", "bo", 1)), get, codes.NotFound},
		{"an order that was not asked for", asJSON(t, order("Q-2", "ada", 1)), get, codes.Unavailable},
		{"an order with a script for a link", asJSON(t, order("Q-1", "ada", 1, script)), get, codes.Unavailable},
		{"a good list", asJSON(t, order("Q-1", "ada", 1), order("Q-2", "ada", 2)), list, codes.OK},
		{"a list with another customer's order", asJSON(t, order("Q-1", "ada", 1), order("Q-2", "bo", 2)), list, codes.Unavailable},
		{"a list that begins with the oldest", asJSON(t, order("Q-1", "ada", 2), order("Q-2", "ada", 1)), list, codes.Unavailable},
		{"a guest's order", asJSON(t, order("Q-1", "g", 1, known("ada@one.example", ""))), guest, codes.OK},
		{"another guest's order", asJSON(t, order("Q-1", "g", 1, known("bo@one.example", ""))), guest, codes.NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serveWith(t, orderhttp.Config{URL: "https://orders.one.example", Transport: tt.answer})
			if err := tt.call(c); status.Code(err) != tt.want {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

func TestOtherStoresKeepTheirOrdersHere(t *testing.T) {
	c := serveWith(t, orderhttp.Config{URL: "https://orders.one.example", Transport: answering("{}")})
	c.haveOrders(t, "two", order("Q-1", "ada", 1))
	resp, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "two", CustomerId: "ada", OrderId: "Q-1"})
	if diff := cmp.Diff(order("Q-1", "ada", 1), resp.GetOrder(), protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAModelHearsThatAnOrderSystemIsDown(t *testing.T) {
	c := serveWith(t, orderhttp.Config{URL: "https://orders.one.example", Transport: answering("nonsense")})
	_, err := servicetest.Run[orderResult](t.Context(), t, toolsFor(c, "ada"), "lookup_order", "")
	if err == nil || !strings.Contains(err.Error(), "cannot be looked up now") || strings.Contains(err.Error(), "syntax") {
		t.Errorf("error = %v, want words for the model", err)
	}
}
