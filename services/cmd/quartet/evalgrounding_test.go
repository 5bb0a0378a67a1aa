package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/eval/grounding"
	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
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
		"no record":      {"--record=x", "give --judge-model"},
		"none at once":   {"--parallel=0", "--parallel is 0"},
	} {
		code, _, stderr := quartet(t.Context(), nil, "eval", "grounding", c.arg)
		if code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: code %d, %q; want 2, %q", name, code, stderr, c.says)
		}
	}
}

// A model judges over HTTP; its verdicts are kept and measured with again.
func TestEvalGroundingWithAJudge(t *testing.T) {
	file := groundingFile(t, strings.ReplaceAll(groundingLine, "251.50", "red"))
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := wire.Answer{Text: `{"wrong":[{"sentence":1,"why":"no result says so"}]}`, Finish: openai.FinishReasonStop}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range a.Chunks() {
			fmt.Fprintf(w, "data: %s\n\n", chunk)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer judge.Close()
	kept := filepath.Join(t.TempDir(), "verdicts.jsonl")
	var none, judged, again grounding.Report
	runJSON(t, &none, "eval", "grounding", "--json", file)
	runJSON(t, &judged, "eval", "grounding", "--json", file, "--judge-model", "judge@"+judge.URL+"/v1", "--record", kept)
	runJSON(t, &again, "eval", "grounding", "--json", file, "--verdicts", kept)
	if none.Caught.N != 0 || judged.Caught.N != 1 || judged.Judged != 1 || again.Caught != judged.Caught || again.Judged != 1 {
		t.Errorf("%+v without a judge, %+v with it, %+v from its verdicts", none, judged, again)
	}
	if code, _, stderr := quartet(t.Context(), nil, "eval", "grounding", file, file, "--verdicts", kept); code != 2 || !strings.Contains(stderr, "two texts have the id") {
		t.Errorf("code %d, %q", code, stderr)
	}
	other := groundingFile(t, strings.ReplaceAll(groundingLine, `"a1"`, `"a2"`))
	if code, _, stderr := quartet(t.Context(), nil, "eval", "grounding", other, "--verdicts", kept); code != 2 || !strings.Contains(stderr, "no verdict on any of these texts") {
		t.Errorf("code %d, %q", code, stderr)
	}
	judge.Close()
	if code, _, stderr := quartet(t.Context(), nil, "eval", "grounding", file, "--judge-model", "judge@"+judge.URL+"/v1"); code != 1 || !strings.Contains(stderr, "no text was judged: case a1") {
		t.Errorf("code %d, %q", code, stderr)
	}
}
