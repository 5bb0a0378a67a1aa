package weaviate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// storeIndex is the index.Index of a store in a cluster, as one read sees it. The cluster selects objects by words, filters
// and vectors. The products come from Redis, and are checked again here.
type storeIndex struct {
	backend    *Backend
	manifest   manifest
	collection string
	version    int64 // of the catalog, at least
	statistics index.Statistics
	means      [index.NumFields]float64
	counts     *countCache
}

func (s *storeIndex) count(ctx context.Context, conditions ...weaviate.Where) ([]int, error) {
	return s.backend.client.Count(ctx, s.collection, tenant(s.manifest.storeID), conditions...)
}

// Products reads Redis, and asks the cluster for identifiers that are written in another case.
func (s *storeIndex) Products(ctx context.Context, ids []string) ([]*index.Entry, error) {
	out := make([]*index.Entry, len(ids))
	exact := make([]string, len(ids))
	for i, id := range ids {
		exact[i] = catalog.CleanID(id)
	}
	products, err := s.backend.store.Get(ctx, s.manifest.storeID, exact)
	if err != nil {
		return nil, err
	}
	var folded []string
	for i, p := range products {
		if p != nil {
			out[i] = index.NewEntry(p)
		} else if exact[i] != "" && !strings.ContainsAny(exact[i], " \t\n") {
			folded = append(folded, idFactKey(exact[i]))
		}
	}
	if len(folded) == 0 {
		return out, nil
	}
	objects, err := s.find(ctx, weaviate.HasAny(propKeys, folded...))
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]*index.Entry)
	for _, object := range objects {
		byKey[catalog.IDKey(object.ID())] = object.Entry
	}
	for i, id := range exact {
		if out[i] == nil {
			out[i] = byKey[catalog.IDKey(id)]
		}
	}
	return out, nil
}

// find returns the products of the objects that meet a condition.
func (s *storeIndex) find(ctx context.Context, w weaviate.Where) ([]*document, error) {
	parts := 1
	if w.None() { // then it is known how many there are
		parts = min(buckets, 1+2*s.statistics.Products/s.backend.pageSize)
	}
	var hits []weaviate.Hit
	for i := range parts {
		more, err := s.page(ctx, w, i*buckets/parts, (i+1)*buckets/parts-1)
		if err != nil {
			return nil, err
		}
		hits = append(hits, more...)
	}
	return s.documents(ctx, hits)
}

// page returns the objects that meet a condition, of a range of buckets. Where there are more than one answer may hold, it halves
// the range.
func (s *storeIndex) page(ctx context.Context, w weaviate.Where, first, last int) ([]weaviate.Hit, error) {
	part := w
	if first > 0 || last < buckets-1 {
		part = weaviate.All(w, weaviate.AtLeast(propBucket, float64(first)), weaviate.AtMost(propBucket, float64(last)))
	}
	hits, err := s.backend.client.Find(ctx, s.collection, tenant(s.manifest.storeID), weaviate.Select{
		Where: part, Limit: s.backend.pageSize, Properties: []string{propProduct, propVersion},
	})
	if err != nil || len(hits) < s.backend.pageSize || first == last {
		return hits, err
	}
	middle := (first + last) / 2
	low, err := s.page(ctx, w, first, middle)
	if err != nil {
		return nil, err
	}
	high, err := s.page(ctx, w, middle+1, last)
	return append(low, high...), err
}

// documents returns the products of objects, each once and as of its newest object. An object that no longer counts leads to
// the product as it is now, which is checked like all others; only objects that count are cached.
func (s *storeIndex) documents(ctx context.Context, hits []weaviate.Hit) ([]*document, error) {
	newest := make(map[string]*document, len(hits))
	take := func(st *document) {
		if old := newest[st.ID()]; old == nil || old.version < st.version {
			newest[st.ID()] = st
		}
	}
	var missing []weaviate.Hit
	for _, h := range hits {
		if st := s.backend.documents.get(h.ID); st != nil {
			take(st)
		} else {
			missing = append(missing, h)
		}
	}
	for len(missing) > 0 {
		batch := missing[:min(batchSize, len(missing))]
		missing = missing[len(batch):]
		ids := make([]string, len(batch))
		for i, h := range batch {
			ids[i] = h.Text[propProduct]
		}
		records, err := s.manifest.records(ctx, s.collection, ids)
		if err != nil {
			return nil, err
		}
		products, err := s.backend.store.Get(ctx, s.manifest.storeID, ids)
		if err != nil {
			return nil, err
		}
		for i, h := range batch {
			if products[i] == nil {
				continue
			}
			version, _ := strconv.ParseInt(h.Text[propVersion], 10, 64) // zero for what is no number
			st := newDocument(index.NewEntry(products[i]), version)
			if records[i] != nil && records[i].Row == h.ID {
				s.backend.documents.put(h.ID, st)
			}
			take(st)
		}
	}
	out := make([]*document, 0, len(newest))
	for _, st := range newest {
		out = append(out, st)
	}
	return out, nil
}

// Match reads the terms: in which expansions products have them, and how many do.
func (s *storeIndex) Match(ctx context.Context, q index.Query) (index.Matches, error) {
	p := &termMatches{index: s, query: q}
	for i := range q.Terms {
		p.score.expansions = append(p.score.expansions, index.Expansions(q.Terms, i))
	}
	p.score.terms, p.score.means = q.Terms, s.means
	p.conditions = newTermConditions(p.score.expansions, s.backend.phrases)
	total, err := s.count(ctx, weaviate.Where{})
	if err != nil {
		return nil, err
	}
	if total[0] < s.statistics.Products {
		return nil, fmt.Errorf("%w: %d of %d", errIncomplete, total[0], s.statistics.Products)
	}
	counts, err := s.recentCounts(ctx, p.conditions.has...)
	if err != nil {
		return nil, err
	}
	again := false
	for i, t := range q.Terms {
		if counts[i] > 0 {
			continue
		}
		for _, word := range t.Correctable() {
			near, err := s.similarStems(ctx, word, retrieval.Typos(word))
			if err != nil {
				return nil, err
			}
			for _, other := range near {
				p.score.expansions[i] = append(p.score.expansions[i], index.Expansion{Stems: []string{other}, Weight: index.TypoShare, Strong: true})
			}
			again = again || len(near) > 0
		}
	}
	if again {
		p.conditions = newTermConditions(p.score.expansions, s.backend.phrases)
		if counts, err = s.recentCounts(ctx, p.conditions.has...); err != nil {
			return nil, err
		}
	}
	for i := range q.Terms {
		p.score.rarity = append(p.score.rarity, retrieval.IDF(float64(total[0]), float64(counts[i])))
	}
	return p, nil
}

// similarStems are stems that differ in at most n letters, not in the first one.
func (s *storeIndex) similarStems(ctx context.Context, word string, n int) ([]string, error) {
	all, err := s.manifest.stems(ctx, s.collection, string([]rune(word)[:1]))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(other string) bool { return !withinEdits(word, other, n) }), nil
}

// withinEdits reports whether two words differ in at most n letters that are changed, added or left out.
func withinEdits(a, b string, n int) bool {
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) > n {
		return false
	}
	object := make([]int, len(y)+1)
	for j := range object {
		object[j] = j
	}
	for i, r := range x {
		diagonal := object[0]
		object[0] = i + 1
		for j, s := range y {
			change := diagonal
			if r != s {
				change++
			}
			diagonal = object[j+1]
			object[j+1] = min(change, object[j]+1, object[j+1]+1)
		}
	}
	return object[len(y)] <= n
}

// termMatches asks the cluster.
type termMatches struct {
	index      *storeIndex
	query      index.Query
	score      scorer
	conditions termConditions
}

// Any asks for all constraints at once. Where a condition is only approximate, it fetches the products and checks them.
func (p *termMatches) Any(ctx context.Context, needs ...index.Constraint) ([]bool, error) {
	out := make([]bool, len(needs))
	var conditions []weaviate.Where
	var at []int
	for i, n := range needs {
		w, exact := p.conditions.constraint(p.query, n)
		if exact {
			conditions, at = append(conditions, w), append(at, i)
			continue
		}
		candidates, err := p.Candidates(ctx, n, index.Filter{})
		if err != nil {
			return nil, err
		}
		out[i] = len(candidates) > 0
	}
	if len(conditions) == 0 {
		return out, nil
	}
	met, err := p.index.backend.client.Any(ctx, p.index.collection, tenant(p.index.manifest.storeID), conditions...)
	if err != nil {
		return nil, err
	}
	for i, ok := range met {
		out[at[i]] = ok
	}
	return out, nil
}

func (p *termMatches) Count(ctx context.Context, n index.Constraint) (int, error) {
	w, exact := p.conditions.constraint(p.query, n)
	if exact {
		counts, err := p.index.exactCounts(ctx, w)
		if err != nil {
			return 0, err
		}
		return counts[0], nil
	}
	candidates, err := p.Candidates(ctx, n, index.Filter{})
	return len(candidates), err
}

func (p *termMatches) Candidates(ctx context.Context, n index.Constraint, f index.Filter) ([]index.Candidate, error) {
	if n.ProductIDs != nil && len(n.ProductIDs) == 0 {
		return nil, nil
	}
	w, _ := p.conditions.constraint(p.query, n)
	objects, err := p.index.find(ctx, weaviate.All(w, filterCondition(f)))
	if err != nil {
		return nil, err
	}
	var out []index.Candidate
	for _, object := range objects {
		m := p.score.match(object)
		if !n.Met(p.query, object.Entry, m) {
			continue
		}
		c := index.Candidate{Entry: object.Entry, Match: m}
		if len(p.query.Terms) > 0 {
			c.Score = index.Relevance(m, len(p.query.Terms))
		}
		out = append(out, c)
	}
	return out, nil
}

const (
	// countTime is how long a number serves as about right.
	countTime = time.Minute
	// countsKept bounds the numbers of a store that are remembered.
	countsKept = 10_000
)

// countCache remembers how many objects of a collection meet conditions: to count them, the cluster reads each of them.
type countCache struct {
	mu     sync.Mutex
	counts map[weaviate.Where]cachedCount
}

// cachedCount is a number, and as of when.
type cachedCount struct {
	n       int
	version int64 // of the catalog
	at      time.Time
}

// exactCounts counts the objects that meet each condition.
func (s *storeIndex) exactCounts(ctx context.Context, conditions ...weaviate.Where) ([]int, error) {
	return s.cachedCounts(ctx, func(t cachedCount) bool { return t.version == s.version }, conditions)
}

// recentCounts counts the objects that meet each condition, or returns a count of the last minute. A count of zero is always
// current.
func (s *storeIndex) recentCounts(ctx context.Context, conditions ...weaviate.Where) ([]int, error) {
	return s.cachedCounts(ctx, func(t cachedCount) bool {
		return t.version == s.version || t.n > 0 && time.Since(t.at) < countTime
	}, conditions)
}

func (s *storeIndex) cachedCounts(ctx context.Context, serves func(cachedCount) bool, conditions []weaviate.Where) ([]int, error) {
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
			s.counts.counts = make(map[weaviate.Where]cachedCount)
		}
		s.counts.counts[unknown[i]] = cachedCount{n, s.version, time.Now()}
		out[at[i]] = n
	}
	return out, nil
}

// SimilarIDs implements index.Index. The cluster does not compare identifiers by their letters.
func (s *storeIndex) SimilarIDs(string) []string { return nil }
