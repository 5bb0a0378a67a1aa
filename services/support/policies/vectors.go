package policies

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

// Names of the legs of a search, and the suffixes of a leg that could not take part. Product search uses the same names.
const (
	legLexical  = "lexical"
	legVector   = "vector"
	legFailed   = ":failed"
	legBuilding = ":building"
)

const (
	// firstRetry is the wait after a failure to embed passages. It doubles with each further failure, up to maxRetry.
	firstRetry = 5 * time.Second
	maxRetry   = 5 * time.Minute
)

// vectors are those of the passages of one index, in their order. They are made once, in the background, and never change.
type vectors struct {
	passages atomic.Pointer[[]embed.Vector] // nil: not made yet
	failed   atomic.Bool                    // the last attempt failed
	cancel   context.CancelFunc             // ends the attempts
}

// make retries until it has all vectors or ctx ends.
func (v *vectors) make(ctx context.Context, embedder Embedder, texts []string, logger *slog.Logger) {
	for wait := firstRetry; ; wait = min(2*wait, maxRetry) {
		passages, err := embedder.Documents(ctx, texts)
		if err == nil && len(passages) != len(texts) {
			err = fmt.Errorf("%d vectors for %d passages", len(passages), len(texts))
		}
		if err == nil {
			v.passages.Store(&passages)
			v.failed.Store(false)
			return
		}
		if ctx.Err() != nil {
			return
		}
		v.failed.Store(true)
		logger.Warn("cannot embed policies; searching them by words only", "error", err, "retry_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// leg returns the name of the vector leg with its state.
func (v *vectors) leg() string {
	switch {
	case v.passages.Load() != nil:
		return legVector
	case v.failed.Load():
		return legVector + legFailed
	}
	return legVector + legBuilding
}

// embeddedTexts returns the text to embed for each passage: with its titles, without which many passages say little.
func (x *passageIndex) embeddedTexts() []string {
	texts := make([]string, len(x.entries))
	for i, e := range x.entries {
		p := e.passage
		texts[i] = strings.Join(slices.DeleteFunc([]string{p.GetPolicyTitle(), p.GetSection(), p.GetText()}, func(s string) bool { return s == "" }), "\n")
	}
	return texts
}

// fused orders the candidates by reciprocal rank fusion of both legs. It adds the passages nearest in meaning if it is not
// certain that words have found an answer.
func (x *passageIndex) fused(found findings, query embed.Vector, vectors []embed.Vector) findings {
	near := make([]candidate, len(vectors))
	for i, v := range vectors {
		near[i] = candidate{i, float64(query.Dot(v))}
	}
	scores := make(map[int]float64)
	for place, c := range found.candidates {
		scores[c.at] = retrieval.Fused(place)
	}
	if found.certain {
		near = slices.DeleteFunc(near, func(c candidate) bool { return scores[c.at] == 0 })
	}
	byScore := func(a, b candidate) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(near, byScore)
	for place := range near {
		near[place].score = scores[near[place].at] + retrieval.Fused(place)
	}
	slices.SortStableFunc(near, byScore)
	found.candidates = near
	return found
}
