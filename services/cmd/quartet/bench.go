package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bench"
	"github.com/quartet-commerce/quartet/services/suite"
)

const benchAbout = `Measures what a turn costs beside the models' own time: all six services run in this process, and a fake model with a fixed
latency in another. The turn has two specialists with one tool call each and a merge: six model calls, four of them one after
the other. docs/benchmarks.md defines each figure.`

const (
	// benchPeers is the argument that the program gives itself to serve the fake model and a Redis in a process of their own.
	benchPeers = "_peers"
	// benchModel is the name of the fake model.
	benchModel = "quartet-bench"
	// benchTurnTimeout is the deadline of a turn, and benchSilence that of an answer's first byte. Turns wait that long where
	// memory is measured.
	benchTurnTimeout = 30 * time.Minute
	benchSilence     = 10 * time.Minute
)

// benchFlags say what is measured.
type benchFlags struct {
	cfg                    bench.Config
	redis                  string
	seal                   *sealFlags
	cpuProfile, memProfile string
	json                   bool
}

func addBenchFlags(fs *flag.FlagSet) *benchFlags {
	f := &benchFlags{seal: addSealFlags(fs)}
	fs.IntVar(&f.cfg.Turns, "turns", 2000, "`number` of turns of each load; times are medians of 50 turns at most")
	fs.IntVar(&f.cfg.Concurrency, "concurrency", 16, "`number` of turns of a load that run at once")
	fs.DurationVar(&f.cfg.Latency, "latency", 50*time.Millisecond, "time of each model call where times are measured")
	fs.IntVar(&f.cfg.InFlight, "in-flight", 4000, "`number` of turns that wait at once where memory is measured; 0 leaves memory out")
	fs.StringVar(&f.cfg.RunAhead, "run-ahead", string(gateway.RunAheadAlways), "run-ahead `mode` to compare with none: always, certain, or off, which leaves it out")
	fs.StringVar(&f.redis, "redis", "", "`URL` of a Redis to use; demo stores are written to it, so it should be empty (default: an embedded server in the process of the fake model)")
	fs.StringVar(&f.cpuProfile, "cpuprofile", "", "`file` for a CPU profile of one more load")
	fs.StringVar(&f.memProfile, "memprofile", "", "`file` for a heap profile while turns wait")
	fs.BoolVar(&f.json, "json", false, "print only the figures, as one JSON object")
	return f
}

func runBench(ctx context.Context, args []string, env environment) error {
	if slices.Equal(args, []string{benchPeers}) {
		return bench.ServePeers(ctx, env.in, env.out)
	}
	if len(args) > 0 && args[0] == "load" {
		return runBenchLoad(ctx, args[1:], env)
	}
	fs := newFlags("bench", "turn", benchAbout, env)
	f := addBenchFlags(fs)
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if err := f.check(rest); err != nil {
		return err
	}
	closeFiles, err := f.openFiles()
	if err != nil {
		return err
	}
	report, err := f.run(ctx, env)
	if err := errors.Join(err, closeFiles()); err != nil {
		return err
	}
	if f.json {
		return printReportJSON(env.out, report)
	}
	state := "Redis as given"
	if f.redis == "" {
		state = "embedded Redis beside the fake model, its processor time not counted"
	}
	report.Print(env.out, state+f.seal.describe())
	return nil
}

func (f *benchFlags) check(rest []string) error {
	const usage = "such as: quartet bench turn, or quartet bench load"
	modes := []string{string(gateway.RunAheadAlways), string(gateway.RunAheadCertain), string(gateway.RunAheadOff)}
	switch {
	case len(rest) == 0:
		return usagef("say what to measure, %s", usage)
	case rest[0] != "turn" || len(rest) > 1:
		return usagef("cannot measure %q, only turn and load, %s", rest, usage)
	case !slices.Contains(modes, f.cfg.RunAhead):
		return usagef("unknown --run-ahead %q; the modes are: always, certain, off", f.cfg.RunAhead)
	case f.memProfile != "" && f.cfg.InFlight == 0:
		return usagef("--memprofile is taken while turns wait, so --in-flight must not be 0")
	}
	if err := f.cfg.Check(); err != nil {
		return usageError{err}
	}
	return nil
}

// openFiles opens the files of the profiles. The returned function closes them.
func (f *benchFlags) openFiles() (closeFiles func() error, err error) {
	var files []*os.File
	closeFiles = func() error {
		var err error
		for _, file := range files {
			err = errors.Join(err, file.Close())
		}
		return err
	}
	for _, p := range []struct {
		path string
		to   *io.Writer
	}{{f.cpuProfile, &f.cfg.CPUProfile}, {f.memProfile, &f.cfg.HeapProfile}} {
		if p.path == "" {
			continue
		}
		file, err := os.Create(p.path)
		if err != nil {
			return nil, errors.Join(err, closeFiles())
		}
		files = append(files, file)
		*p.to = file
	}
	return closeFiles, nil
}

// run starts the fake model and measures.
func (f *benchFlags) run(ctx context.Context, env environment) (report *bench.Report, err error) {
	peers, err := bench.StartPeers(ctx, env.err, "bench", benchPeers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, peers.Close()) }()
	cfg := f.cfg
	cfg.Model = peers.Model
	cfg.Progress = func(what string) { fmt.Fprintf(env.err, "quartet bench: %s\n", what) }
	redis := f.redis
	if redis == "" {
		redis = peers.RedisURL
	}
	cfg.Open = func(ctx context.Context, runAhead string) (bench.Turn, func() error, error) {
		return openBench(ctx, cfg, redis, f.seal, gateway.RunAhead(runAhead), env)
	}
	return bench.Run(ctx, cfg)
}

// startBenchSuite starts the services in this process, with the demo stores and the model at a URL.
func startBenchSuite(ctx context.Context, model, redis string, seal *sealFlags, env environment, tune func(*suite.Config)) (*local, error) {
	return openLocal(ctx, localConfig{
		models: &modelFlags{url: model, name: benchModel, idleTimeout: benchSilence},
		redis:  redis, seal: seal, demo: true, logger: newLogger(env, slog.LevelError), tune: tune,
	}, env)
}

// openBench starts the services with the fake model and returns their turn.
func openBench(
	ctx context.Context, cfg bench.Config, redis string, seal *sealFlags, runAhead gateway.RunAhead, env environment,
) (bench.Turn, func() error, error) {
	l, err := startBenchSuite(ctx, cfg.Model.BaseURL(), redis, seal, env, func(s *suite.Config) {
		s.Gateway.TurnTimeout, s.Gateway.RunAhead, s.AlwaysAskModel = benchTurnTimeout, runAhead, true
		s.Gateway.MaxTurns = max(cfg.InFlight, cfg.Concurrency)
		s.Gateway.MaxTurnsPerStore = s.Gateway.MaxTurns
	})
	if err != nil {
		return nil, nil, err
	}
	conn, err := suite.Dial(suite.Gateway, l.cfg)
	if err != nil {
		return nil, nil, errors.Join(err, l.close())
	}
	var asked atomic.Int64
	run := strconv.FormatInt(time.Now().UnixNano(), 36) // a Redis may have turns of other runs
	newID := func() string { return "bench-" + run + "-" + strconv.FormatInt(asked.Add(1), 10) }
	turn := bench.Asker(gatewayv1.NewGatewayServiceClient(conn), "demo", newID)
	patient := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, benchTurnTimeout)
		defer cancel()
		return turn(ctx)
	}
	return patient, func() error { return errors.Join(conn.Close(), l.close()) }, nil
}
