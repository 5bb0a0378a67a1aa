package recommend

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/recommend/carts"
)

func withoutCart(t *testing.T, c cartv1.CartServiceClient, none bool) {
	t.Helper()
	_, err := c.PutCartSettings(t.Context(), &cartv1.PutCartSettingsRequest{StoreId: "s1", Settings: &cartv1.CartSettings{NoCart: none}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAStoreWithoutCartsHasNone(t *testing.T) {
	c, catalog := testCarts(t)
	catalog.products["s2"] = catalog.products["s1"]
	add(t, c, "c1", item("SOCK-1", "", 1))
	withoutCart(t, c, true)
	got, err := c.GetCartSettings(t.Context(), &cartv1.GetCartSettingsRequest{StoreId: "s1"})
	if err != nil || !got.GetSettings().GetNoCart() {
		t.Errorf("settings %v, %v", got, err)
	}
	for name, call := range map[string]func() error{
		"get": func() error {
			_, err := c.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "s1", CartId: "c1"})
			return err
		},
		"add": func() error {
			_, err := c.AddItem(t.Context(), &cartv1.AddItemRequest{StoreId: "s1", CartId: "c1", Item: item("SOCK-1", "", 1)})
			return err
		},
		"clear": func() error {
			_, err := c.ClearCart(t.Context(), &cartv1.ClearCartRequest{StoreId: "s1", CartId: "c1"})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.FailedPrecondition || !cartclient.None(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "s2", CartId: "c1"}); err != nil {
		t.Errorf("another store: %v", err)
	}
	withoutCart(t, c, false)
	if n := len(get(t, c, "s1", "c1").GetItems()); n != 1 {
		t.Errorf("%d items after it has carts again", n)
	}
	if _, err := c.PutCartSettings(t.Context(), &cartv1.PutCartSettingsRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("settings of no store: %v", err)
	}
}

func TestTheSpecialistOfAStoreWithoutCarts(t *testing.T) {
	for name, sc := range map[string]scope.Scope{"a customer": {StoreID: "s1", CustomerID: "ada", CartID: "c1"}, "a guest": {StoreID: "s1"}} {
		service := newService(t, newFakeCatalog(), scripted.New(
			scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "similar_products", Arguments: `{"query":"gift"}`}}},
			scripted.Step{Text: "Camp mug, a gift, from 11.95 EUR."},
		))
		conn := servicetest.Serve(t, "recommend", service.Register)
		withoutCart(t, cartv1.NewCartServiceClient(conn), true)
		described, err := specialistv1.NewSpecialistServiceClient(conn).Describe(servicetest.Context(t, conn, sc), &specialistv1.DescribeRequest{})
		if err != nil || len(described.GetSpecialist().GetTools()) != 2 || described.GetSpecialist().GetTools()[0].GetName() != "similar_products" {
			t.Errorf("%s: described as %v, %v", name, described, err)
		}
		answer := servicetest.Answer(t, conn, sc, "a gift?")
		if len(answer.GetProducts()) != 1 {
			t.Errorf("%s: products %v", name, answer.GetProducts())
		}
	}
}

// brokenCarts fails as it is told.
type brokenCarts struct {
	cartv1.CartServiceClient
	err error
}

func (b brokenCarts) GetCart(context.Context, *cartv1.GetCartRequest, ...grpc.CallOption) (*cartv1.GetCartResponse, error) {
	return nil, b.err
}

func (b brokenCarts) GetCartSettings(
	context.Context, *cartv1.GetCartSettingsRequest, ...grpc.CallOption,
) (*cartv1.GetCartSettingsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "unknown method")
}

func TestCartsOfTheStoresOwn(t *testing.T) {
	said := func(err error, sc scope.Scope, tool, arguments string) (string, error) {
		service := &Service{
			carts: carts.New(nil, nil, nil, 0), cart: brokenCarts{err: err}, catalog: newFakeCatalog(), logger: slog.New(slog.DiscardHandler),
		}
		sc.StoreID = "s1"
		tools := service.tools(&specialist.Turn{Scope: sc, Findings: &specialist.Findings{}})
		if tool == carttool.Name {
			got, err := servicetest.Run[carttool.Result](t.Context(), t, tools, tool, arguments)
			return got.Note, err
		}
		got, err := servicetest.Run[similarResult](t.Context(), t, tools, tool, arguments)
		return got.Note, err
	}
	ada := scope.Scope{CustomerID: "ada", CartID: "ada", Reads: scope.Reads()}
	down, none, unknown := status.Error(codes.Unavailable, "10.0.0.7: refused"), cartclient.NoCart("s1"), status.Error(codes.NotFound, "no such cart")
	for name, tt := range map[string]struct {
		err             error
		tool, arguments string
		note, fails     string
	}{
		"down":                       {down, carttool.Name, `{}`, "", "The cart cannot be read now. Say so"},
		"down, a gift":               {down, "similar_products", `{"query":"gift"}`, "The cart cannot be read now. Some of this may be in it already.", ""},
		"down, what goes with it":    {down, "similar_products", `{}`, "", "The cart cannot be read now. Say so"},
		"no cart":                    {none, carttool.Name, `{}`, "This store's carts cannot be seen here.", ""},
		"no cart, a gift":            {none, "similar_products", `{"query":"gift"}`, "", ""},
		"no cart, what goes with it": {none, "similar_products", `{}`, "This store's carts cannot be seen here. No product was named.", ""},
		"not known":                  {unknown, carttool.Name, `{}`, "The cart is empty.", ""},
		"not known, a gift":          {unknown, "similar_products", `{"query":"gift"}`, "", ""},
	} {
		note, err := said(tt.err, ada, tt.tool, tt.arguments)
		if !strings.HasPrefix(note, tt.note) || tt.note == "" && note != "" {
			t.Errorf("%s: note %q", name, note)
		}
		if (err != nil) != (tt.fails != "") || err != nil && (!strings.HasPrefix(err.Error(), tt.fails) || strings.Contains(err.Error(), "10.0.0.7")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCartsAreForgotten(t *testing.T) {
	server := miniredis.RunT(t)
	client, err := state.Open(t.Context(), "redis://"+server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	service, err := New(Config{Deps: specialist.Deps{Redis: client, Model: scripted.New()}, Catalog: newFakeCatalog(), CartTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	c := cartv1.NewCartServiceClient(servicetest.Serve(t, "recommend", service.Register))
	add(t, c, "c1", item("SOCK-1", "", 1))
	server.FastForward(50 * time.Minute)
	get(t, c, "s1", "c1") // a look does not keep it
	if left := time.Until(add(t, c, "c1", item("WAX-1", "", 1)).GetExpireTime().AsTime()); left < 59*time.Minute || left > time.Hour {
		t.Errorf("kept for %v after a write, want an hour", left)
	}
	server.FastForward(50 * time.Minute)
	cart := get(t, c, "s1", "c1")
	if left := time.Until(cart.GetExpireTime().AsTime()); len(cart.GetItems()) != 2 || left > 10*time.Minute {
		t.Errorf("%d items, kept for %v", len(cart.GetItems()), left)
	}
	server.FastForward(11 * time.Minute)
	if cart := get(t, c, "s1", "c1"); len(cart.GetItems()) != 0 || cart.GetVersion() != 0 || cart.GetExpireTime() != nil {
		t.Errorf("after its time: %v", cart)
	}
	_, err = c.AddItem(t.Context(), &cartv1.AddItemRequest{StoreId: "s1", CartId: "c1", Item: item("SOCK-1", "", 1), ExpectedVersion: proto.Int64(2)})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a write to what was forgotten: %v", err)
	}
}

func TestWhatWasAddedInAnotherCaseIsRemoved(t *testing.T) {
	c, _ := testCarts(t)
	add(t, c, "c1", item("sock-1", "", 1))
	resp, err := c.RemoveItem(t.Context(), &cartv1.RemoveItemRequest{StoreId: "s1", CartId: "c1", ProductId: "sock-1"})
	if err != nil || len(resp.GetCart().GetItems()) != 0 {
		t.Errorf("%v, %v", resp, err)
	}
}
