package orders

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	minCoCustomers   = 3     // fewer would reveal what single customers buy
	minLogLikelihood = 10.83 // chi-square of one degree of freedom at 0.001
)

// coPurchases returns what was bought with some products, each once, the strongest evidence first.
func (s redisStore) coPurchases(ctx context.Context, storeID string, products []string) ([]*orderv1.CoPurchase, error) {
	companies, err := s.countsByProduct(ctx, storeID, products)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, c := range companies {
		for id, s := range c.together {
			if len(s.customers) < minCoCustomers {
				delete(c.together, id)
				continue
			}
			others = append(others, id)
		}
	}
	slices.Sort(others)
	of, all, err := s.counts(ctx, storeID, slices.Compact(others))
	if err != nil {
		return nil, err
	}
	best := make(map[string]*orderv1.CoPurchase)
	for i, c := range companies {
		for id, s := range c.together {
			p := c.measure(s, of[id], all)
			if p.ProductId, p.WithProductId = id, products[i]; !significant(p) {
				continue
			}
			if best[id] == nil || byStrength(p, best[id]) < 0 {
				best[id] = p
			}
		}
	}
	out := make([]*orderv1.CoPurchase, 0, len(best))
	for _, p := range best {
		out = append(out, p)
	}
	slices.SortFunc(out, byStrength)
	return out, nil
}

// measure compares how often two products were bought together with how often chance would have it. of is how many orders
// hold the other one, all how many there are.
//
// The evidence is the log-likelihood ratio of Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence",
// Computational Linguistics 19(1), 1993, which holds for small counts too. Lift alone would put chance first: whatever was
// bought once, with a product that was bought once, has the highest there is.
func (c productCounts) measure(s *pairCounts, of, all int) *orderv1.CoPurchase {
	both := s.orders
	one, other := c.orders-both, max(0, of-both)
	neither := max(0, all-both-one-other)
	return &orderv1.CoPurchase{
		OrderCount: int32(both), CustomerCount: int32(len(s.customers)),
		Lift:               float64(both) * float64(both+one+other+neither) / (float64(both+one) * float64(both+other)),
		LogLikelihoodRatio: logLikelihoodRatio(both, one, other, neither),
	}
}

// logLikelihoodRatio is G², twice the logarithm of how much likelier a two by two table is if its rows and columns depend on
// each other. It is chi-square distributed with one degree of freedom if they do not.
func logLikelihoodRatio(both, one, other, neither int) float64 {
	sum := func(counts ...int) (total float64) {
		for _, n := range counts {
			if n > 0 {
				total += float64(n) * math.Log(float64(n))
			}
		}
		return total
	}
	all := both + one + other + neither
	cells := sum(both, one, other, neither)
	rows, columns := sum(both+one, other+neither), sum(both+other, one+neither)
	return max(0, 2*(cells-rows-columns+sum(all)))
}

// significant reports whether two products are bought together more often than by chance.
func significant(p *orderv1.CoPurchase) bool {
	return p.GetLift() > 1 && p.GetLogLikelihoodRatio() >= minLogLikelihood
}

// byStrength puts the strongest evidence first.
func byStrength(x, y *orderv1.CoPurchase) int {
	return cmp.Or(cmp.Compare(y.GetLogLikelihoodRatio(), x.GetLogLikelihoodRatio()), cmp.Compare(x.GetProductId(), y.GetProductId()),
		cmp.Compare(x.GetWithProductId(), y.GetWithProductId()))
}

const (
	// maxBasket is how many products an order may hold to count: who buys more stocks up a shop, and does not choose things
	// for each other.
	maxBasket = 100
	// maxBaskets is how many orders with one product are looked at, the latest.
	maxBaskets = 500
	// basketsPerRead bounds the commands of one pipeline.
	basketsPerRead = 1_000
)

// withKey is the sorted set of the orders that hold a product, by the time they were placed; without a product, of all
// orders that count.
func withKey(storeID, productID string) string {
	if productID == "" {
		return state.Key(storeID, "orders", "counted")
	}
	return state.TaggedKey(storeID, "product/"+productID, "orders")
}

// basket is who ordered, and which products, each once and in their order; none if the order does not count. It is kept
// beside the order, since counting reads many of them.
type basket struct {
	customer string
	products []string
}

func basketOf(o *orderv1.Order) basket {
	b := basket{customer: o.GetCustomerId()}
	switch o.GetStatus() {
	case orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT, orderv1.OrderStatus_ORDER_STATUS_CANCELLED:
		return b
	}
	for _, item := range o.GetItems() {
		b.products = append(b.products, item.GetProductId())
	}
	slices.Sort(b.products)
	if b.products = slices.Compact(b.products); len(b.products) > maxBasket {
		b.products = nil
	}
	return b
}

// String is the basket as it is kept. Ids have no spaces.
func (b basket) String() string {
	return strings.Join(append([]string{b.customer}, b.products...), " ")
}

// parseBasket parses the result of String. "" is an empty basket without a customer.
func parseBasket(text string) basket {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return basket{}
	}
	return basket{fields[0], fields[1:]}
}

// keys are the sorted sets that an order with this basket is in.
func (b basket) keys(storeID string) []string {
	if b.customer == "" {
		return nil
	}
	keys := []string{customerKey(storeID, b.customer)}
	if len(b.products) > 0 {
		keys = append(keys, withKey(storeID, ""))
	}
	for _, id := range b.products {
		keys = append(keys, withKey(storeID, id))
	}
	return keys
}

// productCounts counts what was bought together with one product.
type productCounts struct {
	orders   int                    // the latest ones with the product
	together map[string]*pairCounts // by the other product
}

// pairCounts counts the orders and the customers with two products.
type pairCounts struct {
	orders    int
	customers map[string]bool
}

// countsByProduct returns the counts for each of some products. They do not count these products among each other.
func (s redisStore) countsByProduct(ctx context.Context, storeID string, products []string) ([]productCounts, error) {
	pipe := s.redis.Pipeline()
	held := make([]*redis.StringSliceCmd, len(products))
	for i, id := range products {
		held[i] = pipe.ZRevRange(ctx, withKey(storeID, id), 0, maxBaskets-1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, state.Error("read orders by product", err)
	}
	var ids []string
	for _, h := range held {
		ids = append(ids, h.Val()...)
	}
	slices.Sort(ids)
	baskets, err := s.baskets(ctx, storeID, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	found := make([]productCounts, len(products))
	for i, h := range held {
		found[i] = productCounts{together: make(map[string]*pairCounts)}
		for _, id := range h.Val() {
			if slices.Contains(baskets[id].products, products[i]) { // else the order has changed since
				found[i].orders++
				found[i].add(baskets[id], products)
			}
		}
	}
	return found, nil
}

// add counts what a basket holds, but for some products.
func (c productCounts) add(b basket, but []string) {
	for _, id := range b.products {
		if slices.Contains(but, id) {
			continue
		}
		s := c.together[id]
		if s == nil {
			s = &pairCounts{customers: make(map[string]bool)}
			c.together[id] = s
		}
		s.orders++
		s.customers[b.customer] = true
	}
}

// baskets returns the baskets of orders, by order id.
func (s redisStore) baskets(ctx context.Context, storeID string, ids []string) (map[string]basket, error) {
	out := make(map[string]basket, len(ids))
	for chunk := range slices.Chunk(ids, basketsPerRead) {
		texts, err := s.fields(ctx, storeID, chunk, basketField)
		if err != nil {
			return nil, state.Error("read baskets", err)
		}
		for id, text := range texts {
			if text, err = s.sealer.OpenLine(placeOf(storeID, id, basketField), text); err != nil {
				return nil, fmt.Errorf("read baskets: %w", err)
			}
			out[id] = parseBasket(text)
		}
	}
	return out, nil
}

// counts returns how many orders hold each of some products, by product, and how many count in all.
func (s redisStore) counts(ctx context.Context, storeID string, products []string) (of map[string]int, all int, err error) {
	pipe := s.redis.Pipeline()
	total := pipe.ZCard(ctx, withKey(storeID, ""))
	cmds := make([]*redis.IntCmd, len(products))
	for i, id := range products {
		cmds[i] = pipe.ZCard(ctx, withKey(storeID, id))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, 0, state.Error("count orders by product", err)
	}
	of = make(map[string]int, len(products))
	for i, id := range products {
		of[id] = int(cmds[i].Val())
	}
	return of, int(total.Val()), nil
}
