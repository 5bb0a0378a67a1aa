package hostile_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/offline/hostile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is a part of every thought that the endpoint has.
const secret = "Nobody else may read this"

// The questions: one that two calls answer, with what then is said, and one that needs none.
const (
	weather   = "what is the weather in Oslo and what is the weather in San Martín?"
	forecasts = "Oslo: sky light rain, 7 °C.\n\nSan Martín: sky light rain, 7 °C."
	identity  = "who are you?"
)

const maxSteps = 4 // of the loop

// subject is an endpoint that misbehaves and the model that calls it.
type subject struct {
	model    agentloop.Model
	requests *atomic.Int32
}

// hostileEndpoint is a hostile one before the offline model.
func hostileEndpoint(t *testing.T, cfg hostile.Config) (http.Handler, *atomic.Int32) {
	t.Helper()
	next, err := offline.New(offline.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Next, cfg.Model = next, offline.Model
	h, err := hostile.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	requests := new(atomic.Int32)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h.ServeHTTP(w, r)
	}), requests
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// inMemory is a subject whose connections are in memory, so that it can run in a synctest bubble, where waits are exact and
// take no time. Zero idle: no idle timeout.
func inMemory(t *testing.T, modes string, idle time.Duration) subject {
	t.Helper()
	handler, requests := hostileEndpoint(t, hostile.Config{})
	lis := newPipes()
	server := &httptest.Server{Listener: lis, Config: &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}}
	server.Start()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return lis.dial(ctx) }}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	m, err := openai.New(openai.Config{BaseURL: "http://pipe/v1", Model: modelName(modes), HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return subject{model: wrap.Standard(m, wrap.Options{IdleTimeout: idle, RecognizeCalls: true}), requests: requests}
}

// onTCP is a subject with real connections and the model that the services would use.
func onTCP(t *testing.T, modes string) subject {
	t.Helper()
	handler, requests := hostileEndpoint(t, hostile.Config{})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	m, err := model.New(model.Config{URL: server.URL + "/v1", Name: modelName(modes)})
	if err != nil {
		t.Fatal(err)
	}
	return subject{model: m.Model, requests: requests}
}

func modelName(modes string) string {
	if modes == "" {
		return hostile.Alias
	}
	return hostile.Alias + "+" + modes
}

// talk is what came of a question.
type talk struct {
	result   *agentloop.Result
	err      error
	messages []agentloop.Message
	deltas   string   // all text that was shown
	cities   []string // that the tool was run for
	requests int
	took     time.Duration
}

// ask runs a question through a loop with one tool.
func (h subject) ask(t *testing.T, question string, timeout time.Duration) talk {
	t.Helper()
	var mu sync.Mutex
	var out talk
	forecast := agentloop.NewTool("get_forecast", "Weather forecast for a city.",
		func(_ context.Context, in struct {
			City string `json:"city"`
		}) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			out.cities = append(out.cities, in.City)
			return map[string]string{"city": in.City, "sky": "light rain, 7 °C"}, nil
		})
	loop, err := agentloop.New(agentloop.Config{Model: h.model, System: "You help travellers.", Tools: []agentloop.Tool{forecast}, MaxSteps: maxSteps})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	begun := time.Now()
	run := loop.Start(nil, question)
	for !run.Done() {
		for ev := range run.Step(ctx) {
			if d, ok := ev.(agentloop.TextDelta); ok {
				out.deltas += d.Text
			}
		}
	}
	slices.Sort(out.cities)
	out.result, out.err, out.messages = run.Result(), run.Err(), run.Messages()
	out.requests, out.took = int(h.requests.Load()), time.Since(begun)
	return out
}
