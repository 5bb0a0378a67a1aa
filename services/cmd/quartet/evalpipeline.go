package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	evalsearch "github.com/quartet-commerce/quartet/services/internal/eval/search"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/search"
	"github.com/quartet-commerce/quartet/services/suite"
)

// pipeline is a search with some of the legs.
type pipeline struct {
	name string // its legs, as answers name them
	cfg  suite.Config
}

// pipelinesOf returns what is measured: the words alone, and then each leg that is configured beside those before it. All are
// over the same state, so that products are embedded once.
func pipelinesOf(whole suite.Config) []pipeline {
	p := pipeline{name: "lexical", cfg: whole}
	p.cfg.Embedder, p.cfg.Reranker = nil, nil
	out := []pipeline{p}
	if whole.Embedder != nil {
		p.name, p.cfg.Embedder = p.name+"+vector", whole.Embedder
		out = append(out, p)
	}
	if whole.Reranker != nil {
		p.name, p.cfg.Reranker = p.name+"+rerank", whole.Reranker
		out = append(out, p)
	}
	return out
}

// serve runs a search service of the pipeline's in this process until the returned function is called.
func (p pipeline) serve(ctx context.Context) (_ catalogv1.CatalogServiceClient, stop func() error, err error) {
	p.cfg.Network = rpc.NewNetwork()
	service, err := suite.New(suite.Search, p.cfg)
	if err != nil {
		return nil, nil, err
	}
	lis, err := p.cfg.Network.Listen(suite.Search)
	if err != nil {
		return nil, nil, err
	}
	// As in a house: what is under way ends before the service does.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return service.Serve(ctx, lis) })
	stopService := func() error {
		cancel()
		return errors.Join(group.Wait(), p.cfg.Network.Close())
	}
	conn, err := suite.Dial(suite.Search, p.cfg)
	if err != nil {
		return nil, nil, errors.Join(err, stopService())
	}
	return catalogv1.NewCatalogServiceClient(conn), func() error { return errors.Join(conn.Close(), stopService()) }, nil
}

// searchMeasurement is the measurement of one pipeline.
type searchMeasurement struct {
	pipeline
	queries []evalsearch.Query
	repeat  int
	env     environment

	catalog  catalogv1.CatalogServiceClient
	embedder *watchedEmbedder // nil: it has none
	told     time.Time        // of the last line of progress
}

// run puts the queries to the pipeline once all its legs take part.
func (m *searchMeasurement) run(ctx context.Context, report *searchReport) (_ []evalsearch.Outcome, err error) {
	if m.cfg.Embedder != nil {
		m.embedder = &watchedEmbedder{Embedder: m.cfg.Embedder, last: time.Now()}
		m.cfg.Embedder = m.embedder
	}
	var stop func() error
	if m.catalog, stop, err = m.serve(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	begun := time.Now()
	first, err := m.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: evalStore, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("first search: %w", told(cmp.Or(ctx.Err(), err)))
	}
	m.told = time.Now()
	if report.IndexMillis == 0 {
		report.IndexMillis = millis(time.Since(begun))
	}
	if m.embedder != nil {
		if err := m.embed(ctx, int(first.GetTotalCount())); err != nil {
			return nil, err
		}
		if report.EmbedMillis == 0 {
			report.EmbedMillis = millis(time.Since(begun))
		}
	}
	return evalsearch.Run(ctx, evalsearch.Config{
		Catalog: m.catalog, StoreID: evalStore, Repeat: m.repeat,
		Progress: func(searched int) { m.tell("%s: %d of %d queries searched", m.name, searched, len(m.queries)) },
	}, m.queries)
}

// tell prints how far it is, if that was not done a moment ago.
func (m *searchMeasurement) tell(format string, args ...any) {
	if time.Since(m.told) >= progressEvery {
		m.told = time.Now()
		fmt.Fprintf(m.env.err, "quartet eval: "+format+"\n", args...)
	}
}

const (
	// embedLook is the time between two looks at how many products are embedded.
	embedLook = 20 * time.Millisecond
	// maxEmbedFailures is how often products may fail to be embedded, with none embedded in between. The service waits longer
	// before each further time.
	maxEmbedFailures = 3
	// embedIdle is how long nothing is embedded when all has been: vectors that are kept beyond a service are not asked for again.
	embedIdle = 2 * time.Second
)

// embed waits until all products have a vector and queries get one. What never worked is not tried again. A cluster may have the
// vectors already, from the pipeline before.
func (m *searchMeasurement) embed(ctx context.Context, products int) error {
	tick := time.NewTicker(embedLook)
	defer tick.Stop()
	for {
		embedded, failures, err := m.embedder.state()
		if err != nil && (embedded == 0 || failures >= maxEmbedFailures) {
			return fmt.Errorf("%d of %d products were embedded: %w", embedded, products, err)
		}
		if embedded >= products || m.embedder.idle() || embedded == 0 && m.cfg.Cluster != nil {
			ready, err := m.ready(ctx)
			if ready || err != nil {
				return err
			}
		}
		m.tell("%d of %d products embedded", embedded, products)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d products were embedded: %w", embedded, products, ctx.Err())
		}
	}
}

// ready reports whether the vector leg takes part in a search.
func (m *searchMeasurement) ready(ctx context.Context) (bool, error) {
	query := m.queries[0].Text
	resp, err := m.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: evalStore, Query: query, Limit: 1})
	if err != nil {
		return false, fmt.Errorf("first search by meaning: %w", told(cmp.Or(ctx.Err(), err)))
	}
	failed := slices.ContainsFunc(resp.GetLegs(), func(leg string) bool { return strings.HasPrefix(leg, "vector:f") })
	if _, _, err := m.embedder.state(); failed && err != nil {
		return false, fmt.Errorf("query %q was not embedded: %w", query, err)
	}
	return slices.Contains(resp.GetLegs(), "vector"), nil
}

// watchedEmbedder knows how it goes.
type watchedEmbedder struct {
	search.Embedder

	mu                 sync.Mutex // guards the rest
	embedded, failures int        // products so far, and failures since the last of them
	err                error      // the last, if nothing went well since
	running            int        // calls for products under way
	last               time.Time  // when the last of them ended
}

// Documents implements search.Embedder.
func (w *watchedEmbedder) Documents(ctx context.Context, texts []string) ([]embed.Vector, error) {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
	vs, err := w.Embedder.Documents(ctx, texts)
	w.note(len(vs), err)
	w.mu.Lock()
	w.running--
	w.last = time.Now()
	w.mu.Unlock()
	return vs, err
}

// idle reports whether no products were embedded for a while, and the last were without a failure.
func (w *watchedEmbedder) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running == 0 && w.err == nil && time.Since(w.last) >= embedIdle
}

// Query implements search.Embedder.
func (w *watchedEmbedder) Query(ctx context.Context, text string) (embed.Vector, error) {
	v, err := w.Embedder.Query(ctx, text)
	w.note(0, err)
	return v, err
}

func (w *watchedEmbedder) note(embedded int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if err != nil {
		w.failures++
		return
	}
	w.embedded, w.failures = w.embedded+embedded, 0
}

func (w *watchedEmbedder) state() (embedded, failures int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.embedded, w.failures, w.err
}
