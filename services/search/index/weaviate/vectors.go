package weaviate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// Vectors in a cluster are part of the objects. Whichever replica finds objects without one has them embedded, in the background.

// VectorLeg implements index.Backend.
func (c *Backend) VectorLeg(ctx context.Context, storeID string) string {
	m := c.manifest(storeID)
	st, err := m.status(ctx)
	if err != nil || st.active != c.collection() {
		return index.LegVector + index.LegBuilding
	}
	counts, err := c.client.Count(ctx, st.active, tenant(storeID), weaviate.Where{}, weaviate.Is(propEmbedded, true))
	switch {
	case err != nil:
		return index.LegVector + index.LegFailed
	case counts[0] == 0 || float64(counts[1]) < index.VectorsNeeded*float64(counts[0]):
		return index.LegVector + index.LegBuilding
	}
	return index.LegVector
}

// embed starts to make vectors for all products of a version, in the background.
func (c *Backend) embed(m manifest, s *storeState, version int64) {
	if c.embedder == nil {
		return
	}
	s.mu.Lock()
	begun := s.embedding || s.embedded >= version
	s.embedding = s.embedding || !begun
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if begun || c.closed {
		return
	}
	c.work.Go(func() {
		wait := index.EmbedRetryFirst
		for {
			err := c.embedAll(c.ctx, m)
			if err == nil || c.ctx.Err() != nil || weaviate.Missing(err) { // or another collection has taken its place
				s.mu.Lock()
				s.embedding, s.embedded = false, version
				s.mu.Unlock()
				return
			}
			c.logger.Warn("products could not be embedded; searches use words only until the next attempt", "store", m.storeID, "error", err, "again_in", wait)
			select {
			case <-time.After(wait):
			case <-c.ctx.Done():
			}
			wait = min(2*wait, index.EmbedRetryMax)
		}
	})
}

// embedAll embeds what has no vector, until nothing is left.
func (c *Backend) embedAll(ctx context.Context, m manifest) error {
	s := &storeIndex{backend: c, manifest: m, collection: c.collection()}
	for {
		hits, err := s.hits(ctx, weaviate.Select{Where: weaviate.Is(propEmbedded, false), Limit: index.EmbedBatch})
		if err != nil {
			return err
		}
		products, err := s.documents(ctx, hits)
		if err != nil || len(products) == 0 {
			return err
		}
		texts := make([]string, len(products))
		for i, p := range products {
			texts[i] = index.Text(p.Product)
		}
		vectors, err := c.embedder.Documents(ctx, texts)
		if err != nil {
			return err
		}
		if n, err := c.setVectors(ctx, m, products, vectors); err != nil || n == 0 {
			return err
		}
	}
}

// setVectors writes the objects again with their vectors, under the lease: an object that has gone in the meantime must not
// come back. It returns how many it wrote; what was written meanwhile comes with the next batch.
func (c *Backend) setVectors(ctx context.Context, m manifest, products []*document, vectors []embed.Vector) (n int, err error) {
	err = c.write(ctx, m, c.collection(), func(ctx context.Context, w *writer) error {
		ids := make([]string, len(products))
		for i, p := range products {
			ids[i] = p.ID()
		}
		records, err := m.records(ctx, w.collection, ids)
		if err != nil {
			return err
		}
		var objects []weaviate.Object
		for i, p := range products {
			if records[i] == nil || records[i].Hash != productHash(p.Product) {
				continue
			}
			object := newObject(m.storeID, p.Entry, index.Analyze(p.Product, stemAll))
			object.Vector, object.Properties[propEmbedded] = vectors[i], true
			objects = append(objects, object)
		}
		if n = len(objects); n == 0 {
			return nil
		}
		return c.client.Put(ctx, w.collection, tenant(m.storeID), objects)
	})
	return n, err
}

// keepVectors gives objects the vectors of the objects that they replace, where the text is the same: a change of price or stock
// makes none.
func (w *writer) keepVectors(ctx context.Context, objects []weaviate.Object, batch map[string]*record, old []*record, ids []string) error {
	if w.embedder == nil {
		return nil
	}
	var same []string
	for i, l := range old {
		if now := batch[ids[i]]; l != nil && now != nil && l.Text == now.Text {
			same = append(same, objectID(w.storeID, ids[i]).String())
		}
	}
	if len(same) == 0 {
		return nil
	}
	hits, err := w.client.Find(ctx, w.collection, tenant(w.storeID), weaviate.Select{
		Where: weaviate.HasAny("_id", same...), Limit: len(same), Vectors: true,
	})
	if err != nil {
		return fmt.Errorf("read vectors: %w", err)
	}
	vectors := make(map[string][]float32)
	for _, h := range hits {
		vectors[h.ID.String()] = h.Vector
	}
	for i := range objects {
		if v := vectors[objects[i].ID]; len(v) > 0 {
			objects[i].Vector, objects[i].Properties[propEmbedded] = v, true
		}
	}
	return nil
}

// Similarities implements index.Matches: the cluster compares vectors.
func (p *termMatches) Similarities(
	ctx context.Context, need index.Constraint, hits []index.Hit, query embed.Vector, admits index.Filter, others bool,
) ([]index.Hit, []index.Similarity, error) {
	s := p.index
	n := &vectorSearch{index: s, query: query, admits: admits, hits: slices.Clone(hits), at: make(map[uuid.UUID]int), cosines: make(map[int]float32)}
	for i, h := range n.hits {
		n.at[objectID(s.manifest.storeID, h.ID())] = i
	}
	if len(n.hits) > 0 {
		w := p.conditions.constraint(p.query, need)
		near, err := s.nearest(ctx, query, weaviate.All(w, filterCondition(admits)), len(n.hits))
		if err != nil {
			return nil, nil, err
		}
		n.addCosines(near)
	}
	if others {
		if err := n.others(ctx); err != nil {
			return nil, nil, err
		}
	}
	out := make([]index.Similarity, 0, len(n.cosines))
	for i := range n.hits {
		if cosine, ok := n.cosines[i]; ok {
			out = append(out, index.Similarity{Hit: i, Cosine: cosine})
		}
	}
	return n.hits, out, nil
}

// vectorSearch gathers what is near to a query.
type vectorSearch struct {
	index   *storeIndex
	query   embed.Vector
	admits  index.Filter
	hits    []index.Hit
	at      map[uuid.UUID]int // by object, where it is among the hits
	cosines map[int]float32   // by where
}

func (n *vectorSearch) addCosines(near []weaviate.Hit) {
	for _, h := range near {
		if i, ok := n.at[h.ID]; ok {
			n.cosines[i] = max(float32(h.Cosine), n.cosines[i])
		}
	}
}

// others adds the nearest products that pass the filter. The cluster returns some that do not pass, so it may take more of them.
func (n *vectorSearch) others(ctx context.Context) error {
	had := len(n.hits)
	for limit := had + 2*index.MaxNeighbours; ; limit *= 4 {
		near, err := n.index.nearest(ctx, n.query, filterCondition(n.admits), limit)
		if err != nil {
			return err
		}
		objects, err := n.index.documents(ctx, near)
		if err != nil {
			return err
		}
		slices.SortFunc(objects, func(a, b *document) int { return index.ByTitle(a.Entry, b.Entry) }) // those that are equally near stay so
		for _, object := range objects {
			id := objectID(n.index.manifest.storeID, object.ID())
			if _, ok := n.at[id]; ok {
				continue
			}
			if variants := n.admits.Admit(object.Entry); len(variants) > 0 {
				n.at[id] = len(n.hits)
				n.hits = append(n.hits, index.Hit{Candidate: index.Candidate{Entry: object.Entry}, Variants: variants, VectorOnly: true})
			}
		}
		n.addCosines(near)
		if len(near) < limit || len(n.hits)-had >= index.MaxNeighbours {
			return nil
		}
	}
}

// nearest returns the objects that meet a condition and are nearest to a vector.
func (s *storeIndex) nearest(ctx context.Context, query embed.Vector, w weaviate.Where, n int) ([]weaviate.Hit, error) {
	return s.hits(ctx, weaviate.Select{Where: w, Near: query, Limit: min(n, weaviate.MaxHits)})
}
