package rerank_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/services/internal/rerank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask has a server answer, and returns the scores of two texts and what it was asked.
func ask(t *testing.T, style rerank.Style, answer string) (scores []float64, body string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || r.URL.Path != "/v1/here" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("%s: error %v", r.URL.Path, err)
		}
		body = string(raw)
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	c, err := rerank.New(rerank.Config{URL: server.URL + "/v1/here", Key: "k", Model: "m", Style: style})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	scores, err = c.Scores(t.Context(), "q", []string{"a", strings.Repeat("b", 3_000)})
	return scores, body, err
}

func TestEachStyleIsSpoken(t *testing.T) {
	b := strings.Repeat("b", 2_000)
	for _, c := range []struct {
		style        rerank.Style
		answer, want string
	}{
		{"", `{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0}]}`, `{"documents":["a","` + b + `"],"model":"m","query":"q","top_n":2}`},
		{rerank.TEI, `[{"index":1,"score":0.9},{"index":0,"score":0}]`, `{"query":"q","texts":["a","` + b + `"],"truncate":true}`},
		{rerank.NIM, `{"rankings":[{"index":1,"logit":0.9},{"index":0,"logit":0}]}`, `{"model":"m","passages":[{"text":"a"},{"text":"` + b + `"}],"query":{"text":"q"},"truncate":"END"}`},
	} {
		scores, body, err := ask(t, c.style, c.answer)
		if err != nil || !slices.Equal(scores, []float64{0, 0.9}) {
			t.Errorf("%q: scores %v, error %v", c.style, scores, err)
		}
		if diff := cmp.Diff(c.want, body); diff != "" {
			t.Errorf("%q was asked (-want +got):\n%s", c.style, diff)
		}
	}
}

func TestAnswersOfNoUseAreRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"no JSON":     `oops`,
		"another API": `[{"index":0,"score":1},{"index":1,"score":1}]`,
		"nothing":     `{}`,
		"too few":     `{"results":[{"index":0,"relevance_score":1}]}`,
		"one twice":   `{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}`,
		"wrong index": `{"results":[{"index":0,"relevance_score":1},{"index":2,"relevance_score":1}]}`,
		"no index":    `{"results":[{"index":1,"relevance_score":1},{"relevance_score":1}]}`,
		"no score":    `{"results":[{"index":0,"relevance_score":1},{"index":1}]}`,
	} {
		if scores, _, err := ask(t, rerank.Cohere, answer); err == nil {
			t.Errorf("%s: scores %v", name, scores)
		}
	}
}

func TestNewRefusesWhatCanNotWork(t *testing.T) {
	for want, cfg := range map[string]rerank.Config{
		"unknown style": {URL: "http://x", Model: "m", Style: "solr"},
		"Model":         {URL: "http://x"},
		"BaseURL":       {URL: "x", Model: "m", Style: rerank.NIM},
	} {
		if _, err := rerank.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v", cfg, err)
		}
	}
	if _, err := rerank.New(rerank.Config{URL: "http://x", Style: rerank.TEI}); err != nil {
		t.Error(err)
	}
}
