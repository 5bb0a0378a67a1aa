package promotions

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/promotions/engine"
)

// fakeCarts serves carts by store and id; what is not there is empty, as the cart service has it.
type fakeCarts struct {
	cartv1.CartServiceClient
	carts map[string]*cartv1.Cart
	err   error
	reads int
	none  bool // the stores have no carts
}

func (f *fakeCarts) GetCart(_ context.Context, req *cartv1.GetCartRequest, _ ...grpc.CallOption) (*cartv1.GetCartResponse, error) {
	f.reads++
	switch {
	case f.err != nil:
		return nil, f.err
	case f.none:
		return nil, rpc.Status(cartclient.NoCart(req.GetStoreId())).Err()
	}
	cart := f.carts[req.GetStoreId()+"/"+req.GetCartId()]
	if cart == nil {
		cart = &cartv1.Cart{}
	}
	return &cartv1.GetCartResponse{Cart: cart}, nil
}

func (f *fakeCarts) GetCartSettings(
	context.Context, *cartv1.GetCartSettingsRequest, ...grpc.CallOption,
) (*cartv1.GetCartSettingsResponse, error) {
	return &cartv1.GetCartSettingsResponse{Settings: &cartv1.CartSettings{NoCart: f.none}}, f.err
}

// serve runs the service on an in-memory network, with a Redis of its own.
func serve(t *testing.T, carts cartv1.CartServiceClient, model agentloop.Model) (*Service, *grpc.ClientConn) {
	t.Helper()
	service, err := New(Config{
		Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: model, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }},
		Cart: carts,
	})
	if err != nil {
		t.Fatal(err)
	}
	return service, servicetest.Serve(t, "promotions", service.Register)
}

func silent() agentloop.Model { return scripted.New() }

func mustUpsert(t *testing.T, client promotionv1.PromotionServiceClient, storeID string, promotions ...*promotionv1.Promotion) {
	t.Helper()
	resp, err := servicetest.Upsert(t, client.UpsertPromotions, &promotionv1.UpsertPromotionsRequest{StoreId: storeID, Promotions: promotions})
	if err != nil || resp.GetErrorCount() > 0 {
		t.Fatalf("upsert: %v, %v", resp, err)
	}
}

func TestUpsertListDelete(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	ctx := t.Context()

	resp, err := servicetest.Upsert(t, client.UpsertPromotions,
		&promotionv1.UpsertPromotionsRequest{StoreId: "one", Promotions: []*promotionv1.Promotion{promo("ZED", percent(100)), promo("BAD")}},
		&promotionv1.UpsertPromotionsRequest{Promotions: []*promotionv1.Promotion{promo("alpha", percent(200)), promo("WORSE", percent(0))}},
		&promotionv1.UpsertPromotionsRequest{StoreId: "one", Promotions: []*promotionv1.Promotion{promo("ALPHA", percent(300))}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := &promotionv1.UpsertPromotionsResponse{UpsertedCount: 3, ErrorCount: 2, Errors: []*commonv1.ItemError{
		{Index: 1, ItemId: "BAD", Field: "benefit"},
		{Index: 3, ItemId: "WORSE", Field: "percent_off.basis_points"},
	}}
	ignore := protocmp.IgnoreFields(&commonv1.ItemError{}, "description")
	if diff := cmp.Diff(want, resp, protocmp.Transform(), ignore); diff != "" {
		t.Errorf("upsert (-want +got):\n%s", diff)
	}
	mustUpsert(t, client, "two", promo("OTHER", percent(100)))

	list, err := client.ListPromotions(ctx, &promotionv1.ListPromotionsRequest{StoreId: "one"})
	if err != nil {
		t.Fatal(err)
	}
	all := []*promotionv1.Promotion{promo("ALPHA", percent(300)), promo("ZED", percent(100))}
	if diff := cmp.Diff(all, list.GetPromotions(), protocmp.Transform()); diff != "" {
		t.Errorf("list: one code in any case, by code, of one store (-want +got):\n%s", diff)
	}

	for _, wantDeleted := range []bool{true, false} {
		got, err := client.DeletePromotion(ctx, &promotionv1.DeletePromotionRequest{StoreId: "one", Code: "zed"})
		if err != nil || got.GetDeleted() != wantDeleted {
			t.Errorf("delete: %v, %v, want deleted %v", got, err, wantDeleted)
		}
	}
	if got, err := client.DeletePromotion(ctx, &promotionv1.DeletePromotionRequest{StoreId: "one", Code: "OTHER"}); err != nil || got.GetDeleted() {
		t.Errorf("delete of another store's promotion: %v, %v", got, err)
	}
}

func TestPromotionsPageByPage(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf("CODE%02d", i))
		mustUpsert(t, client, "one", promo(strings.ToLower(want[i]), percent(100)))
	}
	for limit, pages := range map[int32]int{0: 1, 1: 12, 5: 3, 12: 1} {
		var got []string
		read := 0
		err := pagetoken.Each(func(token string) (string, error) {
			resp, err := client.ListPromotions(t.Context(), &promotionv1.ListPromotionsRequest{StoreId: "one", Limit: limit, PageToken: token})
			for _, p := range resp.GetPromotions() {
				got = append(got, strings.ToUpper(p.GetCode()))
			}
			read++
			return resp.GetNextPageToken(), err
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" || read != pages {
			t.Errorf("limit %d: %v, %d pages, want %d (-want +got):\n%s", limit, err, read, pages, diff)
		}
	}
}

func TestBadRequestsNameTheirFields(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	ctx := t.Context()
	evaluate := func(req *promotionv1.EvaluateCartRequest) error {
		_, err := client.EvaluateCart(ctx, req)
		return err
	}
	inline := &promotionv1.EvaluateCartRequest_Cart{Cart: walkCart()}
	tests := []struct {
		name  string
		call  func() error
		field string
	}{
		{"upsert without a store", func() error {
			_, err := servicetest.Upsert(t, client.UpsertPromotions, &promotionv1.UpsertPromotionsRequest{})
			return err
		}, "store_id"},
		{"upsert that changes the store", func() error {
			_, err := servicetest.Upsert(t, client.UpsertPromotions, &promotionv1.UpsertPromotionsRequest{StoreId: "one"}, &promotionv1.UpsertPromotionsRequest{StoreId: "two"})
			return err
		}, "store_id"},
		{"upsert of too many", func() error {
			_, err := servicetest.Upsert(t, client.UpsertPromotions, &promotionv1.UpsertPromotionsRequest{StoreId: "one", Promotions: make1001()})
			return err
		}, "promotions"},
		{"list without a store", func() error {
			_, err := client.ListPromotions(ctx, &promotionv1.ListPromotionsRequest{})
			return err
		}, "store_id"},
		{"list a page that is none", func() error {
			_, err := client.ListPromotions(ctx, &promotionv1.ListPromotionsRequest{StoreId: "one", PageToken: "!"})
			return err
		}, "page_token"},
		{"delete without a code", func() error {
			_, err := client.DeletePromotion(ctx, &promotionv1.DeletePromotionRequest{StoreId: "one"})
			return err
		}, "code"},
		{"evaluate nothing", func() error { return evaluate(&promotionv1.EvaluateCartRequest{StoreId: "one"}) }, "source"},
		{"evaluate a cart by id without a cart service", func() error {
			return evaluate(&promotionv1.EvaluateCartRequest{StoreId: "one", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "c"}})
		}, "cart_id"},
		{"evaluate a bad cart", func() error {
			return evaluate(&promotionv1.EvaluateCartRequest{StoreId: "one", Source: &promotionv1.EvaluateCartRequest_Cart{Cart: cartOf(item("x", 0, 1, ""))}})
		}, "cart.items[0].quantity"},
		{"evaluate for groups of nobody", func() error {
			return evaluate(&promotionv1.EvaluateCartRequest{StoreId: "one", Source: inline, CustomerGroups: []string{"vip"}})
		}, "customer_groups"},
		{"evaluate for a customer who is nobody", func() error {
			return evaluate(&promotionv1.EvaluateCartRequest{StoreId: "one", Source: inline, CustomerId: "ada"})
		}, "customer_id"},
		{"evaluate with too many codes", func() error {
			return evaluate(&promotionv1.EvaluateCartRequest{StoreId: "one", Source: inline, AppliedCodes: make([]string, maxApplied+1)})
		}, "applied_codes"},
		{"evaluate at no time", func() error {
			return evaluate(&promotionv1.EvaluateCartRequest{StoreId: "one", Source: inline, Time: &timestamppb.Timestamp{Nanos: -1}})
		}, "time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call()
			if status.Code(err) != codes.InvalidArgument {
				t.Fatalf("error = %v, want INVALID_ARGUMENT", err)
			}
			if got := servicetest.Violated(err); len(got) != 1 || got[0] != tt.field {
				t.Errorf("fields = %q, want %q", got, tt.field)
			}
		})
	}
}

func make1001() []*promotionv1.Promotion {
	many := make([]*promotionv1.Promotion, 1001)
	for i := range many {
		many[i] = promo("P1", percent(1))
	}
	return many
}

func TestEvaluateCartOfAStoreWithoutCarts(t *testing.T) {
	_, conn := serve(t, &fakeCarts{none: true}, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	mustUpsert(t, client, "one", promo("TEN", percent(1000)))
	byID := &promotionv1.EvaluateCartRequest{StoreId: "one", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "c"}}
	if _, err := client.EvaluateCart(t.Context(), byID); !cartclient.None(err) || status.Code(err) != codes.FailedPrecondition {
		t.Errorf("by its id: %v", err)
	}
	inline := &promotionv1.EvaluateCartRequest{StoreId: "one", Source: &promotionv1.EvaluateCartRequest_Cart{Cart: walkCart()}}
	if resp, err := client.EvaluateCart(t.Context(), inline); err != nil || resp.GetBestCode() != "TEN" {
		t.Errorf("a cart that comes with the call: %v, %v", resp, err)
	}
}

func TestEvaluateCart(t *testing.T) {
	carts := &fakeCarts{carts: map[string]*cartv1.Cart{"one/c": walkCart()}}
	_, conn := serve(t, carts, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	mustUpsert(t, client, "one", promo("TEN", percent(1000), starts(noon)), promo("VIP", percent(2000), groups("vip")))
	mustUpsert(t, client, "two", promo("FIVE", percent(500)))
	unset := walkCart()
	for _, it := range unset.GetItems() {
		it.Available = false // as a caller leaves it that builds a cart by hand
	}
	byID := func(id string) *promotionv1.EvaluateCartRequest {
		return &promotionv1.EvaluateCartRequest{StoreId: "one", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: id}}
	}
	tests := []struct {
		name string
		req  *promotionv1.EvaluateCartRequest
		best string
		save *commonv1.Money
	}{
		{"a cart of the cart service", byID("c"), "TEN", eur(3386)},
		{"a cart that was never written", byID("unknown"), "", nil},
		{"a cart of another store is not seen", &promotionv1.EvaluateCartRequest{StoreId: "two", Source: byID("c").Source}, "", nil},
		{"an inline cart", &promotionv1.EvaluateCartRequest{StoreId: "one", Source: &promotionv1.EvaluateCartRequest_Cart{Cart: unset}}, "TEN", eur(3386)},
		{"promotions of one store only", &promotionv1.EvaluateCartRequest{StoreId: "two", Source: &promotionv1.EvaluateCartRequest_Cart{Cart: unset}}, "FIVE", eur(1693)},
		{"a member of a group", &promotionv1.EvaluateCartRequest{
			StoreId: "one", Source: byID("c").Source, SignedIn: true, CustomerGroups: []string{"vip"}}, "VIP", eur(6773)},
		{"another instant than now", &promotionv1.EvaluateCartRequest{
			StoreId: "one", Source: byID("c").Source, Time: timestamppb.New(noon.Add(-time.Second))}, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := client.EvaluateCart(t.Context(), tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.GetBestCode() != tt.best {
				t.Errorf("best = %q, want %q", resp.GetBestCode(), tt.best)
			}
			if diff := cmp.Diff(tt.save, resp.GetEvaluations()[0].GetSaving(), protocmp.Transform()); diff != "" {
				t.Errorf("saving (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvaluateCartCombinesAndKnowsWhatIsApplied(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	mustUpsert(t, client, "one", promo("TEN", percent(1000), stacks), promo("FIVE", percent(500), stacks), promo("ONE", percent(1200)))
	req := &promotionv1.EvaluateCartRequest{
		StoreId: "one", Source: &promotionv1.EvaluateCartRequest_Cart{Cart: walkCart()}, AppliedCodes: []string{"ten"},
	}
	resp, err := client.EvaluateCart(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := &promotionv1.Combination{Codes: []string{"TEN", "FIVE"}, Saving: eur(3386 + 1693)}
	if diff := cmp.Diff(want, resp.GetBestCombination(), protocmp.Transform()); diff != "" || resp.GetBestCode() != "FIVE" {
		t.Errorf("best %q, want FIVE; combination (-want +got):\n%s", resp.GetBestCode(), diff)
	}
	last := resp.GetEvaluations()[2]
	if diff := cmp.Diff([]string{"TEN"}, last.GetConflictingCodes()); diff != "" || last.GetPromotion().GetCode() != "ONE" {
		t.Errorf("%v conflicts (-want +got):\n%s", last, diff)
	}
}

func TestEvaluateCartWithChanges(t *testing.T) {
	service, err := New(Config{
		Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: silent(), Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }},
		Cart: walkCarts(), Catalog: outdoors(),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := promotionv1.NewPromotionServiceClient(servicetest.Serve(t, "promotions", service.Register))
	mustUpsert(t, client, "one", promo("NEAR", percent(1000), minimum(eur(34465))), promo("OFF", amountOff(eur(1000))))
	evaluate := func(codes []string, changes ...*cartv1.CartChange) (*promotionv1.EvaluateCartResponse, error) {
		return client.EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{
			StoreId: "one", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "walk"}, AppliedCodes: codes, Changes: changes,
		})
	}
	pegs := &cartv1.CartChange{ProductId: "peg", Change: &cartv1.CartChange_AddQuantity{AddQuantity: 2}}
	today, err := evaluate([]string{"OFF"})
	if err != nil || today.GetBestCode() != "" || money.Text(today.GetTotal()) != "328.65 EUR" || money.Text(today.GetCart().GetSubtotal()) != "338.65 EUR" {
		t.Errorf("today: best %q, total %v, cart %v, %v", today.GetBestCode(), today.GetTotal(), today.GetCart(), err)
	}
	then, err := evaluate([]string{"NEAR"}, pegs)
	if err != nil || then.GetBestCode() != "" || money.Text(then.GetTotal()) != "310.19 EUR" || money.Text(then.GetCart().GetSubtotal()) != "344.65 EUR" {
		t.Errorf("with two pegs: best %q, total %v, cart %v, %v", then.GetBestCode(), then.GetTotal(), then.GetCart(), err)
	}
	removed, err := evaluate(nil, pegs, &cartv1.CartChange{ProductId: "peg", Change: &cartv1.CartChange_SetQuantity{}})
	if err != nil || money.Text(removed.GetTotal()) != "338.65 EUR" {
		t.Errorf("added and removed: total %v, %v", removed.GetTotal(), err)
	}
	if again, err := evaluate(nil); err != nil || money.Text(again.GetTotal()) != "338.65 EUR" {
		t.Errorf("the cart itself has changed: %v, %v", again.GetTotal(), err)
	}
	if _, err := evaluate(nil, &cartv1.CartChange{ProductId: "moon", Change: pegs.Change}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown product: %v", err)
	}
	for _, bad := range []*cartv1.CartChange{
		{ProductId: "peg"}, {Change: pegs.Change}, {ProductId: "peg", VariantId: "gold", Change: pegs.Change},
		{ProductId: "peg", Change: &cartv1.CartChange_AddQuantity{}}, {ProductId: "peg", Change: &cartv1.CartChange_SetQuantity{SetQuantity: 1000}},
		{ProductId: "peg", Change: &cartv1.CartChange_SetQuantity{SetQuantity: -1}},
	} {
		if _, err := evaluate(nil, bad); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v, want INVALID_ARGUMENT", bad, err)
		}
	}
}

func TestFreeDeliveryFromASubtotalOnIsNoSaving(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	free := promo("SHIP", freeShipping(eur(495)))
	free.GetFreeShipping().FreeFrom = eur(7500)
	mustUpsert(t, client, "one", free)
	evaluate := func(price int64) *promotionv1.Evaluation {
		cart := &cartv1.Cart{Items: []*cartv1.CartItem{item("a", 1, price, "")}}
		resp, err := client.EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{StoreId: "one", Source: &promotionv1.EvaluateCartRequest_Cart{Cart: cart}})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetEvaluations()[0]
	}
	if e := evaluate(7499); !e.GetEligible() || money.Text(e.GetSaving()) != "4.95 EUR" {
		t.Errorf("below: %v", e)
	}
	e := evaluate(7500)
	if e.GetRefusalReason() != promotionv1.RefusalReason_REFUSAL_REASON_DELIVERY_FREE || e.GetExplanation() != "SHIP does not apply: delivery of this cart is free without it." {
		t.Errorf("from there on: %v", e)
	}
	free.GetFreeShipping().FreeFrom = eur(0)
	if err := engine.Check(free); err == nil {
		t.Error("a threshold of zero is taken")
	}
}

func TestEvaluateCartWithoutTheCartServiceIsUnavailable(t *testing.T) {
	_, conn := serve(t, &fakeCarts{err: status.Error(codes.Unavailable, "down")}, silent())
	_, err := promotionv1.NewPromotionServiceClient(conn).EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{
		StoreId: "one", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "c"},
	})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("error = %v, want UNAVAILABLE", err)
	}
}

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	if _, err := New(Config{Deps: specialist.Deps{Model: silent()}}); err == nil {
		t.Error("a service without Redis was made")
	}
	service, _ := serve(t, nil, silent())
	if _, err := New(Config{Deps: specialist.Deps{Redis: service.data.repository.redis}}); err == nil {
		t.Error("a service without a model was made")
	}
}
