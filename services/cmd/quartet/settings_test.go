package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	flag "github.com/spf13/pflag"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

func TestTurnFlagsReachTheSuite(t *testing.T) {
	all := gateway.Settings{
		RunAhead: gateway.RunAheadCertain, MergeReserve: 2 * time.Second, Lease: 20 * time.Second, ThreadTTL: 24 * time.Hour,
		MaxTurns: 100, MaxTurnsPerStore: 50, TurnTimeout: 30 * time.Second,
		Budget: &commonv1.Budget{MaxTokens: 20_000, MaxCost: &commonv1.Cost{AmountMicros: 20_000, CurrencyCode: "USD"}},
	}
	args := []string{
		"--run-ahead", "certain", "--merge-reserve", "2s", "--lease", "20s", "--thread-ttl", "24h", "--max-turns", "100",
		"--max-turns-per-store", "50", "--turn-budget-tokens", "20000", "--turn-budget-cost", "0.02 USD",
		"--turn-timeout", "30s",
	}
	env := make(map[string]string)
	for i := 0; i < len(args); i += 2 {
		env["QUARTET_"+strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(args[i], "--"), "-", "_"))] = args[i+1]
	}
	keys := scopeKeyFlags(t)
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want gateway.Settings
	}{
		"nothing said":         {},
		"from flags":           {args: args, want: all},
		"from the environment": {env: env, want: all},
		"tokens alone":         {args: args[12:14], want: gateway.Settings{Budget: &commonv1.Budget{MaxTokens: 20_000}}},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment{get: func(key string) string { return c.env[key] }, err: io.Discard}
			fs := flag.NewFlagSet("test", flag.ContinueOnError)
			f := addServeFlags(fs)
			required := append([]string{"--model-url", "http://localhost/v1", "--model", "m", "--model-price", "1/2 USD"}, keys...)
			if _, err := parse(fs, append(required, c.args...), env); err != nil {
				t.Fatal(err)
			}
			cfg, _, err := f.config(context.Background(), suite.Router, env, slog.New(slog.DiscardHandler)) // which needs no Redis
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, cfg.Gateway, protocmp.Transform()); diff != "" {
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

func TestIndexIsWhatTheFlagSays(t *testing.T) {
	for address, want := range map[string]struct{ says, refused string }{
		"":                         {says: "index embedded"}, // not given
		"embedded":                 {says: "index embedded"},
		"weaviate://a:8080,b:8080": {says: "index in Weaviate"},
		"weaviates://a:443":        {says: "index in Weaviate"},
		"http://a:8080":            {refused: `--index: index address: want weaviate://host:port`},
		"weaviate://a:8080/x":      {refused: `"x" for the port of gRPC`},
		"weaviate://a":             {refused: `"a" is not host:port`},
	} {
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		index := addIndexFlag(fs)
		var args []string
		if address != "" {
			args = []string{"--index", address}
		}
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
		var cfg suite.Config
		closeIndex, err := index.open(&cfg, environment{get: func(string) string { return "" }})
		var usage usageError
		if want.refused != "" {
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), want.refused) {
				t.Errorf("%q: error %v, want a wrong use with %q", address, err, want.refused)
			}
			continue
		}
		if err == nil {
			err = closeIndex()
		}
		if err != nil || index.describe() != want.says || (cfg.Search.Cluster != nil) != strings.HasPrefix(address, "weaviate") {
			t.Errorf("%q: %s, cluster %v, error %v", address, index.describe(), cfg.Search.Cluster, err)
		}
	}
}

// openLegs opens the legs that the flags say.
func openLegs(args ...string) (suite.Config, *legFlags, error) {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	l := addLegFlags(fs).routeFlag(fs)
	var cfg suite.Config
	if err := fs.Parse(args); err != nil {
		return cfg, l, err
	}
	env := environment{get: func(string) string { return "" }}
	closeLegs, err := l.open(&cfg, env)
	if err != nil {
		return cfg, l, err
	}
	closeRouting, err := l.openRouting(&cfg, env)
	if err == nil {
		closeRouting()
	}
	return cfg, l, errors.Join(err, closeLegs())
}

// serveConfig returns the configuration of a role that is served with flags, and what closes its state.
func serveConfig(t *testing.T, role string, args []string) (suite.Config, func() error) {
	t.Helper()
	env := environment{get: func(string) string { return "" }, err: io.Discard}
	fs := newFlags("serve", "", "", env)
	f := addServeFlags(fs)
	if _, err := parse(fs, args, env); err != nil {
		t.Fatal(err)
	}
	cfg, closeState, err := f.config(t.Context(), role, env, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return cfg, closeState
}

func TestSearchAndSupportGetTheEmbeddingsEndpoint(t *testing.T) {
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	args := append([]string{"--model-url", "http://localhost/v1", "--model", "m", "--redis", server.URL(), "--embed-url", "http://x/v1", "--embed-model", "m"},
		scopeKeyFlags(t)...)
	for role, want := range map[string]bool{suite.Search: true, suite.Support: true, suite.Recommend: false} {
		cfg, closeState := serveConfig(t, role, args)
		if err := closeState(); err != nil || (cfg.Search.Embedder != nil) != want {
			t.Errorf("%s: embedder %v, error %v", role, cfg.Search.Embedder, err)
		}
	}
}

func TestServeRouterNeedsAnEndpointToCompareWithExamples(t *testing.T) {
	args := append([]string{"serve", "router", "--rules-only", "--listen", "127.0.0.1:0", "--route-embeddings"}, scopeKeyFlags(t)...)
	if code, _, stderr := quartet(t.Context(), nil, args...); code != exitUsage || !strings.Contains(stderr, "--route-embeddings needs --embed-url") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}

func TestTheRouterEmbedsOnlyIfItIsTo(t *testing.T) {
	const endpoint = "--embed-url http://x/v1 --embed-model m"
	for args, want := range map[string]bool{"": false, endpoint: false, endpoint + " --route-embeddings": true} {
		if cfg, _, err := openLegs(strings.Fields(args)...); err != nil || (cfg.RouteEmbedder != nil) != want {
			t.Errorf("%q: embedder %v, error %v", args, cfg.RouteEmbedder, err)
		}
	}
}

func TestLegsAreWhatTheFlagsSay(t *testing.T) {
	for _, c := range []struct {
		args             string
		vectors, reranks bool
		says             string
	}{
		{"", false, false, "words alone (no --embed-url)"},
		{"--embed-url http://x/v1 --embed-model m", true, false, "words and vectors of m"},
		{"--embed-url http://x/v1 --embed-model m --embed-input-type passage,query --rerank-url http://y/v1/ranking --rerank-model r --rerank-style nim", true, true, "words and vectors of m, reranked by r"},
		{"--rerank-url http://y/rerank --rerank-style tei", false, true, "words alone (no --embed-url), reranked by tei"},
	} {
		cfg, l, err := openLegs(strings.Fields(c.args)...)
		if err != nil || (cfg.Search.Embedder != nil) != c.vectors || (cfg.Search.Reranker != nil) != c.reranks || l.describe() != c.says {
			t.Errorf("%s: %v, %v, %q, error %v", c.args, cfg.Search.Embedder, cfg.Search.Reranker, l.describe(), err)
		}
	}
}

func TestLegsThatCannotWorkAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--embed-url http://x":          "needs --embed-model",
		"--embed-model m":               "need --embed-url",
		"--route-embeddings":            "needs --embed-url",
		"--embed-url x --embed-model m": "http://",
		"--embed-url http://x --embed-model m --embed-input-type passage": "want two",
		"--embed-url http://x --embed-model m --embed-input-type a,b,c":   "want two",
		"--rerank-url http://x": "needs --rerank-model",
		"--rerank-model m":      "need --rerank-url",
		"--rerank-style tei":    "need --rerank-url",
		"--rerank-url http://x --rerank-model m --rerank-style elsewhere": "unknown style",
		"--synonyms /no/such":                                    "no such file",
		"--synonyms " + write(t, "list.json", `["kite"]`):        "want such as",
		"--synonyms " + write(t, "one.json", `{"s":[["kite"]]}`): "group 1 has 1 phrases",
	} {
		if _, _, err := openLegs(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", args, err, want)
		}
	}
}
