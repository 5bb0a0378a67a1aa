package search

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// server implements CatalogService.
type server struct {
	catalogv1.UnsafeCatalogServiceServer
	catalog    *catalog
	hybrid     *hybrid
	vocabulary *vocabulary
}

var _ catalogv1.CatalogServiceServer = (*server)(nil)

// Limits of requests.
const (
	maxProductsABatch = 1_000
	maxUpdatesABatch  = 1_000
	maxBatchGet       = 200
	maxHits           = 100
	defaultHits       = 10
	maxAnchors        = 50
	maxSimilar        = 50
	maxRelation       = 100 // characters of how two products go together
	defaultSimilar    = 6
)

// errNoMessage is for a stream of writes that ends before it has said anything.
var errNoMessage = &fault.Invalid{Violations: []fault.Violation{{Field: "store_id", Description: "is required"}}}

// UpsertProducts implements CatalogService. Each message is written as it comes.
func (s *server) UpsertProducts(
	stream grpc.ClientStreamingServer[catalogv1.UpsertProductsRequest, catalogv1.UpsertProductsResponse],
) error {
	var version int64
	rep, err := bulk.Upsert[*catalogv1.UpsertProductsRequest, *catalogv1.Product]{
		Field:    "products",
		MaxItems: maxProductsABatch,
		Items:    (*catalogv1.UpsertProductsRequest).GetProducts,
		ID:       (*catalogv1.Product).GetProductId,
		Check:    accept,
		Put: func(ctx context.Context, storeID string, products []*catalogv1.Product) (err error) {
			written := timestamppb.Now()
			for _, p := range products {
				p.UpdateTime = written
			}
			version, err = s.catalog.store.put(ctx, storeID, products)
			return err
		},
	}.Run(stream.Context(), stream.Recv)
	if err != nil {
		return fmt.Errorf("upsert products: %w", err)
	}
	if rep.StoreID == "" { // a stream without a message
		return errNoMessage
	}
	return stream.SendAndClose(&catalogv1.UpsertProductsResponse{
		UpsertedCount: rep.Upserted, Errors: rep.Errors, ErrorCount: rep.ErrorCount, CatalogVersion: version,
	})
}

// UpdateVariants implements CatalogService. Each message is written as it comes.
func (s *server) UpdateVariants(
	stream grpc.ClientStreamingServer[catalogv1.UpdateVariantsRequest, catalogv1.UpdateVariantsResponse],
) error {
	var version int64
	rep, err := bulk.Upsert[*catalogv1.UpdateVariantsRequest, *catalogv1.VariantUpdate]{
		Field:    "updates",
		MaxItems: maxUpdatesABatch,
		Items:    (*catalogv1.UpdateVariantsRequest).GetUpdates,
		ID:       func(u *catalogv1.VariantUpdate) string { return u.GetProductId() + "/" + u.GetVariantId() },
		Check:    checkUpdate,
		Put: func(ctx context.Context, storeID string, updates []*catalogv1.VariantUpdate) error {
			written, refused, err := s.catalog.store.update(ctx, storeID, updates)
			version = max(version, written)
			if err == nil && len(refused) > 0 {
				return refused
			}
			return err
		},
	}.Run(stream.Context(), stream.Recv)
	if err != nil {
		return fmt.Errorf("update variants: %w", err)
	}
	if rep.StoreID == "" { // a stream without a message
		return errNoMessage
	}
	return stream.SendAndClose(&catalogv1.UpdateVariantsResponse{
		UpdatedCount: rep.Upserted, Errors: rep.Errors, ErrorCount: rep.ErrorCount, CatalogVersion: version,
	})
}

// GetProduct implements CatalogService.
func (s *server) GetProduct(ctx context.Context, req *catalogv1.GetProductRequest) (*catalogv1.GetProductResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("product_id", cleanID(req.GetProductId()))
	if err := c.Err(); err != nil {
		return nil, err
	}
	var found *entry
	var instead string
	err := s.catalog.read(ctx, req.GetStoreId(), func(v *view) error {
		es, err := v.shelf.lookup(ctx, []string{req.GetProductId()})
		if err != nil {
			return err
		}
		if found = es[0]; found == nil {
			instead = v.instead(cleanID(req.GetProductId()))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("get product: %w", err)
	}
	if found == nil {
		return nil, &fault.NotFound{
			Reason:   commonv1.ErrorReason_ERROR_REASON_PRODUCT_NOT_FOUND,
			Resource: "product", Name: cleanID(req.GetProductId()), Instead: instead,
		}
	}
	return &catalogv1.GetProductResponse{Product: found.product}, nil
}

// BatchGetProducts implements CatalogService.
func (s *server) BatchGetProducts(
	ctx context.Context, req *catalogv1.BatchGetProductsRequest,
) (*catalogv1.BatchGetProductsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	if n := len(req.GetProductIds()); n > maxBatchGet {
		c.Addf("product_ids", "has %d ids, must have at most %d", n, maxBatchGet)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	out := new(catalogv1.BatchGetProductsResponse)
	err := s.catalog.read(ctx, req.GetStoreId(), func(v *view) error {
		es, err := v.shelf.lookup(ctx, req.GetProductIds())
		for i, e := range es {
			if e != nil {
				out.Products = append(out.Products, e.product)
			} else {
				out.MissingProductIds = append(out.MissingProductIds, req.GetProductIds()[i])
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("get products: %w", err)
	}
	return out, nil
}

// DeleteProduct implements CatalogService.
func (s *server) DeleteProduct(
	ctx context.Context, req *catalogv1.DeleteProductRequest,
) (*catalogv1.DeleteProductResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("product_id", req.GetProductId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	deleted, err := s.catalog.store.remove(ctx, req.GetStoreId(), req.GetProductId())
	if err != nil {
		return nil, err
	}
	return &catalogv1.DeleteProductResponse{Deleted: deleted}, nil
}

// SearchProducts implements CatalogService.
func (s *server) SearchProducts(
	ctx context.Context, req *catalogv1.SearchProductsRequest,
) (*catalogv1.SearchProductsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Text("query", req.GetQuery(), 0, maxQuery)
	checkFilter(&c, req.GetFilter())
	if catalogv1.Sort_name[int32(req.GetSort())] == "" {
		c.Addf("sort", "is not a known order")
	}
	c.Range("limit", int64(req.GetLimit()), 0, maxHits)
	if err := c.Err(); err != nil {
		return nil, err
	}
	req.Query = tidied(req.GetQuery())
	var f found
	m := s.hybrid.meaning(ctx, s.catalog, req.GetStoreId(), req.GetQuery(), req.GetSort())
	err := s.catalog.read(ctx, req.GetStoreId(), func(v *view) (err error) {
		if err := v.checkCurrency(req.GetFilter()); err != nil {
			return err
		}
		f, err = s.hybrid.find(ctx, v, v.query(s.vocabulary.of(req.GetStoreId()), req.GetQuery()), newFilter(req.GetFilter()), req.GetSort(), &m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search products: %w", err)
	}
	legs := []string{legLexical}
	if m.leg != "" {
		legs = append(legs, m.leg)
	}
	if !byPrice(req.GetSort()) {
		if leg := s.hybrid.rerankHits(ctx, req.GetQuery(), f.hits); leg != "" {
			legs = append(legs, leg)
		}
	}
	return searchResponse(f, req, legs), nil
}

func searchResponse(f found, req *catalogv1.SearchProductsRequest, legs []string) *catalogv1.SearchProductsResponse {
	counted := f.counted()
	out := &catalogv1.SearchProductsResponse{
		TotalCount:     int32(len(counted)),
		Facets:         facetsOf(counted),
		ExcludedMostBy: f.excludedBy,
		Legs:           legs,
	}
	out.MinPrice, out.MaxPrice = prices(counted)
	for _, h := range f.hits[:min(orDefault(req.GetLimit(), defaultHits), len(f.hits))] {
		if byPrice(req.GetSort()) {
			h.score = 0
		}
		out.Hits = append(out.Hits, hitMessage(h, f.reason(h)))
	}
	return out
}

// FindSimilarProducts implements CatalogService.
func (s *server) FindSimilarProducts(
	ctx context.Context, req *catalogv1.FindSimilarProductsRequest,
) (*catalogv1.FindSimilarProductsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Range("product_ids", int64(len(req.GetProductIds())), 1, maxAnchors)
	c.Text("query", req.GetQuery(), 0, maxQuery)
	checkFilter(&c, req.GetFilter())
	if catalogv1.Relation_name[int32(req.GetRelation())] == "" {
		c.Addf("relation", "is not a known relation")
	}
	c.Range("limit", int64(req.GetLimit()), 0, maxSimilar)
	checkCompanions(&c, req.GetCompanions())
	if err := c.Err(); err != nil {
		return nil, err
	}
	req.Query = tidied(req.GetQuery())
	var companions []companion
	err := s.catalog.read(ctx, req.GetStoreId(), func(v *view) (err error) {
		if err := v.checkCurrency(req.GetFilter()); err != nil {
			return err
		}
		q := v.query(s.vocabulary.of(req.GetStoreId()), req.GetQuery())
		companions, err = v.similar(ctx, req.GetProductIds(), req.GetRelation(), q, newFilter(req.GetFilter()), req.GetCompanions())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find similar products: %w", err)
	}
	out := new(catalogv1.FindSimilarProductsResponse)
	for _, c := range companions[:min(orDefault(req.GetLimit(), defaultSimilar), len(companions))] {
		out.Hits = append(out.Hits, hitMessage(c.hit, c.reason))
	}
	return out, nil
}

// checkCompanions checks what a caller knows to go with the anchors.
func checkCompanions(c *fault.Checker, companions []*catalogv1.Companion) {
	c.Range("companions", int64(len(companions)), 0, maxSimilar)
	for i, known := range companions {
		field := fmt.Sprintf("companions[%d]", i)
		c.ID(field+".product_id", known.GetProductId())
		c.ID(field+".with_product_id", known.GetWithProductId())
		c.Text(field+".relation", known.GetRelation(), 1, maxRelation)
	}
}

func orDefault(limit int32, otherwise int) int {
	if limit == 0 {
		return otherwise
	}
	return int(limit)
}
