package search

import (
	"cmp"
	"context"
	"errors"
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

// Config says what is measured, and how.
type Config struct {
	// Catalog searches. Required.
	Catalog catalogv1.CatalogServiceClient
	// StoreID is the store that is searched. Required.
	StoreID string
	// Repeat is how often each query is timed. Zero: once.
	Repeat int
	// Progress is told after each query how many there are. Nil: nobody is told.
	Progress func(searched int)
}

// Validate says what is missing or out of range.
func (c Config) Validate() error {
	switch {
	case c.Catalog == nil:
		return errors.New("eval search: Catalog is required")
	case c.StoreID == "":
		return errors.New("eval search: StoreID is required")
	case c.Repeat < 0:
		return fmt.Errorf("eval search: Repeat is %d, must not be negative", c.Repeat)
	}
	return nil
}

// Hit is a product in a ranking.
type Hit struct{ ProductID, Title string }

// Outcome is what a search made of a query.
type Outcome struct {
	Query
	// Hits are the products in the order of the ranking: the first 100, and those after them that it took to find 10 judged
	// ones, 2,000 in all at most.
	Hits []Hit
	// Legs are the parts of the search that took part, joined by "+", such as "lexical".
	Legs string
	// Durations are the times of calls that returned 10 hits.
	Durations []time.Duration
}

// Run puts the queries to the catalog, one at a time, and returns the rankings in their order. It ends with the first
// call that fails.
func Run(ctx context.Context, cfg Config, queries []Query) ([]Outcome, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, 0, len(queries))
	for _, q := range queries {
		o, err := search(ctx, cfg, q)
		if err != nil {
			return nil, fmt.Errorf("%d of %d queries were searched: query %q: %w", len(outcomes), len(queries), q.Text, cmp.Or(ctx.Err(), err))
		}
		outcomes = append(outcomes, o)
		if cfg.Progress != nil {
			cfg.Progress(len(outcomes))
		}
	}
	return outcomes, nil
}

// search ranks one query, and then times it.
func search(ctx context.Context, cfg Config, q Query) (Outcome, error) {
	o := Outcome{Query: q}
	if err := o.rank(ctx, cfg); err != nil {
		return o, err
	}
	for range max(1, cfg.Repeat) {
		begun := time.Now()
		_, err := cfg.Catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: cfg.StoreID, Query: q.Text, Limit: timedHits})
		if err != nil {
			return o, err
		}
		o.Durations = append(o.Durations, time.Since(begun))
	}
	return o, nil
}

// rank fetches the ranking page by page: each leaves out what the ones before had, and is ranked as the first was.
func (o *Outcome) rank(ctx context.Context, cfg Config) error {
	var seen []string
	judged := 0
	for {
		resp, err := cfg.Catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{
			StoreId: cfg.StoreID, Query: o.Text, Limit: pageSize, Filter: &catalogv1.Filter{ExcludeProductIds: seen},
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
