package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/suite"
)

func TestTurnFlagsReachTheSuite(t *testing.T) {
	all := suite.Turns{
		RunAhead: gateway.RunAheadCertain, MergeReserve: 2 * time.Second, Lease: 20 * time.Second, ThreadTTL: 24 * time.Hour,
		Max: 100, MaxPerStore: 50,
		Budget: &commonv1.Budget{MaxTokens: 20_000, MaxCost: &commonv1.Cost{AmountMicros: 20_000, CurrencyCode: "USD"}},
	}
	args := []string{
		"--run-ahead", "certain", "--merge-reserve", "2s", "--lease", "20s", "--thread-ttl", "24h", "--max-turns", "100",
		"--max-turns-per-store", "50", "--turn-budget-tokens", "20000", "--turn-budget-cost", "0.02 USD",
	}
	env := make(map[string]string)
	for i := 0; i < len(args); i += 2 {
		env["QUARTET_"+strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(args[i], "--"), "-", "_"))] = args[i+1]
	}
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want suite.Turns
	}{
		"nothing said":         {},
		"from flags":           {args: args, want: all},
		"from the environment": {env: env, want: all},
		"tokens alone":         {args: args[12:14], want: suite.Turns{Budget: &commonv1.Budget{MaxTokens: 20_000}}},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment{get: func(key string) string { return c.env[key] }, err: io.Discard}
			fs := flag.NewFlagSet("test", flag.ContinueOnError)
			f := addServeFlags(fs)
			models := []string{"--model-url", "http://localhost/v1", "--model", "m", "--model-price", "1/2 USD"}
			if _, err := parse(fs, append(models, c.args...), env); err != nil {
				t.Fatal(err)
			}
			cfg, _, err := f.config(context.Background(), suite.Router, env, slog.New(slog.DiscardHandler)) // which needs no Redis
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, cfg.Turns, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAskNamesItsRequest(t *testing.T) {
	code, out, stderr := quartet(t.Context(), map[string]string{"QUARTET_TURN_BUDGET_TOKENS": "50000"},
		"ask", "where is my order?", "--request-id", "order-1", "--thread", "t1")
	if code != 0 || !strings.Contains(out, "· thread t1 · request order-1 · trace ") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, out, stderr)
	}
}
