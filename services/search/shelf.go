package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
)

// clusterShelf is the shelf of a store in a cluster, as one read sees it. Words, filters and vectors select rows there; the
// products of the rows come from Redis, and are looked at again here.
type clusterShelf struct {
	cluster    *cluster
	manifest   manifest
	collection string
	version    int64 // of the catalog, at least
	facts      facts
	means      [numFields]float64
	counts     *countCache
}

func (s *clusterShelf) count(ctx context.Context, conditions ...weaviate.Where) ([]int, error) {
	return s.cluster.client.Count(ctx, s.collection, tenant(s.manifest.storeID), conditions...)
}

// lookup reads Redis, and asks the cluster for identifiers that are written in another case.
func (s *clusterShelf) lookup(ctx context.Context, ids []string) ([]*entry, error) {
	out := make([]*entry, len(ids))
	exact := make([]string, len(ids))
	for i, id := range ids {
		exact[i] = cleanID(id)
	}
	products, err := s.products(ctx, exact)
	if err != nil {
		return nil, err
	}
	var folded []string
	for i, p := range products {
		if p != nil {
			out[i] = newEntry(p)
		} else if exact[i] != "" && !strings.ContainsAny(exact[i], " \t\n") {
			folded = append(folded, idFactKey(exact[i]))
		}
	}
	if len(folded) == 0 {
		return out, nil
	}
	rows, err := s.find(ctx, weaviate.HasAny(rowKeys, folded...))
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]*entry)
	for _, row := range rows {
		byKey[idKey(row.id())] = row.entry
	}
	for i, id := range exact {
		if out[i] == nil {
			out[i] = byKey[idKey(id)]
		}
	}
	return out, nil
}

// products reads products from Redis, nil where there is none.
func (s *clusterShelf) products(ctx context.Context, ids []string) ([]*catalogv1.Product, error) {
	out := make([]*catalogv1.Product, len(ids))
	for start := 0; start < len(ids); start += readBatch {
		batch := ids[start:min(start+readBatch, len(ids))]
		values, err := s.manifest.rdb.HMGet(ctx, productKeys(s.manifest.storeID)[0], batch...).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, state.Error("read products", err)
		}
		for i, value := range values {
			if raw, ok := value.(string); ok {
				out[start+i] = new(catalogv1.Product)
				if err := proto.Unmarshal([]byte(raw), out[start+i]); err != nil {
					return nil, fmt.Errorf("decode product %q: %w", batch[i], err)
				}
			}
		}
	}
	return out, nil
}

// find returns the products of the rows that meet a condition.
func (s *clusterShelf) find(ctx context.Context, w weaviate.Where) ([]*shelved, error) {
	parts := 1
	if w.None() { // then it is known how many there are
		parts = min(buckets, 1+2*s.facts.products/s.cluster.pageSize)
	}
	var hits []weaviate.Hit
	for i := range parts {
		more, err := s.page(ctx, w, i*buckets/parts, (i+1)*buckets/parts-1)
		if err != nil {
			return nil, err
		}
		hits = append(hits, more...)
	}
	return s.stock(ctx, hits)
}

// page returns the rows that meet a condition, of a range of buckets. Where there are more than one answer may hold, it halves
// the range.
func (s *clusterShelf) page(ctx context.Context, w weaviate.Where, first, last int) ([]weaviate.Hit, error) {
	part := w
	if first > 0 || last < buckets-1 {
		part = weaviate.All(w, weaviate.AtLeast(rowBucket, float64(first)), weaviate.AtMost(rowBucket, float64(last)))
	}
	hits, err := s.cluster.client.Find(ctx, s.collection, tenant(s.manifest.storeID), weaviate.Select{
		Where: part, Limit: s.cluster.pageSize, Properties: []string{rowProduct, rowVersion},
	})
	if err != nil || len(hits) < s.cluster.pageSize || first == last {
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

// stock returns the products of rows, each once and as of its newest row. A row that does not count any more, or not yet, leads to
// the product as it is now, which is looked at again as all are; only what counts is kept.
func (s *clusterShelf) stock(ctx context.Context, hits []weaviate.Hit) ([]*shelved, error) {
	newest := make(map[string]*shelved, len(hits))
	take := func(st *shelved) {
		if old := newest[st.id()]; old == nil || old.version < st.version {
			newest[st.id()] = st
		}
	}
	var missing []weaviate.Hit
	for _, h := range hits {
		if st := s.cluster.rows.get(h.ID); st != nil {
			take(st)
		} else {
			missing = append(missing, h)
		}
	}
	for len(missing) > 0 {
		batch := missing[:min(readBatch, len(missing))]
		missing = missing[len(batch):]
		ids := make([]string, len(batch))
		for i, h := range batch {
			ids[i] = h.Text[rowProduct]
		}
		listings, err := s.manifest.listings(ctx, s.collection, ids)
		if err != nil {
			return nil, err
		}
		products, err := s.products(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, h := range batch {
			if products[i] == nil {
				continue
			}
			version, _ := strconv.ParseInt(h.Text[rowVersion], 10, 64) // zero for what is no number
			st := newShelved(newEntry(products[i]), version)
			if listings[i] != nil && listings[i].Row == h.ID {
				s.cluster.rows.put(h.ID, st)
			}
			take(st)
		}
	}
	out := make([]*shelved, 0, len(newest))
	for _, st := range newest {
		out = append(out, st)
	}
	return out, nil
}

// pool reads the terms: in which forms products have them, and how many do.
func (s *clusterShelf) pool(ctx context.Context, q query) (pool, error) {
	p := &clusterPool{shelf: s, query: q}
	for i := range q.terms {
		p.score.forms = append(p.score.forms, formsOf(q.terms, i))
	}
	p.score.terms, p.score.means = q.terms, s.means
	p.where = newTermWheres(p.score.forms, s.cluster.phrases)
	total, err := s.count(ctx, weaviate.Where{})
	if err != nil {
		return nil, err
	}
	if total[0] < s.facts.products {
		return nil, fmt.Errorf("%w: %d of %d", errBehind, total[0], s.facts.products)
	}
	counts, err := s.about(ctx, p.where.has...)
	if err != nil {
		return nil, err
	}
	again := false
	for i, t := range q.terms {
		if counts[i] > 0 {
			continue
		}
		for _, word := range t.doubtful() {
			near, err := s.lookalikes(ctx, word, retrieval.Typos(word))
			if err != nil {
				return nil, err
			}
			for _, other := range near {
				p.score.forms[i] = append(p.score.forms[i], form{stems: []string{other}, share: typoShare, strong: true})
			}
			again = again || len(near) > 0
		}
	}
	if again {
		p.where = newTermWheres(p.score.forms, s.cluster.phrases)
		if counts, err = s.about(ctx, p.where.has...); err != nil {
			return nil, err
		}
	}
	for i := range q.terms {
		n := float64(counts[i])
		p.score.rarity = append(p.score.rarity, math.Log(1+max(0, float64(total[0])-n+0.5)/(n+0.5)))
	}
	return p, nil
}

// lookalikes are stems that differ in at most n letters, not in the first one.
func (s *clusterShelf) lookalikes(ctx context.Context, word string, n int) ([]string, error) {
	all, err := s.manifest.stems(ctx, s.collection, string([]rune(word)[:1]))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(other string) bool { return !within(word, other, n) }), nil
}

// within reports whether two words differ in at most n letters that are changed, added or left out.
func within(a, b string, n int) bool {
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) > n {
		return false
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range y {
			change := diagonal
			if r != s {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)] <= n
}

// clusterPool asks the cluster.
type clusterPool struct {
	shelf *clusterShelf
	query query
	score scorer
	where termWheres
}

// any asks for all needs at once. What a condition can not say exactly is fetched and looked at.
func (p *clusterPool) any(ctx context.Context, needs ...need) ([]bool, error) {
	out := make([]bool, len(needs))
	var conditions []weaviate.Where
	var at []int
	for i, n := range needs {
		w, exact := p.where.need(p.query, n)
		if exact {
			conditions, at = append(conditions, w), append(at, i)
			continue
		}
		candidates, err := p.fetch(ctx, n, nil)
		if err != nil {
			return nil, err
		}
		out[i] = len(candidates) > 0
	}
	if len(conditions) == 0 {
		return out, nil
	}
	met, err := p.shelf.cluster.client.Any(ctx, p.shelf.collection, tenant(p.shelf.manifest.storeID), conditions...)
	if err != nil {
		return nil, err
	}
	for i, ok := range met {
		out[at[i]] = ok
	}
	return out, nil
}

func (p *clusterPool) count(ctx context.Context, n need) (int, error) {
	w, exact := p.where.need(p.query, n)
	if exact {
		counts, err := p.shelf.exactly(ctx, w)
		if err != nil {
			return 0, err
		}
		return counts[0], nil
	}
	candidates, err := p.fetch(ctx, n, nil)
	return len(candidates), err
}

func (p *clusterPool) fetch(ctx context.Context, n need, f filter) ([]candidate, error) {
	if n.ids != nil && len(n.ids) == 0 {
		return nil, nil
	}
	w, _ := p.where.need(p.query, n)
	rows, err := p.shelf.find(ctx, weaviate.All(w, f.where()))
	if err != nil {
		return nil, err
	}
	var out []candidate
	for _, row := range rows {
		m := p.score.match(row)
		if !n.met(p.query, row.entry, m) {
			continue
		}
		c := candidate{entry: row.entry, Match: m}
		if len(p.query.terms) > 0 {
			c.score = relevance(m, len(p.query.terms))
		}
		out = append(out, c)
	}
	return out, nil
}
