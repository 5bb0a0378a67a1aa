package search

import (
	"context"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/weaviate"
)

const (
	// countTime is how long a number serves as about right.
	countTime = time.Minute
	// countsKept bounds the numbers of a store that are remembered.
	countsKept = 10_000
)

// countCache remembers how many rows of a collection meet conditions: to count them, the cluster reads each of them.
type countCache struct {
	mu     sync.Mutex
	counts map[weaviate.Where]toldCount
}

// toldCount is a number, and as of when.
type toldCount struct {
	n       int
	version int64 // of the catalog
	at      time.Time
}

// exactly counts the rows that meet each condition.
func (s *clusterShelf) exactly(ctx context.Context, conditions ...weaviate.Where) ([]int, error) {
	return s.remembered(ctx, func(t toldCount) bool { return t.version == s.version }, conditions)
}

// about counts the rows that meet each condition, or tells how many there were a minute ago. What it says there is none of, there is
// none of now.
func (s *clusterShelf) about(ctx context.Context, conditions ...weaviate.Where) ([]int, error) {
	return s.remembered(ctx, func(t toldCount) bool {
		return t.version == s.version || t.n > 0 && time.Since(t.at) < countTime
	}, conditions)
}

func (s *clusterShelf) remembered(ctx context.Context, serves func(toldCount) bool, conditions []weaviate.Where) ([]int, error) {
	out := make([]int, len(conditions))
	var unknown []weaviate.Where
	var at []int
	s.counts.mu.Lock()
	for i, w := range conditions {
		if told, ok := s.counts.counts[w]; ok && serves(told) {
			out[i] = told.n
		} else {
			unknown, at = append(unknown, w), append(at, i)
		}
	}
	s.counts.mu.Unlock()
	if len(unknown) == 0 {
		return out, nil
	}
	numbers, err := s.count(ctx, unknown...)
	if err != nil {
		return nil, err
	}
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	for i, n := range numbers {
		if s.counts.counts == nil || len(s.counts.counts) >= countsKept {
			s.counts.counts = make(map[weaviate.Where]toldCount)
		}
		s.counts.counts[unknown[i]] = toldCount{n, s.version, time.Now()}
		out[at[i]] = n
	}
	return out, nil
}
