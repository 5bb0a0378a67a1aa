package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
)

// legServer stands for an endpoint of embeddings and of rerankings. Its vectors tell which words a text has, with "zeppelin" as
// another word for "kite"; it prefers the texts whose first letter comes last.
type legServer struct {
	refuse func(path string, texts []string) bool // nil: nothing is refused

	mu    sync.Mutex // guards the rest
	texts []string   // that were embedded
}

func (l *legServer) start(t *testing.T) (flags []string) {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return []string{
		"--embed-url", server.URL, "--embed-model", "m", "--rerank-url", server.URL + "/rerank", "--rerank-model", "r",
	}
}

func (l *legServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var in struct{ Input, Documents []string }
	err := json.NewDecoder(r.Body).Decode(&in)
	if err != nil || l.refuse != nil && l.refuse(r.URL.Path, in.Input) {
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	var list []string
	if r.URL.Path == "/rerank" {
		for i, text := range in.Documents {
			list = append(list, fmt.Sprintf(`{"index":%d,"relevance_score":%d}`, i, text[0]))
		}
		fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(list, ","))
		return
	}
	l.texts = append(l.texts, in.Input...)
	for i, text := range in.Input {
		vector, _ := json.Marshal(wordVector(text))
		list = append(list, fmt.Sprintf(`{"index":%d,"embedding":%s}`, i, vector))
	}
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(list, ","))
}

func wordVector(text string) []float32 {
	out := make([]float32, 257)
	out[0] = 0.01 // no text is without a direction
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if word = strings.TrimSuffix(word, "s"); word == "zeppelin" {
			word = "kite"
		}
		h := fnv.New32a()
		h.Write([]byte(word))
		out[1+h.Sum32()%256]++
	}
	return out
}

// zeppelins are judged so that words find nothing for the second query, and put the wrong kite first for the first one.
const zeppelins = "query,docid,rating\nkite,K1,3\nzeppelin,K2,2\n"

func TestEvalSearchMeasuresEachLeg(t *testing.T) { testEvalSearchMeasuresEachLeg(t) }

func TestEvalSearchMeasuresEachLegOfACluster(t *testing.T) {
	testEvalSearchMeasuresEachLeg(t, "--index", weaviatetest.Start(t, 1).URL())
}

func testEvalSearchMeasuresEachLeg(t *testing.T, more ...string) {
	l := new(legServer)
	got := evalSearch(t, slices.Concat(setOf(t, kites, zeppelins), l.start(t), more)...)
	const second, third = 0.6309297535714575, 0.5
	for name, want := range map[string]struct {
		ndcg               float64
		noAnswer, improved int
	}{
		"lexical":               {second / 2, 1, 0},
		"lexical+vector":        {(second + 1) / 2, 0, 1},
		"lexical+vector+rerank": {(1 + third) / 2, 0, 2},
	} {
		f, ok := got.Legs[name]
		if !ok || math.Abs(f.NDCG10-want.ndcg) > 1e-9 || *f.NoAnswer != want.noAnswer || f.Incomplete > 0 {
			t.Errorf("%s: figures %+v, want %+v", name, f, want)
		}
		if f.Against == nil != (name == "lexical") || f.Against != nil && f.Against.NDCG10.Improved != want.improved {
			t.Errorf("%s: against the words %+v, want %d improved", name, f.Against, want.improved)
		}
	}
	if got.Pipeline != "lexical+vector+rerank" || got.NDCG10 != got.Legs[got.Pipeline].NDCG10 || got.EmbedMillis <= 0 {
		t.Errorf("the whole is %+v", got)
	}
	products := 0
	for _, text := range l.texts {
		if strings.HasSuffix(text, "Kites") || strings.HasSuffix(text, "Spares") {
			products++
		}
	}
	if products != 3 {
		t.Errorf("%d products were embedded for two pipelines, want each of the 3 once", products)
	}
}

func TestEvalSearchPrintsARowForEachLeg(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, slices.Concat([]string{"eval", "search"}, setOf(t, kites, zeppelins), new(legServer).start(t))...)
	for _, want := range []string{
		"\nlexical                  0.315 ", "\nlexical+vector           0.815 ", "\nlexical+vector+rerank    0.750 ",
		"\nagainst lexical        nDCG@10  better  worse  p (sign)  p (random)  condensed  better  worse  p (sign)  p (random)\n",
		"\nlexical+vector          +0.500       1      0     1.000       1.000     +0.500       1      0     1.000       1.000\n", ", all vectors after ",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, the output lacks %q:\n%s\n%s", code, want, out, stderr)
		}
	}
}

func TestEvalSearchWithoutVectorsEndsWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(path string, texts []string) bool
		says   string
	}{
		"products": {func(path string, _ []string) bool { return path == "/embeddings" }, "0 of 3 products were embedded: embeddings: "},
		"queries":  {func(_ string, texts []string) bool { return slices.Contains(texts, "kite") }, `query "kite" was not embedded: embeddings: `},
	} {
		t.Run(name, func(t *testing.T) {
			l := &legServer{refuse: c.refuse}
			code, out, stderr := quartet(t.Context(), nil, slices.Concat([]string{"eval", "search", "--log-level", "ERROR"}, setOf(t, kites, zeppelins), l.start(t))...)
			if code != 1 || out != "" || !strings.Contains(stderr, c.says) || !strings.Contains(stderr, "400") {
				t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s\nwant %q", code, out, stderr, c.says)
			}
		})
	}
}

func TestEvalSearchSaysThatALegFailed(t *testing.T) {
	l := &legServer{refuse: func(path string, _ []string) bool { return path == "/rerank" }}
	code, out, stderr := quartet(t.Context(), nil, slices.Concat([]string{"eval", "search", "--log-level", "ERROR"}, setOf(t, kites, zeppelins), l.start(t))...)
	const want = "\nlexical+vector+rerank: 2 queries were answered without a leg that failed"
	if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "\nlexical+vector: ") {
		t.Errorf("exit code %d, the output lacks %q:\n%s\n%s", code, want, out, stderr)
	}
}

func TestEvalSearchIsInterruptedWhileProductsAreEmbedded(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		interrupt()
		<-r.Context().Done()
	}))
	defer server.Close()
	args := slices.Concat([]string{"eval", "search", "--embed-url", server.URL, "--embed-model", "m"}, setOf(t, kites, zeppelins))
	code, out, stderr := quartet(ctx, nil, args...)
	// It is interrupted while it embeds, or still on the first search, which starts that.
	if code != 1 || out != "" || !strings.Contains(stderr, "context canceled") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, out, stderr)
	}
}
