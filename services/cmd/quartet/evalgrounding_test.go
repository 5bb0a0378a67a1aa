package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/eval/grounding"
)

const groundingLine = `{"id":"a1","kind":"price","language":"en","message":"tents?","payloads":[{"tool":"search_catalog",` +
	`"result":{"price":"249.50 EUR"}}],"text":"It costs 251.50 EUR.","verdict":"corrupted","wrong":"251.50"}`

func groundingFile(t *testing.T, lines string) string {
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEvalGrounding(t *testing.T) {
	file := groundingFile(t, groundingLine)
	var r grounding.Report
	runJSON(t, &r, "eval", "grounding", "--json", file, file)
	if r.Caught.N != 2 || r.Caught.Of != 2 {
		t.Errorf("caught %+v", r.Caught)
	}
	runJSON(t, &r, "eval", "grounding", "--json", "--generate", "44", file)
	if r.Cases != 89 {
		t.Errorf("%d cases with generated ones", r.Cases)
	}
	if _, out, _ := quartet(t.Context(), nil, "eval", "grounding", file); !strings.Contains(out, "1 of 1  100.0 %") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestEvalGroundingMistakesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ arg, says string }{
		"no file":        {"--json", "give at least one file"},
		"too few":        {"--generate=-1", "--generate is -1"},
		"an absent file": {"/no/such", "no such file"},
		"a wrong line":   {groundingFile(t, "{}"), "case 1: want one of text"},
	} {
		code, _, stderr := quartet(t.Context(), nil, "eval", "grounding", c.arg)
		if code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: code %d, %q; want 2, %q", name, code, stderr, c.says)
		}
	}
}
