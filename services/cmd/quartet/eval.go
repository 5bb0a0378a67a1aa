package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
	"github.com/quartet-commerce/quartet/services/internal/offline"
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

const evalAbout = `Routes the messages of a labelled set and compares where they went with where they should have gone. A set is JSON
Lines, "-" is stdin; a line is {"id":"m1","text":"where is my order?","gold":["support"]}. Optional: "kind" and "language"
for a breakdown, and "history", what was said before: strings are the shopper's, else {"role":"assistant","text":"..."}.
docs/evaluation.md says what each figure means. 'quartet eval search --help' tells how the search is measured.`

// evalFlags say what is measured and how it is shown.
type evalFlags struct {
	models   *modelFlags
	router   string
	parallel int
	json     bool
	misses   bool
	level    *slog.Level
}

func addEvalFlags(fs *flag.FlagSet) *evalFlags {
	f := &evalFlags{models: addModelFlags(fs), level: logLevel(fs, slog.LevelWarn)}
	fs.StringVar(&f.router, "router", routerRules, "`what` decides: rules alone; auto, the model where the rules are not certain, as in a deployment; or model, always the model. The model is the fast one, or the offline model when none is configured")
	fs.IntVar(&f.parallel, "parallel", 4, "`number` of messages that are routed at a time; the rules alone take one at a time")
	fs.BoolVar(&f.json, "json", false, "print the figures as one JSON object and nothing else")
	fs.BoolVar(&f.misses, "misses", false, "print each message that went wrong")
	return f
}

// runEval measures what the first argument says.
func runEval(ctx context.Context, args []string, env environment) error {
	if len(args) > 0 && args[0] == "search" {
		return runEvalSearch(ctx, args[1:], env)
	}
	return runEvalRouting(ctx, args, env)
}

func runEvalRouting(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("eval", "routing FILE", evalAbout, env)
	f := addEvalFlags(fs)
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if err := f.check(rest); err != nil {
		return err
	}
	h, err := f.openHouse(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	b, err := f.newRouter(ctx, h.cfg, env)
	if err != nil {
		return err
	}
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
	printReport(env.out, report, b.note)
	return nil
}

func (f *evalFlags) check(rest []string) error {
	const usage = "such as: quartet eval routing messages.jsonl"
	switch {
	case len(rest) == 0:
		return usagef("say what to measure, %s", usage)
	case rest[0] != "routing":
		return usagef("%q can not be measured; routing can, %s, and so can search: quartet eval search --help", rest[0], usage)
	case len(rest) != 2:
		return usagef("give one file or - for stdin, %s", usage)
	case !slices.Contains([]string{routerRules, routerModel, routerAuto}, f.router):
		return usagef("unknown router %q; the routers are: rules, model, auto", f.router)
	case f.parallel < 1:
		return usagef("--parallel is %d, must be at least 1", f.parallel)
	}
	return nil
}

// openHouse starts all six services with the demo stores, so that the specialists describe themselves as in a deployment
// and each is available. Without a model to be asked, none has to be configured.
func (f *evalFlags) openHouse(ctx context.Context, env environment) (*house, error) {
	hc := houseConfig{models: f.models, logger: newLogger(env, *f.level), demo: true}
	if f.router == routerRules {
		hc.models, env.get = &modelFlags{}, func(string) string { return "" }
	}
	return openHouse(ctx, hc, env)
}

// measuredRouter is a router and what it chooses from.
type measuredRouter struct {
	cfg    routing.Config
	names  []string // of the specialists
	router string
	model  string // "" for the rules alone
	note   string // what to know of the model
}

// newRouter makes the router that is measured, of the models and for the specialists of a house.
func (f *evalFlags) newRouter(ctx context.Context, cfg suite.Config, env environment) (*measuredRouter, error) {
	specialists, err := describeSpecialists(ctx, cfg)
	if err != nil {
		return nil, err
	}
	b := &measuredRouter{router: f.router, cfg: routing.Config{Specialists: specialists}}
	for _, s := range specialists {
		b.names = append(b.names, s.GetName())
	}
	rc := router.Config{Logger: cfg.Logger, AlwaysAskModel: f.router == routerModel}
	if f.router != routerRules {
		rc.Model, rc.Price = cfg.FastModel.Model, cfg.FastModel.Price
		b.cfg.Parallel = f.parallel
		if _, b.model = f.models.names(); !f.models.real(env) {
			b.model, b.note = offline.ModelFast, "no model is configured; the offline one answers, which is rules, not a language model"
		}
	}
	if b.cfg.Router, err = router.New(rc); err != nil {
		return nil, err
	}
	return b, nil
}

// describeSpecialists returns what the specialists say of themselves to the demo store. Whoever serves Describe is a specialist.
func describeSpecialists(ctx context.Context, cfg suite.Config) ([]*specialistv1.Specialist, error) {
	ctx = scope.NewContext(ctx, scope.Scope{StoreID: "demo"})
	var all []*specialistv1.Specialist
	for _, role := range suite.Roles() {
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

// readSet reads a labelled set. Wrong lines are a mistake of the caller's, as a wrong flag is.
func readSet(path string, names []string, env environment) ([]routing.Message, error) {
	in := env.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	messages, err := routing.Read(in, names)
	var wrong *routing.SetError
	if errors.As(err, &wrong) {
		return nil, usagef("%s: %w", path, err)
	}
	return messages, err
}

// measure routes the messages, telling on the way how far it is when that takes long, and returns the figures.
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
