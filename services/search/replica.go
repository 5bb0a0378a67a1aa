package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// catalog holds the stores' products in memory and keeps them as new as Redis at each read: a read asks for the
// version, and the first one that finds itself behind catches up while the others wait. Vectors are made in the
// background, by a goroutine for each store that ends with close, and so is an index that takes the place of one that has
// had many updates.
type catalog struct {
	store    store
	newIndex func() (Index, error)
	cluster  *cluster // nil: products are kept in memory
	embedder Embedder // nil: there are no vectors
	logger   *slog.Logger
	life     context.Context // ends with close
	end      context.CancelFunc
	renewals sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	replicas map[string]*replica
}

// replica is one store's catalog in this process.
type replica struct {
	catching chan struct{} // holds one token while somebody catches up
	asOf     time.Time     // when that last began, guarded by the token
	vectors  *vectors      // nil: none are made
	renewing atomic.Bool   // an index is being built to take the place of this one
	mu       sync.RWMutex  // guards the rest; readers hold it while they search
	view     *view
	updates  int  // of the index since it was built
	closed   bool // for good
}

// maxUpdates is how many updates an index takes before it is built anew: the embedded one keeps a segment for each.
const maxUpdates = 100

// errClosed is what reads get after Close.
var errClosed = errors.New("search is closed")

func newCatalog(s store, newIndex func() (Index, error)) *catalog {
	c := &catalog{store: s, newIndex: newIndex, replicas: make(map[string]*replica), logger: slog.Default()}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// read calls fn with the store's catalog, at least as new as it was when read was called. The view may be used only
// within fn. A store that was never written has an empty one.
func (c *catalog) read(ctx context.Context, storeID string, fn func(v *view) error) error {
	return c.readAsOf(ctx, storeID, c.versionOf(storeID), fn)
}

// versionOf asks for the version of a store's catalog.
func (c *catalog) versionOf(storeID string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) { return c.store.version(ctx, storeID) }
}

// readAsOf is read with a catalog that is at least as new as when asked was called, which may be earlier. One in a cluster
// is as new as ever.
func (c *catalog) readAsOf(
	ctx context.Context, storeID string, asked func(context.Context) (int64, error), fn func(v *view) error,
) error {
	if c.cluster != nil {
		return c.cluster.read(ctx, storeID, fn)
	}
	version, err := asked(ctx)
	if err != nil {
		return err
	}
	r, err := c.replica(storeID, version > 0)
	if err != nil {
		return err
	}
	if r == nil {
		return fn(newView(noIndex{}))
	}
	if err := c.catchUp(ctx, storeID, r, version); err != nil {
		return fmt.Errorf("catch up with catalog: %w", err)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return fn(r.view)
}

// replica returns the store's replica. Without create it is nil for an unknown store, so that made-up store ids leave
// nothing behind.
func (c *catalog) replica(storeID string, create bool) (*replica, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	r := c.replicas[storeID]
	if r == nil && create {
		r = &replica{catching: make(chan struct{}, 1), view: newView(noIndex{})}
		r.vectors = startVectors(c.embedder, c.logger, r.products)
		c.replicas[storeID] = r
	}
	return r, nil
}

// catchUp brings the replica to the version, or to a later one.
func (c *catalog) catchUp(ctx context.Context, storeID string, r *replica, version int64) error {
	if r.version() == version {
		return nil
	}
	begun := time.Now()
	select {
	case r.catching <- struct{}{}:
		defer func() { <-r.catching }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// Whoever held the token before may have done the work already; otherwise ask again, now that nobody else writes the view.
	if r.asOf.After(begun) {
		return nil
	}
	asOf := time.Now()
	version, err := c.store.version(ctx, storeID)
	if err != nil {
		return err
	}
	have := r.version()
	if have == version {
		return nil
	}
	// What is done now is done for all readers to come, so it goes on when the one that began it has left: a catalog that
	// takes longer to read than readers wait would otherwise never be read.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxReload)
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
func (c *catalog) advance(ctx context.Context, storeID string, r *replica) error {
	changes, err := c.changes(ctx, storeID, r.now())
	if err != nil {
		return err
	}
	if err := r.apply(ctx, changes); err != nil {
		return err
	}
	if r.updates >= maxUpdates {
		c.renew(storeID, r)
	}
	return nil
}

// maxReload bounds how long a replica takes to catch up.
const maxReload = 10 * time.Minute

// reload reads everything.
func (c *catalog) reload(ctx context.Context, storeID string, r *replica) error {
	v, err := c.build(ctx, storeID)
	if err != nil {
		return err
	}
	return r.replace(v)
}

// replace puts a view in the place of the one in use.
func (r *replica) replace(v *view) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.Join(errClosed, v.index.Close())
	}
	old := r.view
	r.view, r.updates = v, 0
	return old.index.Close()
}

// apply brings the replica forward. Should it fail half-way, the version stays and the next read does it again.
func (r *replica) apply(ctx context.Context, c change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	updated, err := r.view.apply(ctx, c)
	if updated {
		r.updates++
	}
	return err
}

// apply brings the view forward and reports whether the index has changed.
func (v *view) apply(ctx context.Context, c change) (updated bool, err error) {
	reworded := v.reworded(c.put)
	if len(reworded)+len(c.removed) > 0 {
		if err := v.index.Update(ctx, reworded, c.removed); err != nil {
			return false, err
		}
		updated = true
	}
	v.take(c.put, c.removed)
	v.version = c.version
	return updated, nil
}

// reworded returns the products that the index has to read again: not those whose price or stock has changed, which is
// what changes most.
func (v *view) reworded(put []*catalogv1.Product) []*catalogv1.Product {
	var out []*catalogv1.Product
	for _, p := range put {
		if old := v.entries[p.GetProductId()]; old == nil || !sameText(old.product, p) {
			out = append(out, p)
		}
	}
	return out
}

// vectors returns the vectors of a store. Nil: none are made, or the store was not read yet.
func (c *catalog) vectors(storeID string) *vectors {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.replicas[storeID]; r != nil {
		return r.vectors
	}
	return nil
}

// products returns the products of the store, in no particular order.
func (r *replica) products() []*catalogv1.Product {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]*catalogv1.Product, 0, len(r.view.entries))
	for _, e := range r.view.entries {
		out = append(out, e.product)
	}
	return out
}

func (r *replica) version() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.view.version
}

// now returns the view. Who holds the token may read it: nobody else writes it.
func (r *replica) now() *view {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.view
}

// take puts products into the view and removes others, all but the index.
func (v *view) take(put []*catalogv1.Product, removed []string) {
	for _, id := range removed {
		v.forget(id)
		if v.folded[idKey(id)] == id {
			delete(v.folded, idKey(id))
		}
	}
	for _, p := range put {
		v.forget(p.GetProductId())
		e := newEntry(p)
		v.entries[e.id()] = e
		v.folded[idKey(e.id())] = e.id()
		v.facts.count(e, 1)
	}
	v.facts.settle()
	v.titles.Store(nil)
}

// forget drops a product's entry, if there is one.
func (v *view) forget(id string) {
	if e := v.entries[id]; e != nil {
		v.facts.count(e, -1)
		delete(v.entries, id)
	}
}

// close frees all indexes. Reads that are under way finish first; later ones fail.
func (c *catalog) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.end()
	c.renewals.Wait()
	var errs []error
	for _, r := range c.replicas {
		r.vectors.stop() // before the lock, which its goroutine takes
		r.mu.Lock()
		errs = append(errs, r.view.index.Close())
		r.view, r.closed = newView(noIndex{}), true
		r.mu.Unlock()
	}
	c.replicas = nil
	if c.cluster != nil {
		errs = append(errs, c.cluster.close())
	}
	return errors.Join(errs...)
}

// noIndex is the index of an empty store.
type noIndex struct{}

func (noIndex) Update(context.Context, []*catalogv1.Product, []string) error { return nil }
func (noIndex) Search(context.Context, []Term) ([]Match, error)              { return nil, nil }
func (noIndex) Close() error                                                 { return nil }
