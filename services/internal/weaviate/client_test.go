package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nodes are servers that answer as told, one after the other in the address.
func nodes(t *testing.T, key string, handlers ...http.HandlerFunc) *Client {
	t.Helper()
	var hosts []string
	for _, h := range handlers {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		hosts = append(hosts, strings.TrimPrefix(s.URL, "http://"))
	}
	c, err := New("weaviate://"+strings.Join(hosts, ","), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.at.Store(0)
	return c
}

// says is a node that answers all calls alike, and counts them.
func says(calls *atomic.Int64, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const one = `{"data":{"Aggregate":{"n0":[{"meta":{"count":1}}]}}}`

func TestAddress(t *testing.T) {
	for address, good := range map[string]bool{
		"weaviate://a:1": true, "weaviates://a:1,b:2": true, "weaviate://[::1]:8080": true,
		"http://a:1": false, "a:1": false, "weaviate://": false, "weaviate://a": false, "weaviate://a:1,": false, "weaviate://a:1/x": false,
		"weaviate://user@a:1": false,
	} {
		if _, err := New(address, ""); (err == nil) != good {
			t.Errorf("%s: error %v", address, err)
		}
	}
}

func TestAnotherNodeIsAskedWhenOneFails(t *testing.T) {
	for name, down := range map[string]struct {
		status int
		body   string
	}{
		"it cannot work":                {500, "out of memory"},
		"it has no leader":              {422, `{"error":[{"message":"leader not found"}]}`},
		"a query fails for the cluster": {200, `{"errors":[{"message":"shard: context deadline exceeded"}]}`},
		"it does not say what it means": {200, `<html>`},
	} {
		t.Run(name, func(t *testing.T) {
			var failed, answered atomic.Int64
			c := nodes(t, "", says(&failed, down.status, down.body), says(&answered, 200, one))
			for range 3 {
				if n, err := c.Count(t.Context(), "C", "t", Where{}); err != nil || n[0] != 1 {
					t.Errorf("count %v, error %v", n, err)
				}
			}
			if failed.Load() != 1 || answered.Load() != 3 {
				t.Errorf("%d calls of the node that fails, %d of the other; want 1 and 3", failed.Load(), answered.Load())
			}
		})
	}
}

func TestWritesAreTriedUntilTheyAreTaken(t *testing.T) {
	var calls atomic.Int64
	c := nodes(t, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("consistency_level") != "QUORUM" {
			t.Errorf("a write without quorum: %s", r.URL)
		}
		if calls.Add(1) < 4 {
			_, _ = io.WriteString(w, `[{"result":{"errors":{"error":[{"message":"cannot reach enough replicas"}]}}}]`)
			return
		}
		_, _ = io.WriteString(w, `[{"result":{"status":"SUCCESS"}}]`)
	})
	if err := c.Put(t.Context(), "C", "t", []Object{{ID: "1"}}); err != nil || calls.Load() != 4 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
}

func TestWhatIsRefusedIsNotTriedAgain(t *testing.T) {
	var calls atomic.Int64
	c := nodes(t, "", says(&calls, 422, `{"error":[{"message":"no such property"}]}`))
	err := c.Put(t.Context(), "C", "t", []Object{{ID: "1"}})
	var refused *Refused
	if !errors.As(err, &refused) || refused.Message != "no such property" || calls.Load() != 1 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
}

func TestTriesEndWithTheCallersTime(t *testing.T) {
	var calls atomic.Int64
	c := nodes(t, "", says(&calls, 503, "down"), says(&calls, 503, "down"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.Count(ctx, "C", "t", Where{})
	var unavailable *fault.Unavailable
	if !errors.As(err, &unavailable) || unavailable.Public() != "search index: count: temporarily unavailable" || calls.Load() < 4 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := c.Count(gone, "C", "t", Where{}); !errors.Is(err, context.Canceled) || errors.As(err, &unavailable) {
		t.Errorf("error %v, want that the caller has left", err)
	}
}

func TestKeyIsSentAndNeverTold(t *testing.T) {
	var got atomic.Value
	c := nodes(t, "secret-key", func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	})
	_, err := c.Count(t.Context(), "C", "t", Where{})
	if err == nil || strings.Contains(err.Error(), "secret-key") || got.Load() != "Bearer secret-key" {
		t.Errorf("sent %q, error %v", got.Load(), err)
	}
}

func TestMissing(t *testing.T) {
	for message, want := range map[string]bool{
		`tenant not found: "x"`: true, `Cannot query field "C" on type "GetObjectsObj".`: true, "syntax error": false,
	} {
		var calls atomic.Int64
		raw, _ := json.Marshal(map[string]any{"errors": []any{map[string]string{"message": message}}})
		_, err := nodes(t, "", says(&calls, 200, string(raw))).Count(t.Context(), "C", "t", Where{})
		if Missing(err) != want {
			t.Errorf("%s: missing %v, want %v", message, Missing(err), want)
		}
	}
}

func TestWhere(t *testing.T) {
	a, b := HasAny("p", `say "x"`, "<&>"), AtLeast("n", 1e6)
	for want, w := range map[string]Where{
		"": All(),
		`{path:["p"],operator:ContainsAny,valueText:["say \"x\"","\u003c\u0026\u003e"]}`: a,
		`{path:["n"],operator:GreaterThanEqual,valueNumber:1000000}`:                     All(Where{}, b),
		`{operator:And,operands:[` + b.text + `,` + AtMost("n", 0.5).text + `]}`:         All(b, AtMost("n", 0.5)),
		`{operator:Or,operands:[` + b.text + `,` + Is("f", true).text + `]}`:             Any(b, Is("f", true)),
	} {
		if diff := cmp.Diff(want, w.text); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if !Any(a, Where{}).None() {
		t.Error("any of something and everything is not everything")
	}
	if HasAny("p").None() {
		t.Error("any of no words is everything")
	}
}
