package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
)

func TestOrdersAddUp(t *testing.T) {
	for _, d := range datasets(t) {
		c := catalogOf(d)
		ids := make(map[string]bool)
		for _, o := range d.Orders {
			id := o.GetOrderId()
			if !idForm.MatchString(id) || ids[id] || !idForm.MatchString(o.GetCustomerId()) || len(o.GetItems()) == 0 {
				t.Errorf("order %q of %q with %d items: bad, or not the only one", id, o.GetCustomerId(), len(o.GetItems()))
			}
			ids[id] = true
			var sum int64
			for _, item := range o.GetItems() {
				sum += item.GetUnitPrice().GetAmountMinor() * int64(item.GetQuantity())
				v := c.variant(item.GetProductId(), item.GetVariantId())
				if v == nil || item.GetQuantity() < 1 || item.GetTitle() != c[item.GetProductId()].GetTitle() {
					t.Errorf("%s: item %v is not in the catalog", id, item)
				}
				if diff := cmp.Diff(v.GetOptions(), item.GetOptions()); diff != "" {
					t.Errorf("%s: options of %s: %s", id, item.GetProductId(), diff)
				}
			}
			if sum != o.GetSubtotal().GetAmountMinor() {
				t.Errorf("%s: lines add up to %d, subtotal is %d", id, sum, o.GetSubtotal().GetAmountMinor())
			}
			want := sum - o.GetDiscount().GetAmountMinor() + o.GetShipping().GetAmountMinor()
			if got := o.GetTotal().GetAmountMinor(); got != want {
				t.Errorf("%s: total is %d; want %d", id, got, want)
			}
		}
	}
}

func TestOrdersAreInEveryStatus(t *testing.T) {
	d := mainStore(t)
	seen := make(map[orderv1.OrderStatus]bool)
	for _, o := range d.Orders {
		seen[o.GetStatus()] = true
	}
	for number := range orderv1.OrderStatus_name {
		status := orderv1.OrderStatus(number)
		if wanted := status != orderv1.OrderStatus_ORDER_STATUS_UNSPECIFIED; seen[status] != wanted {
			t.Errorf("%v: present is %v", status, seen[status])
		}
	}
	if len(d.Orders) < 14 {
		t.Errorf("%d orders; want at least 14", len(d.Orders))
	}
}

func TestOrderHistoriesAreSensible(t *testing.T) {
	for _, d := range datasets(t) {
		for _, o := range d.Orders {
			h := o.GetHistory()
			if len(h) == 0 || h[len(h)-1].GetStatus() != o.GetStatus() {
				t.Fatalf("%s: history %v does not end in %v", o.GetOrderId(), h, o.GetStatus())
			}
			if diff := cmp.Diff(o.GetCreateTime(), h[0].GetTime(), protocmp.Transform()); diff != "" {
				t.Errorf("%s: history does not begin with the order: %s", o.GetOrderId(), diff)
			}
			inOrder := slices.IsSortedFunc(h, func(a, b *orderv1.StatusChange) int {
				return a.GetTime().AsTime().Compare(b.GetTime().AsTime())
			})
			if !inOrder || h[len(h)-1].GetTime().AsTime().After(testNow) {
				t.Errorf("%s: history is out of order or in the future: %v", o.GetOrderId(), h)
			}
			checkParcels(t, o)
		}
	}
}

// checkParcels compares an order's parcels with its status.
func checkParcels(t *testing.T, o *orderv1.Order) {
	t.Helper()
	shipped, delivered := 0, 0
	for _, f := range o.GetFulfilments() {
		if f.GetDeliveryTime() != nil {
			delivered++
			if f.GetDeliveryTime().AsTime().Before(f.GetShipTime().AsTime()) {
				t.Errorf("%s: delivered before it was shipped", o.GetOrderId())
			}
		}
		if f.GetShipTime() == nil {
			continue
		}
		shipped++
		if f.GetCarrier() == "" || !strings.HasSuffix(f.GetTrackingUrl(), f.GetTrackingNumber()) || f.GetTrackingNumber() == "" {
			t.Errorf("%s: shipped without tracking: %v", o.GetOrderId(), f)
		}
	}
	all := len(o.GetFulfilments())
	var ok bool
	switch o.GetStatus() {
	case orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT, orderv1.OrderStatus_ORDER_STATUS_PROCESSING,
		orderv1.OrderStatus_ORDER_STATUS_CANCELLED:
		ok = all == 0
	case orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED:
		ok = shipped > 0 && shipped < all
	case orderv1.OrderStatus_ORDER_STATUS_SHIPPED:
		ok = all > 0 && shipped == all && delivered < all
	default:
		ok = all > 0 && delivered == all && o.GetReturnDeadline() != nil
	}
	if !ok {
		t.Errorf("%s is %v with %d parcels, %d shipped, %d delivered", o.GetOrderId(), o.GetStatus(), all, shipped, delivered)
	}
}

func TestOrderNumbersFollowTime(t *testing.T) {
	d := mainStore(t)
	if !slices.IsSortedFunc(d.Orders, func(a, b *orderv1.Order) int { return strings.Compare(a.GetOrderId(), b.GetOrderId()) }) {
		t.Error("orders are not in the order of their numbers")
	}
	if !slices.IsSortedFunc(d.Orders, func(a, b *orderv1.Order) int {
		return a.GetCreateTime().AsTime().Compare(b.GetCreateTime().AsTime())
	}) {
		t.Error("orders are not in the order of their times")
	}
}

func TestCustomersHaveTheOrdersTheDocsPromise(t *testing.T) {
	latest := make(map[string]*orderv1.Order)
	late := false
	for _, o := range mainStore(t).Orders {
		if l := latest[o.GetCustomerId()]; l == nil || o.GetCreateTime().AsTime().After(l.GetCreateTime().AsTime()) {
			latest[o.GetCustomerId()] = o
		}
		if o.GetCustomerId() == "hana" && o.GetStatus() == orderv1.OrderStatus_ORDER_STATUS_SHIPPED {
			late = o.GetFulfilments()[0].GetEstimatedDeliveryTime().AsTime().Before(testNow.Add(-24 * time.Hour))
		}
	}
	if got := latest["ava"].GetStatus(); got != orderv1.OrderStatus_ORDER_STATUS_SHIPPED {
		t.Errorf("ava's latest order is %v", got)
	}
	if got := latest["ben"].GetStatus(); got != orderv1.OrderStatus_ORDER_STATUS_DELIVERED {
		t.Errorf("ben's latest order is %v", got)
	}
	if latest["gus"] != nil {
		t.Errorf("gus has ordered: %v", latest["gus"])
	}
	if !late {
		t.Error("hana's shipped order is not late")
	}
}
