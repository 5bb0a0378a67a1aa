package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// put writes products over the wire.
func put(t *testing.T, c catalogv1.CatalogServiceClient, storeID string, products ...*catalogv1.Product) {
	t.Helper()
	stream, err := c.UpsertProducts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&catalogv1.UpsertProductsRequest{StoreId: storeID, Products: products}); err != nil {
		t.Fatal(err)
	}
	if resp, err := stream.CloseAndRecv(); err != nil || resp.GetErrorCount() > 0 {
		t.Fatal(err, resp.GetErrors())
	}
}

func TestListProductsPageByPage(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	var titles []string
	for i := range 60 {
		titles = append(titles, fmt.Sprintf("Thing %d", i))
	}
	put(t, c, "s1", catalogtest.Titled(titles...)...)
	for _, limit := range []int32{1, 7, 60, 200} {
		seen, pages, token := make(map[string]bool), 0, ""
		for {
			resp, err := c.ListProducts(t.Context(), &catalogv1.ListProductsRequest{StoreId: "s1", Limit: limit, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range resp.GetProducts() {
				if seen[p.GetProductId()] {
					t.Errorf("limit %d: %s comes twice", limit, p.GetProductId())
				}
				seen[p.GetProductId()] = true
			}
			pages++
			if token = resp.GetNextPageToken(); token == "" {
				break
			}
			// Writes between pages neither repeat nor hide what stays.
			put(t, c, "s1", catalogtest.Titled(titles...)...)
		}
		if want := (60 + int(limit) - 1) / int(limit); len(seen) != 60 || pages != want {
			t.Errorf("limit %d: %d products on %d pages, want 60 on %d", limit, len(seen), pages, want)
		}
	}
	if resp, err := c.ListProducts(t.Context(), &catalogv1.ListProductsRequest{StoreId: "empty"}); err != nil || len(resp.GetProducts()) > 0 {
		t.Errorf("an empty store lists %v, %v", resp, err)
	}
	for _, token := range []string{"x", pagetoken.New("16", "P-1"), pagetoken.New("0", "a b"), pagetoken.New("1"), "!"} {
		_, err := c.ListProducts(t.Context(), &catalogv1.ListProductsRequest{StoreId: "s1", PageToken: token})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

// lamps are headlamps with brightness, weight and ratings; one says none of it.
func lamps() []*catalogv1.Product {
	lamp := func(id string, lumen, weight float64, unit string, rating float64, count int32) *catalogv1.Product {
		p := catalogtest.Described(id, id+" headlamp", "", "Headlamps")
		p.Attributes = []*catalogv1.Attribute{catalogtest.Quantity("brightness", lumen, "lm"), catalogtest.Quantity("weight", weight, unit)}
		p.Rating = &catalogv1.Rating{Average: rating, Count: count}
		return p
	}
	return []*catalogv1.Product{
		lamp("L-1", 300, 80, "g", 4.5, 10), lamp("L-2", 600, 0.12, "kg", 4.5, 90), lamp("L-3", 450, 95, "g", 3.9, 400),
		catalogtest.Described("L-4", "Plain headlamp", "", "Headlamps"),
	}
}

func TestSearchByRangesAndOrdersOfAttributes(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	put(t, c, "s1", lamps()...)
	bound := func(name string, low, high *float64, unit string) *catalogv1.Filter {
		return &catalogv1.Filter{AttributeRanges: []*catalogv1.AttributeRange{{Name: name, Min: low, Max: high, Unit: unit}}}
	}
	number := func(n float64) *float64 { return &n }
	for name, tc := range map[string]struct {
		req  *catalogv1.SearchProductsRequest
		want []string
	}{
		"lightest, in whatever unit": {&catalogv1.SearchProductsRequest{Sort: catalogv1.Sort_SORT_ATTRIBUTE_ASCENDING, SortAttribute: "Weight"},
			[]string{"L-1", "L-3", "L-2", "L-4"}},
		"brightest": {&catalogv1.SearchProductsRequest{Sort: catalogv1.Sort_SORT_ATTRIBUTE_DESCENDING, SortAttribute: "brightness"},
			[]string{"L-2", "L-3", "L-1", "L-4"}},
		"best rated":           {&catalogv1.SearchProductsRequest{Sort: catalogv1.Sort_SORT_RATING}, []string{"L-2", "L-1", "L-3", "L-4"}},
		"over 400 lumen":       {&catalogv1.SearchProductsRequest{Filter: bound("brightness", number(400), nil, "")}, []string{"L-2", "L-3"}},
		"in another unit":      {&catalogv1.SearchProductsRequest{Filter: bound("weight", nil, number(0.1), "kg")}, []string{"L-1", "L-3"}},
		"in a unit that is no": {&catalogv1.SearchProductsRequest{Filter: bound("weight", nil, number(1), "lm")}, nil},
		"rated 4 and better":   {&catalogv1.SearchProductsRequest{Filter: &catalogv1.Filter{MinRating: 4}}, []string{"L-1", "L-2"}},
	} {
		tc.req.StoreId, tc.req.Query = "s1", "headlamps"
		resp, err := c.SearchProducts(t.Context(), tc.req)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range resp.GetHits() {
			got = append(got, h.GetProduct().GetProductId())
		}
		if tc.req.Sort == catalogv1.Sort_SORT_UNSPECIFIED {
			slices.Sort(got)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	for name, req := range map[string]*catalogv1.SearchProductsRequest{
		"no bound":             {Filter: bound("weight", nil, nil, "")},
		"bounds that cross":    {Filter: bound("weight", number(2), number(1), "")},
		"no name":              {Filter: bound("", number(2), nil, "")},
		"a rating of six":      {Filter: &catalogv1.Filter{MinRating: 6}},
		"no attribute to sort": {Sort: catalogv1.Sort_SORT_ATTRIBUTE_ASCENDING},
		"an attribute alone":   {SortAttribute: "weight"},
		"a token of nobody":    {PageToken: "abc"},
		"a token below zero":   {PageToken: pagetoken.New("-1")},
	} {
		req.StoreId = "s1"
		if _, err := c.SearchProducts(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSearchPageByPage(t *testing.T) {
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	put(t, c, "s1", lamps()...)
	var got []string
	req := &catalogv1.SearchProductsRequest{StoreId: "s1", Query: "headlamps", Sort: catalogv1.Sort_SORT_RATING, Limit: 3}
	for {
		resp, err := c.SearchProducts(t.Context(), req)
		if err != nil || resp.GetTotalCount() != 4 {
			t.Fatal(err, resp.GetTotalCount())
		}
		for _, h := range resp.GetHits() {
			got = append(got, h.GetProduct().GetProductId())
		}
		got = append(got, "|")
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if want := []string{"L-2", "L-1", "L-3", "|", "L-4", "|"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	req.PageToken = pagetoken.New("1000")
	if resp, err := c.SearchProducts(t.Context(), req); err != nil || len(resp.GetHits()) > 0 || resp.GetNextPageToken() != "" {
		t.Errorf("beyond the end: %v, %v", resp, err)
	}
}

func TestSearchToolByNumbers(t *testing.T) {
	service := backendUnderTest{}.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}})
	indextest.Put(t, service.store, "s1", lamps()...)
	for name, c := range map[string]struct {
		arguments string
		want      []string
		total     int
		note      string // a part of it; empty: there is none
	}{
		"over 400 lumen":  {`{"query":"headlamp","attributes":{"brightness":">400"},"sort":"brightness_low_to_high"}`, []string{"L-3", "L-2"}, 2, ""},
		"in another unit": {`{"query":"headlamp","attributes":{"weight":"<= 0.1 kg"},"sort":"rating"}`, []string{"L-1", "L-3"}, 2, ""},
		"exactly at a strict limit": {`{"query":"headlamp","attributes":{"brightness":"<300"}}`, []string{"L-1", "L-2", "L-4"}, 0,
			"No headlamps within the bounds of brightness."},
		"the lightest, and one that does not say": {`{"query":"headlamp","sort":"weight_low_to_high"}`, []string{"L-1", "L-3", "L-2", "L-4"}, 4,
			"1 of these 4 products say no weight; they come last."},
		"an order that nobody records": {`{"query":"plain headlamp","sort":"runtime_high_to_low"}`, []string{"L-4"}, 1,
			`does not record "runtime", so the order is by relevance`},
		"a range that nobody records": {`{"query":"plain headlamp","attributes":{"runtime":">5 h"}}`, []string{"L-4"}, 1, `does not record "runtime"`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := service.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}})[0]
			value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: c.arguments})
			if err != nil {
				t.Fatal(err)
			}
			got := value.(searchResult)
			var found []string
			for _, p := range got.Products {
				found = append(found, p.ProductID)
			}
			if c.total == 0 {
				slices.Sort(found)
				c.want = slices.Sorted(slices.Values(c.want))
			}
			if !slices.Equal(found, c.want) || got.Total != c.total {
				t.Errorf("found %v of %d, want %v of %d", found, got.Total, c.want, c.total)
			}
			if !strings.Contains(got.Note, c.note) || c.note == "" && got.Note != "" {
				t.Errorf("note %q, want %q", got.Note, c.note)
			}
		})
	}
}
