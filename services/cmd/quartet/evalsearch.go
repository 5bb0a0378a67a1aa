package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	evalsearch "github.com/quartet-commerce/quartet/services/internal/eval/search"
	"github.com/quartet-commerce/quartet/services/internal/load"
)

const evalSearchAbout = `Loads products into a search service of its own, puts judged queries to it and compares what it ranks first with what
people judged relevant: by words alone, and with each further leg that is configured. Products are JSON Lines as for 'quartet load', or data sheets of a public collection; judgments
are CSV: query,docid,rating. Both may be gzip; "-" is stdin. docs/evaluation.md says what each figure means.`

const (
	// evalStore is the store that the products are loaded into.
	evalStore = "eval"
	// maxEval bounds a measurement.
	maxEval = time.Hour
)

// searchFlags say what is measured and how it is shown.
type searchFlags struct {
	products, judgments string
	index               *indexFlag
	repeat              int
	json, misses        bool
	legs                *legFlags
	level               *slog.Level
}

func addSearchFlags(fs *flag.FlagSet) *searchFlags {
	f := &searchFlags{legs: addLegFlags(fs), level: logLevel(fs, slog.LevelWarn), index: addIndexFlag(fs)}
	fs.StringVar(&f.products, "products", "", "`file` of products")
	fs.StringVar(&f.judgments, "judgments", "", "`file` of judged queries")
	fs.IntVar(&f.repeat, "repeat", 1, "`number` of times that each query is timed")
	fs.BoolVar(&f.json, "json", false, "print the figures as one JSON object and nothing else")
	fs.BoolVar(&f.misses, "misses", false, "print each query whose first 10 hits are not the best, the worst first")
	return f
}

func (f *searchFlags) check(rest []string) error {
	const usage = "such as: quartet eval search --products products.jsonl --judgments judgments.csv"
	switch {
	case len(rest) > 0:
		return usagef("unexpected argument %q; give files by flags, %s", rest[0], usage)
	case f.products == "" || f.judgments == "":
		return usagef("give --products and --judgments, %s", usage)
	case f.products == "-" && f.judgments == "-":
		return usagef("stdin can not be both --products and --judgments")
	case f.repeat < 1:
		return usagef("--repeat is %d, must be at least 1", f.repeat)
	}
	_, _, err := f.legs.check()
	return err
}

func runEvalSearch(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("eval", "search", evalSearchAbout, env)
	f := addSearchFlags(fs)
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if err := f.check(rest); err != nil {
		return err
	}
	queries, err := f.readJudgments(env)
	if err != nil {
		return err
	}
	report, err := f.measure(ctx, queries, env)
	if err != nil {
		return err
	}
	if !f.misses {
		report.Misses = nil
	}
	if f.json {
		return printReportJSON(env.out, report)
	}
	printSearchReport(env.out, report)
	return nil
}

// searchReport is what is printed.
type searchReport struct {
	*evalsearch.Report
	// Products is how many there are.
	Products int `json:"products"`
	// LoadMillis is how long it took to write them, IndexMillis how long until the first search by words was answered, and
	// EmbedMillis how long until all had a vector. Zero: none were made.
	LoadMillis  float64 `json:"load_ms"`
	IndexMillis float64 `json:"index_ms"`
	EmbedMillis float64 `json:"embed_ms,omitzero"`
}

// readJudgments reads the queries. Wrong lines are a mistake of the caller's, as a wrong flag is.
func (f *searchFlags) readJudgments(env environment) (queries []evalsearch.Query, err error) {
	err = reading(f.judgments, env, func(in io.Reader) error {
		queries, err = evalsearch.Judgments(in)
		return err
	})
	var wrong *evalsearch.LinesError
	if errors.As(err, &wrong) {
		return nil, usagef("%s: %w", f.judgments, err)
	}
	return queries, err
}

// reading calls fn with what a path stands for: a file, or stdin.
func reading(path string, env environment, fn func(io.Reader) error) error {
	if path == "-" {
		return fn(env.in)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return fn(file)
}

// measure loads the products into services in this process, as a deployment has them, and searches them with one leg more at a
// time, telling on the way how far it is when that takes long. No language model is asked, and none has to be configured.
func (f *searchFlags) measure(ctx context.Context, queries []evalsearch.Query, env environment) (_ *searchReport, err error) {
	quiet := env
	quiet.get = func(string) string { return "" }
	h, err := openHouse(ctx, houseConfig{models: &modelFlags{}, logger: newLogger(env, *f.level)}, quiet)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	whole := h.cfg
	closeLegs, err := f.legs.open(&whole, env)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeLegs()) }()
	closeIndex, err := f.index.open(&whole, env)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	clients, closeClients, err := dialData(h.cfg)
	if err != nil {
		return nil, err
	}
	defer closeClients()
	// Large catalogs take longer to load than servers allow a call that has no deadline.
	ctx, cancel := context.WithTimeout(ctx, maxEval)
	defer cancel()
	report := &searchReport{}
	if err := f.load(ctx, clients.Catalog, report, env); err != nil {
		return nil, err
	}
	var measured []evalsearch.Pipeline
	for _, p := range pipelinesOf(whole) {
		m := &searchMeasurement{pipeline: p, queries: queries, repeat: f.repeat, env: env}
		outcomes, err := m.run(ctx, report)
		if err != nil {
			return nil, err
		}
		measured = append(measured, evalsearch.Pipeline{Name: p.name, Outcomes: outcomes})
	}
	report.Report = evalsearch.Measure(measured)
	return report, nil
}

// load writes the products. Nothing is measured when any is refused.
func (f *searchFlags) load(ctx context.Context, catalog catalogv1.CatalogServiceClient, report *searchReport, env environment) error {
	begun := time.Now()
	var loaded load.Report
	err := reading(f.products, env, func(in io.Reader) (err error) {
		loaded, err = load.Products(ctx, catalog, evalStore, evalsearch.Products(in))
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", f.products, told(err))
	}
	report.Products, report.LoadMillis = loaded.Taken, millis(time.Since(begun))
	wrong := &evalsearch.LinesError{Wanted: "products as in docs/data.md, or data sheets as in docs/evaluation.md"}
	for _, r := range loaded.Refusals {
		wrong.Problems = append(wrong.Problems, fmt.Sprintf("line %d: %s", r.Line, r.What))
	}
	if loaded.Refused > 0 || loaded.Taken == 0 {
		return usagef("%s: %w", f.products, wrong)
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
