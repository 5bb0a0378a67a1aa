package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bench"
	"github.com/quartet-commerce/quartet/services/suite"
)

const benchAbout = `Measures what a turn costs beside the models' own time: all six services in this process, and a fake model with fixed
latency in another. The turn has two specialists with one tool call each and a merge: six model calls, four of them one after
the other. docs/benchmarks.md says what each figure means.`

// benchFlags say what is measured.
type benchFlags struct {
	cfg                    bench.Config
	redis                  string
	cpuProfile, memProfile string
	json                   bool
}

func addBenchFlags(fs *flag.FlagSet) *benchFlags {
	f := &benchFlags{}
	fs.IntVar(&f.cfg.Turns, "turns", 2000, "`number` of turns of each load; medians of times are of 50 at most")
	fs.IntVar(&f.cfg.Concurrency, "concurrency", 16, "`number` of turns of a load that run at once")
	fs.DurationVar(&f.cfg.Latency, "latency", 50*time.Millisecond, "time that each model call takes where times are measured")
	fs.IntVar(&f.cfg.InFlight, "in-flight", 4000, "`number` of turns that hang at once where memory is measured; 0 leaves that out")
	fs.StringVar(&f.cfg.RunAhead, "run-ahead", string(gateway.RunAheadAlways), "`mode` of running ahead that is compared with none: always, certain, or off, which leaves that out")
	fs.BoolVar(&f.cfg.NoStream, "no-stream", false, "ask the model for whole answers")
	fs.StringVar(&f.redis, "redis", "", "`URL` of a Redis to use, which is best empty: demo stores are written to it (default: an embedded server in the process of the fake model)")
	fs.StringVar(&f.cpuProfile, "cpuprofile", "", "`file` for a profile of the processor time of one more load")
	fs.StringVar(&f.memProfile, "memprofile", "", "`file` for a profile of the heap while turns hang")
	fs.BoolVar(&f.json, "json", false, "print the figures as one JSON object and nothing else")
	return f
}

func runBench(ctx context.Context, args []string, env environment) error {
	if len(args) > 0 && args[0] == benchChild {
		return runBenchChild(ctx, args[1:], env)
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
	printBench(env.out, report, f.where())
	return nil
}

func (f *benchFlags) check(rest []string) error {
	const usage = "such as: quartet bench turn"
	modes := []string{string(gateway.RunAheadAlways), string(gateway.RunAheadCertain), string(gateway.RunAheadOff)}
	switch {
	case len(rest) == 0:
		return usagef("say what to measure, %s", usage)
	case rest[0] != "turn" || len(rest) > 1:
		return usagef("%q can not be measured; turn can, %s", rest, usage)
	case f.cfg.Turns < 1:
		return usagef("--turns is %d, must be at least 1", f.cfg.Turns)
	case f.cfg.Concurrency < 1:
		return usagef("--concurrency is %d, must be at least 1", f.cfg.Concurrency)
	case f.cfg.Latency < 0:
		return usagef("--latency is %v, must not be negative", f.cfg.Latency)
	case f.cfg.InFlight < 0:
		return usagef("--in-flight is %d, must not be negative", f.cfg.InFlight)
	case !slices.Contains(modes, f.cfg.RunAhead):
		return usagef("unknown --run-ahead %q; the modes are: always, certain, off", f.cfg.RunAhead)
	case f.memProfile != "" && f.cfg.InFlight == 0:
		return usagef("--memprofile is taken while turns hang, so --in-flight must not be 0")
	}
	return checkOpenFiles(f.cfg.InFlight, bench.MaxOpenFiles())
}

// checkOpenFiles refuses more turns in flight than a process can have connections for, of which most is the number of open
// files, or zero if that is not known.
func checkOpenFiles(inFlight int, most uint64) error {
	need := bench.FilesNeeded(inFlight)
	if inFlight == 0 || most == 0 || most >= need {
		return nil
	}
	return usagef("%d turns in flight need %d open files, and a process may have %d: raise that (ulimit -n %d) or give a smaller --in-flight",
		inFlight, need, most, need)
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
	child, err := startBenchChild(ctx, env)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, child.close()) }()
	cfg := f.cfg
	cfg.Model = bench.NewRemote(child.ModelURL)
	cfg.Progress = func(what string) { fmt.Fprintf(env.err, "quartet bench: %s\n", what) }
	redis := f.redis
	if redis == "" {
		redis = child.RedisURL
	}
	cfg.Open = func(ctx context.Context, runAhead string) (bench.Turn, func() error, error) {
		return openBench(ctx, cfg, redis, gateway.RunAhead(runAhead), env)
	}
	return bench.Run(ctx, cfg)
}

// benchSilence is longer than turns hang.
const benchSilence = 10 * time.Minute

// benchTurnTimeout is what a hanging turn has until its deadline.
const benchTurnTimeout = 30 * time.Minute

// openBench starts a house with the fake model and returns its turn.
func openBench(ctx context.Context, cfg bench.Config, redis string, ahead gateway.RunAhead, env environment) (bench.Turn, func() error, error) {
	h, err := openHouse(ctx, houseConfig{
		models: &modelFlags{url: cfg.Model.BaseURL(), name: benchModel, noStream: cfg.NoStream, silence: benchSilence},
		redis:  redis, demo: true, logger: newLogger(env, slog.LevelError),
		tune: func(s *suite.Config) {
			s.TurnTimeout, s.Turns.RunAhead, s.AlwaysAskModel = benchTurnTimeout, ahead, true
			s.Turns.Max = max(cfg.InFlight, cfg.Concurrency)
			s.Turns.MaxPerStore = s.Turns.Max
		},
	}, env)
	if err != nil {
		return nil, nil, err
	}
	conn, err := suite.Dial(suite.Gateway, h.cfg)
	if err != nil {
		return nil, nil, errors.Join(err, h.close())
	}
	var asked atomic.Int64
	run := strconv.FormatInt(time.Now().UnixNano(), 36) // a Redis may remember other runs
	newID := func() string { return "bench-" + run + "-" + strconv.FormatInt(asked.Add(1), 10) }
	turn := bench.Asker(gatewayv1.NewGatewayServiceClient(conn), "demo", newID)
	patient := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, benchTurnTimeout)
		defer cancel()
		return turn(ctx)
	}
	return patient, func() error { return errors.Join(conn.Close(), h.close()) }, nil
}

// where says what keeps the state.
func (f *benchFlags) where() string {
	if f.redis == "" {
		return "embedded Redis beside the fake model, its processor time not counted"
	}
	return "Redis as given"
}
