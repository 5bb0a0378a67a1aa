package search

import (
	"context"
	"errors"
	"fmt"
	"sync"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// catalog holds the stores' products in memory and keeps them as new as Redis at each read. It starts no goroutine: a
// read asks for the version, and the first one that finds itself behind catches up while the others wait.
type catalog struct {
	store    store
	newIndex func() (Index, error)

	mu       sync.Mutex
	closed   bool
	replicas map[string]*replica
}

// replica is one store's catalog in this process.
type replica struct {
	catching chan struct{} // holds one token while somebody catches up
	mu       sync.RWMutex  // guards view; readers hold it while they search
	view     *view
	updates  int // since the index was built
}

// maxUpdates is how many updates an index takes before it is built anew: the embedded one keeps a segment for each.
const maxUpdates = 100

// errClosed is what reads get after Close.
var errClosed = errors.New("search is closed")

func newCatalog(s store, newIndex func() (Index, error)) *catalog {
	return &catalog{store: s, newIndex: newIndex, replicas: make(map[string]*replica)}
}

// read calls fn with the store's catalog, at least as new as it was when read was called. The view may be used only
// within fn. A store that was never written has an empty one.
func (c *catalog) read(ctx context.Context, storeID string, fn func(v *view) error) error {
	version, err := c.store.version(ctx, storeID)
	if err != nil {
		return err
	}
	r, err := c.replica(storeID, version > 0)
	if err != nil {
		return err
	}
	if r == nil {
		return fn(&view{index: noIndex{}})
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
		r = &replica{catching: make(chan struct{}, 1), view: &view{index: noIndex{}}}
		c.replicas[storeID] = r
	}
	return r, nil
}

// catchUp brings the replica to the version, or to a later one.
func (c *catalog) catchUp(ctx context.Context, storeID string, r *replica, version int64) error {
	if r.version() == version {
		return nil
	}
	select {
	case r.catching <- struct{}{}:
		defer func() { <-r.catching }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// Whoever held the token before may have done the work already; ask again, now that nobody else writes the view.
	version, err := c.store.version(ctx, storeID)
	if err != nil {
		return err
	}
	have := r.version()
	if have == version {
		return nil
	}
	if have > 0 && have < version && r.updates < maxUpdates {
		changes, complete, err := c.store.since(ctx, storeID, have)
		if err != nil {
			return err
		}
		if complete {
			return r.apply(ctx, changes)
		}
	}
	return c.reload(ctx, storeID, r)
}

// reload reads everything and replaces the view.
func (c *catalog) reload(ctx context.Context, storeID string, r *replica) error {
	all, err := c.store.load(ctx, storeID)
	if err != nil {
		return err
	}
	index, err := c.newIndex()
	if err != nil {
		return err
	}
	v := &view{version: all.version, entries: make(map[string]*entry), folded: make(map[string]string), index: index}
	if len(all.put) > 0 {
		if err := index.Update(ctx, all.put, nil); err != nil {
			return errors.Join(err, index.Close())
		}
	}
	v.take(all.put, nil)
	r.mu.Lock()
	old := r.view
	r.view, r.updates = v, 0
	r.mu.Unlock()
	return old.index.Close()
}

// apply brings the view forward. Should it fail half-way, the version stays and the next read does it again.
func (r *replica) apply(ctx context.Context, c change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.view.index.Update(ctx, c.put, c.removed); err != nil {
		return err
	}
	r.view.take(c.put, c.removed)
	r.view.version = c.version
	r.updates++
	return nil
}

func (r *replica) version() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.view.version
}

// take puts products into the view and removes others, all but the index.
func (v *view) take(put []*catalogv1.Product, removed []string) {
	for _, id := range removed {
		delete(v.entries, id)
		if v.folded[idKey(id)] == id {
			delete(v.folded, idKey(id))
		}
	}
	for _, p := range put {
		v.entries[p.GetProductId()] = newEntry(p)
		v.folded[idKey(p.GetProductId())] = p.GetProductId()
	}
	v.facts = newFacts(v.entries)
}

// close frees all indexes. Reads that are under way finish first; later ones fail.
func (c *catalog) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for _, r := range c.replicas {
		r.mu.Lock()
		errs = append(errs, r.view.index.Close())
		r.view = &view{index: noIndex{}}
		r.mu.Unlock()
	}
	c.replicas = nil
	return errors.Join(errs...)
}

// noIndex is the index of an empty store.
type noIndex struct{}

func (noIndex) Update(context.Context, []*catalogv1.Product, []string) error { return nil }
func (noIndex) Search(context.Context, []Term) ([]Match, error)              { return nil, nil }
func (noIndex) Close() error                                                 { return nil }
