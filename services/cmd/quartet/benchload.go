package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	flag "github.com/spf13/pflag"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bench"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/suite"
)

const benchLoadAbout = `Asks at a given rate, whether or not earlier turns have ended, and prints percentiles of their times by outcome, the share that
was refused, and the suite's memory. Times are from when a turn should have begun. Without --addr all six services run in this
process, with a fake model in another.`

// benchLoadFlags say what is asked, how often and where.
type benchLoadFlags struct {
	arrivals    bench.Arrivals
	request     gatewayv1.AskRequest
	addr, token string
	metrics     string
	tls         *tlsFlags
	latency     time.Duration
	maxTurns    int
	timeout     time.Duration
	json        bool
}

func addBenchLoadFlags(fs *flag.FlagSet) *benchLoadFlags {
	f := &benchLoadFlags{tls: addTLSFlags(fs, tlsUsageClient)}
	fs.Float64Var(&f.arrivals.Rate, "rate", 50, "mean `number` of turns that begin in a second")
	fs.DurationVar(&f.arrivals.Duration, "duration", 30*time.Second, "time during which turns begin")
	fs.Uint64Var(&f.arrivals.Seed, "seed", 1, "`number` that makes the times between turns")
	fs.StringVar(&f.addr, "addr", "", "`target` of a running gateway, such as 127.0.0.1:7300; its model is paid for each turn (default: start all six services here)")
	fs.StringVar(&f.metrics, "metrics", "", "`URL` of the Prometheus endpoint of a process at --addr, such as http://127.0.0.1:9464/metrics, to report its memory and goroutines")
	tokenFlag(fs, &f.token)
	fs.StringVar(&f.request.StoreId, "store", "demo", "`id` of the store")
	fs.StringVar(&f.request.CustomerId, "customer", "", "`id` of the customer (default: guests)")
	fs.StringVar(&f.request.Message, "message", bench.Message, "`text` to ask")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "deadline of each turn")
	fs.DurationVar(&f.latency, "latency", 200*time.Millisecond, "without --addr: time of each model call")
	fs.IntVar(&f.maxTurns, "max-turns", gateway.DefaultMaxTurnsPerStore, "without --addr: largest `number` of turns in flight")
	fs.BoolVar(&f.json, "json", false, "print only the figures, as one JSON object")
	return f
}

func (f *benchLoadFlags) check(fs *flag.FlagSet, rest []string) error {
	switch {
	case len(rest) > 0:
		return usagef("unexpected argument %q", rest[0])
	case f.addr != "" && (given(fs, "latency") || given(fs, "max-turns")):
		return usagef("--latency and --max-turns are of the services that this command starts, so they cannot be given with --addr")
	case f.addr == "" && f.metrics != "":
		return usagef("--metrics is of a process at --addr")
	case f.maxTurns < 1 || f.latency < 0 || f.timeout <= 0:
		return usagef("--max-turns must be 1 or more, --latency must not be negative, and --timeout must be above 0")
	}
	if err := f.arrivals.Check(); err != nil {
		return usageError{err}
	}
	return nil
}

func runBenchLoad(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("bench load", "", benchLoadAbout, env)
	f := addBenchLoadFlags(fs)
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if err := f.check(fs, rest); err != nil {
		return err
	}
	cfg, ideal, closeSuite, err := f.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite()) }()
	conn, err := suite.Dial(suite.Gateway, cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	f.arrivals.Ask = f.asker(gatewayv1.NewGatewayServiceClient(conn))
	for range 3 { // connections and indexes
		if _, err := f.arrivals.Ask(ctx); err != nil {
			return fmt.Errorf("a first turn: %w", told(err))
		}
	}
	fmt.Fprintf(env.err, "quartet bench: %g turns a second for %v\n", f.arrivals.Rate, f.arrivals.Duration)
	report, err := f.arrivals.Run(ctx)
	if err != nil {
		return err
	}
	if f.json {
		return printReportJSON(env.out, report)
	}
	report.Print(env.out, ideal)
	return nil
}

// open returns how to reach the gateway. Without --addr it starts the services and a fake model, and returns the ideal time of
// a turn too. The caller calls closeSuite.
func (f *benchLoadFlags) open(ctx context.Context, env environment) (cfg suite.Config, ideal time.Duration, closeSuite func() error, err error) {
	if f.addr != "" {
		if f.metrics != "" {
			f.arrivals.Resources = bench.ScrapedResources(f.metrics)
		}
		cfg = suite.Config{Peers: map[string]string{suite.Gateway: f.addr}, Token: f.token}
		err = f.tls.applyClient(&cfg, env)
		return cfg, 0, func() error { return nil }, err
	}
	peers, err := bench.StartPeers(ctx, env.err, "bench", benchPeers)
	if err != nil {
		return cfg, 0, nil, err
	}
	l, err := startBenchSuite(ctx, peers.Model.BaseURL(), peers.RedisURL, nil, env, func(s *suite.Config) {
		s.AlwaysAskModel, s.Gateway.RunAhead = true, gateway.RunAheadOff
		s.Gateway.MaxTurns, s.Gateway.MaxTurnsPerStore = f.maxTurns, f.maxTurns
	})
	if err == nil {
		if err = peers.Model.Set(ctx, bench.Behaviour{Latency: f.latency}); err != nil {
			err = errors.Join(err, l.close())
		}
	}
	if err != nil {
		return cfg, 0, nil, errors.Join(err, peers.Close())
	}
	f.arrivals.Resources = bench.OwnResources
	if f.request.Message == bench.Message {
		ideal = bench.PathCalls * f.latency
	}
	return l.cfg, ideal, func() error { return errors.Join(l.close(), peers.Close()) }, nil
}

// asker returns a function that asks the message in a new thread each time.
func (f *benchLoadFlags) asker(client gatewayv1.GatewayServiceClient) func(context.Context) (bench.Outcome, error) {
	var asked atomic.Int64
	run := "load-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-"
	return func(ctx context.Context) (bench.Outcome, error) {
		ctx, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		reply, err := client.Ask(ctx, &gatewayv1.AskRequest{
			StoreId: f.request.GetStoreId(), CustomerId: f.request.GetCustomerId(), Message: f.request.GetMessage(),
			RequestId: run + strconv.FormatInt(asked.Add(1), 10),
		})
		failed := func(r *gatewayv1.AssignmentResult) bool { return r.GetAnswer() == nil }
		switch {
		case err != nil && rpc.Reason(status.Convert(err)) == "TOO_MANY_TURNS":
			return bench.Shed, err
		case err != nil:
			return bench.Failed, err
		case reply.GetUnrecorded() || slices.ContainsFunc(reply.GetResults(), failed):
			return bench.Degraded, nil
		}
		return bench.Answered, nil
	}
}
