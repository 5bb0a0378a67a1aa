package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/eval/turns"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/suite"
)

const evalTurnsAbout = `Runs conversations with what must and must not come of them, and counts how many pass. A folder has files *.yaml, each a
list of scenarios, and may have stores of its own, laid out like the demo's. Without --addr all six services run in this process, with
the demo stores. The exit code is 1 if fewer pass than --least says.

  - id: late-parcel
    store: demo
    customer: ava
    messages: ["where is my order?", "and when will it come?"]
    specialists: [support]        # tools, actions and language can be checked, too
    says: ["november|tomorrow"]   # one of several, whatever the case
    never: ["cancelled"]`

func runEvalTurns(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("eval", "turns FOLDER", evalTurnsAbout, env)
	models := addModelFlags(fs)
	level := logLevel(fs, slog.LevelError)
	addr := fs.String("addr", "", "`target` of a running gateway (default: start all six services here)")
	var token string
	tokenFlag(fs, &token)
	tls := addTLSFlags(fs, tlsUsageClient)
	times := fs.IntP("times", "n", 1, "`number` of runs of each scenario")
	parallel := fs.Int("parallel", 2, "`number` of scenarios that run at once")
	least := fs.Float64("least", 0, "`share` of runs that must pass, 0 to 1")
	misses := fs.Bool("misses", false, "print each run that did not pass")
	html := fs.String("html", "", "write all runs to this `file`, as one HTML page")
	judge := fs.String("judge-model", "", "`name` of a model that scores how helpful each reply is, with its reason, such as gpt-4.1 or NAME@URL (default none)")
	timeout := fs.Duration("timeout", time.Minute, "deadline of each turn")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usagef("give one folder of scenarios")
	case *times < 1 || *parallel < 1 || *least < 0 || *least > 1:
		return usagef("--times and --parallel must be at least 1, and --least from 0 to 1")
	}
	folder := os.DirFS(rest[0])
	scenarios, err := turns.Read(folder)
	if err != nil {
		return usagef("%s: %w", rest[0], err)
	}
	var judging agentloop.Model
	if *judge != "" {
		m, err := models.open(model.Config{Name: *judge}, "", env)
		if err != nil {
			return err
		}
		judging = m.Model
	}
	cfg := suite.Config{Peers: map[string]string{suite.Gateway: *addr}, Token: token}
	if *addr != "" {
		err = tls.applyClient(&cfg, env)
	} else {
		var l *local
		if l, err = openLocal(ctx, localConfig{models: models, logger: newLogger(env, *level), demo: true}, env); err == nil {
			defer func() { err = errors.Join(err, l.close()) }()
			cfg = l.cfg
			err = loadStoresOf(ctx, folder, cfg)
		}
	}
	if err != nil {
		return err
	}
	conn, err := suite.Dial(suite.Gateway, cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	e := turnsEval{gateway: gatewayv1.NewGatewayServiceClient(conn), judge: judging, timeout: *timeout, parallel: *parallel, env: env}
	runs, err := e.run(ctx, scenarios, *times)
	if err != nil {
		return err
	}
	if err := turns.Print(env.out, runs, *misses); err != nil {
		return err
	}
	if *html != "" {
		if err := writePage(*html, runs); err != nil {
			return err
		}
	}
	all := turns.Measure(runs)
	if passed := all[len(all)-1].PassRate; passed < *least {
		return fmt.Errorf("%.1f %% of the runs passed, want %.1f %%; --misses shows the others", 100*passed, 100**least)
	}
	return nil
}

// loadStoresOf loads the stores of a folder, if it has any.
func loadStoresOf(ctx context.Context, folder fs.FS, cfg suite.Config) error {
	if !turns.HasStores(folder) {
		return nil
	}
	sets, err := demo.Read(folder, time.Now())
	if err != nil {
		return err
	}
	clients, closeAll, err := dialData(ctx, cfg, environment{err: io.Discard})
	if err != nil {
		return err
	}
	defer closeAll()
	for _, set := range sets {
		if err := load.Demo(ctx, clients, set); err != nil {
			return fmt.Errorf("load store %s: %w", set.Store.GetStoreId(), err)
		}
	}
	return nil
}

// turnsEval runs scenarios.
type turnsEval struct {
	gateway  gatewayv1.GatewayServiceClient
	judge    agentloop.Model // nil: none
	timeout  time.Duration
	parallel int
	env      environment
}

// run runs each scenario several times, and shows how far it is.
func (e turnsEval) run(ctx context.Context, scenarios []turns.Scenario, times int) ([]turns.Run, error) {
	runs := make([]turns.Run, len(scenarios)*times)
	var mu sync.Mutex
	done, began := 0, time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.parallel)
	for i := range runs {
		s := scenarios[i/times]
		group.Go(func() error {
			turn, cancel := context.WithTimeout(ctx, e.timeout*time.Duration(len(s.Messages)))
			defer cancel()
			// The time of the start tells evaluations of one gateway apart.
			runs[i] = turns.Ask(turn, e.gateway, s, fmt.Sprintf("eval-%x-%d", began.UnixNano(), i))
			if e.judge != nil && runs[i].Err == nil {
				runs[i].Score, runs[i].Unscored = turns.JudgeBy(turn, e.judge, s, runs[i].Reply)
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; done%50 == 0 && done < len(runs) {
				fmt.Fprintf(e.env.err, "%d of %d runs\n", done, len(runs))
			}
			return ctx.Err()
		})
	}
	return runs, group.Wait()
}

func writePage(name string, runs []turns.Run) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(turns.HTML(f, runs), f.Close())
}
