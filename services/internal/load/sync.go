package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
)

// listPage is how many products are listed at once.
const listPage = 200

// Synced are the kinds that Sync deletes. Carts and orders belong to customers and are never deleted by what a file lacks.
func Synced() []string { return []string{"products", "promotions", "policies"} }

// Sync deletes the items of a kind that no file of this load has, and returns their ids. In a dry run it only returns them. It must
// follow files that were loaded without a refusal, and it deletes nothing if they have no item of the kind.
func (l *Load) Sync(ctx context.Context, kind string) ([]string, error) {
	if len(l.read[kind]) == 0 {
		return nil, nil
	}
	ids, err := l.list(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	gone := slices.DeleteFunc(ids, func(id string) bool { return l.read[kind][id] })
	for i, id := range gone {
		if l.DryRun {
			break
		}
		if err := l.delete(ctx, kind, id); err != nil {
			return gone[:i], fmt.Errorf("delete %s: %w", id, err)
		}
	}
	return gone, nil
}

// list returns the ids of the store's items of a kind, as identity returns them.
func (l *Load) list(ctx context.Context, kind string) (ids []string, err error) {
	switch kind {
	case "products":
		err = pagetoken.Each(func(token string) (string, error) {
			page, err := l.Catalog.ListProducts(ctx, &catalogv1.ListProductsRequest{StoreId: l.StoreID, Limit: listPage, PageToken: token})
			for _, p := range page.GetProducts() {
				ids = append(ids, p.GetProductId())
			}
			return page.GetNextPageToken(), err
		})
	case "promotions":
		err = pagetoken.Each(func(token string) (string, error) {
			page, err := l.Promotions.ListPromotions(ctx, &promotionv1.ListPromotionsRequest{StoreId: l.StoreID, PageToken: token})
			for _, p := range page.GetPromotions() {
				ids = append(ids, strings.ToUpper(p.GetCode()))
			}
			return page.GetNextPageToken(), err
		})
	case "policies":
		err = pagetoken.Each(func(token string) (string, error) {
			page, err := l.Policies.ListPolicies(ctx, &policyv1.ListPoliciesRequest{StoreId: l.StoreID, PageToken: token})
			for _, p := range page.GetPolicies() {
				ids = append(ids, p.GetPolicyId())
			}
			return page.GetNextPageToken(), err
		})
	default:
		err = fmt.Errorf("%s are never deleted; only %v are", kind, Synced())
	}
	return ids, err
}

func (l *Load) delete(ctx context.Context, kind, id string) (err error) {
	switch kind {
	case "products":
		_, err = l.Catalog.DeleteProduct(ctx, &catalogv1.DeleteProductRequest{StoreId: l.StoreID, ProductId: id})
	case "promotions":
		_, err = l.Promotions.DeletePromotion(ctx, &promotionv1.DeletePromotionRequest{StoreId: l.StoreID, Code: id})
	case "policies":
		_, err = l.Policies.DeletePolicy(ctx, &policyv1.DeletePolicyRequest{StoreId: l.StoreID, PolicyId: id})
	}
	return err
}
