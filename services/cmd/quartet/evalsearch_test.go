package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

const (
	kites = `{"product_id":"K1","title":"Harbour single-line kite","category_path":["Kites"],"variants":[{"variant_id":"std","price":{"amount_minor":2450,"currency_code":"EUR"},"stock":7}]}
{"product_id":"K2","title":"Gale stunt kite","category_path":["Kites"],"variants":[{"variant_id":"std","price":{"amount_minor":6900,"currency_code":"EUR"},"stock":2}]}
{"product_id":"L1","title":"Line winder","category_path":["Spares"],"variants":[{"variant_id":"std","price":{"amount_minor":900,"currency_code":"EUR"},"stock":2}]}
`
	kiteJudgments = "query,docid,rating\nstunt kite,K2,3\nstunt kite,K1,1\nwinder,K1,2\nzeppelin,K1,0\n"
)

// setOf writes products and judgments, and returns the flags that name them.
func setOf(t *testing.T, products, judgments string) []string {
	t.Helper()
	dir := t.TempDir()
	var flags []string
	for name, text := range map[string]string{"products": products, "judgments": judgments} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--"+name, path)
	}
	return flags
}

func TestEvalSearchMistakesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"nothing":                  {nil, 2, "give --products and --judgments"},
		"products and documents":   {[]string{"--products", "a", "--documents", "b", "--judgments", "c"}, 2, "or --documents and --judgments"},
		"an argument":              {[]string{"set.csv"}, 2, `unexpected argument "set.csv"`},
		"stdin twice":              {[]string{"--products", "-", "--judgments", "-"}, 2, "cannot both be stdin"},
		"timed never":              {append(setOf(t, kites, kiteJudgments), "--repeat", "0"), 2, "--repeat is 0"},
		"a file that is not there": {[]string{"--products", "/no/such", "--judgments", "/no/such"}, 1, "no such file"},
		"a wrong judgment":         {setOf(t, kites, kiteJudgments+"kite,K1,good\n"), 2, `line 6: rating is "good"`},
		"no judgment":              {setOf(t, kites, "query,docid,rating\n"), 2, "there is no line to measure"},
		"a wrong product": {setOf(t, kites+`{"product_id":"K3","title":""}`, kiteJudgments), 2,
			"line 4: K3: title: is required"},
		"a broken product": {setOf(t, kites+`{"product_id":`, kiteJudgments), 2, "wrong lines: 1"},
		"no product":       {setOf(t, "", kiteJudgments), 2, "there is no line to measure"},
		"half a leg":       {append(setOf(t, kites, kiteJudgments), "--embed-url", "http://localhost/v1"), 2, "--embed-url needs --embed-model"},
		"no URL":           {append(setOf(t, kites, kiteJudgments), "--embed-url", "127.0.0.1:8000/v1", "--embed-model", "m"), 2, "--embed-url: embeddings: Config.BaseURL is not a URL: want http://"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := quartet(t.Context(), nil, append([]string{"eval", "search"}, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.says) || out != "" {
				t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s\nwant %d and %q", code, out, stderr, c.code, c.says)
			}
		})
	}
}

// A passage is named by its document and its section; the last question is not about any.
func TestEvalSearchOfDocuments(t *testing.T) {
	const documents = `{"policy_id":"returns","title":"Returns","body":"Send it back within 30 days.\n\n## Kites\n\nKites must be dry."}` + "\n"
	flags := setOf(t, documents, "query,docid,rating\nreturns,returns#,1\ncan I return a wet kite?,returns#Kites,1\nwho is the president?,returns#,0\n")
	flags[slices.Index(flags, "--products")] = "--documents"
	code, out, stderr := quartet(t.Context(), nil, append([]string{"eval", "search"}, flags...)...)
	if code != 0 || stderr != "" || !strings.Contains(out, "queries: 3, without a relevant product: 1, of these nothing certain found: 1") || !strings.Contains(out, "\nlexical    1.000   1.000  1.000") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, out, stderr)
	}
	flags = setOf(t, `{"policy_id":"returns"}`+"\n", kiteJudgments)
	flags[slices.Index(flags, "--products")] = "--documents"
	if code, _, stderr := quartet(t.Context(), nil, append([]string{"eval", "search"}, flags...)...); code != 2 || !strings.Contains(stderr, "line 1") {
		t.Errorf("a wrong document: exit code %d, stderr:\n%s", code, stderr)
	}
}

func TestEvalSearchPrintsTheFigures(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, append([]string{"eval", "search", "--misses"}, setOf(t, kites, kiteJudgments)...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	for _, want := range []string{
		"products: 3 · queries: 3, without a relevant product: 1, of these nothing certain found: 1 · judgments: 4\n", "\nlexical    0.500   0.500  0.500      0.500       0.500      50 %          1 ",
		"\n\"winder\"  nDCG@10 0.000 · condensed 0.000 · recall@100 0.000\n   1   -  L1  Line winder\n  relevant and not found: K1\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// searched is what a reader of the JSON looks at.
type searched struct {
	NDCG10      float64             `json:"ndcg_at_10"`
	NDCG5       float64             `json:"ndcg_at_5"`
	Condensed   float64             `json:"condensed_ndcg_at_10"`
	Recall      float64             `json:"recall_at_100"`
	NoAnswer    *int                `json:"no_answer_queries"`
	Incomplete  int                 `json:"incomplete_queries"`
	P50         float64             `json:"p50_ms"`
	P99         float64             `json:"p99_ms"`
	Products    int                 `json:"products"`
	EmbedMillis float64             `json:"embed_ms"`
	Pipeline    string              `json:"pipeline"`
	Legs        map[string]searched `json:"legs"`
	Against     *struct {
		NDCG10 struct {
			Improved int `json:"improved_queries"`
		} `json:"ndcg_at_10"`
	} `json:"against_lexical"`
	Misses *[]any `json:"misses"`
}

func evalSearch(t *testing.T, args ...string) searched {
	t.Helper()
	code, out, stderr := quartet(t.Context(), nil, append([]string{"eval", "search", "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	var got searched
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, out)
	}
	return got
}

func TestEvalSearchAsJSON(t *testing.T) {
	got := evalSearch(t, setOf(t, kites, kiteJudgments)...)
	// Of the two queries with a relevant product one finds nothing relevant, and so is half of each.
	if got.Products != 3 || got.NoAnswer == nil || *got.NoAnswer != 1 || got.Legs["lexical"].NDCG10 != got.NDCG10 || got.Misses != nil {
		t.Errorf("figures are %+v", got)
	}
	if got.NDCG10 <= 0.4 || got.NDCG10 > 0.5 || got.Recall <= 0 || got.P50 <= 0 || got.P99 < got.P50 {
		t.Errorf("figures are %+v", got)
	}
}

func TestEvalSearchComparesWithBaselines(t *testing.T) {
	_, out, _ := quartet(t.Context(), nil, append([]string{"eval", "search", "--baselines"}, setOf(t, kites, kiteJudgments)...)...)
	for _, want := range []string{"\nBM25                 0.", "\nBM25 over n-grams    0.", "p (random)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

func TestEvalSearchKnowsTheStoresSynonyms(t *testing.T) {
	flags := append(setOf(t, kites, "query,docid,rating\nflyer,K2,1\n"), "--synonyms", write(t, "synonyms.json", `{"eval":[["flyer","stunt kite"]]}`))
	if got := evalSearch(t, flags...); got.NDCG10 != 1 {
		t.Errorf("nDCG@10 is %v, want the kite first", got.NDCG10)
	}
}

// What the search reaches on queries that others collected and judged. The floors lie a little below what is reached;
// docs/evaluation.md has the figures.
func TestSearchOnPublicQueries(t *testing.T) {
	t.Parallel() // with the other public set: each takes a while, and neither measures time
	products, judgments := publicdata.Path(t, "chorus/products.jsonl.gz"), publicdata.Path(t, "chorus/judgments.csv")
	all := 19_406
	if every > 1 {
		products, all = someProducts(t, products, judgments)
	}
	got := evalSearch(t, "--products", products, "--judgments", judgments)
	for _, figure := range []struct {
		name         string
		value, least float64
	}{
		{"nDCG@10", got.NDCG10, 0.80}, {"nDCG@5", got.NDCG5, 0.80}, {"condensed nDCG@10", got.Condensed, 0.86}, {"recall@100", got.Recall, 0.92},
	} {
		t.Logf("%s %.4f", figure.name, figure.value)
		if figure.value < figure.least {
			t.Errorf("%s is %.4f, want at least %v", figure.name, figure.value, figure.least)
		}
	}
	if got.Products != all || *got.NoAnswer > 0 {
		t.Errorf("%d products, want %d, and %d queries without an answer", got.Products, all, *got.NoAnswer)
	}
}

// someProducts writes the products that are judged, and one of every few others, to a file of their own.
func someProducts(t *testing.T, products, judgments string) (path string, n int) {
	t.Helper()
	judged, err := os.ReadFile(judgments)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(products)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	var some []byte
	i := 0
	for line := range bytes.Lines(text) {
		_, rest, ok := bytes.Cut(line, []byte(`{"id":"`))
		id, _, closed := bytes.Cut(rest, []byte(`"`))
		if !ok || !closed {
			t.Fatalf("line %d does not begin with an id: %.40s", i+1, line)
		}
		if i++; i%every == 0 || bytes.Contains(judged, slices.Concat([]byte(","), id, []byte(","))) {
			some = append(some, line...)
			n++
		}
	}
	path = filepath.Join(t.TempDir(), "products.jsonl")
	if err := os.WriteFile(path, some, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, n
}
