package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// server implements CatalogService.
type server struct {
	catalogv1.UnsafeCatalogServiceServer
	*Service
}

var _ catalogv1.CatalogServiceServer = (*server)(nil)

// Limits of requests.
const (
	maxProductsABatch = 1_000
	maxUpdatesABatch  = 1_000
	maxBatchGet       = 200
	maxQuery          = 1_000 // characters
	maxNames          = 1_000 // categories or brands in a filter
	maxExcluded       = 2_000 // products in a filter
	maxHits           = 100
	defaultListPage   = 50
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
		Check:    catalog.Validate,
		Put: func(ctx context.Context, storeID string, products []*catalogv1.Product) (err error) {
			written := timestamppb.Now()
			for _, p := range products {
				p.UpdateTime = written
			}
			version, err = s.store.Put(ctx, storeID, products)
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
		Check:    catalog.ValidateUpdate,
		Put: func(ctx context.Context, storeID string, updates []*catalogv1.VariantUpdate) error {
			written, refused, err := s.store.Update(ctx, storeID, updates)
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
	c.ID("product_id", catalog.CleanID(req.GetProductId()))
	if err := c.Err(); err != nil {
		return nil, err
	}
	var found *index.Entry
	var alternative string
	err := s.backend.Read(ctx, req.GetStoreId(), nil, func(v *index.View) error {
		es, err := v.Index.Products(ctx, []string{req.GetProductId()})
		if err != nil {
			return err
		}
		if found = es[0]; found == nil {
			alternative = instead(v, catalog.CleanID(req.GetProductId()))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("get product: %w", err)
	}
	if found == nil {
		return nil, &fault.NotFound{
			Reason:   commonv1.ErrorReason_ERROR_REASON_PRODUCT_NOT_FOUND,
			Resource: "product", Name: catalog.CleanID(req.GetProductId()), Instead: alternative,
		}
	}
	return &catalogv1.GetProductResponse{Product: found.Product}, nil
}

// BatchGetProducts implements CatalogService.
func (s *server) BatchGetProducts(
	ctx context.Context, req *catalogv1.BatchGetProductsRequest,
) (*catalogv1.BatchGetProductsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Count("product_ids", len(req.GetProductIds()), maxBatchGet)
	if err := c.Err(); err != nil {
		return nil, err
	}
	out := new(catalogv1.BatchGetProductsResponse)
	err := s.backend.Read(ctx, req.GetStoreId(), nil, func(v *index.View) error {
		es, err := v.Index.Products(ctx, req.GetProductIds())
		for i, e := range es {
			if e != nil {
				out.Products = append(out.Products, e.Product)
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
	deleted, err := s.store.Remove(ctx, req.GetStoreId(), req.GetProductId())
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
	checkSort(&c, req.GetSort(), req.GetSortAttribute())
	c.Range("limit", int64(req.GetLimit()), 0, maxHits)
	offset := pagetoken.Read(&c, req.GetPageToken(), parseOffset)
	if err := c.Err(); err != nil {
		return nil, err
	}
	req.Query = catalog.Clean(req.GetQuery())
	id := cmp.Or(asID(req.GetQuery()), req.GetQuery())
	var f index.Result
	var named *index.Entry
	var variant *catalogv1.Variant
	var languages []string
	m := s.searcher.VectorQuery(ctx, s.backend, req.GetStoreId(), req.GetQuery(), req.GetSort())
	err := s.backend.Read(ctx, req.GetStoreId(), nil, func(v *index.View) (err error) {
		if err := checkCurrency(v, req.GetFilter()); err != nil {
			return err
		}
		languages = nil
		for _, l := range v.Statistics.CatalogLanguages() {
			languages = append(languages, l.Tag)
		}
		f, err = s.searcher.Search(ctx, v, v.Request(s.vocabulary.Of(req.GetStoreId()), req.GetQuery()), index.NewFilter(req.GetFilter()), req.GetSort(), &m)
		if err == nil {
			named, variant, err = v.Exact(ctx, id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search products: %w", err)
	}
	legs := []string{index.LegLexical}
	if m.Leg != "" {
		legs = append(legs, m.Leg)
	}
	if !index.ByValue(req.GetSort()) {
		if leg := s.searcher.RerankHits(ctx, req.GetQuery(), f.Hits); leg != "" {
			legs = append(legs, leg)
		}
	}
	if named != nil {
		f.PutFirst(named, variant, index.NewFilter(req.GetFilter()), req.GetSort())
	}
	index.SortByAttribute(f.Hits, req.GetSort(), req.GetSortAttribute())
	end := offset + orDefault(req.GetLimit(), defaultHits)
	out := f.Response(req.GetSort(), end, legs)
	out.Languages = languages
	out.Hits = out.Hits[min(offset, len(out.Hits)):]
	if end < len(f.Hits) {
		out.NextPageToken = pagetoken.New(strconv.Itoa(end))
	}
	return out, nil
}

// checkSort checks an order and the attribute that it is by.
func checkSort(c *fault.Checker, by catalogv1.Sort, attribute string) {
	if catalogv1.Sort_name[int32(by)] == "" {
		c.Addf("sort", "is not a known order")
	}
	byAttribute := by == catalogv1.Sort_SORT_ATTRIBUTE_ASCENDING || by == catalogv1.Sort_SORT_ATTRIBUTE_DESCENDING
	switch {
	case byAttribute && catalog.NameKey(attribute) == "":
		c.Addf("sort_attribute", "must name an attribute, since sort is by one")
	case !byAttribute && attribute != "":
		c.Addf("sort_attribute", "must be empty unless sort is by an attribute")
	}
	c.Text("sort_attribute", attribute, 0, catalog.MaxName)
}

// parseOffset reads the token of a page of hits: how many come before.
func parseOffset(token string) (int, bool) {
	parts, ok := pagetoken.Parse(token, 1)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(parts[0])
	return n, err == nil && n >= 0 && n <= math.MaxInt32
}

// ListProducts implements CatalogService.
func (s *server) ListProducts(ctx context.Context, req *catalogv1.ListProductsRequest) (*catalogv1.ListProductsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Range("limit", int64(req.GetLimit()), 0, maxBatchGet)
	after := pagetoken.Read(&c, req.GetPageToken(), catalog.ParsePlace)
	if err := c.Err(); err != nil {
		return nil, err
	}
	products, next, err := s.store.List(ctx, req.GetStoreId(), after, orDefault(req.GetLimit(), defaultListPage))
	if err != nil {
		return nil, err
	}
	return &catalogv1.ListProductsResponse{Products: products, NextPageToken: next.Token()}, nil
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
	checkKnown(&c, req.GetKnownComplements())
	c.OptionalID("language", req.GetLanguage())
	if err := c.Err(); err != nil {
		return nil, err
	}
	req.Query = catalog.Clean(req.GetQuery())
	var related []index.Related
	err := s.backend.Read(ctx, req.GetStoreId(), nil, func(v *index.View) (err error) {
		if err := checkCurrency(v, req.GetFilter()); err != nil {
			return err
		}
		q := v.Query(s.vocabulary.Of(req.GetStoreId()), req.GetQuery())
		related, err = v.Related(ctx, req.GetProductIds(), req.GetRelation(), q, index.NewFilter(req.GetFilter()), req.GetKnownComplements(),
			req.GetLanguage())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find similar products: %w", err)
	}
	out := new(catalogv1.FindSimilarProductsResponse)
	for _, c := range related[:min(orDefault(req.GetLimit(), defaultSimilar), len(related))] {
		out.Hits = append(out.Hits, index.HitMessage(c.Hit, c.Reason))
	}
	return out, nil
}

// checkKnown checks the products of which a caller knows that they go with the anchors.
func checkKnown(c *fault.Checker, known []*catalogv1.KnownComplement) {
	if !c.Count("known_complements", len(known), maxSimilar) {
		return
	}
	for i, k := range known {
		field := fmt.Sprintf("known_complements[%d]", i)
		c.ID(field+".product_id", k.GetProductId())
		c.ID(field+".with_product_id", k.GetWithProductId())
		c.Text(field+".relation", k.GetRelation(), 1, maxRelation)
	}
}

func orDefault(limit int32, otherwise int) int {
	if limit == 0 {
		return otherwise
	}
	return int(limit)
}

// checkFilter checks a filter as callers send it.
func checkFilter(c *fault.Checker, f *catalogv1.Filter) {
	c.Money("filter.min_price", f.GetMinPrice(), false)
	c.Money("filter.max_price", f.GetMaxPrice(), false)
	low, high := f.GetMinPrice(), f.GetMaxPrice()
	if low != nil && high != nil && low.GetCurrencyCode() != high.GetCurrencyCode() {
		c.Addf("filter.max_price.currency_code", "must be the currency of min_price")
	}
	if low != nil && high != nil && low.GetAmountMinor() > high.GetAmountMinor() {
		c.Addf("filter.max_price.amount_minor", "is %d, must not be below min_price, %d", high.GetAmountMinor(), low.GetAmountMinor())
	}
	checkNames(c, "filter.categories", f.GetCategories(), index.CategoryKey)
	checkNames(c, "filter.brands", f.GetBrands(), catalog.NameKey)
	checkPairs(c, "filter.options", f.GetOptions())
	checkPairs(c, "filter.attributes", f.GetAttributes())
	c.Count("filter.exclude_product_ids", len(f.GetExcludeProductIds()), maxExcluded)
	catalog.CheckRating(c, "filter.min_rating", f.GetMinRating())
	checkRanges(c, f.GetAttributeRanges())
}

func checkRanges(c *fault.Checker, ranges []*catalogv1.AttributeRange) {
	if !c.Count("filter.attribute_ranges", len(ranges), catalog.MaxOptions) {
		return
	}
	for i, r := range ranges {
		field := fault.At("filter.attribute_ranges", i)
		c.Text(field+".name", r.GetName(), 1, catalog.MaxName)
		c.Text(field+".unit", r.GetUnit(), 0, catalog.MaxName)
		switch {
		case r.GetName() != "" && catalog.NameKey(r.GetName()) == "":
			c.Addf(field+".name", "must have a letter or a digit")
		case r.Min == nil && r.Max == nil:
			c.Addf(field+".min", "is not set, and max is not either; set one of them")
		case math.IsNaN(r.GetMin()) || math.IsNaN(r.GetMax()):
			c.Addf(field+".min", "and max must be numbers")
		case r.Min != nil && r.Max != nil && r.GetMin() > r.GetMax():
			c.Addf(field+".max", "is %g, must not be below min, %g", r.GetMax(), r.GetMin())
		}
	}
}

// checkCurrency refuses bounds in a currency that no price of the store is in: they would admit nothing, and not because of
// the prices.
func checkCurrency(v *index.View, f *catalogv1.Filter) error {
	var c fault.Checker
	check := func(field string, m *commonv1.Money) {
		if m != nil && len(v.Statistics.Currencies) > 0 && v.Statistics.Currencies[m.GetCurrencyCode()] == 0 {
			c.Addf(field+".currency_code", "must be one in which the store has prices: %s",
				strings.Join(slices.Sorted(maps.Keys(v.Statistics.Currencies)), ", "))
		}
	}
	check("filter.min_price", f.GetMinPrice())
	check("filter.max_price", f.GetMaxPrice())
	return c.Err()
}

// checkNames checks names to filter by, which must have something to compare.
func checkNames(c *fault.Checker, field string, values []string, key func(string) string) {
	if !catalog.CheckTexts(c, field, values, maxNames) {
		return
	}
	for i, v := range values {
		if v != "" && key(v) == "" {
			c.Addf(fault.At(field, i), "has no letter and no digit")
		}
	}
}

// checkPairs checks names and values to filter by.
func checkPairs(c *fault.Checker, field string, values map[string]string) {
	if !c.Count(field, len(values), catalog.MaxOptions) {
		return
	}
	for i, name := range slices.Sorted(maps.Keys(values)) {
		c.Text(fault.At(field, i)+".value", values[name], 1, catalog.MaxName)
		if catalog.NameKey(name) == "" || utf8.RuneCountInString(name) > catalog.MaxName {
			c.Addf(fault.At(field, i)+".name", "must be a name of at most %d characters", catalog.MaxName)
		}
	}
}
