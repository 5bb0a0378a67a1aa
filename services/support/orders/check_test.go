package orders

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// violated returns the fields that an error names.
func violated(err error) []string {
	var fields []string
	var invalid *fault.Invalid
	if errors.As(err, &invalid) {
		for _, v := range invalid.Violations {
			fields = append(fields, v.Field)
		}
	}
	return fields
}

func TestCheckOrder(t *testing.T) {
	set := func(f func(*orderv1.Order)) *orderv1.Order { return order("Q-1", "ada", 1, f) }
	invalid := &timestamppb.Timestamp{Nanos: -1}
	tests := []struct {
		name   string
		order  *orderv1.Order
		fields []string
	}{
		{"a good one", order("Q-1", "ada", 1), nil},
		{"nothing at all", &orderv1.Order{}, []string{"order_id", "customer_id", "status", "create_time", "items", "total", "subtotal"}},
		{"a customer with a slash", order("Q-1", "a/b", 1), []string{"customer_id"}},
		{"an unknown status", set(func(o *orderv1.Order) { o.Status = 99 }), []string{"status"}},
		{"an invalid time", set(func(o *orderv1.Order) { o.CreateTime = invalid }), []string{"create_time"}},
		{"an item of nothing", set(func(o *orderv1.Order) { o.Items[0] = &orderv1.OrderItem{} }),
			[]string{"items[0].product_id", "items[0].title", "items[0].quantity", "items[0].unit_price"}},
		{"a shipping fee in another currency", set(func(o *orderv1.Order) { o.Shipping = &commonv1.Money{CurrencyCode: "USD"} }), []string{"shipping.currency_code"}},
		{"a negative total", set(func(o *orderv1.Order) { o.Total = eur(-1) }), []string{"total.amount_minor"}},
		{"a discount above all there is to pay", set(func(o *orderv1.Order) { o.Discount, o.Shipping = eur(15401), eur(500) }), []string{"discount.amount_minor"}},
		{"a discount of all there is to pay", set(func(o *orderv1.Order) { o.Discount, o.Shipping = eur(15400), eur(500) }), nil},
		{"a tracking page that is a script", set(func(o *orderv1.Order) {
			o.Fulfilments = []*orderv1.Fulfilment{{TrackingUrl: "javascript:alert(1)", ShipTime: invalid}}
		}), []string{"fulfilments[0].tracking_url", "fulfilments[0].ship_time"}},
		{"a history of nothing", set(func(o *orderv1.Order) { o.History = []*orderv1.StatusChange{{}} }), []string{"history[0].status"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.fields, violated(Check(tt.order))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
