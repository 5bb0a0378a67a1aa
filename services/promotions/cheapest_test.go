package promotions

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/promotions/engine/enginetest"
)

func TestTheCheapestPurchaseIsNamedOnlyWhenNothingApplies(t *testing.T) {
	tests := []struct {
		name    string
		catalog *enginetest.Catalog
		extra   []*promotionv1.Promotion
		way     string
		note    string
	}{
		{"nothing applies", outdoors(), nil, "NEAR: 2 x peg",
			"No promotion applies to this cart yet. The cheapest way to qualify is NEAR: with 2 x The peg for 6.00 EUR more in the cart, it saves 34.46 EUR."},
		{"something applies", outdoors(), promos(promo("TEN", percent(1000))), "", ""},
		{"the catalog is down", &enginetest.Catalog{Err: errors.New("down")}, nil, "",
			"No promotion applies to this cart yet. The nearest: NEAR does not apply: add 6.00 EUR of any items."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service, err := New(Config{
				Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: silent(), Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }},
				Cart: walkCarts(), Catalog: tt.catalog,
			})
			if err != nil {
				t.Fatal(err)
			}
			client := promotionv1.NewPromotionServiceClient(servicetest.Serve(t, "promotions", service.Register))
			mustUpsert(t, client, "one", append(tt.extra, promo("NEAR", percent(1000), minimum(eur(34465))))...)
			resp, err := client.EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{
				StoreId: "one", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "walk"}})
			if err != nil || purchaseText(resp.GetCheapestQualifyingPurchase()) != tt.way {
				t.Errorf("way %q, %v; want %q", purchaseText(resp.GetCheapestQualifyingPurchase()), err, tt.way)
			}
			turn := &specialist.Turn{Scope: shopper("walk"), Findings: &specialist.Findings{}}
			list, err := servicetest.Run[listResult](t.Context(), t, service.data.tools(turn), "list_active_promotions", `{"all":true}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tt.note, list.Note); diff != "" {
				t.Errorf("note (-want +got):\n%s", diff)
			}
		})
	}
}
