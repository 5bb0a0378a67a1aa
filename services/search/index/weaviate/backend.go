// Package weaviate is the backend that keeps the stores' products in a Weaviate cluster which all replicas share. The cluster
// selects the best products by words, filters and vectors; the replica ranks those by package index's means. A manifest in Redis
// says which products the cluster has.
//
// The package must not import package memory.
package weaviate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// Backend keeps the stores' products in a search cluster, one tenant for each store. Whichever replica first reads a new
// version of a catalog brings the cluster up to date. A replica itself holds no catalog, only statistics and the products
// that it used last.
type Backend struct {
	store     catalog.Store
	client    *weaviate.Client
	schema    int
	embedder  index.Embedder // nil: there are no vectors
	logger    *slog.Logger
	documents *documentCache

	ctx    context.Context // of what goes on in the background
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex // guards the rest
	closed bool
	stores map[string]*storeState
}

// storeState is what a replica knows of one store.
type storeState struct {
	syncing chan struct{} // holds one token while a reader of this replica catches up

	mu         sync.Mutex // guards the rest
	rebuilding bool
	embedding  bool
	embedded   int64  // the version up to which all products are known to have vectors
	collection string // that the statistics are of
	revision   int64  // of the sums that the statistics are made of
	statistics index.Statistics
	means      [index.NumFields]float64
	counted    int64 // the node that is known to have all products of the statistics, plus one
	stems      stemCache
}

// stemCache keeps the stems of a collection that misspelt words were compared with, since a large store has thousands that begin with one
// letter.
type stemCache struct {
	mu         sync.Mutex // guards the rest
	collection string
	version    int64 // of the catalog
	stems      map[string][]string
}

// of returns the stems that begin with a letter, as the manifest has them at a version of the catalog.
func (c *stemCache) of(ctx context.Context, m manifest, collection string, version int64, letter string) ([]string, error) {
	c.mu.Lock()
	if c.stems == nil || c.collection != collection || c.version != version {
		c.collection, c.version, c.stems = collection, version, make(map[string][]string)
	}
	kept := c.stems // of this version; another may begin while they are read
	all, ok := kept[letter]
	c.mu.Unlock()
	if ok {
		return all, nil
	}
	all, err := m.stems(ctx, collection, letter)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	kept[letter] = all
	c.mu.Unlock()
	return all, nil
}

const (
	// collectionPrefix begins the names of all collections.
	collectionPrefix = "QuartetProducts"
	// maxTries is how often a read is begun again when a node knows less than it should.
	maxTries = 8
	// againAfter is the wait before the second try. Each further one is as much longer.
	againAfter = 25 * time.Millisecond
)

// errIncomplete says that a node lacks objects that were written.
var errIncomplete = errors.New("a node of the search index lacks products")

// New returns a backend over what s holds, in the cluster of client, which the caller owns. A nil embedder makes no vectors. Close it.
func New(s catalog.Store, client *weaviate.Client, embedder index.Embedder, logger *slog.Logger) *Backend {
	c := &Backend{
		store: s, client: client, schema: clusterSchema, embedder: embedder, logger: logger, documents: newDocumentCache(),
		stores: make(map[string]*storeState),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// collection is the name of the collection that this program fills. It has the schema and the model of the vectors in it, since
// vectors of two models cannot be compared.
func (c *Backend) collection() string {
	name := collectionPrefix + strconv.Itoa(c.schema)
	if c.embedder == nil {
		return name
	}
	model := "unnamed"
	if m, ok := c.embedder.(interface{ Model() string }); ok {
		model = m.Model()
	}
	sum := sha256.Sum256([]byte(model))
	return name + "V" + hex.EncodeToString(sum[:4])
}

// outdated reports whether this program's collection is to replace another one. It is not when the other has a newer schema,
// nor when the other has vectors and this program makes none.
func (c *Backend) outdated(collection string) bool {
	schema := schemaOf(collection)
	return schema < c.schema || schema == c.schema && c.embedder != nil && collection != c.collection()
}

// schemaOf is the schema of a collection, zero for a name without a number.
func schemaOf(collection string) int {
	number, _, _ := strings.Cut(strings.TrimPrefix(collection, collectionPrefix), "V")
	schema, _ := strconv.Atoi(number)
	return schema
}

// tenant is the name of a store in the cluster, which allows fewer characters.
func tenant(storeID string) string {
	sum := sha256.Sum256([]byte(storeID))
	return hex.EncodeToString(sum[:16])
}

// Read implements index.Backend. It calls fn again when a node turns out to lack what it should have: a collection that was
// just made or replaced, or objects that it has missed.
func (c *Backend) Read(ctx context.Context, storeID string, _ index.VersionFunc, fn func(v *index.View) error) error {
	for tries := 1; ; tries++ {
		v, collection, err := c.view(ctx, storeID)
		if err == nil {
			err = fn(v)
		} else {
			err = fmt.Errorf("catch up with catalog: %w", err)
		}
		if !weaviate.Missing(err) && !errors.Is(err, errIncomplete) {
			return err
		}
		if tries == maxTries {
			return &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "search index", Err: err}
		}
		if tries == maxTries-1 {
			if err := c.repair(ctx, storeID, collection, err); err != nil {
				return err
			}
			continue
		}
		c.client.Next()
		if err := pause(ctx, time.Duration(tries)*againAfter); err != nil {
			return err
		}
	}
}

// repair fills a collection from Redis again after it has lost products. It does nothing while some nodes were not asked,
// which may have them.
func (c *Backend) repair(ctx context.Context, storeID, collection string, why error) error {
	members, err := c.client.Members(ctx)
	if err != nil {
		return err
	}
	if collection == "" || errors.Is(why, errIncomplete) && c.client.Nodes() < members {
		return nil
	}
	_, err = c.leased(ctx, c.manifest(storeID), collection, func(ctx context.Context, w *writer) error {
		c.logger.Error("the search index has lost products of a store; it is filled again", "store", storeID, "error", why)
		return w.forget(ctx, collection)
	})
	return err // or another replica writes; the next try shows
}

// view is the store's catalog as of now, in a collection.
func (c *Backend) view(ctx context.Context, storeID string) (*index.View, string, error) {
	m := c.manifest(storeID)
	st, err := m.status(ctx)
	if err != nil {
		return nil, "", err
	}
	if st.version == 0 {
		return index.EmptyView(), "", nil
	}
	s, err := c.storeOf(storeID)
	if err != nil {
		return nil, "", err
	}
	for st.active == "" || st.indexed[st.active] != st.version {
		if err := c.catchUp(ctx, m, s); err != nil {
			return nil, "", err
		}
		was := st.version
		if st, err = m.status(ctx); err != nil {
			return nil, "", err
		}
		if st.active != "" && st.indexed[st.active] >= was && was > 0 {
			break // later writes need not be seen
		}
	}
	if c.outdated(st.active) {
		c.rebuild(m, s, st.active)
	}
	if st.active == c.collection() {
		c.embed(m, s, st.version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.collection != st.active || s.revision != st.sums[st.active] {
		if s.statistics, s.means, err = m.statistics(ctx, st.active); err != nil {
			return nil, "", err
		}
		s.collection, s.revision, s.counted = st.active, st.sums[st.active], 0
	}
	if node := c.client.Node() + 1; s.counted != node {
		n, err := c.client.Count(ctx, st.active, tenant(storeID), weaviate.Where{})
		if err != nil {
			return nil, st.active, err
		}
		if n[0] < s.statistics.Products {
			return nil, st.active, fmt.Errorf("%w: %d of %d", errIncomplete, n[0], s.statistics.Products)
		}
		s.counted = node
	}
	v := &index.View{Statistics: s.statistics}
	v.Index = &storeIndex{
		backend: c, manifest: m, collection: st.active, version: st.indexed[st.active], statistics: s.statistics, means: s.means, stems: &s.stems,
	}
	return v, st.active, nil
}

// manifest returns the manifest of a store.
func (c *Backend) manifest(storeID string) manifest {
	return manifest{rdb: c.store.Redis, storeID: storeID}
}

// storeOf returns the state of a store that has a catalog.
func (c *Backend) storeOf(storeID string) (*storeState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, index.ErrClosed
	}
	s := c.stores[storeID]
	if s == nil {
		s = &storeState{syncing: make(chan struct{}, 1)}
		c.stores[storeID] = s
	}
	return s, nil
}

// rebuild fills this program's collection in the background. Searches use the older one until then.
func (c *Backend) rebuild(m manifest, s *storeState, old string) {
	s.mu.Lock()
	begun := s.rebuilding
	s.rebuilding = true
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if begun || c.closed {
		return
	}
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, maxReload)
		defer cancel()
		err := c.replace(ctx, m, old)
		s.mu.Lock()
		s.rebuilding = err == nil // else the next read begins again
		s.mu.Unlock()
		if err != nil && c.ctx.Err() == nil {
			c.logger.Warn("the search index could not be rebuilt; searches use the old one", "store", m.storeID, "error", err)
		}
	})
}

// Close ends what goes on in the background. Calls that are under way finish; later ones fail.
func (c *Backend) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
	return nil
}

// documentCache keeps the products that were seen last, by the hash of what they say, so what is kept is never out of date.
type documentCache struct {
	mu         sync.Mutex
	young, old map[uuid.UUID]*document
}

// documentsKept bounds each half of the cache; a product takes about 5 KB.
const documentsKept = 15_000

func newDocumentCache() *documentCache { return &documentCache{young: make(map[uuid.UUID]*document)} }

func (r *documentCache) get(hash uuid.UUID) *document {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.young[hash]; s != nil {
		return s
	}
	s := r.old[hash]
	if s != nil {
		r.keep(hash, s)
	}
	return s
}

func (r *documentCache) put(hash uuid.UUID, s *document) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(hash, s)
}

// keep is called with the lock held.
func (r *documentCache) keep(hash uuid.UUID, s *document) {
	if len(r.young) >= documentsKept {
		r.young, r.old = make(map[uuid.UUID]*document), r.young
	}
	r.young[hash] = s
}
