package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	flag "github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
	evalsearch "github.com/quartet-commerce/quartet/services/internal/eval/search"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/router"
	"github.com/quartet-commerce/quartet/services/suite"
)

// The routers that can be measured.
const (
	routerRules = "rules"
	routerModel = "model"
	routerAuto  = "auto"
)

// progressEvery is the time between two lines of progress.
const progressEvery = 5 * time.Second

const evalRoutingAbout = `Routes the messages of a labelled set and compares the decided specialists with the right ones. A set is JSON Lines;
"-" is stdin. A line is {"id":"m1","text":"where is my order?","gold":["support"]}. Optional fields: "kind" and "language" for
a breakdown, and "history", the conversation before: a string is the shopper's, else {"role":"assistant","text":"..."}.
docs/evaluation.md defines each figure. 'quartet eval search --help' is about the search,
'quartet eval confidence --help' about the confidence of replies, 'quartet eval grounding --help' about the checks of claims,
'quartet eval turns --help' about whole conversations.`

const evalSearchAbout = `Loads products into a search service of its own, puts judged queries to it, and compares its ranking with the products that
people judged relevant: by words alone, and then with each further leg that is configured. Products are JSON Lines as for
'quartet load', or data sheets of a public collection; judgments are CSV: query,docid,rating. Both may be gzip; "-" is stdin.
With --documents, it measures the search of policy documents; the docid of a passage is the document's id, "#" and the section.
docs/evaluation.md defines each figure.`

// maxEvalSearch bounds the evaluation of a search. Large catalogs take longer to load than servers allow without a deadline.
const maxEvalSearch = time.Hour

// routingFlags say what is measured and how it is shown.
type routingFlags struct {
	models   *modelFlags
	embed    *legFlags
	router   string
	parallel int
	json     bool
	misses   bool
	level    *slog.Level
}

func addRoutingFlags(fs *flag.FlagSet) *routingFlags {
	f := &routingFlags{models: addModelFlags(fs), embed: addEmbedFlags(fs), level: logLevel(fs, slog.LevelWarn)}
	fs.StringVar(&f.router, "router", routerRules, "`router` that decides: rules, the classifier without a model; auto, the model where the classifier is not certain, as in a deployment; or model, always the model. The model is the fast one. If none is configured, auto is rules, and model the offline model")
	fs.IntVar(&f.parallel, "parallel", 4, "`number` of messages that are routed at once; the classifier alone routes one at a time")
	fs.BoolVar(&f.json, "json", false, "print only the figures, as one JSON object")
	fs.BoolVar(&f.misses, "misses", false, "print each message that was routed wrong")
	return f
}

// runEval measures what the first argument says.
func runEval(ctx context.Context, args []string, env environment) error {
	if len(args) > 0 && args[0] == "search" {
		return runEvalSearch(ctx, args[1:], env)
	}
	if len(args) > 0 && args[0] == "confidence" {
		return runEvalConfidence(ctx, args[1:], env)
	}
	if len(args) > 0 && args[0] == "turns" {
		return runEvalTurns(ctx, args[1:], env)
	}
	if len(args) > 0 && args[0] == "grounding" {
		return runEvalGrounding(ctx, args[1:], env)
	}
	return runEvalRouting(ctx, args, env)
}

func runEvalRouting(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("eval", "routing FILE", evalRoutingAbout, env)
	f := addRoutingFlags(fs)
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if err := f.check(rest); err != nil {
		return err
	}
	l, err := f.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	f.embed.route = f.embed.embedURL != ""
	closeEmbedder, err := f.embed.openRouting(&l.cfg, env)
	if err != nil {
		return err
	}
	defer closeEmbedder()
	b, closeRouter, err := f.newRouter(ctx, l.cfg, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRouter()) }()
	messages, err := readSet(rest[1], b.names, env)
	if err != nil {
		return err
	}
	report, err := b.measure(ctx, messages, env)
	if err != nil {
		return err
	}
	if !f.misses {
		report.Misses = nil
	}
	if f.json {
		return printReportJSON(env.out, report)
	}
	report.Print(env.out, b.note)
	return nil
}

func (f *routingFlags) check(rest []string) error {
	const usage = "such as: quartet eval routing messages.jsonl"
	switch {
	case len(rest) == 0:
		return usagef("say what to measure, %s", usage)
	case rest[0] != "routing":
		return usagef("cannot measure %q; routing can be measured, %s, and so can search, confidence, grounding and turns: quartet eval search --help", rest[0], usage)
	case len(rest) != 2:
		return usagef("give one file or - for stdin, %s", usage)
	case !slices.Contains([]string{routerRules, routerModel, routerAuto}, f.router):
		return usagef("unknown router %q; the routers are: rules, model, auto", f.router)
	case f.parallel < 1:
		return usagef("--parallel is %d, must be at least 1", f.parallel)
	}
	_, _, err := f.embed.check()
	return err
}

// open starts all six services with the demo stores, so that the specialists describe themselves as in a deployment. The classifier
// alone needs no configured model.
func (f *routingFlags) open(ctx context.Context, env environment) (*local, error) {
	hc := localConfig{models: f.models, logger: newLogger(env, *f.level), demo: true}
	if f.router == routerRules {
		hc.models, env.get = &modelFlags{}, func(string) string { return "" }
	}
	return openLocal(ctx, hc, env)
}

// measuredRouter is a router and what it chooses from.
type measuredRouter struct {
	cfg    routing.Config
	names  []string // of the specialists
	router string
	model  string // "" for the classifier alone
	note   string // what to know of the model
}

// newRouter makes the router that is measured, of the models and for the specialists of a suite. With an embeddings endpoint, it
// waits until the examples are embedded.
func (f *routingFlags) newRouter(ctx context.Context, cfg suite.Config, env environment) (_ *measuredRouter, closeRouter func() error, err error) {
	specialists, err := describeSpecialists(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	b := &measuredRouter{router: f.router, cfg: routing.Config{Specialists: specialists}}
	for _, s := range specialists {
		b.names = append(b.names, s.GetName())
	}
	rc := router.Config{Logger: cfg.Logger, AlwaysAskModel: f.router == routerModel, Embedder: cfg.RouteEmbedder}
	if f.router == routerModel || f.router == routerAuto && !cfg.RulesOnly {
		rc.Model, rc.Price = cfg.FastModel.Model, cfg.FastModel.Price
		b.cfg.Parallel = f.parallel
		if _, b.model = f.models.names(); !f.models.real(env) {
			b.model, b.note = offline.ModelFast, "no model is configured; the offline one answers, which is rules, not a language model"
		}
	}
	s, err := router.New(rc)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Embed(ctx, specialists); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	b.cfg.Router = s
	return b, s.Close, nil
}

// describeSpecialists returns the descriptions of the specialists for the demo store. A service without Describe is none.
func describeSpecialists(ctx context.Context, cfg suite.Config) ([]*specialistv1.Specialist, error) {
	var all []*specialistv1.Specialist
	for _, role := range suite.Roles() {
		sc, err := suite.Narrow(role, scope.Scope{StoreID: "demo"})
		if err != nil {
			return nil, err
		}
		ctx, err := cfg.ScopeSigner.Outgoing(ctx, sc)
		if err != nil {
			return nil, err
		}
		conn, err := suite.Dial(role, cfg)
		if err != nil {
			return nil, err
		}
		resp, err := specialistv1.NewSpecialistServiceClient(conn).Describe(ctx, &specialistv1.DescribeRequest{})
		_ = conn.Close() // nothing to lose
		switch {
		case status.Code(err) == codes.Unimplemented:
			continue
		case err != nil:
			return nil, fmt.Errorf("describe %s: %w", role, told(err))
		case !resp.GetSpecialist().GetAvailable():
			return nil, fmt.Errorf("describe %s: not available: %s", role, resp.GetSpecialist().GetUnavailableReason())
		}
		all = append(all, resp.GetSpecialist())
	}
	return all, nil
}

// readSet reads a labelled set. Wrong lines are usage errors, as wrong flags are.
func readSet(path string, names []string, env environment) (messages []routing.Message, err error) {
	err = reading(path, env, func(in io.Reader) error {
		messages, err = routing.Read(in, names)
		return err
	})
	if wrong := new(routing.SetError); errors.As(err, &wrong) {
		return nil, usagef("%s: %w", path, err)
	}
	return messages, err
}

// reading calls fn with a file, or with stdin if the path is "-".
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

// measure routes the messages, reports progress every few seconds, and returns the figures.
func (b *measuredRouter) measure(ctx context.Context, messages []routing.Message, env environment) (*routing.Report, error) {
	cfg, last := b.cfg, time.Now()
	cfg.Progress = func(decided int) {
		if time.Since(last) >= progressEvery {
			last = time.Now()
			fmt.Fprintf(env.err, "quartet eval: %d of %d messages routed\n", decided, len(messages))
		}
	}
	outcomes, err := routing.Run(ctx, cfg, messages)
	if err != nil {
		return nil, err
	}
	report := routing.Measure(outcomes, b.names)
	report.Router, report.Model = b.router, b.model
	return report, nil
}

// searchFlags say what is measured and how it is shown.
type searchFlags struct {
	products, documents, judgments string
	index                          *indexFlag
	repeat                         int
	json, misses                   bool
	baselines                      bool
	legs                           *legFlags
	level                          *slog.Level
}

func addSearchFlags(fs *flag.FlagSet) *searchFlags {
	f := &searchFlags{legs: addLegFlags(fs), level: logLevel(fs, slog.LevelWarn), index: addIndexFlag(fs)}
	fs.StringVar(&f.products, "products", "", "`file` of products")
	fs.StringVar(&f.documents, "documents", "", "`file` of policy documents, to measure the search of their passages, by words alone, in place of products")
	fs.StringVar(&f.judgments, "judgments", "", "`file` of judged queries")
	fs.IntVar(&f.repeat, "repeat", 1, "`number` of times that each query is timed")
	fs.BoolVar(&f.json, "json", false, "print only the figures, as one JSON object")
	fs.BoolVar(&f.misses, "misses", false, "print each query whose first 10 hits are not the best, the worst first")
	fs.BoolVar(&f.baselines, "baselines", false, "also rank by plain BM25 over words and over character n-grams, and compare")
	return f
}

func (f *searchFlags) check(rest []string) error {
	const usage = "such as: quartet eval search --products products.jsonl --judgments judgments.csv"
	switch {
	case len(rest) > 0:
		return usagef("unexpected argument %q; give files by flags, %s", rest[0], usage)
	case (f.products == "") == (f.documents == "") || f.judgments == "":
		return usagef("give --products and --judgments, %s; or --documents and --judgments", usage)
	case f.products+f.documents == "-" && f.judgments == "-":
		return usagef("two files cannot both be stdin")
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
	wrong := new(evalsearch.LinesError) // as a wrong flag is
	cfg := evalsearch.Config{Baselines: f.baselines, Repeat: f.repeat, Progress: func(line string) { fmt.Fprintf(env.err, "quartet eval: %s\n", line) }}
	err = reading(f.judgments, env, func(in io.Reader) error {
		cfg.Queries, err = evalsearch.Judgments(in)
		return err
	})
	if errors.As(err, &wrong) {
		return usagef("%s: %w", f.judgments, err)
	}
	if err != nil {
		return err
	}
	var report *evalsearch.Report
	file := f.products + f.documents // one of them is empty
	err = reading(file, env, func(in io.Reader) error {
		cfg.Products = in
		report, err = f.measure(ctx, cfg, env)
		return err
	})
	if errors.As(err, &wrong) {
		return usagef("%s: %w", file, err)
	}
	if err != nil {
		return err
	}
	if !f.misses {
		report.Misses = nil
	}
	if f.json {
		return printReportJSON(env.out, report)
	}
	report.Print(env.out)
	return nil
}

// measure starts services in this process and measures their search. It asks no language model, so none has to be configured.
func (f *searchFlags) measure(ctx context.Context, cfg evalsearch.Config, env environment) (_ *evalsearch.Report, err error) {
	quiet := env
	quiet.get = func(string) string { return "" }
	l, err := openLocal(ctx, localConfig{models: &modelFlags{}, logger: newLogger(env, *f.level)}, quiet)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	whole := l.cfg
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
	clients, closeClients, err := dialData(ctx, l.cfg, env)
	if err != nil {
		return nil, err
	}
	defer closeClients()
	ctx, cancel := context.WithTimeout(ctx, maxEvalSearch)
	defer cancel()
	if f.documents != "" {
		return evalsearch.Documents(ctx, clients.Policies, cfg.Products, cfg.Queries)
	}
	cfg.Catalog, cfg.Pipelines = clients.Catalog, pipelines(whole)
	return evalsearch.Run(ctx, cfg)
}

// pipelines returns what is measured: words alone, and then each configured leg beside those before it. All share one state, so
// that products are embedded once.
func pipelines(whole suite.Config) []evalsearch.Pipeline {
	cfg := whole
	cfg.Search.Embedder, cfg.Search.Reranker = nil, nil
	p := evalsearch.Pipeline{Name: "lexical", Open: searchOpener(cfg), KeepsVectors: whole.Search.Cluster != nil}
	out := []evalsearch.Pipeline{p}
	add := func(leg string) {
		p.Name += "+" + leg
		if whole.Search.Embedder != nil {
			p.Embedder = evalsearch.Watch(whole.Search.Embedder)
			cfg.Search.Embedder = p.Embedder
		}
		p.Open = searchOpener(cfg)
		out = append(out, p)
	}
	if whole.Search.Embedder != nil {
		add("vector")
	}
	if whole.Search.Reranker != nil {
		cfg.Search.Reranker = whole.Search.Reranker
		add("rerank")
	}
	return out
}

// searchOpener returns what serves a search service in this process.
func searchOpener(cfg suite.Config) func(context.Context) (catalogv1.CatalogServiceClient, func() error, error) {
	return func(ctx context.Context) (_ catalogv1.CatalogServiceClient, closeService func() error, err error) {
		cfg.Network = rpc.NewNetwork()
		if _, cfg.Scopes, err = scope.NewPair(); err != nil { // no turn calls the service
			return nil, nil, err
		}
		service, err := suite.New(suite.Search, cfg)
		if err != nil {
			return nil, nil, err
		}
		lis, err := cfg.Network.Listen(suite.Search)
		if err != nil {
			return nil, nil, err
		}
		// The service outlives an interrupt: running calls end before it does.
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		served := make(chan error, 1)
		go func() { served <- service.Serve(ctx, lis) }()
		stop := func() error {
			cancel()
			return errors.Join(<-served, cfg.Network.Close())
		}
		conn, err := suite.Dial(suite.Search, cfg)
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		return catalogv1.NewCatalogServiceClient(conn), func() error { return errors.Join(conn.Close(), stop()) }, nil
	}
}
