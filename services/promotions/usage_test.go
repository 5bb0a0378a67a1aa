package promotions

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func TestRecordedOrdersCountOnceAndUseUp(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	mustUpsert(t, client, "one", promo("TWICE", percent(1000), limits(2, 1)), promo("FREE", percent(500)))

	steps := []struct {
		name            string
		order, customer string
		release         bool
		counts          []*promotionv1.Usage // of TWICE and FREE
		ada, ben        string               // refusals of TWICE after the step
	}{
		{"the first order", "o1", "ada", false, counts(1, true, 1, true), "used_up", ""},
		{"told again", "o1", "ada", false, counts(1, false, 1, false), "used_up", ""},
		{"a guest's order", "o2", "", false, counts(2, true, 2, true), "used_up", "used_up"},
		{"beyond the limit", "o3", "ben", false, counts(3, true, 3, true), "used_up", "used_up"},
		{"taken back", "o1", "", true, counts(2, true, 2, true), "used_up", "used_up"},
		{"taken back again", "o1", "", true, counts(2, false, 2, false), "used_up", "used_up"},
		{"the guest's taken back", "o2", "", true, counts(1, true, 1, true), "", "used_up"},
		{"one that never was", "o9", "", true, counts(1, false, 1, false), "", "used_up"},
	}
	for _, s := range steps {
		var got []*promotionv1.Usage
		codes := []string{"twice", "FREE"}
		if s.release {
			resp, err := client.ReleaseUsage(t.Context(), &promotionv1.ReleaseUsageRequest{StoreId: "one", OrderId: s.order, Codes: codes})
			if err != nil {
				t.Fatal(err)
			}
			got = resp.GetUsages()
		} else {
			resp, err := client.RecordUsage(t.Context(), &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: s.order, CustomerId: s.customer, Codes: codes})
			if err != nil {
				t.Fatal(err)
			}
			got = resp.GetUsages()
		}
		if diff := cmp.Diff(s.counts, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: counts (-want +got):\n%s", s.name, diff)
		}
		if ada, ben := refusalOf(t, client, "ada"), refusalOf(t, client, "ben"); ada != s.ada || ben != s.ben {
			t.Errorf("%s: refused to ada %q, to ben %q; want %q and %q", s.name, ada, ben, s.ada, s.ben)
		}
	}

	if _, err := client.DeletePromotion(t.Context(), &promotionv1.DeletePromotionRequest{StoreId: "one", Code: "Twice"}); err != nil {
		t.Fatal(err)
	}
	mustUpsert(t, client, "one", promo("TWICE", percent(1000), limits(1, 1)))
	if got := refusalOf(t, client, "ben"); got != "" {
		t.Errorf("a new promotion of the same code is refused: %s", got)
	}
}

func counts(twice int64, changed bool, free int64, freeChanged bool) []*promotionv1.Usage {
	return []*promotionv1.Usage{{Code: "TWICE", UsedCount: twice, Changed: changed}, {Code: "FREE", UsedCount: free, Changed: freeChanged}}
}

// refusalOf is why TWICE does not apply to a customer's cart.
func refusalOf(t *testing.T, client promotionv1.PromotionServiceClient, customer string) string {
	t.Helper()
	resp, err := client.EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{
		StoreId: "one", Source: &promotionv1.EvaluateCartRequest_Cart{Cart: walkCart()}, SignedIn: true, CustomerId: customer,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range resp.GetEvaluations() {
		if e.GetPromotion().GetCode() == "TWICE" {
			return reasonWord(e.GetRefusalReason())
		}
	}
	t.Fatal("TWICE is not there")
	return ""
}

func TestOneOrderRecordedByManyAtOnceCountsOnce(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			req := &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o1", CustomerId: "ada", Codes: []string{"TWICE"}}
			if _, err := client.RecordUsage(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	resp, err := client.RecordUsage(t.Context(), &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o1", Codes: []string{"TWICE"}})
	if err != nil || resp.GetUsages()[0].GetUsedCount() != 1 {
		t.Errorf("counted %v, %v; want 1", resp.GetUsages(), err)
	}
}

func TestBadUsagesNameTheirFields(t *testing.T) {
	_, conn := serve(t, nil, silent())
	client := promotionv1.NewPromotionServiceClient(conn)
	tests := []struct {
		name  string
		req   *promotionv1.RecordUsageRequest
		field string
	}{
		{"no store", &promotionv1.RecordUsageRequest{OrderId: "o", Codes: []string{"AA"}}, "store_id"},
		{"no order", &promotionv1.RecordUsageRequest{StoreId: "one", Codes: []string{"AA"}}, "order_id"},
		{"no codes", &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o"}, "codes"},
		{"a bad code", &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o", Codes: []string{"AA", "b b"}}, "codes[1]"},
		{"a code twice", &promotionv1.RecordUsageRequest{StoreId: "one", OrderId: "o", Codes: []string{"AA", "aa"}}, "codes[1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := client.RecordUsage(t.Context(), tt.req)
			if got := servicetest.Violated(err); len(got) != 1 || got[0] != tt.field {
				t.Errorf("record: fields = %q, want %q", got, tt.field)
			}
			_, err = client.ReleaseUsage(t.Context(), &promotionv1.ReleaseUsageRequest{
				StoreId: tt.req.GetStoreId(), OrderId: tt.req.GetOrderId(), Codes: tt.req.GetCodes()})
			if got := servicetest.Violated(err); len(got) != 1 || got[0] != tt.field {
				t.Errorf("release: fields = %q, want %q", got, tt.field)
			}
		})
	}
}
