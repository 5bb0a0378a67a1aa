package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/suite"
)

// openLegs opens the legs that the flags say.
func openLegs(args ...string) (suite.Config, *legFlags, error) {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	l := addLegFlags(fs)
	var cfg suite.Config
	if err := fs.Parse(args); err != nil {
		return cfg, l, err
	}
	closeLegs, err := l.open(&cfg, environment{get: func(string) string { return "" }})
	if err == nil {
		err = closeLegs()
	}
	return cfg, l, err
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
		if err != nil || (cfg.Embedder != nil) != c.vectors || (cfg.Reranker != nil) != c.reranks || l.describe() != c.says {
			t.Errorf("%s: %v, %v, %q, error %v", c.args, cfg.Embedder, cfg.Reranker, l.describe(), err)
		}
	}
}

func TestLegsThatCanNotWorkAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--embed-url http://x":          "needs --embed-model",
		"--embed-model m":               "need --embed-url",
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
