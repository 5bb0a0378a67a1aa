package orderstest

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// Tau2Order is an order of the retail domain of tau2-bench (MIT).
type Tau2Order struct {
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

// Tau2DB is the data of the domain: orders and users by id.
type Tau2DB struct {
	Orders map[string]Tau2Order `json:"orders"`
	Users  map[string]struct {
		Email   string `json:"email"`
		Address struct {
			Zip string `json:"zip"`
		} `json:"address"`
	} `json:"users"`
}

// Tau2Action is a tool call that a task expects.
type Tau2Action struct {
	Name      string `json:"name"`
	Arguments struct {
		OrderID string   `json:"order_id"`
		ItemIDs []string `json:"item_ids"`
		Reason  string   `json:"reason"`
	} `json:"arguments"`
}

// Tau2Task is a task with the tool calls that it expects.
type Tau2Task struct {
	ID       string `json:"id"`
	Criteria struct {
		Actions []Tau2Action `json:"actions"`
	} `json:"evaluation_criteria"`
}

// tau2 is the part of the domain that the tests read.
var tau2 struct {
	once  sync.Once
	err   error
	db    Tau2DB
	tasks []Tau2Task
}

// ReadTau2 reads the domain once. Callers must not change it.
func ReadTau2(t *testing.T) (Tau2DB, []Tau2Task) {
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

// FromTau2 converts an order. The domain has no dates, so all are placed on one day.
func FromTau2(db Tau2DB, id string) *orderv1.Order {
	in := db.Orders[id]
	o := &orderv1.Order{
		OrderId: strings.TrimPrefix(id, "#"), CustomerId: in.UserID, Status: tau2Statuses[in.Status],
		CreateTime: timestamppb.New(Noon.AddDate(0, 0, -10)), Total: usd(in.Payments[0].Amount), Subtotal: usd(0),
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

// Tau2Rules is what the domain's policy says of orders, as a store writes it down.
const Tau2Rules = `{"rules":[
	{"kind":"ORDER_ACTION_KIND_CANCEL","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true,
	 "reasons":["no longer needed","ordered by mistake"],"refund_methods":["original payment"]},
	{"kind":"ORDER_ACTION_KIND_CHANGE_ITEMS","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true},
	{"kind":"ORDER_ACTION_KIND_CHANGE_ADDRESS","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true},
	{"kind":"ORDER_ACTION_KIND_CHANGE_PAYMENT","statuses":["ORDER_STATUS_PROCESSING"],"unless_changed":true},
	{"kind":"ORDER_ACTION_KIND_RETURN","refund_methods":["original payment","gift card"]},
	{"kind":"ORDER_ACTION_KIND_EXCHANGE","unless_changed":true}]}`
