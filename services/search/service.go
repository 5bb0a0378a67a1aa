// Package search serves a store's catalog and the search specialist, which answers product questions from it.
//
// Package catalog keeps the products, package index finds them, in one of two backends. server.go has the RPCs, specialist.go
// the specialist and its tool.
//
// The package must not import another service; it is reached through the generated clients of catalog.v1 and
// specialist.v1.
package search

import (
	"fmt"
	"log/slog"

	"google.golang.org/grpc"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/state"
	weaviateclient "github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/memory"
	"github.com/quartet-commerce/quartet/services/search/index/weaviate"
)

// Config is what the service needs.
type Config struct {
	// Deps are the dependencies that all specialist services have. Redis keeps the products.
	specialist.Deps
	Settings
}

// Settings says how products are searched. The zero value searches by words, with an index in memory.
type Settings struct {
	// Synonyms are groups of phrases, of one or two words each, that mean the same to a store's shoppers, by store. Groups under
	// AllStores hold in every store. Nil: only the synonyms that the service knows.
	Synonyms map[string][][]string
	// Cluster keeps the index. Nil: each replica keeps it in memory. The caller closes it.
	Cluster *weaviateclient.Client
	// Memory bounds the index in memory. The zero value has defaults.
	Memory MemoryOptions
	// Embedder makes vectors, for a search by meaning. Nil: search by words only.
	Embedder index.Embedder
	// Reranker orders the best hits. Nil: they keep their order.
	Reranker index.Reranker
}

// Validate says what is missing.
func (c Config) Validate() error {
	if err := c.Deps.Validate("search"); err != nil {
		return err
	}
	if err := index.CheckSynonyms(c.Synonyms); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// MemoryOptions bound what each replica keeps in memory where there is no Cluster.
type MemoryOptions = memory.Options

// Defaults of MemoryOptions.
const (
	DefaultMaxStores = memory.DefaultMaxStores
	DefaultIdleTime  = memory.DefaultIdleTime
)

// CheckSynonyms says which group of synonyms cannot be used, and why.
func CheckSynonyms(synonyms map[string][][]string) error { return index.CheckSynonyms(synonyms) }

// Service is the search service. It is safe for concurrent use.
type Service struct {
	store      catalog.Store
	backend    index.Backend
	searcher   *index.Searcher
	vocabulary *index.Vocabulary
	facts      *state.TTLCache[storeFacts]
	logger     *slog.Logger
	specialist *specialist.Server
	// prefetchVersion is true where the backend asks for the version of the catalog, which a turn can do ahead.
	prefetchVersion bool
}

// New returns a service, or an error that says what the configuration lacks. It reads nothing yet. Close it after the
// server has stopped.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Logger = cfg.Log()
	s := &Service{
		store: catalog.Store{Redis: cfg.Redis}, searcher: index.NewSearcher(cfg.Embedder, cfg.Reranker, cfg.Logger),
		vocabulary: index.NewVocabulary(cfg.Synonyms), facts: state.NewTTLCache[storeFacts](factsTTL), logger: cfg.Logger,
	}
	if cfg.Cluster != nil {
		s.backend = weaviate.New(s.store, cfg.Cluster, cfg.Embedder, cfg.Logger)
	} else {
		s.backend, s.prefetchVersion = memory.New(s.store, cfg.Embedder, cfg.Logger, cfg.Memory), true
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
	catalogv1.RegisterCatalogServiceServer(r, &server{Service: s})
	s.specialist.Register(r)
}

// Close frees the indexes and ends the work on vectors. No call may be under way.
func (s *Service) Close() error { return s.backend.Close() }
