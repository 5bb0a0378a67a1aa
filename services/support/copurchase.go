package support

import (
	"cmp"
	"context"
	"math"
	"slices"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	maxCoAnchors       = 20
	defaultCoPurchases = 10
	maxCoPurchases     = 50
	leastCoCustomers   = 3     // fewer, and the counts would tell of somebody's shopping
	leastLogLikelihood = 10.83 // chi-square of one degree of freedom at 0.001
)

// ListCoPurchases counts what was bought together.
func (s *orderServer) ListCoPurchases(ctx context.Context, req *orderv1.ListCoPurchasesRequest) (*orderv1.ListCoPurchasesResponse, error) {
	limit := cmp.Or(req.GetLimit(), defaultCoPurchases)
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Range("limit", int64(limit), 1, maxCoPurchases)
	c.Range("product_ids", int64(len(req.GetProductIds())), 1, maxCoAnchors)
	for i, id := range req.GetProductIds() {
		c.ID(fault.At("product_ids", i), id)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	products := slices.Clone(req.GetProductIds())
	slices.Sort(products)
	found, err := s.book.store.coPurchases(ctx, req.GetStoreId(), slices.Compact(products))
	if err != nil {
		return nil, err
	}
	return &orderv1.ListCoPurchasesResponse{CoPurchases: found[:min(len(found), int(limit))]}, nil
}

// coPurchases returns what was bought with some products, each once, the strongest evidence first.
func (s orderStore) coPurchases(ctx context.Context, storeID string, products []string) ([]*orderv1.CoPurchase, error) {
	companies, err := s.companies(ctx, storeID, products)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, c := range companies {
		for id, s := range c.with {
			if len(s.customers) < leastCoCustomers {
				delete(c.with, id)
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
		for id, s := range c.with {
			p := c.measure(s, of[id], all)
			if p.ProductId, p.WithProductId = id, products[i]; !convinces(p) {
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
func (c company) measure(s *shared, of, all int) *orderv1.CoPurchase {
	both := s.orders
	one, other := c.looked-both, max(0, of-both)
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

// convinces reports whether two products are bought together more often than by chance.
func convinces(p *orderv1.CoPurchase) bool {
	return p.GetLift() > 1 && p.GetLogLikelihoodRatio() >= leastLogLikelihood
}

// byStrength puts the strongest evidence first.
func byStrength(x, y *orderv1.CoPurchase) int {
	return cmp.Or(cmp.Compare(y.GetLogLikelihoodRatio(), x.GetLogLikelihoodRatio()), cmp.Compare(x.GetProductId(), y.GetProductId()),
		cmp.Compare(x.GetWithProductId(), y.GetWithProductId()))
}
