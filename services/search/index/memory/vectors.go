package memory

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// vectorStore keeps the vectors of one store's products: 4 bytes for each dimension of each product, and about 100 more. Its
// goroutine embeds what is new or reworded, from start to stop. A product whose words have changed keeps its old vector until it
// has the new one. wake, stop and likeness may be called on nil, which has no vectors.
type vectorStore struct {
	embedder index.Embedder
	catalog  func() []*catalogv1.Product // of the store, now
	logger   *slog.Logger
	changed  chan struct{} // holds one token when there may be something to do
	cancel   context.CancelFunc
	done     chan struct{}

	mu       sync.RWMutex // guards the rest
	products map[string]embeddedProduct
	wanted   int // products that there were last
	failed   bool
}

// embeddedProduct is the vector of a product as it was.
type embeddedProduct struct {
	product *catalogv1.Product
	vector  embed.Vector
}

// startVectors starts the goroutine. Nil: there is no embedder.
func startVectors(embedder index.Embedder, logger *slog.Logger, products func() []*catalogv1.Product) *vectorStore {
	if embedder == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	x := &vectorStore{
		embedder: embedder, catalog: products, logger: logger, changed: make(chan struct{}, 1), cancel: cancel,
		done: make(chan struct{}), products: make(map[string]embeddedProduct),
	}
	go x.run(ctx)
	return x
}

// wake says that products may have changed.
func (x *vectorStore) wake() {
	if x == nil {
		return
	}
	select {
	case x.changed <- struct{}{}:
	default: // it was said already
	}
}

// stop ends the goroutine and waits for it.
func (x *vectorStore) stop() {
	if x != nil {
		x.cancel()
		<-x.done
	}
}

// run embeds after each change, and again after a failure.
func (x *vectorStore) run(ctx context.Context) {
	defer close(x.done)
	wait := index.EmbedRetryFirst
	var again <-chan time.Time
	for {
		select {
		case <-x.changed:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		err := x.embed(ctx)
		if ctx.Err() != nil {
			return
		}
		x.mu.Lock()
		x.failed = err != nil
		x.mu.Unlock()
		if err == nil {
			wait = index.EmbedRetryFirst
			continue
		}
		x.logger.Warn("products could not be embedded; searches use words only until the next attempt", "error", err, "again_in", wait)
		again = time.After(wait)
		wait = min(2*wait, index.EmbedRetryMax)
	}
}

// embed brings the vectors up to the products.
func (x *vectorStore) embed(ctx context.Context) error {
	stale := x.compare(x.catalog())
	for len(stale) > 0 {
		batch := stale[:min(index.EmbedBatch, len(stale))]
		stale = stale[len(batch):]
		texts := make([]string, len(batch))
		for i, p := range batch {
			texts[i] = index.Text(p)
		}
		vs, err := x.embedder.Documents(ctx, texts)
		if err != nil {
			return err
		}
		x.mu.Lock()
		for i, p := range batch {
			x.products[p.GetProductId()] = embeddedProduct{p, vs[i]}
		}
		x.mu.Unlock()
	}
	return nil
}

// compare drops the vectors of products that are gone, and returns those that need one.
func (x *vectorStore) compare(products []*catalogv1.Product) (stale []*catalogv1.Product) {
	x.mu.Lock()
	defer x.mu.Unlock()
	there := make(map[string]bool, len(products))
	for _, p := range products {
		there[p.GetProductId()] = true
		if r, ok := x.products[p.GetProductId()]; !ok || !index.SameText(r.product, p) {
			stale = append(stale, p)
		}
	}
	for id := range x.products {
		if !there[id] {
			delete(x.products, id)
		}
	}
	x.wanted = len(products)
	return stale
}

// leg names the state of the vector leg.
func (x *vectorStore) leg() string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	switch {
	case x.wanted > 0 && float64(len(x.products)) >= index.VectorsNeeded*float64(x.wanted):
		return index.LegVector
	case x.failed:
		return index.LegVector + index.LegFailed
	}
	return index.LegVector + index.LegBuilding
}

// likeness returns how near the hits are to a query, of those that have a vector.
func (x *vectorStore) likeness(hits []index.Hit, query embed.Vector) ([]index.Similarity, error) {
	if x == nil {
		return nil, nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]index.Similarity, 0, len(hits))
	for i, h := range hits {
		r, ok := x.products[h.ID()]
		if !ok {
			continue
		}
		if len(r.vector) != len(query) {
			return nil, fmt.Errorf("a query has %d dimensions, and a product %d", len(query), len(r.vector))
		}
		out = append(out, index.Similarity{Hit: i, Cosine: query.Dot(r.vector)})
	}
	return out, nil
}

// remaining returns the products that pass the filter and are not among the hits, by title.
func (v *snapshot) remaining(hits []index.Hit, admits index.Filter) []index.Hit {
	found := make(map[*index.Entry]bool, len(hits))
	for _, h := range hits {
		found[h.Entry] = true
	}
	var out []index.Hit
	for _, e := range v.all() {
		if found[e] {
			continue
		}
		if variants := admits.Admit(e); len(variants) > 0 {
			out = append(out, index.Hit{Candidate: index.Candidate{Entry: e}, Variants: variants, VectorOnly: true})
		}
	}
	return out
}
