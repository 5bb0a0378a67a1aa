package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	levenshtein "github.com/blevesearch/bleve/v2/search"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// snapshot is one store's catalog in memory, as of one version. It is the Index of its views.
type snapshot struct {
	position   catalog.Position
	entries    map[string]*place
	folded     map[string]string // catalog.IDKey -> product id
	variants   variantIndex
	index      lexicalIndex
	statistics index.Statistics
	grams      index.GramCounts
	vectors    *vectorStore                   // nil: there are none
	titles     atomic.Pointer[[]*index.Entry] // all, when they were last asked for; nil after a change
}

// place is that of a product in a snapshot. A new price or stock puts a new entry there, of which the index of words hears nothing.
type place struct{ *index.Entry }

// newSnapshot returns an empty catalog over an empty index.
func newSnapshot(words lexicalIndex) *snapshot {
	return &snapshot{entries: make(map[string]*place), folded: make(map[string]string), variants: make(variantIndex), index: words, statistics: index.NewStatistics()}
}

// view is the snapshot as a read sees it.
func (v *snapshot) view() *index.View {
	return &index.View{Statistics: v.statistics, Index: v}
}

// product looks a product up by an identifier as models write it. Nil: there is none.
func (v *snapshot) product(id string) *index.Entry {
	for _, exact := range [...]string{id, catalog.CleanID(id)} {
		if p := v.entries[exact]; p != nil {
			return p.Entry
		}
	}
	if p := v.entries[v.folded[catalog.IDKey(id)]]; p != nil {
		return p.Entry
	}
	return nil
}

// all returns every product, ordered by title and then by identifier. The caller must not change it.
func (v *snapshot) all() []*index.Entry {
	if sorted := v.titles.Load(); sorted != nil {
		return *sorted
	}
	out := make([]*index.Entry, 0, len(v.entries))
	for _, p := range v.entries {
		out = append(out, p.Entry)
	}
	slices.SortFunc(out, index.ByTitle)
	v.titles.Store(&out)
	return out
}

// apply brings the snapshot forward and reports whether the index has changed.
func (v *snapshot) apply(ctx context.Context, c catalog.Change) (updated bool, err error) {
	changed, gone := v.changedTexts(c.Put), c.Gone(maps.Keys(v.entries))
	if len(changed)+len(gone) > 0 {
		if err := v.index.Update(ctx, changed, gone); err != nil {
			return false, errors.Join(err, v.locate())
		}
		updated = true
	}
	v.update(c.Put, gone)
	if err := v.locate(); err != nil {
		return updated, err
	}
	v.position = c.Position
	return updated, nil
}

// locate tells the index where its products are.
func (v *snapshot) locate() error {
	return v.index.Locate(func(id string) *place { return v.entries[id] })
}

// changedTexts returns the products that the index has to read again: not those whose price or stock has changed, which is
// what changes most.
func (v *snapshot) changedTexts(put []*catalogv1.Product) []*catalogv1.Product {
	var out []*catalogv1.Product
	for _, p := range put {
		if old := v.entries[p.GetProductId()]; old == nil || !index.SameText(old.Product, p) {
			out = append(out, p)
		}
	}
	return out
}

// update puts products into the view and removes others, all but the index.
func (v *snapshot) update(put []*catalogv1.Product, removed []string) {
	for _, id := range removed {
		if p := v.entries[id]; p != nil {
			v.statistics.Add(p.Entry, -1)
			v.variants.add(p.Entry, -1)
			delete(v.entries, id)
		}
		if v.folded[catalog.IDKey(id)] == id {
			delete(v.folded, catalog.IDKey(id))
		}
	}
	entries := make([]*index.Entry, len(put))
	inParallel(len(put), func(i int) { entries[i] = index.NewEntry(put[i]) })
	for i, p := range put {
		e := entries[i]
		if old := v.entries[e.ID()]; old != nil {
			v.statistics.Add(old.Entry, -1)
			v.variants.replace(old.Entry, e)
			old.Entry = e
		} else {
			v.entries[e.ID()] = &place{e}
			v.variants.add(e, 1)
		}
		v.folded[catalog.IDKey(e.ID())] = e.ID()
		v.statistics.Add(e, 1)
		v.grams.Add(p)
	}
	v.statistics.SetCurrency()
	v.titles.Store(nil)
}

// inParallel calls fn with 0 to n-1 on all processors.
func inParallel(n int, fn func(i int)) {
	var wait sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				fn(i)
			}
		})
	}
	wait.Wait()
}

// noIndex is the index of an empty store.
type noIndex struct{}

func (noIndex) Update(context.Context, []*catalogv1.Product, []string) error    { return nil }
func (noIndex) Locate(func(string) *place) error                                { return nil }
func (noIndex) Search(context.Context, []index.Term) ([]index.Candidate, error) { return nil, nil }
func (noIndex) Close() error                                                    { return nil }

const (
	// leastPart is how long the end of an identifier must be to stand for the whole.
	leastPart = 4
	// maxNear is how many identifiers are offered in place of an unknown one.
	maxNear = 3
)

// SimilarIDs implements index.Index: it returns the identifiers that end in the unknown one, zeros and separators aside, or
// else those that differ in the fewest letters.
func (v *snapshot) SimilarIDs(id string) []string {
	type near struct {
		id    string
		slips int
	}
	var found []near
	wanted := bareID(id)
	slips := 2 // letters that may be wrong
	switch n := len(wanted); {
	case n < 3: // every id of that length is near
		slips = 0
	case n < 5:
		slips = 1
	}
	for _, known := range v.folded {
		bare := bareID(known)
		if len(wanted) >= leastPart && strings.HasSuffix(bare, wanted) {
			found = append(found, near{known, 0})
		} else if d := len(bare) - len(wanted); d <= slips && d >= -slips {
			if n, tooFar := levenshtein.LevenshteinDistanceMax(wanted, bare, slips); !tooFar && n <= slips {
				found = append(found, near{known, n})
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.slips, b.slips), strings.Compare(a.id, b.id)) })
	var out []string
	for _, n := range found[:min(maxNear, len(found))] {
		if n.slips == found[0].slips {
			out = append(out, n.id)
		}
	}
	return out
}

// bareID is an identifier without case, separators and the zeros that numbers are filled up with.
func bareID(id string) string {
	out := make([]byte, 0, len(id))
	inNumber := false
	for i := range len(id) {
		b := id[i]
		switch {
		case b == '-' || b == '_' || b == '.':
			inNumber = false
			continue
		case b == '0' && !inNumber:
			continue
		case b >= 'A' && b <= 'Z':
			b += 'a' - 'A'
		}
		inNumber = b >= '0' && b <= '9'
		out = append(out, b)
	}
	return string(out)
}

// Products implements index.Index.
func (v *snapshot) Products(_ context.Context, ids []string) ([]*index.Entry, error) {
	out := make([]*index.Entry, len(ids))
	for i, id := range ids {
		out[i] = v.product(id)
	}
	return out, nil
}

// Variant implements index.Index.
func (v *snapshot) Variant(_ context.Context, key string) (*index.Entry, error) {
	o := v.variants[hashOf(key)]
	switch p := v.entries[o.product]; {
	case o.products != 1:
	case p != nil && p.Variant(key) != nil:
		return p.Entry, nil
	case o.product == "":
		for _, p := range v.entries {
			if p.Variant(key) != nil {
				return p.Entry, nil
			}
		}
	}
	return nil, nil
}

// Match implements index.Index.
func (v *snapshot) Match(ctx context.Context, q index.Query) (index.Matches, error) {
	p := &matches{snapshot: v, query: q}
	if len(q.Terms) == 0 {
		return p, nil
	}
	var err error
	p.matches, err = v.index.Search(ctx, q.Terms)
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	return p, nil
}

// matches holds all matches.
type matches struct {
	snapshot *snapshot
	query    index.Query
	matches  []index.Candidate
}

func (p *matches) Any(_ context.Context, needs ...index.Constraint) ([]bool, error) {
	out := make([]bool, len(needs))
	for i, n := range needs {
		out[i] = slices.ContainsFunc(p.matches, func(c index.Candidate) bool { return n.Met(p.query, c.Entry, c.Match) })
	}
	return out, nil
}

func (p *matches) Count(_ context.Context, n index.Constraint) (int, error) {
	var out int
	for _, c := range p.matches {
		if n.Met(p.query, c.Entry, c.Match) {
			out++
		}
	}
	return out, nil
}

func (p *matches) Candidates(ctx context.Context, n index.Constraint, _ index.Filter, _ catalogv1.Sort) ([]index.Candidate, bool, error) {
	met, _ := p.Count(ctx, n) // never fails
	out := make([]index.Candidate, 0, met)
	for _, c := range p.matches {
		if n.Met(p.query, c.Entry, c.Match) {
			out = append(out, c)
		}
	}
	if !n.NeedsNoTerm() {
		return out, false, nil
	}
	seen := make(map[*index.Entry]bool, len(p.matches))
	for _, c := range p.matches {
		seen[c.Entry] = true
	}
	for _, e := range p.remaining(n) {
		if !seen[e] && n.Met(p.query, e, index.Match{}) {
			out = append(out, index.Candidate{Entry: e})
		}
	}
	return out, false, nil
}

// Best implements index.Matches.
func (p *matches) Best(_ context.Context, f index.Filter, n int) ([]index.Candidate, error) {
	byScore := func(a, b index.Candidate) int {
		return index.Compare(a.Entry, a.Match.Score, b.Entry, b.Match.Score)
	}
	var out []index.Candidate
	var floor float64 // a lower score is not among the best
	for _, c := range p.matches {
		if c.Match.Score < floor || len(f.Admit(c.Entry)) == 0 {
			continue
		}
		if out = append(out, c); len(out) == 2*n {
			slices.SortFunc(out, byScore)
			out = out[:n]
			floor = out[n-1].Match.Score
		}
	}
	slices.SortFunc(out, byScore)
	return out[:min(n, len(out))], nil
}

// Grams implements index.Matches.
func (p *matches) Grams() *index.GramCounts { return &p.snapshot.grams }

// Similarities implements index.Matches: it compares every product that may be a hit.
func (p *matches) Similarities(_ context.Context, _ index.Constraint, hits []index.Hit, query embed.Vector, admits index.Filter, others bool) ([]index.Hit, []index.Similarity, error) {
	if others {
		hits = append(slices.Clip(hits), p.snapshot.remaining(hits, admits)...)
	}
	near, err := p.snapshot.vectors.likeness(hits, query)
	return hits, near, err
}

// remaining are products that may meet the constraint without any of the terms.
func (p *matches) remaining(n index.Constraint) []*index.Entry {
	if n.ProductIDs == nil {
		return p.snapshot.all()
	}
	var out []*index.Entry
	for _, id := range n.ProductIDs {
		if e := p.snapshot.entries[id]; e != nil && !slices.Contains(out, e.Entry) {
			out = append(out, e.Entry)
		}
	}
	return out
}
