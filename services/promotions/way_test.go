package promotions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// fakeCatalog filters and sorts as the contract says, for the conditions that the package uses.
type fakeCatalog struct {
	catalogv1.CatalogServiceClient
	products []*catalogv1.Product
	err      error
}

func (f *fakeCatalog) BatchGetProducts(_ context.Context, req *catalogv1.BatchGetProductsRequest, _ ...grpc.CallOption) (*catalogv1.BatchGetProductsResponse, error) {
	resp := &catalogv1.BatchGetProductsResponse{}
	for _, id := range req.GetProductIds() {
		for _, p := range f.products {
			if p.GetProductId() == id {
				resp.Products = append(resp.Products, p)
			}
		}
	}
	return resp, f.err
}

func (f *fakeCatalog) SearchProducts(_ context.Context, req *catalogv1.SearchProductsRequest, _ ...grpc.CallOption) (*catalogv1.SearchProductsResponse, error) {
	in := req.GetFilter()
	resp := &catalogv1.SearchProductsResponse{}
	for _, p := range f.products {
		price, stock := p.GetVariants()[0].GetPrice().GetAmountMinor(), p.GetVariants()[0].GetStock()
		wrongCategory := len(in.GetCategories()) > 0 && !slices.Contains(in.GetCategories(), p.GetCategoryPath()[0])
		wrongBrand := len(in.GetBrands()) > 0 && !slices.Contains(in.GetBrands(), p.GetBrand())
		if wrongCategory || wrongBrand || in.GetInStock() && stock == 0 || price < in.GetMinPrice().GetAmountMinor() ||
			slices.Contains(in.GetExcludeProductIds(), p.GetProductId()) {
			continue
		}
		resp.Hits = append(resp.Hits, &catalogv1.Hit{Product: p})
	}
	slices.SortFunc(resp.Hits, func(x, y *catalogv1.Hit) int {
		return cmp.Compare(x.GetProduct().GetVariants()[0].GetPrice().GetAmountMinor(), y.GetProduct().GetVariants()[0].GetPrice().GetAmountMinor())
	})
	resp.Hits = resp.Hits[:min(len(resp.Hits), int(req.GetLimit()))]
	return resp, f.err
}

func product(id, category, brand string, price int64, stock int32) *catalogv1.Product {
	return &catalogv1.Product{ProductId: id, Title: "The " + id, CategoryPath: []string{category}, Brand: brand,
		Variants: []*catalogv1.Variant{{VariantId: "v", Price: eur(price), Stock: stock}}}
}

func outdoors() *fakeCatalog {
	dollars := product("dollars", "Tents", "", 100, 9)
	dollars.Variants[0].Price = &commonv1.Money{AmountMinor: 1, CurrencyCode: "USD"}
	catalog := &fakeCatalog{products: []*catalogv1.Product{
		product("pin", "Tents", "Nimbolt", 200, 50), product("peg", "Tents", "Nimbolt", 300, 4), product("rope", "Tents", "Reef", 700, 20),
		product("tent", "Tents", "Reef", 9900, 2), product("cup", "Kitchen", "Reef", 450, 1), product("pan", "Kitchen", "Nimbolt", 1900, 5),
		product("gone", "Kitchen", "Nimbolt", 1, 0), dollars,
	}}
	for i := range maxShelf { // hides what is dearer from a search for the cheapest
		catalog.products = append(catalog.products, product(fmt.Sprintf("bead%d", i), "Beads", "", 50, 1))
	}
	return catalog
}

func TestCheapestWay(t *testing.T) {
	tents, kitchen := categories("Tents"), categories("Kitchen")
	tests := []struct {
		name  string
		p     []*promotionv1.Promotion
		cart  *cartv1.Cart // nil: walkCart
		want  string       // code: quantity x product, cost, saving
		cents [2]int64
	}{
		{"an amount by several of one product", promos(promo("P", percent(1000), minimum(eur(34465)))), nil, "P: 2 x peg", [2]int64{600, 3446}},
		{"an amount by one product that is far up the shelf", promos(promo("P", percent(1000), minimum(eur(43765)))), nil, "P: 1 x tent", [2]int64{9900, 4376}},
		{"no more than ten of one", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"pin", "rope"}}), minimum(eur(2150)))), nil, "P: 4 x rope", [2]int64{2800, 280}},
		{"an amount by something between what hides it and what reaches it alone", promos(promo("P", percent(1000), minimum(eur(34265)))), nil,
			"P: 2 x pin", [2]int64{400, 3426}},
		{"no more than there are", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"peg"}}), minimum(eur(1500)))), nil, "", [2]int64{}},
		{"a scope that the cart has nothing of", promos(promo("P", percent(1000), kitchen)), nil, "P: 1 x cup", [2]int64{450, 45}},
		{"a scope of lists adds up", promos(promo("P", percent(1000), minimumUnits(3),
			scoped(&promotionv1.Scope{Brands: []string{"Reef"}, ProductIds: []string{"pan"}, Categories: []string{"Kitchen"}}))), nil,
			"P: 1 x cup, 2 x rope", [2]int64{1850, 185}},
		{"exclusions stay out", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{Categories: []string{"Kitchen"}, ExcludeProductIds: []string{"cup"}}))),
			nil, "P: 1 x pan", [2]int64{1900, 190}},
		{"also of products that are named", promos(promo("P", percent(1000), scoped(&promotionv1.Scope{ProductIds: []string{"cup", "pan"}, ExcludeProductIds: []string{"cup"}}))),
			nil, "P: 1 x pan", [2]int64{1900, 190}},
		{"units of a group", promos(promo("P", buyGet(2, 1), tents)), nil, "P: 3 x pin", [2]int64{600, 200}},
		{"the rest of a set", promos(promo("P", bundle(8000, "jacket", "pan"))), nil, "P: 1 x pan", [2]int64{1900, 1890}},
		{"a set of which one is sold out", promos(promo("P", bundle(1, "jacket", "gone"))), nil, "", [2]int64{}},
		{"an amount and then units", promos(promo("P", percent(1000), tents, minimum(eur(9900)), minimumUnits(2))), nil,
			"P: 1 x tent, 1 x pin", [2]int64{10100, 1010}},
		{"of several the cheapest, not the nearest", promos(promo("NEAR", percent(9000), minimum(eur(42000))), promo("CHEAP", percent(1000), kitchen)), nil,
			"CHEAP: 1 x cup", [2]int64{450, 45}},
		{"what the cart holds is not in stock again", promos(promo("P", percent(1000), kitchen, minimumUnits(2))),
			cartOf(&cartv1.CartItem{ProductId: "cup", VariantId: "v", Quantity: 1, UnitPrice: eur(450), Available: true, CategoryPath: []string{"Kitchen"}}),
			"P: 1 x pan", [2]int64{1900, 235}},
		{"from an empty cart", promos(promo("P", amountOff(eur(500)), minimum(eur(1900)))), cartOf(), "P: 1 x pan", [2]int64{1900, 500}},
		{"nothing that a purchase could change", promos(promo("P", percent(1000), ends(noon)), promo("Q", percent(1), groups("vip"))), nil, "", [2]int64{}},
		{"a promotion that would save nothing", promos(promo("P", bundle(99_000, "jacket", "pan"))), nil, "", [2]int64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := situation{cart: tt.cart, now: noon}
			if at.cart == nil {
				at.cart = walkCart()
			}
			s := &server{goods: outdoors(), logger: slog.New(slog.DiscardHandler)}
			o := evaluate(tt.p, newBasket(at.cart), at.who, noon)
			way := s.cheapestWay(t.Context(), "one", o.evaluations, at)
			if got := wayText(way); got != tt.want || way.GetCost().GetAmountMinor() != tt.cents[0] || way.GetSaving().GetAmountMinor() != tt.cents[1] {
				t.Errorf("way %q at %v saves %v; want %q, %v", got, way.GetCost(), way.GetSaving(), tt.want, tt.cents)
			}
		})
	}
}

func promos(all ...*promotionv1.Promotion) []*promotionv1.Promotion { return all }

func wayText(way *promotionv1.QualifyingWay) string {
	if way == nil {
		return ""
	}
	var items []string
	for _, it := range way.GetItems() {
		items = append(items, fmt.Sprintf("%d x %s", it.GetQuantity(), it.GetProductId()))
	}
	return way.GetCode() + ": " + strings.Join(items, ", ")
}

func TestTheWayIsNamedOnlyWhenNothingApplies(t *testing.T) {
	tests := []struct {
		name    string
		catalog *fakeCatalog
		extra   []*promotionv1.Promotion
		way     string
		note    string
	}{
		{"nothing applies", outdoors(), nil, "NEAR: 2 x peg",
			"No promotion applies to this cart yet. The cheapest way to qualify is NEAR: with 2 x The peg for 6.00 EUR more in the cart, it saves 34.46 EUR."},
		{"something applies", outdoors(), promos(promo("TEN", percent(1000))), "", ""},
		{"the catalog is down", &fakeCatalog{err: errors.New("down")}, nil, "",
			"No promotion applies to this cart yet. The nearest: NEAR does not apply: add 6.00 EUR of any items."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service, err := New(Config{
				Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: silent(), Logger: slog.New(slog.DiscardHandler)},
				Cart: walkCarts(), Catalog: tt.catalog, Now: func() time.Time { return noon },
			})
			if err != nil {
				t.Fatal(err)
			}
			client := promotionv1.NewPromotionServiceClient(servicetest.Serve(t, "promotions", service.Register))
			mustUpsert(t, client, "one", append(tt.extra, promo("NEAR", percent(1000), minimum(eur(34465))))...)
			resp, err := client.EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{
				StoreId: "one", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "walk"}})
			if err != nil || wayText(resp.GetCheapestWay()) != tt.way {
				t.Errorf("way %q, %v; want %q", wayText(resp.GetCheapestWay()), err, tt.way)
			}
			turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}}
			list, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", "{}")
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tt.note, list.Note); diff != "" {
				t.Errorf("note (-want +got):\n%s", diff)
			}
		})
	}
}
