package index

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

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
	LegLexical  = "lexical"
	LegVector   = "vector"
	LegRerank   = "rerank"
	LegFailed   = ":failed"
	LegBuilding = ":building"
)

const (
	// MaxNeighbours bounds the products that are found by meaning alone.
	MaxNeighbours = 100
	// maxReranked bounds the products whose order a reranker decides.
	maxReranked = 50
)

// Searcher is what searches do beside words.
type Searcher struct {
	embedder             Embedder // nil: no vectors
	reranker             Reranker // nil: no reranking
	logger               *slog.Logger
	embedding, reranking *retrieval.Endpoint
}

func NewSearcher(embedder Embedder, reranker Reranker, logger *slog.Logger) *Searcher {
	return &Searcher{
		embedder: embedder, reranker: reranker, logger: logger,
		embedding: retrieval.NewEndpoint(LegVector, logger), reranking: retrieval.NewEndpoint(LegRerank, logger),
	}
}

// VectorQuery is the part that the vector leg has in one search. The zero value has none.
type VectorQuery struct {
	Leg    string // as it is named in the result; empty: there is no such leg
	vector embed.Vector
}

// VectorQuery embeds the text. Call it before the catalog is read, since it waits for an endpoint. The leg takes no part in
// a search ordered by price, or without a text.
func (h *Searcher) VectorQuery(ctx context.Context, b Backend, storeID, text string, by catalogv1.Sort) VectorQuery {
	if h.embedder == nil || text == "" || ByValue(by) {
		return VectorQuery{}
	}
	m := VectorQuery{Leg: b.VectorLeg(ctx, storeID)}
	if m.Leg != LegVector {
		return m
	}
	ok := h.embedding.Ask(ctx, func(ctx context.Context) (err error) {
		m.vector, err = h.embedder.Query(ctx, text)
		return err
	})
	if !ok {
		m.Leg, m.vector = LegVector+LegFailed, nil
	}
	return m
}

// ByValue reports whether an order is by a value of the products, not by relevance.
func ByValue(by catalogv1.Sort) bool {
	return by > catalogv1.Sort_SORT_RELEVANCE
}

// join orders the hits by words and by vectors. When the words select products with certainty, it adds none, so that counts,
// prices and facets stay exact; otherwise it adds the nearest products that pass the filter, marked as such.
func (m *VectorQuery) join(ctx context.Context, f *Result, admits Filter) error {
	if m.vector == nil || len(f.Query.Terms) == 0 {
		return nil
	}
	hits, near, err := f.matches.Similarities(ctx, f.Constraint, f.Hits, m.vector, admits, !f.Certain())
	if err != nil {
		return err
	}
	if f.Certain() {
		f.Hits = combine(hits, near)
		return nil
	}
	slices.SortStableFunc(near, func(a, b Similarity) int { return cmp.Compare(b.Cosine, a.Cosine) })
	f.Hits = fuse(hits, near)
	return nil
}

// vectorWeight weighs the feature of vectors against those by words, which are fitted.
const vectorWeight = 1

// combine orders hits by the sum of their score by words and the cosine of their vector, from -1 to the highest put on a scale from 0 to 1:
// the convex combination of Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023). Hits without a vector, and
// those that do not meet the words, count as the farthest.
func combine(hits []Hit, near []Similarity) []Hit {
	near = slices.DeleteFunc(near, func(s Similarity) bool { return hits[s.Hit].Loose })
	if len(near) == 0 {
		return hits
	}
	byCosine := func(a, b Similarity) int { return cmp.Compare(a.Cosine, b.Cosine) }
	farthest, nearest := slices.MinFunc(near, byCosine).Cosine, slices.MaxFunc(near, byCosine).Cosine
	if nearest <= -1 { // all are the opposite
		return hits
	}
	cosines := make([]float32, len(hits))
	for i := range cosines {
		cosines[i] = farthest
	}
	for _, s := range near {
		cosines[s.Hit] = s.Cosine
	}
	for i := range hits {
		hits[i].Score += vectorWeight * float64((cosines[i]+1)/(nearest+1))
	}
	sortHits(hits)
	return hits
}

// Certain reports whether the words select products, and not only the nearest ones.
func (f *Result) Certain() bool { return f.matched && !f.Partial && !f.Mentioned }

// sortHits orders hits by score; equal ones stay in order.
func sortHits(hits []Hit) {
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
}

// fuse orders hits by reciprocal rank fusion over both legs. hits has the hits by words first, in order, and then those that
// only vectors found. A hit of neither leg is dropped.
func fuse(hits []Hit, near []Similarity) []Hit {
	for i := range hits {
		hits[i].Score = 0
		if !hits[i].VectorOnly {
			hits[i].Score = retrieval.Fused(i)
		}
	}
	for rank, l := range near {
		if hits[l.Hit].VectorOnly && rank >= MaxNeighbours {
			continue
		}
		hits[l.Hit].Score += retrieval.Fused(rank)
	}
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Score == 0 })
	sortHits(hits)
	return hits
}

// Counted are the hits that meet the words. Counts, prices and facets are of them.
func (f *Result) Counted() []Hit {
	return slices.DeleteFunc(slices.Clone(f.Hits), func(h Hit) bool { return h.VectorOnly || h.Loose })
}

// Loose are the hits that do not meet the words of the query but have at least half of the required ones. None: some products meet them, also if
// the filter excludes those.
func (f *Result) Loose() []Hit {
	if f.matched {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Hits), func(h Hit) bool { return !h.Loose || 2*f.Query.meets(h.Match) < f.Query.required() })
}

// Lacks are the required words that the hit does not have, as the shopper wrote them.
func (f *Result) Lacks(h Hit) []string {
	var out []string
	for i, t := range f.Query.Terms {
		if !h.Terms.Has(i) && !slices.Contains(f.Query.Optional, i) {
			out = append(out, t.Text)
		}
	}
	return out
}

// DropLoose drops the hits that do not meet the words of the query.
func (f *Result) DropLoose() {
	f.Hits = slices.DeleteFunc(slices.Clone(f.Hits), func(h Hit) bool { return h.Loose })
}

// HasVectorOnly reports whether some hits were found by vectors alone.
func (f *Result) HasVectorOnly() bool {
	return slices.ContainsFunc(f.Hits, func(h Hit) bool { return h.VectorOnly })
}

// NearInMeaning is the reason of a hit that was found by vectors alone.
const NearInMeaning = "near in meaning"

// Reason says why a hit is one.
func (f *Result) Reason(h Hit) string {
	if h.VectorOnly {
		return NearInMeaning
	}
	return f.Query.reason(h.Candidate)
}

// Search is a search by words, joined with the vector leg's part.
func (h *Searcher) Search(ctx context.Context, v *View, q Query, f Filter, by catalogv1.Sort, m *VectorQuery) (Result, error) {
	out, err := v.Search(ctx, q, f, by)
	if err != nil {
		return Result{}, err
	}
	if err := m.join(ctx, &out, f); err != nil {
		h.logger.Warn("the vector leg failed; the search goes by words", "error", err)
		m.Leg = LegVector + LegFailed
	}
	return out, nil
}

// Rerank returns the order in which the first products answer the text best, as positions of all products. The leg is empty
// when there is no reranker or nothing to order.
func (h *Searcher) Rerank(ctx context.Context, text string, products []*catalogv1.Product) (order []int, leg string) {
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
		texts[i] = Text(products[i])
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
		return order, LegRerank + LegFailed
	}
	slices.SortStableFunc(top, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order, LegRerank
}

// RerankHits puts the first hits in the order of the reranker. Scores stay with the places, since those of a reranker do not
// compare with the others.
func (h *Searcher) RerankHits(ctx context.Context, text string, hits []Hit) (leg string) {
	products := make([]*catalogv1.Product, len(hits))
	for i, hit := range hits {
		products[i] = hit.Product
	}
	order, leg := h.Rerank(ctx, text, products)
	before := slices.Clone(hits)
	for i, at := range order {
		hits[i] = before[at]
		hits[i].Score = before[i].Score
	}
	return leg
}

// Embedder turns texts into vectors of length 1 and of one dimension. It is safe for concurrent use.
type Embedder interface {
	// Query returns the vector of what a shopper asks for.
	Query(ctx context.Context, text string) (embed.Vector, error)
	// Documents returns the vector of each text, in order.
	Documents(ctx context.Context, texts []string) ([]embed.Vector, error)
}

// Similarity is how near the entry at a position is.
type Similarity struct {
	Hit    int
	Cosine float32
}

// Text is what of a product is embedded and reranked: what it is first, for long texts are cut.
func Text(p *catalogv1.Product) string {
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

// What backends have in common that embed products in the background.
const (
	// EmbedBatch is how many products are embedded before their vectors are taken.
	EmbedBatch = 256
	// EmbedRetryFirst is the wait after a batch has failed. It doubles with each further failure, up to EmbedRetryMax.
	EmbedRetryFirst = 5 * time.Second
	EmbedRetryMax   = 5 * time.Minute
	// VectorsNeeded is the share of a store's products that must have a vector for the leg to take part: with less, it would
	// favour those that happen to have one.
	VectorsNeeded = 0.9
)
