package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// Reranker scores how well texts answer a query, in order; higher is better. It is safe for concurrent use.
type Reranker interface {
	Scores(ctx context.Context, query string, texts []string) ([]float64, error)
}

// Names of the legs of a search, and what is added to one that could not take part.
const (
	legLexical  = "lexical"
	legVector   = "vector"
	legRerank   = "rerank"
	legFailed   = ":failed"
	legBuilding = ":building"
)

const (
	// maxNeighbours bounds the products that are found by meaning alone.
	maxNeighbours = 100
	// maxReranked bounds the products whose order a reranker decides.
	maxReranked = 50
)

// hybrid is what searches do beside words.
type hybrid struct {
	embedder             Embedder // nil: no vectors
	reranker             Reranker // nil: no reranking
	embedding, reranking retrieval.Endpoint
}

func newHybrid(cfg Config) *hybrid {
	return &hybrid{
		embedder: cfg.Embedder, reranker: cfg.Reranker,
		embedding: retrieval.Endpoint{Leg: legVector, Logger: cfg.Logger}, reranking: retrieval.Endpoint{Leg: legRerank, Logger: cfg.Logger},
	}
}

// meaning is the part that the vector leg has in one search. The zero value has none.
type meaning struct {
	leg    string // as it is named in the result; empty: there is no such leg
	query  embed.Vector
	ranker ranker
}

// ranker compares products by meaning.
type ranker interface {
	// likeness returns how near the hits are to a query, of those that have a vector. With others it adds to the hits what else
	// passes the filter and may be nearest.
	likeness(ctx context.Context, v *view, f *found, query embed.Vector, admits filter, others bool) ([]hit, []likeness, error)
}

// meaning embeds what is looked for. It is called before the catalog is read, for it waits for an endpoint. Extremes are a
// matter of prices, and nothing is near to no words: then the leg has no part.
func (h *hybrid) meaning(ctx context.Context, c *catalog, storeID, text string, by catalogv1.Sort) meaning {
	if h.embedder == nil || text == "" || byPrice(by) {
		return meaning{}
	}
	m := meaning{}
	if c.cluster != nil {
		m.leg, m.ranker = c.cluster.leg(ctx, storeID), clusterRanker{}
	} else if x := c.vectors(storeID); x != nil {
		m.leg, m.ranker = x.leg(), x
	} else {
		m.leg = legVector + legBuilding
	}
	if m.leg != legVector {
		return m
	}
	ok := h.embedding.Ask(ctx, func(ctx context.Context) (err error) {
		m.query, err = h.embedder.Query(ctx, text)
		return err
	})
	if !ok {
		m.leg, m.query = legVector+legFailed, nil
	}
	return m
}

func byPrice(by catalogv1.Sort) bool {
	return by == catalogv1.Sort_SORT_PRICE_ASCENDING || by == catalogv1.Sort_SORT_PRICE_DESCENDING
}

// join orders what the words have found by both legs. Where the words alone are sure of what is meant, the products stay
// those, so that counts, prices and facets are as exact as ever; where they are not, the nearest others that pass the filter
// are added, marked as such.
func (m *meaning) join(ctx context.Context, v *view, f *found, admits filter) error {
	if m.query == nil || len(f.query.terms) == 0 {
		return nil
	}
	hits, near, err := m.ranker.likeness(ctx, v, f, m.query, admits, !f.sure())
	if err != nil {
		return err
	}
	slices.SortStableFunc(near, func(a, b likeness) int { return cmp.Compare(b.cosine, a.cosine) })
	f.hits = fuse(hits, near)
	return nil
}

// sure reports whether the words select products, and not just the nearest to them.
func (f *found) sure() bool { return f.matched && !f.partial && !f.mentioned }

// fuse orders hits by the sum of 1/(k + rank) over the legs that have them: the words, which hits are in the order of up to
// the first that is merely near, and meaning. Those that neither leg has are dropped.
func fuse(hits []hit, near []likeness) []hit {
	for i := range hits {
		hits[i].score = 0
		if !hits[i].near {
			hits[i].score = retrieval.Fused(i)
		}
	}
	for rank, l := range near {
		if hits[l.at].near && rank >= maxNeighbours {
			continue
		}
		hits[l.at].score += retrieval.Fused(rank)
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool { return h.score == 0 })
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits
}

// counted are the hits that the words have found, which are what counts, prices and facets are about.
func (f *found) counted() []hit {
	if !f.near() {
		return f.hits
	}
	return slices.DeleteFunc(slices.Clone(f.hits), func(h hit) bool { return h.near })
}

// near reports whether there are hits that no word has found.
func (f *found) near() bool { return slices.ContainsFunc(f.hits, func(h hit) bool { return h.near }) }

// reason says why a hit is one.
func (f *found) reason(h hit) string {
	if h.near {
		return "near in meaning"
	}
	return f.query.reason(h.candidate)
}

// find is a search by words, joined with the vector leg's part.
func (h *hybrid) find(ctx context.Context, v *view, q query, f filter, by catalogv1.Sort, m *meaning) (found, error) {
	out, err := v.search(ctx, q, f, by)
	if err != nil {
		return found{}, err
	}
	if err := m.join(ctx, v, &out, f); err != nil {
		h.embedding.Logger.Warn("the vector leg failed; the search goes by words", "error", err)
		m.leg = legVector + legFailed
	}
	return out, nil
}

// rerank returns the order in which the first products answer the text best: positions, of all of them. The leg is empty when
// there is no reranker or nothing to put in order.
func (h *hybrid) rerank(ctx context.Context, text string, products []*catalogv1.Product) (order []int, leg string) {
	order = make([]int, len(products))
	for i := range order {
		order[i] = i
	}
	top := order[:min(maxReranked, len(order))]
	if h.reranker == nil || text == "" || len(top) < 2 {
		return order, ""
	}
	texts := make([]string, len(top))
	for i := range texts {
		texts[i] = meaningText(products[i])
	}
	var scores []float64
	ok := h.reranking.Ask(ctx, func(ctx context.Context) (err error) {
		scores, err = h.reranker.Scores(ctx, text, texts)
		if err == nil && len(scores) != len(texts) {
			err = fmt.Errorf("%d scores for %d texts", len(scores), len(texts))
		}
		return err
	})
	if !ok {
		return order, legRerank + legFailed
	}
	slices.SortStableFunc(top, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order, legRerank
}

// rerankHits puts the first hits in the reranker's order. The scores stay with the places: those of a reranker do not compare
// with the rest.
func (h *hybrid) rerankHits(ctx context.Context, text string, hits []hit) (leg string) {
	products := make([]*catalogv1.Product, len(hits))
	for i, hit := range hits {
		products[i] = hit.product
	}
	order, leg := h.rerank(ctx, text, products)
	before := slices.Clone(hits)
	for i, at := range order {
		hits[i] = before[at]
		hits[i].score = before[i].score
	}
	return leg
}
