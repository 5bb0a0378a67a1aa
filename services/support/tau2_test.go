package support

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/support/orders"
	"github.com/quartet-commerce/quartet/services/support/orders/orderstest"
)

// loadTau2 loads rules and orders as "quartet load" does, from JSON Lines.
func loadTau2(t *testing.T, c clients, db orderstest.Tau2DB) {
	t.Helper()
	var lines strings.Builder
	for id := range db.Orders {
		line, err := protojson.Marshal(orderstest.FromTau2(db, id))
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	to := load.Clients{Orders: c.orders}
	for kind, in := range map[string]string{"order_settings": strings.ReplaceAll(orderstest.Tau2Rules, "\n", ""), "orders": lines.String()} {
		report, err := load.File(t.Context(), to, "retail", kind, strings.NewReader(in))
		if err != nil || report.Refused > 0 {
			t.Fatalf("load %s: %+v, %v", kind, report, err)
		}
		if kind == "orders" && report.Taken != len(db.Orders) {
			t.Fatalf("%d of %d orders loaded", report.Taken, len(db.Orders))
		}
	}
}

// TestPolicyOfAThousandOrders compares the actions of every order with what the policy says of its status, in the words of
// the policy.
func TestPolicyOfAThousandOrders(t *testing.T) {
	t.Parallel()
	db, _ := orderstest.ReadTau2(t)
	c := serve(t, silent())
	loadTau2(t, c, db)
	want := map[string]string{
		"pending":   "CANCEL CHANGE_ITEMS CHANGE_ADDRESS CHANGE_PAYMENT",
		"delivered": "RETURN EXCHANGE",
		"processed": "", "cancelled": "",
	}
	why := map[string]map[string]string{
		"pending":   {"CANCEL_ITEMS": "NOT_OFFERED", "RETURN": "NOT_DELIVERED", "EXCHANGE": "NOT_DELIVERED"},
		"delivered": {"CANCEL": "ALREADY_SHIPPED", "CHANGE_ITEMS": "ALREADY_SHIPPED"},
		"processed": {"CANCEL": "ALREADY_SHIPPED", "RETURN": "NOT_DELIVERED"},
		"cancelled": {"CANCEL": "ALREADY_CANCELLED", "RETURN": "ALREADY_CANCELLED"},
	}
	for id, o := range db.Orders {
		resp, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "retail", CustomerId: o.UserID, OrderId: id})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range resp.GetActions().GetAllowed() {
			got = append(got, orderstest.KindName(a.GetKind()))
			units := len(o.Items)
			if name := orderstest.KindName(a.GetKind()); name == "CHANGE_ADDRESS" || name == "CHANGE_PAYMENT" {
				units = 0
			}
			if len(a.GetItems()) != units || a.GetDeadline() != nil {
				t.Errorf("%s: %s is allowed as %v, want %d units at any time", id, orderstest.KindName(a.GetKind()), a, units)
			}
		}
		if strings.Join(got, " ") != want[o.Status] {
			t.Errorf("%s, %s: allowed are %v, want %s", id, o.Status, got, want[o.Status])
		}
		refused := orderstest.Refused(resp.GetActions())
		for kind, reason := range why[o.Status] {
			if refused[kind] != reason {
				t.Errorf("%s, %s: %s is refused for %q, want %s", id, o.Status, kind, refused[kind], reason)
			}
		}
	}
}

// TestTasksFindTheirOrders answers every look-up that the tasks expect, for the right customer and for all others.
func TestTasksFindTheirOrders(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	t.Parallel()
	db, tasks := orderstest.ReadTau2(t)
	c := serve(t, silent())
	loadTau2(t, c, db)
	looked := make(map[string]bool)
	for _, task := range tasks {
		for _, a := range task.Criteria.Actions {
			if a.Arguments.OrderID != "" { // a change needs a look-up before it
				looked[a.Arguments.OrderID] = true
			}
		}
	}
	if len(looked) < 90 {
		t.Fatalf("the tasks look %d orders up; the data has changed", len(looked))
	}
	repository, ctx := c.service.orders, t.Context()
	for id := range looked {
		missing := &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_ORDER_NOT_FOUND, Resource: "order", Name: orders.NormalID(id)}
		o, known := db.Orders[id]
		for customer := range db.Users {
			if known && customer == o.UserID {
				continue
			}
			var nf *fault.NotFound
			got, err := repository.Get(ctx, "retail", customer, orders.NormalID(id))
			if !errors.As(err, &nf) || cmp.Diff(missing, nf) != "" || got.Order != nil {
				t.Fatalf("%s for %s: %v, %v; want it missing", id, customer, got, err)
			}
		}
		if !known {
			continue
		}
		f, err := repository.Get(ctx, "retail", o.UserID, orders.NormalID(id))
		if err != nil {
			t.Fatalf("%s for %s: %v", id, o.UserID, err)
		}
		if diff := cmp.Diff(withoutProof(orderstest.FromTau2(db, id)), f.Order, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestTasksChangeWhatIsAllowed checks that every change that the tasks expect is among the allowed actions of its order.
func TestTasksChangeWhatIsAllowed(t *testing.T) {
	db, tasks := orderstest.ReadTau2(t)
	settings := &orderv1.OrderSettings{}
	if err := protojson.Unmarshal([]byte(orderstest.Tau2Rules), settings); err != nil {
		t.Fatal(err)
	}
	kindOf := map[string]string{
		"cancel_pending_order": "CANCEL", "modify_pending_order_items": "CHANGE_ITEMS",
		"modify_pending_order_address": "CHANGE_ADDRESS", "modify_pending_order_payment": "CHANGE_PAYMENT",
		"return_delivered_order_items": "RETURN", "exchange_delivered_order_items": "EXCHANGE",
	}
	var changes int
	for _, task := range tasks {
		for _, a := range task.Criteria.Actions {
			kind := kindOf[a.Name]
			if kind == "" {
				continue
			}
			changes++
			o := orderstest.FromTau2(db, a.Arguments.OrderID)
			allowed := orders.ActionsFor(settings, o, noon).GetAllowed()
			at := slices.IndexFunc(allowed, func(x *orderv1.AllowedAction) bool { return orderstest.KindName(x.GetKind()) == kind })
			if at < 0 {
				t.Errorf("task %s: %s of %s is not allowed", task.ID, kind, a.Arguments.OrderID)
				continue
			}
			if why := a.Arguments.Reason; why != "" && !slices.Contains(allowed[at].GetReasons(), why) {
				t.Errorf("task %s: %q is not among the reasons %q", task.ID, why, allowed[at].GetReasons())
			}
			for _, id := range a.Arguments.ItemIDs {
				if !slices.ContainsFunc(allowed[at].GetItems(), func(u *orderv1.ItemQuantity) bool { return o.GetItems()[u.GetItemIndex()].GetVariantId() == id }) {
					t.Errorf("task %s: %s is not for item %s", task.ID, kind, id)
				}
			}
		}
	}
	if changes < 100 {
		t.Errorf("the tasks have %d changes; the data has changed", changes)
	}
}

// TestTasksKnowTheirGuests looks orders up by what the customers of the tasks can prove.
func TestTasksKnowTheirGuests(t *testing.T) {
	t.Parallel()
	db, _ := orderstest.ReadTau2(t)
	c := serve(t, silent())
	loadTau2(t, c, db)
	for id, o := range db.Orders {
		user := db.Users[o.UserID]
		for _, p := range []*orderv1.GetGuestOrderRequest{
			{Proof: &orderv1.GetGuestOrderRequest_Email{Email: strings.ToUpper(user.Email)}},
			{Proof: &orderv1.GetGuestOrderRequest_PostalCode{PostalCode: user.Address.Zip}},
		} {
			p.StoreId, p.OrderId = "retail", strings.ToLower(id)
			resp, err := c.orders.GetGuestOrder(t.Context(), p)
			if err != nil || !proto.Equal(resp.GetOrder(), withoutProof(orderstest.FromTau2(db, id))) {
				t.Fatalf("%s with %v: %v, %v", id, p.GetProof(), resp.GetOrder(), err)
			}
		}
		wrong := &orderv1.GetGuestOrderRequest{StoreId: "retail", OrderId: id, Proof: &orderv1.GetGuestOrderRequest_Email{Email: "not." + user.Email}}
		if _, err := c.orders.GetGuestOrder(t.Context(), wrong); !slices.Equal(reasons(err), []string{"ORDER_NOT_FOUND"}) {
			t.Fatalf("%s with a wrong address: %v", id, err)
		}
	}
}

// withoutProof removes what proves that an order is a customer's own.
func withoutProof(o *orderv1.Order) *orderv1.Order {
	o.Email, o.PostalCode = "", ""
	return o
}
