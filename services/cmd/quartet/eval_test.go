package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// smallSet has two messages that any router gets right, and one whose label is wrong on purpose.
const smallSet = `{"id":"one","text":"where is my order?","gold":["support"],"kind":"single","language":"en"}
{"id":"two","text":"Do you have trail running shoes in size 42, and what is your return policy?","gold":["search","support"],"kind":"several"}
{"id":"three","text":"I want a refund","gold":["recommend"],"kind":"single"}
`

// writeSet writes a set to a file of its own.
func writeSet(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "set.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEvalMistakesInTheCommandLine(t *testing.T) {
	set := writeSet(t, smallSet)
	tests := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"nothing to measure", nil, 2, "say what to measure"},
		{"something else to measure", []string{"merging", set}, 2, `cannot measure "merging"`},
		{"no file", []string{"routing"}, 2, "give one file"},
		{"two files", []string{"routing", set, set}, 2, "give one file"},
		{"an unknown router", []string{"routing", set, "--router", "dice"}, 2, "rules, model, auto"},
		{"nothing at a time", []string{"routing", set, "--parallel", "0"}, 2, "at least 1"},
		{"a model URL without a model", []string{"routing", set, "--router", "auto", "--model-url", "http://localhost/v1"}, 2, "without --model"},
		{"half an endpoint", []string{"routing", set, "--embed-url", "http://localhost/v1"}, 2, "--embed-url needs --embed-model"},
		{"a file that is not there", []string{"routing", "/no/such/set.jsonl"}, 1, "no such file"},
		{"an empty file", []string{"routing", writeSet(t, "")}, 2, "the set is empty"},
		{"a wrong line", []string{"routing", writeSet(t, smallSet+`{"id":"four","text":"x","gold":["billing"]}`)}, 2,
			`line 4: gold[0] "billing" is no specialist; the specialists are: search, recommend, promotions, support`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, stderr := quartet(t.Context(), nil, append([]string{"eval"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.says) || out != "" {
				t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s\nwant %d and %q", code, out, stderr, tt.code, tt.says)
			}
		})
	}
}

func TestEvalPrintsTheFigures(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, "eval", "routing", writeSet(t, smallSet), "--misses")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	for _, want := range []string{
		"router rules · 3 messages\n", "exact set accuracy        66.7 %  2 of 3\n", "\nspecialist", "\nrecommend           -    0.0 %    0.0 %        1\n",
		"\nkind     messages    exact", "\nseveral         1  100.0 %", "\nlanguage", "       1  recommend -> support\n",
		"\nthree  recommend -> support  (certainty ", "\n  \"I want a refund\"\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
}

// evaluated is what a reader of the JSON looks at.
type evaluated struct {
	Router   string         `json:"router"`
	Model    string         `json:"model"`
	Messages int            `json:"messages"`
	BySource map[string]int `json:"by_source"`
	Misses   []struct {
		ID string `json:"id"`
	} `json:"misses"`
}

// The classifier is not certain of the last message, which says nothing.
func TestEvalAsJSONTellsTheRoutersApart(t *testing.T) {
	const offlineFast = "quartet-offline-fast"
	set := writeSet(t, smallSet+`{"id":"four","text":"blorp zank","gold":["support"]}`)
	for _, want := range []evaluated{
		{Router: "rules", BySource: map[string]int{"rules": 3, "examples": 0, "model": 0, "fallback": 1}},
		{Router: "auto", BySource: map[string]int{"rules": 3, "examples": 0, "model": 0, "fallback": 1}},
		{Router: "model", Model: offlineFast, BySource: map[string]int{"rules": 0, "examples": 0, "model": 4, "fallback": 0}},
	} {
		t.Run(want.Router, func(t *testing.T) {
			code, out, stderr := quartet(t.Context(), nil, "eval", "routing", set, "--json", "--router", want.Router)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
			}
			var got evaluated
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%v in:\n%s", err, out)
			}
			want.Messages = 4
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The vectors of legServer tell words, so a message in the words of an example is next to it.
func TestEvalRoutingComparesWithExamples(t *testing.T) {
	l := new(legServer)
	flags := l.start(t)[:4] // without the reranking
	set := writeSet(t, smallSet+`{"id":"four","text":"blorp zank","gold":["support"]}`)
	code, out, stderr := quartet(t.Context(), nil, append([]string{"eval", "routing", set, "--json"}, flags...)...)
	var got evaluated
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v, stderr:\n%s", code, err, stderr)
	}
	if got.BySource["rules"] != 3 || got.BySource["examples"]+got.BySource["fallback"] != 1 || len(l.texts) < 1000 || !slices.Contains(l.texts, "blorp zank") {
		t.Errorf("sources %v, %d texts were embedded", got.BySource, len(l.texts))
	}
	code, out, stderr = quartet(t.Context(), nil, "eval", "routing", set, "--embed-url", "http://127.0.0.1:1", "--embed-model", "m", "--log-level", "ERROR")
	if code != 1 || out != "" || !strings.Contains(stderr, "embed the examples of ") {
		t.Errorf("without an endpoint: exit code %d, stdout:\n%s\nstderr:\n%s", code, out, stderr)
	}
}

func TestEvalAsJSONListsMissesWhenAsked(t *testing.T) {
	_, out, stderr := quartet(t.Context(), nil, "eval", "routing", writeSet(t, smallSet), "--json", "--misses")
	var got evaluated
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v, stdout:\n%s\nstderr:\n%s", err, out, stderr)
	}
	if len(got.Misses) != 1 || got.Misses[0].ID != "three" {
		t.Errorf("misses are %v, want that of message three", got.Misses)
	}
}

func TestEvalReadsStdin(t *testing.T) {
	var out, errOut output
	env := environment{get: func(string) string { return "" }, in: strings.NewReader(smallSet), out: &out, err: &errOut}
	code := run(t.Context(), []string{"eval", "routing", "-"}, env)
	if code != 0 || !strings.Contains(out.String(), "3 messages") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, &out, &errOut)
	}
}

func TestEvalEndsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, stderr := quartet(ctx, nil, "eval", "routing", writeSet(t, smallSet))
	if code != 1 || out != "" || !strings.Contains(stderr, "ancel") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, out, stderr)
	}
}
