package support

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// The retail domain of tau2-bench (MIT): orders, customers and tasks with the look-ups and changes that they expect.

type tau2Order struct {
	UserID  string `json:"user_id"`
	Status  string `json:"status"`
	Address struct {
		Zip string `json:"zip"`
	} `json:"address"`
	Items []struct {
		Name      string            `json:"name"`
		ProductID string            `json:"product_id"`
		ItemID    string            `json:"item_id"`
		Price     float64           `json:"price"`
		Options   map[string]string `json:"options"`
	} `json:"items"`
	Fulfilments []struct {
		TrackingID []string `json:"tracking_id"`
		ItemIDs    []string `json:"item_ids"`
	} `json:"fulfillments"`
	Payments []struct {
		Type   string  `json:"transaction_type"`
		Amount float64 `json:"amount"`
		Method string  `json:"payment_method_id"`
	} `json:"payment_history"`
}

type tau2DB struct {
	Orders map[string]tau2Order `json:"orders"`
	Users  map[string]struct {
		Email   string `json:"email"`
		Address struct {
			Zip string `json:"zip"`
		} `json:"address"`
	} `json:"users"`
}

type tau2Action struct {
	Name      string `json:"name"`
	Arguments struct {
		OrderID string   `json:"order_id"`
		ItemIDs []string `json:"item_ids"`
		Reason  string   `json:"reason"`
	} `json:"arguments"`
}

type tau2Task struct {
	ID       string `json:"id"`
	Criteria struct {
		Actions []tau2Action `json:"actions"`
	} `json:"evaluation_criteria"`
}

// tau2 is the part of the domain that the tests read.
var tau2 struct {
	once  sync.Once
	err   error
	db    tau2DB
	tasks []tau2Task
}

// readTau2 reads the domain once. Callers must not change it.
func readTau2(t *testing.T) (tau2DB, []tau2Task) {
	t.Helper()
	orders, tasks := publicdata.Path(t, "tau2-retail/db.json.gz"), publicdata.Path(t, "tau2-retail/tasks.json")
	tau2.once.Do(func() { tau2.err = errors.Join(decodeGzip(orders, &tau2.db), decodeFile(tasks, &tau2.tasks)) })
	if tau2.err != nil {
		t.Fatal(tau2.err)
	}
	return tau2.db, tau2.tasks
}

func decodeGzip(path string, into any) error {
	packed, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }()
	raw, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	return json.NewDecoder(raw).Decode(into)
}

func decodeFile(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// tau2Statuses are the four statuses of the domain in ours: a processed order has its tracking number.
var tau2Statuses = map[string]orderv1.OrderStatus{
	"pending":   orderv1.OrderStatus_ORDER_STATUS_PROCESSING,
	"processed": orderv1.OrderStatus_ORDER_STATUS_SHIPPED,
	"delivered": orderv1.OrderStatus_ORDER_STATUS_DELIVERED,
	"cancelled": orderv1.OrderStatus_ORDER_STATUS_CANCELLED,
}

func usd(amount float64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: int64(math.Round(amount * 100)), CurrencyCode: "USD"}
}

// fromTau2 converts an order. The domain has no dates, so all are placed on one day.
func fromTau2(db tau2DB, id string) *orderv1.Order {
	in := db.Orders[id]
	o := &orderv1.Order{
		OrderId: strings.TrimPrefix(id, "#"), CustomerId: in.UserID, Status: tau2Statuses[in.Status],
		CreateTime: timestamppb.New(noon.AddDate(0, 0, -10)), Total: usd(in.Payments[0].Amount), Subtotal: usd(0),
		PaymentKind: strings.TrimRight(in.Payments[0].Method, "_0123456789"),
		Email:       db.Users[in.UserID].Email, PostalCode: db.Users[in.UserID].Address.Zip,
	}
	at := make(map[string][]int32)
	for i, item := range in.Items {
		o.Items = append(o.Items, &orderv1.OrderItem{
			ProductId: item.ProductID, VariantId: item.ItemID, Title: item.Name, Quantity: 1, UnitPrice: usd(item.Price), Options: item.Options,
		})
		o.Subtotal.AmountMinor += usd(item.Price).GetAmountMinor()
		at[item.ItemID] = append(at[item.ItemID], int32(i))
	}
	for _, f := range in.Fulfilments {
		parcel := &orderv1.Fulfilment{TrackingNumber: strings.Join(f.TrackingID, " ")}
		for _, id := range f.ItemIDs {
			parcel.Items = append(parcel.Items, &orderv1.ItemQuantity{ItemIndex: at[id][0], Quantity: 1})
			at[id] = at[id][1:]
		}
		o.Fulfilments = append(o.Fulfilments, parcel)
	}
	return o
}

// tau2Rules is what the domain's policy says of orders, as a store writes it down.
const tau2Rules = `{"rules":[
	{"kind":"ORDER_ACTION_KIND_CANCEL","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true,
	 "reasons":["no longer needed","ordered by mistake"],"refund_methods":["original payment"]},
	{"kind":"ORDER_ACTION_KIND_CHANGE_ITEMS","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true},
	{"kind":"ORDER_ACTION_KIND_CHANGE_ADDRESS","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true},
	{"kind":"ORDER_ACTION_KIND_CHANGE_PAYMENT","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true},
	{"kind":"ORDER_ACTION_KIND_RETURN","refund_methods":["original payment","gift card"]},
	{"kind":"ORDER_ACTION_KIND_EXCHANGE","unless_changed":true}]}`

// loadTau2 loads rules and orders as "quartet load" does, from JSON Lines.
func loadTau2(t *testing.T, c clients, db tau2DB) {
	t.Helper()
	var lines strings.Builder
	for id := range db.Orders {
		line, err := protojson.Marshal(fromTau2(db, id))
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	to := load.Clients{Orders: c.orders}
	for kind, in := range map[string]string{"order_settings": strings.ReplaceAll(tau2Rules, "\n", ""), "orders": lines.String()} {
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
	db, _ := readTau2(t)
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
			got = append(got, kindName(a.GetKind()))
			units := len(o.Items)
			if name := kindName(a.GetKind()); name == "CHANGE_ADDRESS" || name == "CHANGE_PAYMENT" {
				units = 0
			}
			if len(a.GetItems()) != units || a.GetDeadline() != nil {
				t.Errorf("%s: %s is allowed as %v, want %d units at any time", id, kindName(a.GetKind()), a, units)
			}
		}
		if strings.Join(got, " ") != want[o.Status] {
			t.Errorf("%s, %s: allowed are %v, want %s", id, o.Status, got, want[o.Status])
		}
		refused := refusedOf(resp.GetActions())
		for kind, reason := range why[o.Status] {
			if refused[kind] != reason {
				t.Errorf("%s, %s: %s is refused for %q, want %s", id, o.Status, kind, refused[kind], reason)
			}
		}
	}
}

func kindName(k orderv1.OrderActionKind) string {
	return strings.TrimPrefix(k.String(), "ORDER_ACTION_KIND_")
}

func refusedOf(a *orderv1.OrderActions) map[string]string {
	out := make(map[string]string)
	for _, r := range a.GetRefused() {
		out[kindName(r.GetKind())] = strings.TrimPrefix(r.GetReason().String(), "REFUSAL_REASON_")
	}
	return out
}

// TestTasksFindTheirOrders answers every look-up that the tasks expect, for the right customer and for all others.
func TestTasksFindTheirOrders(t *testing.T) {
	t.Parallel()
	db, tasks := readTau2(t)
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
	book, ctx := c.service.orders.book, t.Context()
	for id := range looked {
		missing := orderNotFound(normalOrderID(id))
		o, known := db.Orders[id]
		for customer := range db.Users {
			if known && customer == o.UserID {
				continue
			}
			var nf *fault.NotFound
			got, err := book.store.get(ctx, "retail", customer, normalOrderID(id))
			if !errors.As(err, &nf) || cmp.Diff(missing, err) != "" || got != nil {
				t.Fatalf("%s for %s: %v, %v; want it missing", id, customer, got, err)
			}
		}
		if !known {
			continue
		}
		f, err := book.get(ctx, "retail", o.UserID, normalOrderID(id))
		if err != nil {
			t.Fatalf("%s for %s: %v", id, o.UserID, err)
		}
		if diff := cmp.Diff(withoutProof(fromTau2(db, id)), f.order, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestTasksChangeWhatIsAllowed checks that every change that the tasks expect is among the allowed actions of its order.
func TestTasksChangeWhatIsAllowed(t *testing.T) {
	db, tasks := readTau2(t)
	settings := &orderv1.OrderSettings{}
	if err := protojson.Unmarshal([]byte(tau2Rules), settings); err != nil {
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
			o := fromTau2(db, a.Arguments.OrderID)
			allowed := actionsOf(settings, o, noon).GetAllowed()
			at := slices.IndexFunc(allowed, func(x *orderv1.AllowedAction) bool { return kindName(x.GetKind()) == kind })
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
	db, _ := readTau2(t)
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
			if err != nil || !proto.Equal(resp.GetOrder(), withoutProof(fromTau2(db, id))) {
				t.Fatalf("%s with %v: %v, %v", id, p.GetProof(), resp.GetOrder(), err)
			}
		}
		wrong := &orderv1.GetGuestOrderRequest{StoreId: "retail", OrderId: id, Proof: &orderv1.GetGuestOrderRequest_Email{Email: "not." + user.Email}}
		if _, err := c.orders.GetGuestOrder(t.Context(), wrong); !slices.Equal(reasons(err), []string{"ORDER_NOT_FOUND"}) {
			t.Fatalf("%s with a wrong address: %v", id, err)
		}
	}
}
