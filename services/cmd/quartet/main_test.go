package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/suite"
)

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"bench", benchPeers}) {
		main() // the bench starts its own program for what the suite talks to, which is this test
	}
	if len(os.Args) > 1 && os.Args[1] == "chat" {
		main() // a terminal is tested with a process of its own
	}
	// The search library starts four workers with the process, for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// output is what a command printed. It may be read while the command still runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// quartet runs the program with an environment of its own and returns its exit code and output.
func quartet(ctx context.Context, env map[string]string, args ...string) (code int, stdout, stderr string) {
	var out, errOut output
	code = run(ctx, args, environment{get: func(k string) string { return env[k] }, in: strings.NewReader(""), out: &out, err: &errOut})
	return code, out.String(), errOut.String()
}

// The text of a help is broken at the width of the terminal; examples and tables stay as they are.
func TestReflow(t *testing.T) {
	const text = "Runs a turn again that was kept,\nwith this version.\n\n  quartet replay a-long-name-of-a-file turn_abc\n\n/show   how it was answered\n/quit   end\n"
	const want = "Runs a turn again that\nwas kept, with this\nversion.\n\n  quartet replay a-long-name-of-a-file turn_abc\n\n/show   how it was answered\n/quit   end\n"
	if got := reflow(text, 24); got != want {
		t.Errorf("reflow:\n%q\nwant\n%q", got, want)
	}
	if got := reflow("One line.", 24); got != "One line." {
		t.Errorf("reflow: %q", got)
	}
}

func TestHelpIsOnStdoutByService(t *testing.T) {
	code, stdout, stderr := quartet(t.Context(), nil, "serve", "--help")
	if code != 0 || stderr != "" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	for _, part := range []string{"Usage: quartet serve [flags] ROLE\n", "\nFlags:\n", "\nFlags of the gateway:\n", "--record-timeout duration ", "(default 5s)"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the help lacks %q", part)
		}
	}
	for line := range strings.Lines(stdout) {
		if len(line) > helpWidth+10 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	if code, stdout, _ := quartet(t.Context(), nil, "--version"); code != 0 || stdout != version()+"\n" {
		t.Errorf("--version: %d, %q", code, stdout)
	}
}

func TestMistakesInTheCommandLine(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
		code int
		says string
	}{
		{"no command", nil, nil, 2, ""},
		{"unknown command", nil, []string{"sing"}, 2, `unknown command "sing"` + "\n"},
		{"a command that is nearly one", nil, []string{"laod"}, 2, `unknown command "laod"; did you mean load?`},
		{"ask without a message", nil, []string{"ask"}, 2, "give a message"},
		{"unknown flag", nil, []string{"ask", "--xyzzy", "hi"}, 2, "there is no flag --xyzzy\n"},
		{"a flag that is nearly one", nil, []string{"ask", "-modle=x", "hi"}, 2, "there is no flag --modle; did you mean --model?\n"},
		{"unknown role", nil, []string{"serve", "till"}, 2, "gateway, router, search"},
		{"serve without a model", nil, []string{"serve", "search"}, 2, "set OPENAI_API_KEY"},
		{"a model URL without a model", nil, []string{"serve", "search", "--model-url", "http://localhost/v1"}, 2, "without --model"},
		{"a model without its key", nil, []string{"serve", "search", "--model", "claude-x"}, 2, "ANTHROPIC_API_KEY is not set"},
		{"an unknown provider", nil, []string{"serve", "search", "--model", "m", "--model-provider", "acme"}, 2, "openai, anthropic, gemini"},
		{"a bad price", nil, []string{"serve", "search", "--model", "m", "--model-url", "http://localhost/v1", "--model-price", "dear"}, 2, "price of a model"},
		{"a bad value in the environment", map[string]string{"QUARTET_DRAIN_TIMEOUT": "soon"}, []string{"serve", "search"}, 2, `QUARTET_DRAIN_TIMEOUT="soon"`},
		{"an unknown run-ahead mode", nil, []string{"up", "--run-ahead", "maybe"}, 2, "must be always, certain or off"},
		{"a limit of no turns", nil, []string{"up", "--max-turns", "0"}, 2, "must be 1 or more"},
		{"a limit that is no number", map[string]string{"QUARTET_MAX_TURNS_PER_STORE": "many"}, []string{"serve", "gateway"}, 2, `QUARTET_MAX_TURNS_PER_STORE="many": must be a whole number`},
		{"a lease that is too short", nil, []string{"serve", "gateway", "--lease", "10ms"}, 2, "must be 1s or more"},
		{"a cart TTL that is too short", nil, []string{"serve", "recommend", "--cart-ttl", "1s"}, 2, "must be 1m0s or more"},
		{"a time without a unit", nil, []string{"ask", "hi", "--thread-ttl", "30"}, 2, "must be a duration"},
		{"a budget of nothing", nil, []string{"ask", "hi", "--turn-budget-cost", "0 USD"}, 2, "must be more than nothing"},
		{"a budget without a currency", nil, []string{"ask", "hi", "--turn-budget-cost", "0.02"}, 2, "want a number and a currency"},
		{"a budget of money without a price", nil, []string{"ask", "hi", "--turn-budget-cost", "0.02 USD"}, 2, "--model-price must be given in USD"},
		{"an address beyond loopback", nil, []string{"model", "--listen", "0.0.0.0:0"}, 1, "insecure"},
		{"a template that does not exist", nil, []string{"init", "--template", "toys", "shop"}, 2, "the templates are: books, fashion, kitchen"},
		{"load of nothing", nil, []string{"load"}, 2, "give files"},
		{"load of a file that is not there", nil, []string{"load", "/no/such/products.jsonl"}, 1, "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := quartet(t.Context(), tt.env, tt.args...)
			if code != tt.code || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit code %d, stderr:\n%s\nwant %d and %q", code, stderr, tt.code, tt.says)
			}
		})
	}
}

// The answering and the fast model may lack the same thing, which is said once, or each its own.
func TestErrorsOfBothModelsAreReportedOnce(t *testing.T) {
	const url = "http://localhost/v1"
	for name, c := range map[string]struct {
		env   map[string]string
		args  []string
		lines int
	}{
		"a URL from outside without a model": {map[string]string{"OPENAI_BASE_URL": url}, nil, 1},
		"a URL, and only a fast model":       {nil, []string{"--model-url", url, "--fast-model", "f"}, 1},
		"no key for either":                  {nil, []string{"--model", "claude-x"}, 1},
		"no key, and none of another kind":   {nil, []string{"--model", "claude-x", "--fast-model", "gemini-x"}, 2},
		"two bad prices of one model":        {nil, []string{"--model", "m", "--model-url", url, "--model-price", "dear", "--fast-model-price", "cheap"}, 2},
		"a bad price of the fast one":        {nil, []string{"--model", "m", "--model-url", url, "--fast-model-price", "cheap"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := quartet(t.Context(), c.env, append([]string{"serve", "search"}, c.args...)...)
			said, _, _ := strings.Cut(stderr, "\nRun 'quartet")
			if lines := strings.Count(said, "\n") + 1; code != exitUsage || lines != c.lines {
				t.Errorf("exit code %d, %d lines, want %d:\n%s", code, lines, c.lines, stderr)
			}
		})
	}
}

func TestServeWaitsForRedis(t *testing.T) {
	env := map[string]string{"QUARTET_MODEL_URL": "http://127.0.0.1:1/v1", "QUARTET_MODEL": "m", "QUARTET_REDIS": "redis://:hidden@127.0.0.1:1/0"}
	ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	code, _, stderr := quartet(ctx, env, append([]string{"serve", "search", "--listen", "127.0.0.1:0"}, scopeKeyFlags(t)...)...)
	if code != 1 || !strings.Contains(stderr, "waiting for Redis") || !strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
	if strings.Contains(stderr, "hidden") {
		t.Errorf("the password is printed:\n%s", stderr)
	}
}

const twoParts = "Do you have trail running shoes in size 42, and what is your return policy?"

func TestAskShowsWhatHappensAndAnswers(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, "ask", twoParts)
	if code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	for _, want := range []string{
		"six services in this process", "rules, not a language model", "forgets on exit",
		"route      search", "           support", `search_catalog(`, `"size":"42"`, "search_policies(", "EUR", "trace ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("piped output has colours:\n%q", out)
	}
}

func TestAskAsJSONPrintsTheReplyAlone(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, "ask", "where is my order?", "--json", "--customer", "ava")
	if code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	var reply struct {
		Text    string `json:"text"`
		TraceID string `json:"trace_id"`
		Orders  []any  `json:"orders"`
	}
	if err := json.Unmarshal([]byte(out), &reply); err != nil {
		t.Fatalf("%v in:\n%s", err, out)
	}
	if reply.Text == "" || len(reply.TraceID) != 32 || len(reply.Orders) != 1 {
		t.Errorf("reply is %+v", reply)
	}
}

func TestAskTellsEveryViolation(t *testing.T) {
	code, _, stderr := quartet(t.Context(), nil, "ask", "hi", "--thread", "no spaces", "--locale", "!!")
	if code != 1 || !strings.Contains(stderr, "thread_id: ") || !strings.Contains(stderr, "locale: ") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}

// A store of one's own: loaded into a running suite, with one bad line, and asked.
func TestUpLoadAsk(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errOut output
	done := make(chan int, 1)
	go func() {
		args := []string{"up", "--port", "0", "--demo=false", "--log-level", "ERROR"}
		done <- run(ctx, args, environment{get: func(string) string { return "" }, out: &out, err: &errOut})
	}()
	addr := addresses(t, &out, &errOut)
	env := map[string]string{"QUARTET_ADDR": addr["gateway"]}
	for role, a := range addr {
		checkHealth(t, role, a)
	}
	code, loaded, stderr := quartet(ctx, env, "load", "--store", "kites", writeStore(t))
	if code != 1 || !strings.Contains(loaded, "1 products loaded, 1 refused") || !strings.Contains(loaded, "line 2: ") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, loaded, stderr)
	}
	code, loaded, stderr = quartet(ctx, env, "load", "--store", "kites", writeUpdates(t))
	if code != 1 || !strings.Contains(loaded, "1 variant_updates loaded, 1 refused") ||
		!strings.Contains(loaded, `line 2: K1/blue: variant_id: the product has no variant "blue"; it has std`) {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, loaded, stderr)
	}
	code, asked, stderr := quartet(ctx, nil, "ask", "--addr", addr["gateway"], "--store", "kites", "--customer", "", "do you have a kite?")
	if code != 0 || !strings.Contains(asked, "Harbour single-line kite") || !strings.Contains(asked, "19.90 EUR") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, asked, stderr)
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("up ended with %d:\n%s", code, errOut.String())
	}
}

// checkHealth checks that a service says at an address that it serves.
func checkHealth(t *testing.T, role, addr string) {
	t.Helper()
	conn, err := rpc.Dial(addr, rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("%s at %s: %v, error %v", role, addr, got.GetStatus(), err)
	}
}

// addresses reads the addresses that 'quartet up' prints once it serves.
func addresses(t *testing.T, out, errOut *output) map[string]string {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		found := make(map[string]string)
		text, _, whole := strings.Cut(out.String(), "\nor: grpcurl") // the last of what up prints
		for line := range strings.Lines(text) {
			if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(fields[1], "127.0.0.1:") {
				found[fields[0]] = fields[1]
			}
		}
		if whole && len(found) == len(suite.Roles()) {
			return found
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("up did not print its addresses:\n%s\n%s", out, errOut)
		}
	}
}

func writeStore(t *testing.T) string {
	return writeFiles(t, map[string]string{
		"stores.jsonl": `{"store_id":"kites","name":"Kite Corner","currency_code":"EUR"}` + "\n",
		"products.jsonl": `{"product_id":"K1","title":"Harbour single-line kite","category_path":["Kites"],"variants":[{"variant_id":"std","price":{"amount_minor":2450,"currency_code":"EUR"},"stock":7}]}` + "\n" +
			`{"product_id":"K2","title":"Gale stunt kite","category_path":["Kites"],"variants":[{"variant_id":"std","price":{"amount_minor":6900,"currency_code":"EURO"},"stock":2}]}` + "\n",
	})
}

func writeUpdates(t *testing.T) string {
	return writeFiles(t, map[string]string{
		"variant_updates.jsonl": `{"product_id":"K1","variant_id":"std","price":{"amount_minor":1990,"currency_code":"EUR"}}` + "\n" +
			`{"product_id":"K1","variant_id":"blue","stock":3}` + "\n",
	})
}

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
