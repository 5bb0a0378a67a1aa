package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
)

const (
	// vectorsLook is the time between two looks at the number of embedded products.
	vectorsLook = 20 * time.Millisecond
	// maxEmbedFailures is the number of failures in a row that ends the wait. The service waits longer before each further try.
	maxEmbedFailures = 3
	// embedIdle is the time without a call after which all products count as embedded: vectors from a cache need no call.
	embedIdle = 2 * time.Second
)

// waitForVectors waits until all products have a vector and queries get one. A first failure ends it, since it is most likely
// a wrong configuration.
func (e *evaluation) waitForVectors(ctx context.Context, p Pipeline, catalog catalogv1.CatalogServiceClient, products int) error {
	tick := time.NewTicker(vectorsLook)
	defer tick.Stop()
	for {
		embedded, failures, err := p.Embedder.state()
		if err != nil && (embedded == 0 || failures >= maxEmbedFailures) {
			return fmt.Errorf("%d of %d products were embedded: %w", embedded, products, err)
		}
		if embedded >= products || p.Embedder.idle() || embedded == 0 && p.KeepsVectors {
			ready, err := e.vectorsReady(ctx, p, catalog)
			if ready || err != nil {
				return err
			}
		}
		e.tell("%d of %d products embedded", embedded, products)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d products were embedded: %w", embedded, products, ctx.Err())
		}
	}
}

// vectorsReady reports whether the vector leg takes part in a search.
func (e *evaluation) vectorsReady(ctx context.Context, p Pipeline, catalog catalogv1.CatalogServiceClient) (bool, error) {
	query := e.Queries[0].Text
	resp, err := catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: StoreID, Query: query, Limit: 1})
	if err != nil {
		return false, fmt.Errorf("first search by vectors: %w", cmp.Or(ctx.Err(), err))
	}
	failed := slices.ContainsFunc(resp.GetLegs(), func(leg string) bool { return strings.HasPrefix(leg, "vector:f") })
	if _, failures, err := p.Embedder.state(); failed && err != nil && failures >= maxEmbedFailures { // an endpoint that is busy with products may be late
		return false, fmt.Errorf("query %q was not embedded: %w", query, err)
	}
	return slices.Contains(resp.GetLegs(), "vector"), nil
}

// Embedder embeds queries and products.
type Embedder interface {
	Query(ctx context.Context, text string) (embed.Vector, error)
	Documents(ctx context.Context, texts []string) ([]embed.Vector, error)
}

// WatchedEmbedder counts what another embedder has done. It is safe for concurrent use.
type WatchedEmbedder struct {
	next Embedder

	mu                 sync.Mutex // guards the rest
	embedded, failures int        // products so far, and failures since the last success
	err                error      // of the last call; nil if it succeeded
	running            int        // calls for products under way
	last               time.Time  // when the last of them ended
}

// Watch returns an embedder that calls next.
func Watch(next Embedder) *WatchedEmbedder { return &WatchedEmbedder{next: next} }

// begin starts the time in which nothing may be embedded.
func (w *WatchedEmbedder) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
}

// Documents embeds products.
func (w *WatchedEmbedder) Documents(ctx context.Context, texts []string) ([]embed.Vector, error) {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
	vs, err := w.next.Documents(ctx, texts)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	w.last = time.Now()
	w.note(len(vs), err)
	return vs, err
}

// Query embeds a query.
func (w *WatchedEmbedder) Query(ctx context.Context, text string) (embed.Vector, error) {
	v, err := w.next.Query(ctx, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(0, err)
	return v, err
}

func (w *WatchedEmbedder) note(embedded int, err error) {
	w.err = err
	if err != nil {
		w.failures++
		return
	}
	w.embedded, w.failures = w.embedded+embedded, 0
}

// idle reports whether no product was embedded for a while, and the last call succeeded.
func (w *WatchedEmbedder) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running == 0 && w.err == nil && time.Since(w.last) >= embedIdle
}

func (w *WatchedEmbedder) state() (embedded, failures int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.embedded, w.failures, w.err
}
