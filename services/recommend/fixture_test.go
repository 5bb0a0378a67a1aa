package recommend

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCatalog is a catalog of a few products that keeps the requests it got. The methods that it lacks panic.
type fakeCatalog struct {
	catalogv1.CatalogServiceClient
	mu       sync.Mutex
	products map[string][]*catalogv1.Product // by store
	similar  []*catalogv1.FindSimilarProductsRequest
	searches []*catalogv1.SearchProductsRequest
	batches  int
	err      error
}

func (c *fakeCatalog) BatchGetProducts(
	_ context.Context, req *catalogv1.BatchGetProductsRequest, _ ...grpc.CallOption,
) (*catalogv1.BatchGetProductsResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches++
	if c.err != nil {
		return nil, c.err
	}
	out := new(catalogv1.BatchGetProductsResponse)
	for _, id := range req.GetProductIds() {
		i := slices.IndexFunc(c.products[req.GetStoreId()], func(p *catalogv1.Product) bool {
			return strings.EqualFold(p.GetProductId(), id)
		})
		if i < 0 {
			out.MissingProductIds = append(out.MissingProductIds, id)
			continue
		}
		out.Products = append(out.Products, c.products[req.GetStoreId()][i])
	}
	return out, nil
}

// SearchProducts finds products whose title holds the query.
func (c *fakeCatalog) SearchProducts(
	_ context.Context, req *catalogv1.SearchProductsRequest, _ ...grpc.CallOption,
) (*catalogv1.SearchProductsResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.searches = append(c.searches, req)
	out := new(catalogv1.SearchProductsResponse)
	for _, p := range c.products[req.GetStoreId()] {
		if !strings.Contains(strings.ToLower(p.GetTitle()), strings.ToLower(req.GetQuery())) ||
			slices.Contains(req.GetFilter().GetExcludeProductIds(), p.GetProductId()) {
			continue
		}
		out.TotalCount++
		out.MinPrice = p.GetVariants()[0].GetPrice()
		if len(out.GetHits()) < int(req.GetLimit()) {
			out.Hits = append(out.Hits, hit(p, "matches "+req.GetQuery()))
		}
	}
	return out, c.err
}

// FindSimilarProducts returns everything but the anchors and what is excluded.
func (c *fakeCatalog) FindSimilarProducts(
	_ context.Context, req *catalogv1.FindSimilarProductsRequest, _ ...grpc.CallOption,
) (*catalogv1.FindSimilarProductsResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.similar = append(c.similar, req)
	out := new(catalogv1.FindSimilarProductsResponse)
	for _, p := range c.products[req.GetStoreId()] {
		excluded := slices.Concat(req.GetProductIds(), req.GetFilter().GetExcludeProductIds())
		if !slices.Contains(excluded, p.GetProductId()) && len(out.GetHits()) < int(req.GetLimit()) {
			out.Hits = append(out.Hits, hit(p, "goes with "+req.GetProductIds()[0]))
		}
	}
	return out, c.err
}

func hit(p *catalogv1.Product, reason string) *catalogv1.Hit {
	h := &catalogv1.Hit{Product: p, Reason: reason}
	for _, v := range p.GetVariants() {
		if v.GetStock() > 0 {
			h.MatchedVariantIds = append(h.MatchedVariantIds, v.GetVariantId())
		}
	}
	return h
}

func eur(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

func newFakeCatalog() *fakeCatalog {
	variant := func(id string, price int64, stock int32, size string) *catalogv1.Variant {
		v := &catalogv1.Variant{VariantId: id, Price: eur(price), Stock: stock}
		if size != "" {
			v.Options = map[string]string{"size": size}
		}
		return v
	}
	return &fakeCatalog{products: map[string][]*catalogv1.Product{"s1": {
		{ProductId: "BOOT-1", Title: "Fell boot", Brand: "Kestrel", CategoryPath: []string{"Footwear", "Boots"},
			Variants: []*catalogv1.Variant{variant("s41", 15995, 2, "41"), variant("s42", 16995, 3, "42")}},
		{ProductId: "SOCK-1", Title: "Trail sock", CategoryPath: []string{"Clothing", "Socks"},
			Variants: []*catalogv1.Variant{variant("std", 1495, 9, "")}},
		{ProductId: "WAX-1", Title: "Boot wax", CategoryPath: []string{"Care"}, Url: "https://shop.example/WAX-1",
			Variants: []*catalogv1.Variant{variant("std", 995, 30, "")}},
		{ProductId: "MUG-1", Title: "Camp mug, a gift", CategoryPath: []string{"Gifts"},
			Variants: []*catalogv1.Variant{variant("red", 1295, 4, "M"), variant("blue", 1195, 1, "L")}},
		{ProductId: "TENT-1", Title: "Ridge tent", CategoryPath: []string{"Tents"}, Variants: []*catalogv1.Variant{
			{VariantId: "2-green", Price: eur(30000), Options: map[string]string{"size": "2", "colour": "green"}},
			{VariantId: "2-red", Price: eur(30000), Options: map[string]string{"size": "2", "colour": "red"}},
		}},
	}}}
}

func newService(t *testing.T, catalog *fakeCatalog, model agentloop.Model) *Service {
	t.Helper()
	service, err := New(Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Sealer: servicetest.Sealer(t), Model: model}, Catalog: catalog})
	if err != nil {
		t.Fatal(err)
	}
	return service
}
