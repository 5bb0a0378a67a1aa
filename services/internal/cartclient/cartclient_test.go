package cartclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// service answers as it is told. What it is not told panics.
type service struct {
	cartv1.CartServiceClient
	get      func(context.Context) (*cartv1.GetCartResponse, error)
	settings func(context.Context) (*cartv1.GetCartSettingsResponse, error)
}

func (s service) GetCart(ctx context.Context, _ *cartv1.GetCartRequest, _ ...grpc.CallOption) (*cartv1.GetCartResponse, error) {
	return s.get(ctx)
}

func (s service) GetCartSettings(
	ctx context.Context, _ *cartv1.GetCartSettingsRequest, _ ...grpc.CallOption,
) (*cartv1.GetCartSettingsResponse, error) {
	return s.settings(ctx)
}

func gives(cart *cartv1.Cart) service {
	return service{get: func(context.Context) (*cartv1.GetCartResponse, error) {
		return &cartv1.GetCartResponse{Cart: cart}, nil
	}}
}

func fails(err error) service {
	return service{get: func(context.Context) (*cartv1.GetCartResponse, error) { return nil, err }}
}

func socks(quantity int32, minor int64, currency string) *cartv1.CartItem {
	return &cartv1.CartItem{
		ProductId: "SOCK-1", VariantId: "std", Quantity: quantity, Title: "Trail sock", Available: true,
		UnitPrice: &commonv1.Money{AmountMinor: minor, CurrencyCode: currency},
	}
}

func TestReadGivesACartAsTheContractHasIt(t *testing.T) {
	gone := &cartv1.CartItem{ProductId: "OLD-1", Quantity: 4}
	eur := func(minor int64) *commonv1.Money { return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"} }
	for name, tt := range map[string]struct {
		service service
		want    *cartv1.Cart
	}{
		"what a store leaves out is filled in": {gives(&cartv1.Cart{Items: []*cartv1.CartItem{gone, socks(2, 1495, "EUR")}, Version: 7}),
			&cartv1.Cart{Items: []*cartv1.CartItem{gone, socks(2, 1495, "EUR")}, Version: 7, Subtotal: eur(2990)}},
		"a subtotal is what its items come to": {gives(&cartv1.Cart{Items: []*cartv1.CartItem{socks(1, 1495, "EUR")}, Subtotal: eur(1)}),
			&cartv1.Cart{Items: []*cartv1.CartItem{socks(1, 1495, "EUR")}, Subtotal: eur(1495)}},
		"another currency adds nothing": {gives(&cartv1.Cart{Items: []*cartv1.CartItem{socks(1, 1495, "EUR"), socks(1, 900, "USD")}}),
			&cartv1.Cart{Items: []*cartv1.CartItem{socks(1, 1495, "EUR"), socks(1, 900, "USD")}, Subtotal: eur(1495)}},
		"the dearest cart that there can be": {gives(&cartv1.Cart{Items: slices.Repeat([]*cartv1.CartItem{socks(999, 1_000_000_000_000, "EUR")}, 200)}),
			&cartv1.Cart{Items: slices.Repeat([]*cartv1.CartItem{socks(999, 1_000_000_000_000, "EUR")}, 200), Subtotal: eur(200 * 999 * 1_000_000_000_000)}},
		"one that is not known is empty": {fails(status.Error(codes.NotFound, "no such cart")), &cartv1.Cart{}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.StoreId, tt.want.CartId = "s1", "c1"
			got, err := cartclient.Read(t.Context(), tt.service, "s1", "c1")
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestACartThatCanNotBeUsedIsNotBelieved(t *testing.T) {
	item := func(change func(*cartv1.CartItem)) *cartv1.Cart {
		i := proto.CloneOf(socks(1, 1495, "EUR"))
		change(i)
		return &cartv1.Cart{Items: []*cartv1.CartItem{i}}
	}
	for cause, cart := range map[string]*cartv1.Cart{
		"it has no cart":                     nil,
		"cart_id":                            {CartId: "another"},
		"store_id":                           {StoreId: "another"},
		"items: has 201":                     {Items: slices.Repeat([]*cartv1.CartItem{socks(1, 1, "EUR")}, 201)},
		"items[0].product_id":                item(func(i *cartv1.CartItem) { i.ProductId = "a b" }),
		"items[0].quantity":                  item(func(i *cartv1.CartItem) { i.Quantity = -3 }),
		"items[0].title":                     item(func(i *cartv1.CartItem) { i.Title = strings.Repeat("x", 501) }),
		"items[0].title: ":                   item(func(i *cartv1.CartItem) { i.Title = "" }),
		"items[0].unit_price: is required":   item(func(i *cartv1.CartItem) { i.UnitPrice = nil }),
		"items[0].unit_price.currency_code":  item(func(i *cartv1.CartItem) { i.UnitPrice.CurrencyCode = "euros" }),
		"items[0].unit_price.amount_minor":   item(func(i *cartv1.CartItem) { i.UnitPrice.AmountMinor = -1 }),
		"items[0].unit_price.amount_minor: ": item(func(i *cartv1.CartItem) { i.UnitPrice.AmountMinor = 1 << 62 }),
	} {
		_, err := cartclient.Read(t.Context(), gives(cart), "s1", "c1")
		var down *fault.Unavailable
		if !errors.As(err, &down) || !strings.Contains(err.Error(), cause) {
			t.Errorf("%s: %v", cause, err)
		}
	}
}

func TestErrorsOfACartService(t *testing.T) {
	none := rpc.Status(cartclient.NoCart("s1")).Err()
	for name, tt := range map[string]struct {
		err  error
		code codes.Code
		none bool
	}{
		"not served there":       {status.Error(codes.Unimplemented, "unknown service"), codes.Unavailable, false},
		"a bug there":            {status.Error(codes.Internal, "boom"), codes.Unavailable, false},
		"a quarrel between us":   {status.Error(codes.PermissionDenied, "who are you?"), codes.Unavailable, false},
		"it takes ids for wrong": {status.Error(codes.InvalidArgument, "bad id"), codes.Unavailable, false},
		"down":                   {status.Error(codes.Unavailable, "refused"), codes.Unavailable, false},
		"there is none":          {none, codes.FailedPrecondition, true},
		"there is none, told on": {fmt.Errorf("evaluate: %w", none), codes.FailedPrecondition, true},
	} {
		_, err := cartclient.Read(t.Context(), fails(tt.err), "s1", "c1")
		if got := rpc.Status(err).Code(); got != tt.code || cartclient.None(err) != tt.none {
			t.Errorf("%s: %v, none %v", name, err, cartclient.None(err))
		}
	}
	if cartclient.None(nil) || cartclient.None(status.Error(codes.FailedPrecondition, "something else")) {
		t.Error("no cart is read into an error that does not say it")
	}
}

func TestACartServiceThatHangsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := service{
			get: func(ctx context.Context) (*cartv1.GetCartResponse, error) { <-ctx.Done(); return nil, ctx.Err() },
			settings: func(ctx context.Context) (*cartv1.GetCartSettingsResponse, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		begun := time.Now()
		_, err := cartclient.Read(t.Context(), hangs, "s1", "c1")
		if took := time.Since(begun); took != cartclient.MaxReadTime || rpc.Status(err).Code() != codes.Unavailable {
			t.Errorf("%v after %v", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := cartclient.Read(ctx, hangs, "s1", "c1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("out of the caller's time: %v", err)
		}
		begun = time.Now()
		if lacking, err := cartclient.Lacking(t.Context(), hangs, "s1"); lacking || err == nil || time.Since(begun) > time.Second {
			t.Errorf("settings: %v, %v after %v", lacking, err, time.Since(begun))
		}
	})
}

func TestLacking(t *testing.T) {
	says := func(none bool, err error) service {
		return service{settings: func(context.Context) (*cartv1.GetCartSettingsResponse, error) {
			return &cartv1.GetCartSettingsResponse{Settings: &cartv1.CartSettings{NoCart: none}}, err
		}}
	}
	for name, tt := range map[string]struct {
		service service
		lacking bool
		fails   bool
	}{
		"it has one":      {says(false, nil), false, false},
		"it has none":     {says(true, nil), true, false},
		"it is not asked": {says(true, status.Error(codes.Unimplemented, "unknown method")), false, false},
		"it is not known": {says(true, status.Error(codes.Unavailable, "down")), false, true},
	} {
		if got, err := cartclient.Lacking(t.Context(), tt.service, "s1"); got != tt.lacking || (err != nil) != tt.fails {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
