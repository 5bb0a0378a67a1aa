package recommend

import (
	"context"
	"time"

	"google.golang.org/grpc"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
)

const (
	// maxBoughtTime bounds the look at what was bought together, but never to more than a tenth of what is left of the call.
	// Then the recommendation goes without.
	maxBoughtTime = 300 * time.Millisecond
	// maxBoughtAnchors are the products whose orders are counted, and maxBought those asked for.
	maxBoughtAnchors = 10
	maxBought        = 20
	// boughtRelation is how shoppers read that two products were bought together.
	boughtRelation = "often bought with"
)

// CoPurchases counts what was bought together. An orderv1.OrderServiceClient is one.
type CoPurchases interface {
	ListCoPurchases(context.Context, *orderv1.ListCoPurchasesRequest, ...grpc.CallOption) (*orderv1.ListCoPurchasesResponse, error)
}

// bought returns what customers bought together with products, best first; nothing when that can not be told in time. Of
// many products it looks at the last ones.
func (s *Service) bought(ctx context.Context, storeID string, products []string) []*catalogv1.Companion {
	if s.orders == nil || len(products) == 0 {
		return nil
	}
	within := maxBoughtTime
	if due, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(due)/10)
	}
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	resp, err := s.orders.ListCoPurchases(asking, &orderv1.ListCoPurchasesRequest{
		StoreId: storeID, ProductIds: products[max(0, len(products)-maxBoughtAnchors):], Limit: maxBought,
	})
	if err != nil {
		if ctx.Err() == nil {
			s.logger.WarnContext(ctx, "not known what was bought together", "store", storeID, "error", err)
		}
		return nil
	}
	var out []*catalogv1.Companion
	for _, p := range resp.GetCoPurchases() {
		out = append(out, &catalogv1.Companion{
			ProductId: p.GetProductId(), WithProductId: p.GetWithProductId(), Relation: boughtRelation,
		})
	}
	return out
}
