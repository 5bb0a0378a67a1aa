package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// fakeCatalog finds the products of a query in order, named P-1 and so on.
type fakeCatalog struct {
	catalogv1.CatalogServiceClient // nil
	found                          map[string]int
	calls                          []int32 // their limits
}

func (c *fakeCatalog) SearchProducts(
	_ context.Context, req *catalogv1.SearchProductsRequest, _ ...grpc.CallOption,
) (*catalogv1.SearchProductsResponse, error) {
	if req.GetQuery() == "broken" {
		return nil, errors.New("no index")
	}
	c.calls = append(c.calls, req.GetLimit())
	resp := &catalogv1.SearchProductsResponse{Legs: []string{"vector", "lexical"}}
	for i := range c.found[req.GetQuery()] {
		p := &catalogv1.Product{ProductId: fmt.Sprintf("P-%d", i+1), Title: "product"}
		if len(resp.Hits) < int(req.GetLimit()) && !slices.Contains(req.GetFilter().GetExcludeProductIds(), p.ProductId) {
			resp.Hits = append(resp.Hits, &catalogv1.Hit{Product: p})
		}
	}
	return resp, nil
}

func TestRanker(t *testing.T) {
	for name, c := range map[string]struct {
		found  int
		judged []int // numbers of products
		repeat int
		hits   int
		calls  []int32
	}{
		"one page":                     {3, []int{1}, 0, 3, []int32{100, 10}},
		"timed over and over":          {3, []int{1}, 3, 3, []int32{100, 10, 10, 10}},
		"nothing":                      {0, []int{1}, 0, 0, []int32{100, 10}},
		"on until the judged is there": {350, []int{201}, 0, 300, []int32{100, 100, 100, 10}},
		"on until ten are there":       {350, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 150, 250}, 0, 200, []int32{100, 100, 10}},
		"on until the end":             {350, []int{999}, 0, 350, []int32{100, 100, 100, 100, 10}},
		"not on for ever":              {5_000, []int{9999}, 0, 2_000, append(slices.Repeat([]int32{100}, 20), 10)},
	} {
		t.Run(name, func(t *testing.T) {
			catalog := &fakeCatalog{found: map[string]int{"kite": c.found}}
			q := Query{Text: "kite", Grades: make(map[string]int)}
			for _, n := range c.judged {
				q.Grades[fmt.Sprintf("P-%d", n)] = 1
			}
			outcomes, err := ranker{catalog: catalog, storeID: "s", repeat: c.repeat, progress: func(int) {}}.run(t.Context(), []Query{q})
			if err != nil {
				t.Fatal(err)
			}
			o := outcomes[0]
			if len(o.Hits) != c.hits || o.Legs != "lexical+vector" || len(o.Durations) != max(1, c.repeat) {
				t.Errorf("%d hits by %q, %d times; want %d", len(o.Hits), o.Legs, len(o.Durations), c.hits)
			}
			for i, h := range o.Hits {
				if h.ProductID != fmt.Sprintf("P-%d", i+1) {
					t.Fatalf("hit %d is %s", i+1, h.ProductID)
				}
			}
			if diff := cmp.Diff(c.calls, catalog.calls); diff != "" {
				t.Errorf("limits of the calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRankerReportsProgress(t *testing.T) {
	var told []int
	r := ranker{catalog: &fakeCatalog{}, storeID: "s", progress: func(n int) { told = append(told, n) }}
	_, err := r.run(t.Context(), []Query{{Text: "a"}, {Text: "b"}, {Text: "broken"}})
	if err == nil || !strings.Contains(err.Error(), `2 of 3 queries were searched: query "broken": no index`) {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(told, []int{1, 2}) {
		t.Errorf("told %v, want 1 and 2", told)
	}
}

func TestRunRefusesAnIncompleteConfig(t *testing.T) {
	whole := Config{Catalog: &fakeCatalog{}, Products: strings.NewReader(""), Queries: []Query{{Text: "a"}}, Pipelines: []Pipeline{{}}}
	for says, change := range map[string]func(*Config){
		"Catalog and Products are required": func(c *Config) { c.Catalog = nil },
		"a query and a pipeline":            func(c *Config) { c.Pipelines = nil },
		"Repeat is -1":                      func(c *Config) { c.Repeat = -1 },
	} {
		cfg := whole
		change(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
}
