package embed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is a request as a server sees it.
type asked struct {
	Model     string   `json:"model"`
	Input     []string `json:"input"`
	InputType string   `json:"input_type"`
}

// serve answers by fn, and returns a configuration for it.
func serve(t *testing.T, fn func(w http.ResponseWriter, r *http.Request, in asked)) embed.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in asked
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		fn(w, r, in)
	}))
	t.Cleanup(server.Close)
	return embed.Config{URL: server.URL + "/v1", Model: "m", Key: "secret-key"}
}

func client(t *testing.T, cfg embed.Config) *embed.Client {
	t.Helper()
	c, err := embed.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// lengths answers, last text first, with vectors that point where the text's length says.
func lengths(w io.Writer, in asked) {
	var data []string
	for i := len(in.Input) - 1; i >= 0; i-- {
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(in.Input[i])))
	}
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
}

// isLength reports whether v is the direction that lengths gives a text, and of length 1.
func isLength(v embed.Vector, text string) bool {
	if len(v) != 2 {
		return false
	}
	x, y := float64(v[0]), float64(v[1])
	return math.Abs(x/y-float64(len(text))) < 1e-2 && math.Abs(x*x+y*y-1) < 1e-5
}

func TestDocumentsAreEmbeddedInBatchesAndKept(t *testing.T) {
	var requests, largest atomic.Int64
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request, in asked) {
		requests.Add(1)
		largest.Store(max(largest.Load(), int64(len(in.Input))))
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer secret-key" || in.Model != "m" || in.InputType != "passage" {
			t.Errorf("%s: %+v", r.URL.Path, in)
		}
		lengths(w, in)
	})
	cfg.DocumentType, cfg.Cache = "passage", embed.RedisCache{Redis: servicetest.Redis(t)}
	var texts []string
	for i := range 100 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	for range 2 { // the second time from the cache
		vs, err := client(t, cfg).Documents(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vs {
			if !isLength(v, texts[i]) {
				t.Fatalf("text %d: vector %v", i, v)
			}
		}
		if requests.Load() != 4 || largest.Load() != 32 {
			t.Errorf("%d requests, the largest of %d", requests.Load(), largest.Load())
		}
	}
}

func TestQueriesHaveTheirOwnTypeAndAreNotKept(t *testing.T) {
	var requests atomic.Int64
	cfg := serve(t, func(w http.ResponseWriter, _ *http.Request, in asked) {
		requests.Add(1)
		if in.InputType != "query" {
			t.Errorf("input_type %q", in.InputType)
		}
		lengths(w, in)
	})
	cfg.DocumentType, cfg.QueryType, cfg.Cache = "passage", "query", embed.RedisCache{Redis: servicetest.Redis(t)}
	c := client(t, cfg)
	for range 2 {
		if v, err := c.Query(t.Context(), "tents"); err != nil || !isLength(v, "tents") {
			t.Errorf("vector %v, error %v", v, err)
		}
	}
	texts := []string{"tents", "a larger tent"}
	vs, err := c.Queries(t.Context(), texts)
	if err != nil || len(vs) != 2 || !isLength(vs[0], texts[0]) || !isLength(vs[1], texts[1]) {
		t.Errorf("vectors %v, error %v", vs, err)
	}
	if requests.Load() != 3 {
		t.Errorf("%d requests", requests.Load())
	}
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		status, requests int
		retryAfter       string
		fails            bool
	}{
		"rate limit":               {status: 429, requests: 2, retryAfter: "0.01"},
		"overload":                 {status: 503, requests: 2},
		"refusal":                  {status: 400, requests: 1, fails: true},
		"wrong key":                {status: 401, requests: 1, fails: true},
		"a wait beyond the caller": {status: 429, requests: 1, retryAfter: "3600", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			cfg := serve(t, func(w http.ResponseWriter, _ *http.Request, in asked) {
				if requests.Add(1) > 1 {
					lengths(w, in)
					return
				}
				w.Header().Set("Retry-After", c.retryAfter)
				http.Error(w, "no, secret-key", c.status)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := client(t, cfg).Query(ctx, "q")
			if (err != nil) != c.fails || int(requests.Load()) != c.requests {
				t.Errorf("error %v after %d requests", err, requests.Load())
			}
			if err != nil && strings.Contains(err.Error(), "secret-key") {
				t.Errorf("error %v has the key", err)
			}
		})
	}
}

func TestAnswersOfNoUseAreRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"no JSON":        `<html>`,
		"nothing":        `{}`,
		"too few":        `{"data":[{"index":0,"embedding":[1,2]}]}`,
		"too many":       `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		"one twice":      `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		"wrong index":    `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`,
		"two dimensions": `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`,
		"no direction":   `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[0]}]}`,
		"empty vector":   `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`,
		"no number":      `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":["NaN"]}]}`,
		"too large":      `{"data":[{"index":0,"embedding":[1e300]},{"index":1,"embedding":[1]}]}`,
		"base64":         `{"data":[{"index":0,"embedding":"AACAPw=="},{"index":1,"embedding":"AACAPw=="}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := serve(t, func(w http.ResponseWriter, _ *http.Request, _ asked) { fmt.Fprint(w, answer) })
			if vs, err := client(t, cfg).Documents(t.Context(), []string{"a", "b"}); err == nil {
				t.Errorf("vectors %v", vs)
			}
		})
	}
}

func TestTextsAreCutAndNeverEmpty(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, _ *http.Request, in asked) {
		for _, text := range in.Input {
			if text == "" || len(text) > 2_000 {
				t.Errorf("text of %d bytes", len(text))
			}
		}
		lengths(w, in)
	})
	if _, err := client(t, cfg).Documents(t.Context(), []string{"", " \n", strings.Repeat("ß", 5_000)}); err != nil {
		t.Error(err)
	}
}

func TestNewRefusesWhatCanNotWork(t *testing.T) {
	for _, cfg := range []embed.Config{
		{}, {URL: "http://x/v1"}, {Model: "m"}, {URL: "localhost:1", Model: "m"}, {URL: "http://a:b@x", Model: "m"},
		{URL: "http://x", Model: "m", Key: "two\nlines"},
	} {
		if _, err := embed.New(cfg); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v", cfg, err)
		}
	}
}

func TestDotIsExact(t *testing.T) {
	for n := range 12 {
		var a, b embed.Vector
		var want float32
		for i := range n {
			a, b = append(a, float32(i+1)), append(b, float32(2*i-3))
			want += a[i] * b[i]
		}
		if got := a.Dot(b); got != want {
			t.Errorf("%d dimensions: %v, want %v", n, got, want)
		}
	}
}
