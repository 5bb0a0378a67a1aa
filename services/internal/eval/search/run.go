package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

const (
	// pageSize is how many hits one call returns at most, and how far recall looks.
	pageSize = 100
	// timedHits is how many hits a timed call asks for: what a shopper sees at once.
	timedHits = 10
	// rankedJudged is how many judged products are wanted of a ranking.
	rankedJudged = 10
	// maxRanked bounds how far they are looked for: a search by meaning never runs out of hits.
	maxRanked = 2_000
)

// Hit is a product in a ranking.
type Hit struct{ ProductID, Title string }

// Outcome is what a search made of a query.
type Outcome struct {
	Query
	// Hits are the products in the order of the ranking: the first 100, and those after them that it took to find 10 judged
	// ones, 2,000 in all at most.
	Hits []Hit
	// Uncertain says that the service knows of no hit whether it is an answer.
	Uncertain bool
	// Legs are the parts of the search that took part, joined by "+", such as "lexical".
	Legs string
	// Durations are the times of calls that returned 10 hits.
	Durations []time.Duration
}

// ranker puts queries to a catalog.
type ranker struct {
	catalog  catalogv1.CatalogServiceClient
	storeID  string
	repeat   int                // how often each query is timed, at least once
	progress func(searched int) // called after each query
}

// run puts the queries to the catalog, one at a time, and returns the rankings in their order. The first call that fails ends it.
func (r ranker) run(ctx context.Context, queries []Query) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(queries))
	for _, q := range queries {
		o, err := r.search(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("%d of %d queries were searched: query %q: %w", len(outcomes), len(queries), q.Text, cmp.Or(ctx.Err(), err))
		}
		outcomes = append(outcomes, o)
		r.progress(len(outcomes))
	}
	return outcomes, nil
}

// search ranks one query, and then times it.
func (r ranker) search(ctx context.Context, q Query) (Outcome, error) {
	o := Outcome{Query: q}
	if err := r.rank(ctx, &o); err != nil {
		return o, err
	}
	for range max(1, r.repeat) {
		begun := time.Now()
		_, err := r.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: r.storeID, Query: q.Text, Limit: timedHits})
		if err != nil {
			return o, err
		}
		o.Durations = append(o.Durations, time.Since(begun))
	}
	return o, nil
}

// rank fetches the ranking page by page. Each call excludes the products of the pages before, and is ranked as the first was.
func (r ranker) rank(ctx context.Context, o *Outcome) error {
	var seen []string
	judged := 0
	for {
		resp, err := r.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{
			StoreId: r.storeID, Query: o.Text, Limit: pageSize, Filter: &catalogv1.Filter{ExcludeProductIds: seen},
		})
		if err != nil {
			return err
		}
		if seen == nil {
			o.Legs = strings.Join(slices.Sorted(slices.Values(resp.GetLegs())), "+")
		}
		for _, h := range resp.GetHits() {
			id := h.GetProduct().GetProductId()
			seen = append(seen, id)
			o.Hits = append(o.Hits, Hit{ProductID: id, Title: h.GetProduct().GetTitle()})
			if _, ok := o.Grades[id]; ok {
				judged++
			}
		}
		if judged >= min(rankedJudged, len(o.Grades)) || len(resp.GetHits()) < pageSize || len(o.Hits) >= maxRanked {
			return nil
		}
	}
}
