package main

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/suite"
)

func TestIndexIsWhatTheFlagSays(t *testing.T) {
	for address, want := range map[string]struct{ says, refused string }{
		"":                         {says: "index embedded"}, // not given
		"embedded":                 {says: "index embedded"},
		"weaviate://a:8080,b:8080": {says: "index in Weaviate"},
		"weaviates://a:443":        {says: "index in Weaviate"},
		"http://a:8080":            {refused: `--index: index address: want weaviate://host:port`},
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
		if err != nil || index.describe() != want.says || (cfg.Cluster != nil) != strings.HasPrefix(address, "weaviate") {
			t.Errorf("%q: %s, cluster %v, error %v", address, index.describe(), cfg.Cluster, err)
		}
	}
}
