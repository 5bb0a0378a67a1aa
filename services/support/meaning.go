package support

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// Embedder turns texts into vectors of length 1 and of one dimension. It is safe for concurrent use.
type Embedder interface {
	// Query returns the vector of what a shopper asks.
	Query(ctx context.Context, text string) (embed.Vector, error)
	// Documents returns the vector of each text, in order.
	Documents(ctx context.Context, texts []string) ([]embed.Vector, error)
}

// Names of the legs of a search, and what is added to one that could not take part. Those of products have the same.
const (
	legLexical  = "lexical"
	legVector   = "vector"
	legFailed   = ":failed"
	legBuilding = ":building"
)

const (
	// embedAgain is the wait after passages could not be embedded. It doubles with each further failure, up to embedSeldom.
	embedAgain  = 5 * time.Second
	embedSeldom = 5 * time.Minute
)

// meanings are the vectors of the passages of one index, in their order. They are made once, in the background, and never
// change, as the index does not.
type meanings struct {
	vectors atomic.Pointer[[]embed.Vector] // nil: not there yet
	failed  atomic.Bool                    // the last attempt
	cancel  context.CancelFunc             // ends the attempts
}

// make embeds until it has all vectors, or ctx ends.
func (m *meanings) make(ctx context.Context, embedder Embedder, texts []string, logger *slog.Logger) {
	for wait := embedAgain; ; wait = min(2*wait, embedSeldom) {
		vectors, err := embedder.Documents(ctx, texts)
		if err == nil && len(vectors) != len(texts) {
			err = fmt.Errorf("%d vectors for %d passages", len(vectors), len(texts))
		}
		if err == nil {
			m.vectors.Store(&vectors)
			m.failed.Store(false)
			return
		}
		if ctx.Err() != nil {
			return
		}
		m.failed.Store(true)
		logger.Warn("policies could not be embedded; they are searched by words until they can", "error", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// leg names the state of the vector leg.
func (m *meanings) leg() string {
	switch {
	case m.vectors.Load() != nil:
		return legVector
	case m.failed.Load():
		return legVector + legFailed
	}
	return legVector + legBuilding
}

// meaningTexts are what of the passages is embedded: with their titles, without which many say little.
func (x *passageIndex) meaningTexts() []string {
	texts := make([]string, len(x.entries))
	for i, e := range x.entries {
		p := e.passage
		texts[i] = strings.Join(slices.DeleteFunc([]string{p.GetPolicyTitle(), p.GetSection(), p.GetText()}, func(s string) bool { return s == "" }), "\n")
	}
	return texts
}

// joined orders what the words have found by both legs, and adds nothing to it. When they have found nothing it is the passages
// that are nearest in meaning, at most limit.
func (x *passageIndex) joined(found []candidate, query embed.Vector, vectors []embed.Vector, limit int) []candidate {
	near := make([]candidate, 0, len(x.entries))
	for i, v := range vectors {
		if len(found) == 0 || slices.ContainsFunc(found, func(c candidate) bool { return c.at == i }) {
			near = append(near, candidate{at: i, score: float64(query.Dot(v)), near: true})
		}
	}
	byScore := func(a, b candidate) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(near, byScore)
	if len(found) == 0 {
		return near[:min(limit, len(near))]
	}
	out := slices.Clone(found)
	for i := range out {
		place := slices.IndexFunc(near, func(c candidate) bool { return c.at == out[i].at })
		out[i].score = retrieval.Fused(i) + retrieval.Fused(place)
	}
	slices.SortStableFunc(out, byScore)
	return out
}
