// Package search serves a store's catalog and the search specialist, which answers product questions from it.
//
// Products live in Redis. What is searched is made of them: in the memory of every replica, or in a cluster that all share. It is
// brought up to date when it is asked: a write is seen by every replica as soon as it has returned, and by assignments that
// begin then. What a search is, what it counts and how it ranks is above both and the same (pool.go says what they must do);
// filters, prices, stock, counts and extremes are computed here, exactly, over everything that is found. Vectors of the products,
// where an embedder is configured, are made in the background and come later; until then, and whenever they fail, searches go by
// words.
//
// The package must not import another service; it is reached through the generated clients of catalog.v1 and
// specialist.v1.
package search

import (
	"fmt"

	"google.golang.org/grpc"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
)

// Config is what the service needs.
type Config struct {
	// Deps are what all specialist services share. Redis keeps the products.
	specialist.Deps
	// NewIndex makes an empty index, one for each store. Nil: one in memory, BM25 over stems.
	NewIndex func() (Index, error)
	// Synonyms are groups of phrases, of one or two words each, that mean the same to a store's shoppers, by store. Those under
	// AllStores hold in every store. Nil: those that the service knows by itself.
	Synonyms map[string][][]string
	// Cluster keeps what is searched in place of the memory of each replica. Nil: it is kept in memory. The caller closes it.
	Cluster *weaviate.Client
	// Embedder makes the vectors for a search by meaning. Nil: searches go by words alone.
	Embedder Embedder
	// Reranker has the last word on the order of the best hits. Nil: none has.
	Reranker Reranker
}

// Validate says what is missing.
func (c Config) Validate() error {
	if err := c.Deps.Validate("search"); err != nil {
		return err
	}
	if err := CheckSynonyms(c.Synonyms); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// Service is the search service. It is safe for concurrent use.
type Service struct {
	catalog    *catalog
	hybrid     *hybrid
	vocabulary *vocabulary
	specialist *specialist.Server
}

// New returns a service, or an error that says what the configuration lacks. It reads nothing yet. Close it after the
// server has stopped.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.NewIndex == nil {
		cfg.NewIndex = newBleveIndex
	}
	cfg.Logger = cfg.Log()
	s := &Service{catalog: newCatalog(store{rdb: cfg.Redis}, cfg.NewIndex), hybrid: newHybrid(cfg), vocabulary: newVocabulary(cfg.Synonyms)}
	s.catalog.embedder, s.catalog.logger = cfg.Embedder, cfg.Logger
	if cfg.Cluster != nil {
		s.catalog.cluster = newCluster(s.catalog.store, cfg.Cluster, cfg.Embedder, cfg.Logger)
	}
	var err error
	s.specialist, err = specialist.New(s.definition(), cfg.Deps)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Register registers CatalogService and SpecialistService.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	catalogv1.RegisterCatalogServiceServer(r, &server{catalog: s.catalog, hybrid: s.hybrid, vocabulary: s.vocabulary})
	s.specialist.Register(r)
}

// Close frees the indexes and ends the work on vectors. No call may be under way.
func (s *Service) Close() error { return s.catalog.close() }
