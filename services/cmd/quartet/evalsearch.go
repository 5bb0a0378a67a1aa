package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/searcheval"
)

const evalSearchAbout = `Loads products into a search service of its own, puts judged queries to it and compares what it ranks first with what
people judged relevant. Products are JSON Lines as for 'quartet load', or data sheets of a public collection; judgments
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
	level               *slog.Level
}

func addSearchFlags(fs *flag.FlagSet) *searchFlags {
	f := &searchFlags{level: logLevel(fs, slog.LevelWarn), index: addIndexFlag(fs)}
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
	return nil
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
	*searcheval.Report
	// Products is how many there are.
	Products int `json:"products"`
	// LoadMillis is how long it took to write them, and IndexMillis how long until the first search was answered.
	LoadMillis  float64 `json:"load_ms"`
	IndexMillis float64 `json:"index_ms"`
}

// readJudgments reads the queries. Wrong lines are a mistake of the caller's, as a wrong flag is.
func (f *searchFlags) readJudgments(env environment) (queries []searcheval.Query, err error) {
	err = reading(f.judgments, env, func(in io.Reader) error {
		queries, err = searcheval.Judgments(in)
		return err
	})
	var wrong *searcheval.LinesError
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

// measure loads the products into a search service in this process, as a deployment has it, and searches them, telling on
// the way how far it is when that takes long. No model is asked, and none has to be configured.
func (f *searchFlags) measure(ctx context.Context, queries []searcheval.Query, env environment) (_ *searchReport, err error) {
	quiet := env
	quiet.get = func(string) string { return "" }
	h, err := openHouse(ctx, houseConfig{models: &modelFlags{}, index: f.index, logger: newLogger(env, *f.level)}, quiet)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
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
	begun := time.Now()
	if _, err := clients.Catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: evalStore, Limit: 1}); err != nil {
		return nil, fmt.Errorf("first search: %w", told(err))
	}
	report.IndexMillis = millis(time.Since(begun))
	last := time.Now()
	outcomes, err := searcheval.Run(ctx, searcheval.Config{
		Catalog: clients.Catalog, StoreID: evalStore, Repeat: f.repeat,
		Progress: func(searched int) {
			if time.Since(last) >= progressEvery {
				last = time.Now()
				fmt.Fprintf(env.err, "quartet eval: %d of %d queries searched\n", searched, len(queries))
			}
		},
	}, queries)
	if err != nil {
		return nil, err
	}
	report.Report = searcheval.Measure(outcomes)
	return report, nil
}

// load writes the products. Nothing is measured when any is refused.
func (f *searchFlags) load(ctx context.Context, catalog catalogv1.CatalogServiceClient, report *searchReport, env environment) error {
	begun := time.Now()
	var loaded load.Report
	err := reading(f.products, env, func(in io.Reader) (err error) {
		loaded, err = load.Products(ctx, catalog, evalStore, searcheval.Products(in))
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", f.products, told(err))
	}
	report.Products, report.LoadMillis = loaded.Taken, millis(time.Since(begun))
	wrong := &searcheval.LinesError{Wanted: "products as in docs/data.md, or data sheets as in docs/evaluation.md"}
	for _, r := range loaded.Refusals {
		wrong.Problems = append(wrong.Problems, fmt.Sprintf("line %d: %s", r.Line, r.What))
	}
	if loaded.Refused > 0 || loaded.Taken == 0 {
		return usagef("%s: %w", f.products, wrong)
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// printSearchReport prints the figures for a person.
func printSearchReport(w io.Writer, r *searchReport) {
	fmt.Fprintf(w, "products: %d · queries: %d, without a relevant product: %d · judgments: %d\n",
		r.Products, r.Queries, r.WithoutRelevant, r.Judgments)
	rows := [][]string{{"legs", "queries", "nDCG@10", "nDCG@5", "condensed nDCG@10", "recall@100", "no answer", "median", "p99"}}
	rows = append(rows, figuresRow("all", r.Figures))
	for _, legs := range slices.Sorted(maps.Keys(r.Legs)) {
		rows = append(rows, figuresRow(legs, r.Legs[legs]))
	}
	printTable(w, rows)
	fmt.Fprintf(w, "\nloaded in %.0f ms, first answer after %.0f ms\n", r.LoadMillis, r.IndexMillis)
	for _, m := range r.Misses {
		fmt.Fprintf(w, "\n%q  nDCG@10 %.3f · condensed %.3f · recall@100 %.3f\n", m.Query, m.NDCG10, m.CondensedNDCG10, m.Recall100)
		for i, h := range m.Hits {
			grade := "-"
			if h.Grade != nil {
				grade = strconv.Itoa(*h.Grade)
			}
			fmt.Fprintf(w, "  %2d  %2s  %s  %s\n", i+1, grade, h.ProductID, start(h.Title, shownText))
		}
		if len(m.Missing) > 0 {
			fmt.Fprintf(w, "  relevant and not found: %s\n", strings.Join(m.Missing, " "))
		}
	}
}

func figuresRow(name string, f searcheval.Figures) []string {
	return []string{
		name, strconv.Itoa(f.Queries), mean(f.NDCG10), mean(f.NDCG5), mean(f.CondensedNDCG10), mean(f.Recall100),
		strconv.Itoa(f.NoAnswer), fmt.Sprintf("%.1f ms", f.P50), fmt.Sprintf("%.1f ms", f.P99),
	}
}

// mean returns a mean with three digits, or a dash when there is none.
func mean(m searcheval.Mean) string {
	v, ok := m.Value()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}
