package support

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func listed(t *testing.T, c clients, storeID, customer string, limit int32) []string {
	t.Helper()
	resp, err := c.orders.ListOrders(t.Context(), &orderv1.ListOrdersRequest{StoreId: storeID, CustomerId: customer, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, o := range resp.GetOrders() {
		ids = append(ids, o.GetOrderId())
	}
	return ids
}

func TestOrdersAreListedForTheirCustomerNewestFirst(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "ada", 9), order("Q-2", "ada", 2), order("Q-3", "ada", 5), order("Q-4", "bo", 1))
	c.haveOrders(t, "two", order("Q-5", "ada", 1))
	tests := []struct {
		name, store, customer string
		limit                 int32
		want                  []string
	}{
		{"all", "one", "ada", 0, []string{"Q-2", "Q-3", "Q-1"}},
		{"a few", "one", "ada", 2, []string{"Q-2", "Q-3"}},
		{"another customer", "one", "bo", 0, []string{"Q-4"}},
		{"another store", "two", "ada", 0, []string{"Q-5"}},
		{"a customer without orders", "two", "bo", 0, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, listed(t, c, tt.store, tt.customer, tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Orders of the same time come by id, and an order that is written between two pages does not move the others.
func TestOrdersPageByPage(t *testing.T) {
	c := serve(t, silent())
	want := []string{"NEW-1", "NEW-2"} // the newest, which come after the first page was read
	for i := range 12 {
		id := fmt.Sprintf("Q-%02d", 11-i)
		c.haveOrders(t, "one", order(id, "ada", 1+i/4))
		want = append(want, fmt.Sprintf("Q-%02d", 11-i))
	}
	for _, limit := range []int32{1, 5, 12, 100} {
		got, req := []string{}, &orderv1.ListOrdersRequest{StoreId: "one", CustomerId: "ada", Limit: limit}
		for pages := 0; ; pages++ {
			resp, err := c.orders.ListOrders(t.Context(), req)
			if err != nil || int(resp.GetTotalCount()) < 12 {
				t.Fatal(resp, err)
			}
			for _, o := range resp.GetOrders() {
				got = append(got, o.GetOrderId())
			}
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				if want := (12 + int(limit) - 1) / int(limit); pages+1 != want {
					t.Errorf("limit %d: %d pages, want %d", limit, pages+1, want)
				}
				break
			}
			c.haveOrders(t, "one", order("NEW-1", "ada", 0), order("NEW-2", "ada", 0))
		}
		if diff := cmp.Diff(want[2:], got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
		for _, id := range []string{"NEW-1", "NEW-2"} {
			c.haveOrders(t, "one", order(id, "eve", 0))
		}
	}
}

func TestUpsertReplacesAndMovesOrders(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "ada", 9), order("Q-2", "ada", 8))
	c.haveOrders(t, "one", order("q-1", "bo", 3))                         // the same order in another case, now of bo
	c.haveOrders(t, "one", order("Q-2", "ada", 1))                        // placed later than was thought
	c.haveOrders(t, "one", order("Q-7", "ada", 1), order("Q-7", "bo", 1)) // twice in one batch: the last counts
	if diff := cmp.Diff([]string{"Q-2"}, listed(t, c, "one", "ada", 0)); diff != "" {
		t.Errorf("ada (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Q-7", "q-1"}, listed(t, c, "one", "bo", 0)); diff != "" {
		t.Errorf("bo (-want +got):\n%s", diff)
	}
	if page, err := c.service.orders.List(t.Context(), "one", "ada", "", 1); page.Total != 1 || err != nil {
		t.Errorf("ada's index has %d orders, %v; want 1", page.Total, err)
	}
}

func TestConcurrentMovesLeaveOneOwner(t *testing.T) {
	c := serve(t, silent())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 10 {
				err := c.service.orders.Put(t.Context(), "one", []*orderv1.Order{order("Q-1", fmt.Sprintf("c%d", i), 1)})
				var unavailable *fault.Unavailable
				if errors.As(err, &unavailable) {
					t.Errorf("put: %v", err)
				}
			}
		})
	}
	wg.Wait()
	var owners int
	for i := range 4 {
		page, err := c.service.orders.List(t.Context(), "one", fmt.Sprintf("c%d", i), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		owners += page.Total
		if got := len(listed(t, c, "one", fmt.Sprintf("c%d", i), 0)); got != page.Total {
			t.Errorf("c%d: index has %d orders, list has %d", i, page.Total, got)
		}
	}
	if owners != 1 {
		t.Errorf("the order is in %d indexes, want 1", owners)
	}
}

func TestGetOrderForgivesHowTheNumberIsWritten(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("QT-10021", "ada", 1), order("ORDER-7", "ada", 1))
	for _, asked := range []string{"QT-10021", "qt-10021", "#QT-10021", " # qt-10021 ", "QT- 10021", "order QT-10021", "Order no. #qt-10021", "order: QT-10021"} {
		resp, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "ada", OrderId: asked})
		if err != nil || resp.GetOrder().GetOrderId() != "QT-10021" {
			t.Errorf("%q: %v, %v", asked, resp.GetOrder().GetOrderId(), err)
		}
	}
	resp, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "ada", OrderId: "order-7"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(order("ORDER-7", "ada", 1), resp.GetOrder(), protocmp.Transform()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAnotherCustomersOrderReadsLikeAMissingOne(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "bo", 1))
	ask := func(store, id string) *status.Status {
		_, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: store, CustomerId: "ada", OrderId: id})
		return status.Convert(err)
	}
	others := ask("one", "Q-1")
	c2 := ask("two", "Q-1") // no such order in this store
	if others.Code() != codes.NotFound {
		t.Fatalf("another customer's order: %v, want NOT_FOUND", others)
	}
	if diff := cmp.Diff(c2.Proto(), others.Proto(), protocmp.Transform()); diff != "" {
		t.Errorf("the two can be told apart (-missing +other's):\n%s", diff)
	}
}

func TestUpsertOrdersReportsBadOnes(t *testing.T) {
	c := serve(t, silent())
	bad := order("Q-2", "ada", 1)
	bad.Items[0].UnitPrice.CurrencyCode = "USD"
	resp, err := servicetest.Upsert(t, c.orders.UpsertOrders,
		&orderv1.UpsertOrdersRequest{StoreId: "one", Orders: []*orderv1.Order{order("Q-1", "ada", 1), bad}},
		&orderv1.UpsertOrdersRequest{Orders: []*orderv1.Order{order("", "ada", 1), order("Q-4", "ada", 1)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := &orderv1.UpsertOrdersResponse{UpsertedCount: 2, ErrorCount: 2, Errors: []*commonv1.ItemError{
		{Index: 1, ItemId: "Q-2", Field: "items[0].unit_price.currency_code", Description: "must be that of total"},
		{Index: 2, Field: "order_id", Description: "is required"},
	}}
	if diff := cmp.Diff(want, resp, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadRequestsNameTheirFields(t *testing.T) {
	c := serve(t, silent())
	ctx := t.Context()
	tests := []struct {
		name   string
		call   func() error
		fields []string
	}{
		{"get nothing", func() error {
			_, err := c.orders.GetOrder(ctx, &orderv1.GetOrderRequest{})
			return err
		}, []string{"store_id", "customer_id", "order_id"}},
		{"list too many", func() error {
			_, err := c.orders.ListOrders(ctx, &orderv1.ListOrdersRequest{StoreId: "one", CustomerId: "ada", Limit: 101})
			return err
		}, []string{"limit"}},
		{"a page that is none", func() error {
			_, err := c.orders.ListOrders(ctx, &orderv1.ListOrdersRequest{StoreId: "one", CustomerId: "ada", PageToken: "x"})
			return err
		}, []string{"page_token"}},
		{"upsert without a store", func() error {
			_, err := servicetest.Upsert(t, c.orders.UpsertOrders, &orderv1.UpsertOrdersRequest{})
			return err
		}, []string{"store_id"}},
		{"upsert that changes the store", func() error {
			_, err := servicetest.Upsert(t, c.orders.UpsertOrders, &orderv1.UpsertOrdersRequest{StoreId: "one"}, &orderv1.UpsertOrdersRequest{StoreId: "two"})
			return err
		}, []string{"store_id"}},
		{"upsert of too many", func() error {
			_, err := servicetest.Upsert(t, c.orders.UpsertOrders, &orderv1.UpsertOrdersRequest{StoreId: "one", Orders: make([]*orderv1.Order, 1001)})
			return err
		}, []string{"orders"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call()
			if status.Code(err) != codes.InvalidArgument {
				t.Fatalf("error = %v, want INVALID_ARGUMENT", err)
			}
			if diff := cmp.Diff(tt.fields, servicetest.Violated(err)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadCoPurchaseRequests(t *testing.T) {
	c := serve(t, silent())
	for field, req := range map[string]*orderv1.ListCoPurchasesRequest{
		"store_id":       {ProductIds: []string{"boots"}},
		"product_ids":    {StoreId: "one"},
		"product_ids[1]": {StoreId: "one", ProductIds: []string{"boots", "a b"}},
		"limit":          {StoreId: "one", ProductIds: []string{"boots"}, Limit: 51},
	} {
		_, err := c.orders.ListCoPurchases(t.Context(), req)
		if got := servicetest.Violated(err); !slices.Equal(got, []string{field}) {
			t.Errorf("%v: violations %v, want %s", req, got, field)
		}
	}
}
