package orders

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/support/orders/orderstest"
)

func of(products ...string) func(*orderv1.Order) {
	return func(o *orderv1.Order) {
		item := o.Items[0]
		o.Items = nil
		for _, id := range products {
			o.Items = append(o.Items, &orderv1.OrderItem{ProductId: id, Title: item.Title, Quantity: 1, UnitPrice: item.UnitPrice})
		}
	}
}

// newRepository returns a repository with a Redis of its own.
func newRepository(t *testing.T) *Repository {
	t.Helper()
	r, err := New(servicetest.Redis(t), servicetest.Sealer(t), nil, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// put writes orders.
func put(t *testing.T, r *Repository, storeID string, orders ...*orderv1.Order) {
	t.Helper()
	if err := r.Put(t.Context(), storeID, orders); err != nil {
		t.Fatal(err)
	}
}

func coPurchases(t *testing.T, r *Repository, storeID string, limit int, products ...string) []*orderv1.CoPurchase {
	t.Helper()
	found, err := r.CoPurchases(t.Context(), storeID, products, limit)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// counted is what ListCoPurchases should say of orders, by the definitions: every pair of an order is looked at, and G² is
// 2 Σ observed ln(observed / expected).
func counted(orders map[string]*orderv1.Order, products ...string) []*orderv1.CoPurchase {
	holds := func(o *orderv1.Order, id string) bool {
		return slices.ContainsFunc(o.GetItems(), func(i *orderv1.OrderItem) bool { return i.GetProductId() == id })
	}
	others, all := make(map[string]bool), 0.0
	var counting []*orderv1.Order
	for _, o := range orders {
		if o.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_CANCELLED && o.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT {
			counting, all = append(counting, o), all+1
			for _, i := range o.GetItems() {
				others[i.GetProductId()] = !slices.Contains(products, i.GetProductId())
			}
		}
	}
	best := make(map[string]*orderv1.CoPurchase)
	for other, wanted := range others {
		for _, id := range products {
			customers := make(map[string]bool)
			var table [2][2]float64
			for _, o := range counting {
				at := [2]int{1, 1}
				if holds(o, id) {
					at[0] = 0
				}
				if holds(o, other) {
					at[1] = 0
				}
				table[at[0]][at[1]]++
				if at == [2]int{} {
					customers[o.GetCustomerId()] = true
				}
			}
			p := &orderv1.CoPurchase{ProductId: other, WithProductId: id, OrderCount: int32(table[0][0]), CustomerCount: int32(len(customers))}
			for i := range 2 {
				for j := range 2 {
					expected := (table[i][0] + table[i][1]) * (table[0][j] + table[1][j]) / all
					if table[i][j] > 0 {
						p.LogLikelihoodRatio += 2 * table[i][j] * math.Log(table[i][j]/expected)
					}
				}
			}
			p.Lift = table[0][0] * all / ((table[0][0] + table[0][1]) * (table[0][0] + table[1][0]))
			if wanted && len(customers) >= 3 && p.Lift > 1 && p.LogLikelihoodRatio >= 10.83 &&
				(best[other] == nil || p.LogLikelihoodRatio > best[other].LogLikelihoodRatio) {
				best[other] = p
			}
		}
	}
	return slices.SortedFunc(maps.Values(best), func(x, y *orderv1.CoPurchase) int {
		return cmp.Or(cmp.Compare(y.GetLogLikelihoodRatio(), x.GetLogLikelihoodRatio()), cmp.Compare(x.GetProductId(), y.GetProductId()))
	})
}

// sameCoPurchases compares by product: what is equally strong may differ in the last bit, and so in its place.
func sameCoPurchases(want, got []*orderv1.CoPurchase) string {
	return gocmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-9, 1e-9),
		cmpopts.SortSlices(func(a, b *orderv1.CoPurchase) bool { return a.GetProductId() < b.GetProductId() }))
}

// Products of one kind are bought together, and orders are written again: other items, another customer, cancelled.
func TestCoPurchasesAreWhatCountingAllOrdersComesTo(t *testing.T) {
	r := newRepository(t)
	random := rand.New(rand.NewPCG(1, 2))
	orders := make(map[string]*orderv1.Order)
	found := 0
	for range 4 {
		var batch []*orderv1.Order
		for range 150 {
			kind := random.IntN(6)
			var items []string
			for range 1 + random.IntN(5) {
				items = append(items, fmt.Sprintf("p%d", (kind*4+random.IntN(6))%24))
			}
			o := order(fmt.Sprintf("Q-%d", random.IntN(250)), fmt.Sprintf("c%d", random.IntN(40)), random.IntN(90), of(items...))
			if n := random.IntN(10); n < 2 {
				o.Status = []orderv1.OrderStatus{orderv1.OrderStatus_ORDER_STATUS_CANCELLED, orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT}[n]
			}
			batch, orders[o.GetOrderId()] = append(batch, o), o
		}
		slices.SortStableFunc(batch, func(x, y *orderv1.Order) int { return cmp.Compare(x.GetOrderId(), y.GetOrderId()) })
		for start := 0; start < len(batch); { // an order that is in it twice goes in the next call, so that the last one stands
			end := start
			for seen := map[string]bool{}; end < len(batch) && !seen[batch[end].GetOrderId()]; end++ {
				seen[batch[end].GetOrderId()] = true
			}
			put(t, r, "one", batch[start:end]...)
			start = end
		}
		for _, products := range [][]string{{"p0"}, {"p5"}, {"p9", "p1", "p9"}, {"p3", "p7", "p11", "p15"}, {"nothing"}} {
			want := counted(orders, products...)
			got := coPurchases(t, r, "one", 50, products...)
			found += len(got)
			if diff := sameCoPurchases(want, got); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", products, diff)
			}
			if !slices.IsSortedFunc(got, byStrength) {
				t.Errorf("%v: not the strongest first", products)
			}
			if few := coPurchases(t, r, "one", 2, products...); len(few) != min(2, len(got)) {
				t.Errorf("%v: %d of 2", products, len(few))
			}
		}
	}
	if found < 20 {
		t.Errorf("%d found in all; the test tries nothing", found)
	}
}

func TestCoPurchasesTellOfNobodysShopping(t *testing.T) {
	r := newRepository(t)
	var orders []*orderv1.Order
	for i := range 40 { // others, so that what goes together stands out
		orders = append(orders, order(fmt.Sprintf("X-%d", i), fmt.Sprintf("x%d", i), i, of("tent")))
	}
	for i := range 6 {
		orders = append(orders, order(fmt.Sprintf("Q-%d", i), []string{"ada", "ben"}[i%2], i, of("boots", "secret")))
	}
	put(t, r, "one", orders...)
	if got := coPurchases(t, r, "one", 10, "boots"); len(got) != 0 {
		t.Errorf("two customers bought %v", got)
	}
	put(t, r, "one", order("Q-9", "cy", 1, of("boots", "secret")))
	if got := coPurchases(t, r, "one", 10, "boots"); len(got) != 1 || got[0].GetCustomerCount() != 3 || got[0].GetOrderCount() != 7 {
		t.Errorf("three customers bought %v", got)
	}
	if got := coPurchases(t, r, "two", 10, "boots"); len(got) != 0 {
		t.Errorf("another store has %v", got)
	}
}

func TestOfManyOrdersTheLatestAreLookedAt(t *testing.T) {
	r := newRepository(t)
	var orders []*orderv1.Order
	for i := range maxBaskets {
		products := []string{"boots"}
		if i%2 == 0 {
			products = append(products, "socks")
		}
		orders = append(orders, order(fmt.Sprintf("N-%d", i), fmt.Sprintf("n%d", i), 1, of(products...)))
	}
	for i := range 10 {
		orders = append(orders, order(fmt.Sprintf("O-%d", i), fmt.Sprintf("o%d", i), 50, of("boots", "laces")), order(fmt.Sprintf("X-%d", i), "x", 1, of("tent")))
	}
	put(t, r, "one", orders...)
	companies, err := r.store.countsByProduct(t.Context(), "one", []string{"boots"})
	if err != nil || companies[0].orders != maxBaskets || companies[0].together["laces"] != nil || companies[0].together["socks"].orders != maxBaskets/2 {
		t.Errorf("%+v, %v", companies, err)
	}
}

func TestOrdersOfVeryMuchDoNotCount(t *testing.T) {
	var many []string
	for i := range maxBasket + 1 {
		many = append(many, fmt.Sprintf("p%03d", i))
	}
	if got := basketOf(order("Q-1", "ada", 1, of(many...))); len(got.products) != 0 {
		t.Errorf("%d products count", len(got.products))
	}
	if got := basketOf(order("Q-1", "ada", 1, of(append(many[1:], many...)[:maxBasket]...))); len(got.products) != maxBasket {
		t.Errorf("%d products count, want %d", len(got.products), maxBasket)
	}
}

// TestCoPurchasesOfAThousandOrders compares every pair of products of tau2-bench's retail domain with counting its orders by
// the definitions. Its orders were drawn at random, so that nothing may be taken for going together.
func TestCoPurchasesOfAThousandOrders(t *testing.T) {
	db, _ := orderstest.ReadTau2(t)
	r := newRepository(t)
	type pair struct{ one, other string }
	orders, holders := make(map[string]*orderv1.Order), make(map[pair][]string) // orders and customers of each pair
	for id := range db.Orders {
		o := orderstest.FromTau2(db, id)
		orders[id] = o
		for _, one := range basketOf(o).products {
			for _, other := range basketOf(o).products {
				if at := (pair{one, other}); one != other {
					holders[at] = append(holders[at], o.GetCustomerId())
				}
			}
		}
	}
	put(t, r, "retail", slices.Collect(maps.Values(orders))...)
	products := slices.Sorted(func(yield func(string) bool) {
		for at := range holders {
			if !yield(at.one) {
				return
			}
		}
	})
	products = slices.Compact(products)
	several, found := 0, 0
	for _, one := range products {
		companies, err := r.store.countsByProduct(t.Context(), "retail", []string{one})
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range products {
			customers := slices.Clone(holders[pair{one, other}])
			slices.Sort(customers)
			got := companies[0].together[other]
			if got == nil {
				got = &pairCounts{}
			}
			if n := len(slices.Compact(customers)); got.orders != len(holders[pair{one, other}]) || len(got.customers) != n {
				t.Errorf("%s with %s: %d orders of %d customers, want %d of %d", one, other, got.orders, len(got.customers), len(customers), n)
			} else if n >= minCoCustomers {
				several++
			}
		}
		got := coPurchases(t, r, "retail", 50, one)
		if diff := sameCoPurchases(counted(orders, one), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", one, diff)
		}
		found += len(got)
	}
	t.Logf("%d orders, %d products: 3 customers or more bought %d pairs; %d pairs are bought together more often than by chance",
		len(orders), len(products), several/2, found/2)
	if len(products) != 50 || several == 0 || found > 0 {
		t.Errorf("%d products, %d pairs of several customers, %d found", len(products), several, found)
	}
}
