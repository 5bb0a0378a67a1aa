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
	"sync"
	"sync/atomic"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// Defaults of Options.
const (
	DefaultMaxStores = 256
	DefaultIdleTime  = time.Hour
)

// Options bound what a Backend keeps in memory. The zero value has the defaults.
type Options struct {
	// MaxStores is how many stores' catalogs are kept. When one more is read, the one that was read the longest ago is
	// dropped. A catalog is not dropped while it is loaded or read, so there may be more when more are read at the same time.
	// Zero: DefaultMaxStores.
	MaxStores int
	// IdleTime is how long a catalog is kept that nothing reads. Zero: DefaultIdleTime.
	IdleTime time.Duration
	// Folder is where indexes are saved once they are built, and loaded from. Empty: they are built each time.
	Folder string
}

// Backend holds stores' products in memory and keeps them as new as Redis at each read: a read asks for the version, and the
// first one that finds itself behind catches up while the others wait. A catalog that was dropped from memory is loaded again when
// it is read. Vectors are made in the background, by a goroutine for each store, and so is an index that takes the place of one
// that has had many updates.
type Backend struct {
	store    catalog.Store
	newIndex func() (lexicalIndex, error)
	embedder index.Embedder // nil: there are no vectors
	logger   *slog.Logger
	options  Options
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	rebuilds sync.WaitGroup
	work     sync.WaitGroup // what else goes on in the background

	mu       sync.Mutex
	closed   bool
	replicas map[string]*replica
}

// replica is one store's catalog in this process.
type replica struct {
	read       time.Time     // last, guarded by the backend's lock
	readers    int           // reads under way, guarded by the backend's lock; above zero, the replica is not dropped
	syncing    chan struct{} // holds one token while a reader catches up
	asOf       time.Time     // when that last began, guarded by the token
	compared   atomic.Int64  // when all partitions were last compared, Unix nanoseconds
	vectors    *vectorStore  // nil: none are made
	rebuilding atomic.Bool   // an index is being built to take the place of this one
	mu         sync.RWMutex  // guards the rest; readers hold it while they search
	snapshot   *snapshot
	updates    int  // of the index since it was built
	closed     bool // for good
}

const (
	// maxUpdates is how many updates an index takes before a new one replaces it: the library keeps a segment for each.
	maxUpdates = 100
	// compareEvery is how often a replica compares all partitions although the version says that nothing has changed: a write that
	// broke off has not raised the version.
	compareEvery = 5 * time.Minute
	// maxReload bounds how long a replica takes to catch up.
	maxReload = 10 * time.Minute
)

// New returns a backend over what s holds. Close it.
func New(s catalog.Store, embedder index.Embedder, logger *slog.Logger, options Options) *Backend {
	return newBackend(s, newWordIndex, embedder, logger, options)
}

func newBackend(s catalog.Store, newIndex func() (lexicalIndex, error), embedder index.Embedder, logger *slog.Logger, options Options) *Backend {
	options.MaxStores = cmp.Or(options.MaxStores, DefaultMaxStores)
	options.IdleTime = cmp.Or(options.IdleTime, DefaultIdleTime)
	b := &Backend{store: s, newIndex: newIndex, embedder: embedder, logger: logger, options: options, replicas: make(map[string]*replica)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.work.Go(b.dropForever)
	return b
}

// Read implements index.Backend. A store that was never written has an empty catalog.
func (b *Backend) Read(ctx context.Context, storeID string, asOf index.VersionFunc, fn func(v *index.View) error) error {
	if asOf == nil {
		asOf = func(ctx context.Context) (int64, error) { return b.store.Version(ctx, storeID) }
	}
	version, err := asOf(ctx)
	if err != nil {
		return err
	}
	r, err := b.acquire(storeID, version > 0)
	if err != nil {
		return err
	}
	if r == nil {
		return fn(index.EmptyView())
	}
	defer b.release(r)
	if err := b.catchUp(ctx, storeID, r, version); err != nil {
		return fmt.Errorf("catch up with catalog: %w", err)
	}
	return r.view(fn)
}

// view calls fn with the replica's catalog, which stays in memory until fn returns.
func (r *replica) view(fn func(v *index.View) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return index.ErrClosed
	}
	return fn(r.snapshot.view())
}

// acquire returns the store's replica for a read, which the caller must release. Without create it is nil for an unknown store, so
// that made-up store ids leave nothing behind.
func (b *Backend) acquire(storeID string, create bool) (*replica, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, index.ErrClosed
	}
	r := b.replicas[storeID]
	if r == nil && create {
		b.dropUntil(b.options.MaxStores - 1)
		r = &replica{syncing: make(chan struct{}, 1), snapshot: newSnapshot(noIndex{})}
		r.vectors = startVectors(b.embedder, b.logger, r.products)
		r.snapshot.vectors = r.vectors
		b.replicas[storeID] = r
	}
	if r != nil {
		r.read = time.Now()
		r.readers++
	}
	return r, nil
}

// release ends a read.
func (b *Backend) release(r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.read = time.Now()
	r.readers--
	if !b.closed {
		b.dropUntil(b.options.MaxStores)
	}
}

// dropUntil drops the catalogs that were read the longest ago until n are left, or until all that are left are being read. The
// caller holds the lock.
func (b *Backend) dropUntil(n int) {
	for len(b.replicas) > n {
		oldest := ""
		for storeID, r := range b.replicas {
			if r.readers == 0 && (oldest == "" || r.read.Before(b.replicas[oldest].read)) {
				oldest = storeID
			}
		}
		if oldest == "" {
			return
		}
		b.drop(oldest)
	}
}

// drop frees the catalog of a store that is not being read. The caller holds the lock.
func (b *Backend) drop(storeID string) {
	r := b.replicas[storeID]
	delete(b.replicas, storeID)
	b.work.Go(func() {
		if err := r.close(); err != nil {
			b.logger.Warn("a catalog could not be dropped from memory", slog.String("store", storeID), slog.Any("error", err))
		}
	})
}

// dropIdle drops the catalogs that were not read since a time and are not being read.
func (b *Backend) dropIdle(since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for storeID, r := range b.replicas {
		if !b.closed && r.readers == 0 && r.read.Before(since) {
			b.drop(storeID)
		}
	}
}

// dropForever drops what is idle or deleted, until Close.
func (b *Backend) dropForever() {
	tick := time.NewTicker(max(time.Second, b.options.IdleTime/10))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			b.dropIdle(now.Add(-b.options.IdleTime))
			if b.options.Folder == "" {
				continue
			}
			if err := b.removeDeleted(b.ctx); err != nil && b.ctx.Err() == nil {
				b.logger.Warn("the saved indexes of deleted stores could not be removed", slog.Any("error", err))
			}
		case <-b.ctx.Done():
			return
		}
	}
}

// close frees the replica. Reads that are under way end first.
func (r *replica) close() error {
	r.vectors.stop() // before the lock, which its goroutine takes
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.snapshot.index.Close()
}

// Close frees all catalogs. Reads that are under way finish first; later ones fail with index.ErrClosed.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	replicas := b.replicas
	b.replicas = nil
	b.mu.Unlock()
	b.cancel()
	b.rebuilds.Wait()
	b.work.Wait()
	var errs []error
	for _, r := range replicas {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// catchUp brings the replica to the version, or to a later one.
func (b *Backend) catchUp(ctx context.Context, storeID string, r *replica, version int64) error {
	begun := time.Now()
	compare := begun.UnixNano()-r.compared.Load() > compareEvery.Nanoseconds()
	if r.position().Version == version && !compare {
		return nil
	}
	select {
	case r.syncing <- struct{}{}:
		defer func() { <-r.syncing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.asOf.After(begun) {
		return nil // another reader has done the work already
	}
	asOf := time.Now()
	// What is done now is done for all readers to come, so it goes on when the one that began it has left: a catalog that
	// takes longer to read than readers wait would otherwise never be read.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxReload)
	defer cancel()
	since := r.position()
	if compare && since.Version > 0 {
		since.Version = -1
	}
	changes, err := b.store.Changes(ctx, storeID, since)
	if err != nil {
		return err
	}
	if changes.Position != r.position() {
		defer r.vectors.wake()
		if err := b.take(ctx, storeID, r, changes); err != nil {
			return err
		}
	}
	r.asOf = asOf
	if compare {
		r.compared.Store(asOf.UnixNano())
	}
	return nil
}

// take takes a change into the replica. The caller holds the token.
func (b *Backend) take(ctx context.Context, storeID string, r *replica, c catalog.Change) error {
	if r.position().Version == 0 {
		defer b.tellBuild(storeID, len(c.Put))()
		s, err := b.build(ctx, storeID, c, false)
		if err != nil {
			return err
		}
		return r.replace(s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return index.ErrClosed
	}
	updated, err := r.snapshot.apply(ctx, c) // what fails half-way leaves the position, and the next read does it again
	if updated {
		r.updates++
	}
	if err == nil && r.updates >= maxUpdates {
		b.startRebuild(storeID, r)
	}
	return err
}

// largeCatalog is the number of products from which the first build of an index takes seconds.
const largeCatalog = 10_000

// tellBuild logs that the first searches wait for the index of a large catalog. The returned function logs its end.
func (b *Backend) tellBuild(storeID string, products int) func() {
	if products < largeCatalog {
		return func() {}
	}
	begun, logger := time.Now(), b.logger.With(slog.String("store", storeID), slog.Int("products", products))
	logger.Info("builds the index of a catalog; its first searches wait")
	return func() { logger.Info("the index of a catalog is built", slog.Duration("duration", time.Since(begun))) }
}

// build returns a snapshot of all products. It begins with the saved index, if there is one, unless anew.
func (b *Backend) build(ctx context.Context, storeID string, all catalog.Change, anew bool) (*snapshot, error) {
	var words lexicalIndex
	var gone []string
	var err error
	put := all.Put
	if b.options.Folder == "" || anew {
		words, err = b.newIndex()
	} else {
		words, put, gone, err = b.openSaved(storeID, all.Put)
	}
	if err != nil {
		return nil, err
	}
	if len(put)+len(gone) > 0 {
		if err := words.Update(ctx, put, gone); err != nil {
			return nil, errors.Join(err, words.Close())
		}
	}
	s := newSnapshot(words)
	s.update(all.Put, nil)
	if err := s.locate(); err != nil {
		return nil, errors.Join(err, words.Close())
	}
	s.position = all.Position
	if b.options.Folder != "" && float64(len(put)) > staleShare*float64(len(all.Put)) {
		b.save(storeID, words, all.Put)
	}
	return s, nil
}

// replace puts a snapshot in the place of the one in use.
func (r *replica) replace(s *snapshot) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.Join(index.ErrClosed, s.index.Close())
	}
	old := r.snapshot
	s.vectors = r.vectors
	r.snapshot, r.updates = s, 0
	return old.index.Close()
}

// startRebuild starts to build a new index for the store in the background. Searches use the old index until then.
func (b *Backend) startRebuild(storeID string, r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || !r.rebuilding.CompareAndSwap(false, true) {
		return
	}
	b.rebuilds.Go(func() {
		defer r.rebuilding.Store(false)
		ctx, cancel := context.WithTimeout(b.ctx, maxReload)
		defer cancel()
		if err := b.rebuild(ctx, storeID, r); err != nil && b.ctx.Err() == nil && !errors.Is(err, index.ErrClosed) {
			b.logger.Warn("an index could not be rebuilt; the next write tries again", slog.String("store", storeID), slog.Any("error", err))
		}
	})
}

// rebuild builds a snapshot and puts it in the place of the one in use as soon as it has caught up with it.
func (b *Backend) rebuild(ctx context.Context, storeID string, r *replica) error {
	all, err := b.store.Changes(ctx, storeID, catalog.Position{})
	if err != nil {
		return err
	}
	s, err := b.build(ctx, storeID, all, true)
	if err != nil {
		return err
	}
	follow := func() error {
		c, err := b.store.Changes(ctx, storeID, s.position)
		if err == nil {
			_, err = s.apply(ctx, c)
		}
		return err
	}
	// Most of what was written meanwhile is taken in before readers have to wait for it.
	if err := follow(); err != nil {
		return errors.Join(err, s.index.Close())
	}
	select {
	case r.syncing <- struct{}{}:
		defer func() { <-r.syncing }()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.index.Close())
	}
	if err := follow(); err != nil {
		return errors.Join(err, s.index.Close())
	}
	return r.replace(s)
}

// VectorLeg implements index.Backend.
func (b *Backend) VectorLeg(_ context.Context, storeID string) string {
	b.mu.Lock()
	r := b.replicas[storeID]
	b.mu.Unlock()
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

func (r *replica) position() catalog.Position {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.snapshot.position
}
