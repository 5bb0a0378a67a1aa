package search

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
)

// Embedder turns texts into vectors of length 1 and of one dimension. It is safe for concurrent use.
type Embedder interface {
	// Query returns the vector of what a shopper asks for.
	Query(ctx context.Context, text string) (embed.Vector, error)
	// Documents returns the vector of each text, in order.
	Documents(ctx context.Context, texts []string) ([]embed.Vector, error)
}

const (
	// embedBatch is how many products are embedded before their vectors are taken.
	embedBatch = 256
	// embedAgain is the wait after a batch has failed. It doubles with each further failure, up to embedSeldom.
	embedAgain  = 5 * time.Second
	embedSeldom = 5 * time.Minute
	// mostly is the share of a store's products that must have a vector for the leg to take part: with less, it would favour
	// those that happen to have one.
	mostly = 0.9
)

// vectors are those of one store's products: 4 bytes for each dimension of each product, and about 100 more. A goroutine of
// theirs embeds what is new or reworded, from start to stop. A product whose words have changed keeps its old vector until it
// has the new one. All methods may be called on nil, which has none.
type vectors struct {
	embedder Embedder
	products func() []*catalogv1.Product // of the store, now
	logger   *slog.Logger
	changed  chan struct{} // holds one token when there may be something to do
	cancel   context.CancelFunc
	done     chan struct{}

	mu     sync.RWMutex // guards the rest
	rows   map[string]row
	wanted int // products that there were last
	failed bool
}

// row is the vector of a product as it was.
type row struct {
	product *catalogv1.Product
	vector  embed.Vector
}

// startVectors starts the goroutine. Nil: there is no embedder.
func startVectors(embedder Embedder, logger *slog.Logger, products func() []*catalogv1.Product) *vectors {
	if embedder == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	x := &vectors{
		embedder: embedder, products: products, logger: logger, changed: make(chan struct{}, 1), cancel: cancel,
		done: make(chan struct{}), rows: make(map[string]row),
	}
	go x.run(ctx)
	return x
}

// wake says that products may have changed.
func (x *vectors) wake() {
	if x == nil {
		return
	}
	select {
	case x.changed <- struct{}{}:
	default: // it was said already
	}
}

// stop ends the goroutine and waits for it.
func (x *vectors) stop() {
	if x != nil {
		x.cancel()
		<-x.done
	}
}

// run embeds after each change, and again after a failure.
func (x *vectors) run(ctx context.Context) {
	defer close(x.done)
	wait := embedAgain
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
			wait = embedAgain
			continue
		}
		x.logger.Warn("products could not be embedded; searches go by words until they can", "error", err, "again_in", wait)
		again = time.After(wait)
		wait = min(2*wait, embedSeldom)
	}
}

// embed brings the vectors up to the products.
func (x *vectors) embed(ctx context.Context) error {
	stale := x.compare(x.products())
	for len(stale) > 0 {
		batch := stale[:min(embedBatch, len(stale))]
		stale = stale[len(batch):]
		texts := make([]string, len(batch))
		for i, p := range batch {
			texts[i] = meaningText(p)
		}
		vs, err := x.embedder.Documents(ctx, texts)
		if err != nil {
			return err
		}
		x.mu.Lock()
		for i, p := range batch {
			x.rows[p.GetProductId()] = row{p, vs[i]}
		}
		x.mu.Unlock()
	}
	return nil
}

// compare drops the vectors of products that are gone, and returns those that need one.
func (x *vectors) compare(products []*catalogv1.Product) (stale []*catalogv1.Product) {
	x.mu.Lock()
	defer x.mu.Unlock()
	there := make(map[string]bool, len(products))
	for _, p := range products {
		there[p.GetProductId()] = true
		if r, ok := x.rows[p.GetProductId()]; !ok || !sameText(r.product, p) {
			stale = append(stale, p)
		}
	}
	for id := range x.rows {
		if !there[id] {
			delete(x.rows, id)
		}
	}
	x.wanted = len(products)
	return stale
}

// leg names the state of the vector leg.
func (x *vectors) leg() string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	switch {
	case x.wanted > 0 && float64(len(x.rows)) >= mostly*float64(x.wanted):
		return legVector
	case x.failed:
		return legVector + legFailed
	}
	return legVector + legBuilding
}

// likeness implements ranker: it compares every product that may be a hit.
func (x *vectors) likeness(
	_ context.Context, v *view, f *found, query embed.Vector, admits filter, others bool,
) ([]hit, []likeness, error) {
	hits := f.hits
	if others {
		hits = append(slices.Clip(hits), v.others(hits, admits)...)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]likeness, 0, len(hits))
	for i, h := range hits {
		r, ok := x.rows[h.id()]
		if !ok {
			continue
		}
		if len(r.vector) != len(query) {
			return nil, nil, fmt.Errorf("a query has %d dimensions, and a product %d", len(query), len(r.vector))
		}
		out = append(out, likeness{at: i, cosine: query.Dot(r.vector)})
	}
	return hits, out, nil
}

// others returns the products that pass the filter and are not among the hits, by title.
func (v *view) others(hits []hit, admits filter) []hit {
	found := make(map[*entry]bool, len(hits))
	for _, h := range hits {
		found[h.entry] = true
	}
	var out []hit
	for _, e := range v.all() {
		if found[e] {
			continue
		}
		if variants := admits.admit(e); len(variants) > 0 {
			out = append(out, hit{candidate: candidate{entry: e}, variants: variants, near: true})
		}
	}
	return out
}

// likeness is how near the entry at a position is.
type likeness struct {
	at     int
	cosine float32
}

// meaningText is what of a product is embedded and reranked: what it is first, for long texts are cut.
func meaningText(p *catalogv1.Product) string {
	var parts []string
	for _, part := range []string{
		p.GetTitle(), p.GetBrand(), strings.Join(p.GetCategoryPath(), " > "), strings.Join(p.GetTags(), ", "),
		attributeText(p), p.GetDescription(),
	} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n")
}
