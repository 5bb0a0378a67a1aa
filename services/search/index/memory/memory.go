// Package memory is the backend that keeps every store's products in the memory of each replica: an index of words by the bleve
// library, vectors beside it. A replica catches up with package catalog when it is read.
//
// Ranking, filters and counts are package index's. The package must not import package weaviate.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	levenshtein "github.com/blevesearch/bleve/v2/search"
	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// Backend holds the stores' products in memory and keeps them as new as Redis at each read: a read asks for the
// version, and the first one that finds itself behind catches up while the others wait. Vectors are made in the
// background, by a goroutine for each store that ends with close, and so is an index that takes the place of one that has
// had many updates.
type Backend struct {
	store    catalog.Store
	newIndex func() (lexicalIndex, error)
	embedder index.Embedder // nil: there are no vectors
	logger   *slog.Logger
	ctx      context.Context // ends with close
	cancel   context.CancelFunc
	rebuilds sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	replicas map[string]*replica
}

// replica is one store's catalog in this process.
type replica struct {
	syncing    chan struct{} // holds one token while somebody catches up
	asOf       time.Time     // when that last began, guarded by the token
	vectors    *vectorStore  // nil: none are made
	rebuilding atomic.Bool   // an index is being built to take the place of this one
	mu         sync.RWMutex  // guards the rest; readers hold it while they search
	snapshot   *snapshot
	updates    int  // of the index since it was built
	closed     bool // for good
}

// maxUpdates is how many updates an index takes before it is built anew: the embedded one keeps a segment for each.
const maxUpdates = 100

// New returns a backend over what s holds. newIndex makes an empty index, one for each store.
func New(s catalog.Store, newIndex func() (lexicalIndex, error), embedder index.Embedder, logger *slog.Logger) *Backend {
	c := &Backend{store: s, newIndex: newIndex, embedder: embedder, logger: logger, replicas: make(map[string]*replica)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Read implements backend. A store that was never written has an empty catalog.
func (c *Backend) Read(ctx context.Context, storeID string, asOf index.VersionFunc, fn func(v *index.View) error) error {
	if asOf == nil {
		asOf = func(ctx context.Context) (int64, error) { return c.store.Version(ctx, storeID) }
	}
	version, err := asOf(ctx)
	if err != nil {
		return err
	}
	r, err := c.replica(storeID, version > 0)
	if err != nil {
		return err
	}
	if r == nil {
		return fn(index.Empty())
	}
	if err := c.catchUp(ctx, storeID, r, version); err != nil {
		return fmt.Errorf("catch up with catalog: %w", err)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return fn(r.snapshot.view())
}

// replica returns the store's replica. Without create it is nil for an unknown store, so that made-up store ids leave
// nothing behind.
func (c *Backend) replica(storeID string, create bool) (*replica, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, index.ErrClosed
	}
	r := c.replicas[storeID]
	if r == nil && create {
		r = &replica{syncing: make(chan struct{}, 1), snapshot: NewSnapshot(NoIndex{})}
		r.vectors = startVectors(c.embedder, c.logger, r.products)
		r.snapshot.vectors = r.vectors
		c.replicas[storeID] = r
	}
	return r, nil
}

// catchUp brings the replica to the version, or to a later one.
func (c *Backend) catchUp(ctx context.Context, storeID string, r *replica, version int64) error {
	if r.version() == version {
		return nil
	}
	begun := time.Now()
	select {
	case r.syncing <- struct{}{}:
		defer func() { <-r.syncing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// Whoever held the token before may have done the work already; otherwise ask again, now that nobody else writes the view.
	if r.asOf.After(begun) {
		return nil
	}
	asOf := time.Now()
	version, err := c.store.Version(ctx, storeID)
	if err != nil {
		return err
	}
	have := r.version()
	if have == version {
		return nil
	}
	// What is done now is done for all readers to come, so it goes on when the one that began it has left: a catalog that
	// takes longer to read than readers wait would otherwise never be read.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), MaxReload)
	defer cancel()
	defer r.vectors.wake()
	if have == 0 {
		err = c.reload(ctx, storeID, r)
	} else {
		err = c.advance(ctx, storeID, r)
	}
	if err == nil {
		r.asOf = asOf
	}
	return err
}

// advance takes in what has changed since the replica last caught up.
func (c *Backend) advance(ctx context.Context, storeID string, r *replica) error {
	changes, err := c.changes(ctx, storeID, r.current())
	if err != nil {
		return err
	}
	if err := r.apply(ctx, changes); err != nil {
		return err
	}
	if r.updates >= maxUpdates {
		c.startRebuild(storeID, r)
	}
	return nil
}

// MaxReload bounds how long a replica takes to catch up.
const MaxReload = 10 * time.Minute

// reload reads everything.
func (c *Backend) reload(ctx context.Context, storeID string, r *replica) error {
	v, err := c.build(ctx, storeID)
	if err != nil {
		return err
	}
	return r.replace(v)
}

// replace puts a view in the place of the one in use.
func (r *replica) replace(v *snapshot) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.Join(index.ErrClosed, v.index.Close())
	}
	old := r.snapshot
	v.vectors = r.vectors
	r.snapshot, r.updates = v, 0
	return old.index.Close()
}

// apply brings the replica forward. Should it fail half-way, the version stays and the next read does it again.
func (r *replica) apply(ctx context.Context, c catalog.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return index.ErrClosed
	}
	updated, err := r.snapshot.apply(ctx, c)
	if updated {
		r.updates++
	}
	return err
}

// apply brings the view forward and reports whether the index has changed.
func (v *snapshot) apply(ctx context.Context, c catalog.Change) (updated bool, err error) {
	reworded := v.changedTexts(c.Put)
	if len(reworded)+len(c.Removed) > 0 {
		if err := v.index.Update(ctx, reworded, c.Removed); err != nil {
			return false, err
		}
		updated = true
	}
	v.Update(c.Put, c.Removed)
	v.version = c.Version
	return updated, nil
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

// VectorLeg implements backend.
func (c *Backend) VectorLeg(_ context.Context, storeID string) string {
	c.mu.Lock()
	r := c.replicas[storeID]
	c.mu.Unlock()
	if r == nil || r.vectors == nil {
		return index.LegVector + index.LegBuilding
	}
	return r.vectors.leg()
}

// products returns the products of the store, in no particular order.
func (r *replica) products() []*catalogv1.Product {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]*catalogv1.Product, 0, len(r.snapshot.entries))
	for _, e := range r.snapshot.entries {
		out = append(out, e.Product)
	}
	return out
}

func (r *replica) version() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.snapshot.version
}

// current returns the view. Who holds the token may read it: nobody else writes it.
func (r *replica) current() *snapshot {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.snapshot
}

// Update puts products into the view and removes others, all but the index.
func (v *snapshot) Update(put []*catalogv1.Product, removed []string) {
	for _, id := range removed {
		v.remove(id)
		if v.folded[catalog.FoldID(id)] == id {
			delete(v.folded, catalog.FoldID(id))
		}
	}
	for _, p := range put {
		v.remove(p.GetProductId())
		e := index.NewEntry(p)
		v.entries[e.Id()] = e
		v.folded[catalog.FoldID(e.Id())] = e.Id()
		v.Facts.Add(e, 1)
	}
	v.Facts.SetCurrency()
	v.titles.Store(nil)
}

// remove drops a product's entry, if there is one.
func (v *snapshot) remove(id string) {
	if e := v.entries[id]; e != nil {
		v.Facts.Add(e, -1)
		delete(v.entries, id)
	}
}

// Close frees all indexes. Reads that are under way finish first; later ones fail.
func (c *Backend) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cancel()
	c.rebuilds.Wait()
	var errs []error
	for _, r := range c.replicas {
		r.vectors.stop() // before the lock, which its goroutine takes
		r.mu.Lock()
		errs = append(errs, r.snapshot.index.Close())
		r.snapshot, r.closed = NewSnapshot(NoIndex{}), true
		r.mu.Unlock()
	}
	c.replicas = nil
	return errors.Join(errs...)
}

// NoIndex is the index of an empty store.
type NoIndex struct{}

func (NoIndex) Update(context.Context, []*catalogv1.Product, []string) error { return nil }
func (NoIndex) Search(context.Context, []index.Term) ([]index.Match, error)  { return nil, nil }
func (NoIndex) Close() error                                                 { return nil }

// startRebuild begins to build the store's view anew, beside the one that searches go on with. The caller holds the token.
func (c *Backend) startRebuild(storeID string, r *replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !r.rebuilding.CompareAndSwap(false, true) {
		return
	}
	c.rebuilds.Go(func() {
		defer r.rebuilding.Store(false)
		ctx, cancel := context.WithTimeout(c.ctx, MaxReload)
		defer cancel()
		if err := c.rebuild(ctx, storeID, r); err != nil && c.ctx.Err() == nil {
			c.logger.Warn("an index could not be renewed; the next write tries again", slog.String("store", storeID), slog.Any("error", err))
		}
	})
}

// rebuild builds a view and puts it in the place of the one in use as soon as it has caught up with it.
func (c *Backend) rebuild(ctx context.Context, storeID string, r *replica) error {
	v, err := c.build(ctx, storeID)
	if err != nil {
		return err
	}
	// Most of what was written meanwhile is taken in before readers have to wait for it.
	if err := c.catchUpSnapshot(ctx, storeID, v); err != nil {
		return errors.Join(err, v.index.Close())
	}
	select {
	case r.syncing <- struct{}{}:
		defer func() { <-r.syncing }()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), v.index.Close())
	}
	if err := c.catchUpSnapshot(ctx, storeID, v); err != nil {
		return errors.Join(err, v.index.Close())
	}
	return r.replace(v)
}

// catchUpSnapshot brings a view that nobody reads yet up to the store.
func (c *Backend) catchUpSnapshot(ctx context.Context, storeID string, v *snapshot) error {
	version, err := c.store.Version(ctx, storeID)
	if err != nil || version == v.version {
		return err
	}
	changes, err := c.changes(ctx, storeID, v)
	if err != nil {
		return err
	}
	_, err = v.apply(ctx, changes)
	return err
}

// changes returns what has happened since the view: by the list of changes, or by comparing everything where that does not
// reach back so far.
func (c *Backend) changes(ctx context.Context, storeID string, v *snapshot) (catalog.Change, error) {
	since, complete, err := c.store.Changes(ctx, storeID, v.version)
	if err != nil || complete {
		return since, err
	}
	all, err := c.store.Load(ctx, storeID)
	if err != nil {
		return catalog.Change{}, err
	}
	return v.difference(all), nil
}

// build reads everything and returns a view of it.
func (c *Backend) build(ctx context.Context, storeID string) (*snapshot, error) {
	all, err := c.store.Load(ctx, storeID)
	if err != nil {
		return nil, err
	}
	words, err := c.newIndex()
	if err != nil {
		return nil, err
	}
	v := NewSnapshot(words)
	if len(all.Put) == 0 {
		v.version = all.Version
		return v, nil
	}
	if _, err := v.apply(ctx, all); err != nil {
		return nil, errors.Join(err, words.Close())
	}
	return v, nil
}

// difference returns what must change for the view to hold all products of the store and no others. Most of them it has
// already, and it is reading products again that takes time.
func (v *snapshot) difference(all catalog.Change) catalog.Change {
	out := catalog.Change{Version: all.Version}
	there := make(map[string]bool, len(all.Put))
	for _, p := range all.Put {
		there[p.GetProductId()] = true
		if old := v.entries[p.GetProductId()]; old == nil || !proto.Equal(old.Product, p) {
			out.Put = append(out.Put, p)
		}
	}
	for id := range v.entries {
		if !there[id] {
			out.Removed = append(out.Removed, id)
		}
	}
	return out
}

const (
	// leastPart is how long the end of an identifier must be to stand for the whole.
	leastPart = 4
	// maxNear is how many identifiers are offered in place of an unknown one.
	maxNear = 3
)

// SimilarIDs returns products' identifiers that an unknown one may have been meant for: those that end in it, zeros and
// separators aside, or else those that differ in the fewest letters.
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

func (v *snapshot) Products(_ context.Context, ids []string) ([]*index.Entry, error) {
	out := make([]*index.Entry, len(ids))
	for i, id := range ids {
		out[i] = v.product(id)
	}
	return out, nil
}

func (v *snapshot) Match(ctx context.Context, q index.Query) (index.Matches, error) {
	p := &matches{snapshot: v, query: q}
	if len(q.Terms) == 0 {
		return p, nil
	}
	matches, err := v.index.Search(ctx, q.Terms)
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	for _, m := range matches {
		if e := v.entries[m.ProductID]; e != nil {
			p.matches = append(p.matches, index.Candidate{Entry: e, Match: m})
		}
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

func (p *matches) Candidates(_ context.Context, n index.Constraint, _ index.Filter) ([]index.Candidate, error) {
	var out []index.Candidate
	for _, c := range p.matches {
		if n.Met(p.query, c.Entry, c.Match) {
			c.Score = index.Relevance(c.Match, len(p.query.Terms))
			out = append(out, c)
		}
	}
	if !n.NeedsNoTerm() {
		return out, nil
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
	return out, nil
}

// Similarities implements pool: it compares every product that may be a hit.
func (p *matches) Similarities(_ context.Context, _ index.Constraint, hits []index.Hit, query embed.Vector, admits index.Filter, others bool) ([]index.Hit, []index.Similarity, error) {
	if others {
		hits = append(slices.Clip(hits), p.snapshot.remaining(hits, admits)...)
	}
	near, err := p.snapshot.vectors.likeness(hits, query)
	return hits, near, err
}

// remaining are products that may meet the need without any of the words.
func (p *matches) remaining(n index.Constraint) []*index.Entry {
	if n.ProductIDs == nil {
		return p.snapshot.all()
	}
	var out []*index.Entry
	for _, id := range n.ProductIDs {
		if e := p.snapshot.entries[id]; e != nil && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// snapshot is one store's catalog in memory, as of one version. It is a shelf.
type snapshot struct {
	version int64
	entries map[string]*index.Entry
	folded  map[string]string // idKey -> product id
	index   lexicalIndex
	Facts   index.Statistics
	vectors *vectorStore                   // nil: there are none
	titles  atomic.Pointer[[]*index.Entry] // all, when they were last asked for; nil after a change
}

// NewSnapshot returns an empty catalog over an empty index.
func NewSnapshot(words lexicalIndex) *snapshot {
	return &snapshot{entries: make(map[string]*index.Entry), folded: make(map[string]string), index: words, Facts: index.NewStatistics()}
}

// view is the snapshot as a read sees it.
func (v *snapshot) view() *index.View { return &index.View{Statistics: v.Facts, Index: v} }

// product looks a product up by an identifier as models write it. Nil: there is none.
func (v *snapshot) product(id string) *index.Entry {
	for _, exact := range [...]string{id, catalog.CleanID(id)} {
		if e := v.entries[exact]; e != nil {
			return e
		}
	}
	return v.entries[v.folded[catalog.FoldID(id)]]
}

// all returns every product, ordered by title and then by identifier. The caller must not change it.
func (v *snapshot) all() []*index.Entry {
	if sorted := v.titles.Load(); sorted != nil {
		return *sorted
	}
	out := make([]*index.Entry, 0, len(v.entries))
	for _, e := range v.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, index.ByTitle)
	v.titles.Store(&out)
	return out
}
