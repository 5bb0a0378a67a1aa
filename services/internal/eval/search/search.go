// Package search evaluates a product search on queries whose relevant products are known: it reads products and judgments,
// writes the products into a catalog, puts the queries to one pipeline of search legs after the other, and computes the
// figures, whose formulas are in docs/evaluation.md.
//
// The package must not import a service: it reaches catalogs through their clients. It opens no files, and reads no flags and
// no environment.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/load"
)

const (
	// StoreID is the id of the store that the products are written into.
	StoreID = "eval"
	// progressEvery is the time between two lines of progress.
	progressEvery = 5 * time.Second
)

// Config says what is measured. Progress and Repeat are optional.
type Config struct {
	// Queries are the judged queries, at least one.
	Queries []Query
	// Products are read as [Products] says.
	Products io.Reader
	// Catalog takes the products. All pipelines search the state that it writes.
	Catalog catalogv1.CatalogServiceClient
	// Pipelines are measured one after the other, at least one. The others are compared with the first.
	Pipelines []Pipeline
	// Baselines adds plain BM25 over words and over character n-grams to the report.
	Baselines bool
	// Repeat is how often each query is timed. Zero: once.
	Repeat int
	// Progress gets a line every few seconds. Nil: not called.
	Progress func(line string)
}

// Pipeline is a search with some of the legs.
type Pipeline struct {
	// Name says which legs the pipeline has, joined by "+", such as "lexical+vector".
	Name string
	// Open starts a search service with these legs. The caller calls closeService.
	Open func(ctx context.Context) (catalog catalogv1.CatalogServiceClient, closeService func() error, err error)
	// Embedder is the embedder of the service. Nil: the pipeline has no vectors.
	Embedder *WatchedEmbedder
	// KeepsVectors says that the service's index may have the products' vectors from the pipeline before.
	KeepsVectors bool
}

// Run loads the products, measures each pipeline and returns the figures. A wrong or refused product is a *LinesError.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	switch {
	case cfg.Catalog == nil || cfg.Products == nil:
		return nil, errors.New("eval search: Catalog and Products are required")
	case len(cfg.Queries) == 0 || len(cfg.Pipelines) == 0:
		return nil, errors.New("eval search: there must be a query and a pipeline")
	case cfg.Repeat < 0:
		return nil, fmt.Errorf("eval search: Repeat is %d, must not be negative", cfg.Repeat)
	}
	e := &evaluation{Config: cfg, report: &Report{}}
	if cfg.Baselines {
		e.baselines = baselines()
	}
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	var all []Ranked
	for _, p := range cfg.Pipelines {
		outcomes, err := e.measure(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, Ranked{Name: p.Name, Outcomes: outcomes})
	}
	var plain []Ranked
	for _, b := range e.baselines {
		plain = append(plain, Ranked{Name: b.name, Outcomes: b.rank(cfg.Queries)})
	}
	report := Measure(all, plain...)
	report.Products, report.LoadMillis = e.report.Products, e.report.LoadMillis
	report.IndexMillis, report.EmbedMillis = e.report.IndexMillis, e.report.EmbedMillis
	return report, nil
}

// evaluation is one run.
type evaluation struct {
	Config
	baselines []*baseline
	report    *Report   // the figures of loading
	told      time.Time // when the last line of progress was told
}

// load writes the products. Nothing is measured when one is refused.
func (e *evaluation) load(ctx context.Context) error {
	begun := time.Now()
	loaded, err := load.Products(ctx, e.Catalog, StoreID, watch(Products(e.Products), e.baselines))
	if err != nil {
		return err
	}
	e.report.Products, e.report.LoadMillis = loaded.Taken, millis(time.Since(begun))
	return refused(loaded, "products as in docs/data.md, or data sheets as in docs/evaluation.md")
}

// refused is a *LinesError if something was refused, or if nothing was loaded.
func refused(loaded load.Report, wanted string) error {
	if loaded.Refused == 0 && loaded.Taken > 0 {
		return nil
	}
	wrong := &LinesError{Wanted: wanted}
	for _, r := range loaded.Refusals {
		wrong.Problems = append(wrong.Problems, fmt.Sprintf("line %d: %s", r.Line, r.What))
	}
	return wrong
}

// measure puts the queries to a pipeline once all its legs take part.
func (e *evaluation) measure(ctx context.Context, p Pipeline) (_ []Outcome, err error) {
	if p.Embedder != nil {
		p.Embedder.begin()
	}
	catalog, closeService, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeService()) }()
	begun := time.Now()
	first, err := catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: StoreID, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("first search: %w", cmp.Or(ctx.Err(), err))
	}
	e.told = time.Now()
	e.report.IndexMillis = cmp.Or(e.report.IndexMillis, millis(time.Since(begun)))
	if p.Embedder != nil {
		if err := e.waitForVectors(ctx, p, catalog, int(first.GetTotalCount())); err != nil {
			return nil, err
		}
		e.report.EmbedMillis = cmp.Or(e.report.EmbedMillis, millis(time.Since(begun)))
	}
	r := ranker{catalog: catalog, storeID: StoreID, repeat: e.Repeat, progress: func(searched int) {
		e.tell("%s: %d of %d queries searched", p.Name, searched, len(e.Queries))
	}}
	return r.run(ctx, e.Queries)
}

// tell reports progress, unless it did so a moment ago.
func (e *evaluation) tell(format string, args ...any) {
	if e.Progress != nil && time.Since(e.told) >= progressEvery {
		e.told = time.Now()
		e.Progress(fmt.Sprintf(format, args...))
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
