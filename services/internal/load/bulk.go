package load

import (
	"context"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

func products(ctx context.Context, l *Load, items lines[*catalogv1.Product]) (Report, error) {
	return bulk(items, func() (stream[*catalogv1.Product], error) {
		s, err := l.Catalog.UpsertProducts(ctx)
		return stream[*catalogv1.Product]{
			send: func(batch []*catalogv1.Product) error {
				return s.Send(&catalogv1.UpsertProductsRequest{StoreId: l.StoreID, Products: batch, ValidateOnly: l.DryRun})
			},
			finish: func() (int32, int32, []*commonv1.ItemError, error) { return counts(s.CloseAndRecv()) },
		}, err
	})
}

func variantUpdates(ctx context.Context, l *Load, items lines[*catalogv1.VariantUpdate]) (Report, error) {
	return bulk(items, func() (stream[*catalogv1.VariantUpdate], error) {
		s, err := l.Catalog.UpdateVariants(ctx)
		return stream[*catalogv1.VariantUpdate]{
			send: func(batch []*catalogv1.VariantUpdate) error {
				return s.Send(&catalogv1.UpdateVariantsRequest{StoreId: l.StoreID, Updates: batch, ValidateOnly: l.DryRun})
			},
			finish: func() (int32, int32, []*commonv1.ItemError, error) {
				r, err := s.CloseAndRecv()
				return r.GetUpdatedCount(), r.GetErrorCount(), r.GetErrors(), err
			},
		}, err
	})
}

func promotions(ctx context.Context, l *Load, items lines[*promotionv1.Promotion]) (Report, error) {
	return bulk(items, func() (stream[*promotionv1.Promotion], error) {
		s, err := l.Promotions.UpsertPromotions(ctx)
		return stream[*promotionv1.Promotion]{
			send: func(batch []*promotionv1.Promotion) error {
				return s.Send(&promotionv1.UpsertPromotionsRequest{StoreId: l.StoreID, Promotions: batch, ValidateOnly: l.DryRun})
			},
			finish: func() (int32, int32, []*commonv1.ItemError, error) { return counts(s.CloseAndRecv()) },
		}, err
	})
}

func orders(ctx context.Context, l *Load, items lines[*orderv1.Order]) (Report, error) {
	return bulk(items, func() (stream[*orderv1.Order], error) {
		s, err := l.Orders.UpsertOrders(ctx)
		return stream[*orderv1.Order]{
			send: func(batch []*orderv1.Order) error {
				return s.Send(&orderv1.UpsertOrdersRequest{StoreId: l.StoreID, Orders: batch, ValidateOnly: l.DryRun})
			},
			finish: func() (int32, int32, []*commonv1.ItemError, error) { return counts(s.CloseAndRecv()) },
		}, err
	})
}

func policies(ctx context.Context, l *Load, items lines[*policyv1.Policy]) (Report, error) {
	return bulk(items, func() (stream[*policyv1.Policy], error) {
		s, err := l.Policies.UpsertPolicies(ctx)
		return stream[*policyv1.Policy]{
			send: func(batch []*policyv1.Policy) error {
				return s.Send(&policyv1.UpsertPoliciesRequest{StoreId: l.StoreID, Policies: batch, ValidateOnly: l.DryRun})
			},
			finish: func() (int32, int32, []*commonv1.ItemError, error) { return counts(s.CloseAndRecv()) },
		}, err
	})
}

// counted is the response of a bulk write of whole items.
type counted interface {
	GetUpsertedCount() int32
	GetErrorCount() int32
	GetErrors() []*commonv1.ItemError
}

func counts(r counted, err error) (int32, int32, []*commonv1.ItemError, error) {
	if err != nil {
		return 0, 0, nil, err
	}
	return r.GetUpsertedCount(), r.GetErrorCount(), r.GetErrors(), nil
}
