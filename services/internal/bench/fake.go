package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a request to the fake model, in bytes.
const maxBody = 1 << 20

// Behaviour is how the fake model answers from now on. The zero value answers at once.
type Behaviour struct {
	// Latency is the time from a request's first byte, or from its handler's start where [Arrivals] do not tell, to the end
	// of its answer. A stream begins at half of it.
	Latency time.Duration `json:"latency"`
	// Hold keeps the calls that would word a specialist's answer, until their callers go away.
	Hold bool `json:"hold"`
	// Record keeps the bodies of the requests.
	Record bool `json:"record"`
}

// Seen is what the fake model has seen since its behaviour was set.
type Seen struct {
	// Calls that were begun.
	Calls int64 `json:"calls"`
	// Held are the calls that hang now.
	Held int64 `json:"held"`
	// Requests are the bodies, in the order of their coming, if they are recorded.
	Requests []json.RawMessage `json:"requests,omitempty"`
}

// Fake is a model with an OpenAI-compatible API that does as it is told and thinks nothing: it splits the message of the
// turn, calls one tool of each specialist, and words what a tool or the specialists said. It is safe for concurrent use.
//
// POST /v1/chat/completions asks it; PUT /behaviour sets a [Behaviour], and GET /seen returns what was [Seen] since.
type Fake struct {
	mux   *http.ServeMux
	sleep func(ctx context.Context, d time.Duration) error
	calls atomic.Int64
	held  atomic.Int64

	mu        sync.Mutex
	behaviour Behaviour
	requests  []json.RawMessage
}

// NewFake returns a model that answers at once, and that ends its answers by sleep when it is told to take its time: [Sleep] on a fake
// clock, [SleepExactly] where time is measured.
func NewFake(sleep func(ctx context.Context, d time.Duration) error) *Fake {
	f := &Fake{mux: http.NewServeMux(), sleep: sleep}
	f.mux.HandleFunc("POST /v1/chat/completions", f.chat)
	f.mux.HandleFunc("PUT /behaviour", f.set)
	f.mux.HandleFunc("GET /seen", f.seen)
	return f
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

func (f *Fake) set(w http.ResponseWriter, r *http.Request) {
	var b Behaviour
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&b); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behaviour, f.requests = b, nil
	f.calls.Store(0)
}

func (f *Fake) seen(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	s := Seen{Calls: f.calls.Load(), Held: f.held.Load(), Requests: f.requests}
	f.mu.Unlock()
	_ = json.NewEncoder(w).Encode(s) // a caller that has gone needs no answer
}

func (f *Fake) chat(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	f.calls.Add(1)
	raw, err := read(w, r)
	if err != nil {
		http.Error(w, "the body can not be read", http.StatusBadRequest)
		return
	}
	arrived := arrival(r, begun)
	b := f.begin(raw)
	until := func(part float64) error {
		wait := time.Duration(part*float64(b.Latency)) - time.Since(arrived)
		if part < 1 {
			return Sleep(r.Context(), wait)
		}
		return f.sleep(r.Context(), wait)
	}
	var req chatRequest
	if err := json.Unmarshal(raw, &req); err != nil {
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, err.Error()), http.StatusBadRequest)
		return
	}
	if b.Hold && req.kind() == kindWord {
		f.held.Add(1)
		<-r.Context().Done()
		f.held.Add(-1)
		return
	}
	a, err := req.answer()
	if err != nil {
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, err.Error()), http.StatusBadRequest)
		return
	}
	_ = a.send(w, &req, until) // a caller that has gone needs no answer
}

// read returns the body of a request.
func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body := http.MaxBytesReader(w, r.Body, maxBody)
	if n := r.ContentLength; 0 < n && n <= maxBody {
		raw := make([]byte, n)
		_, err := io.ReadFull(body, raw)
		return raw, err
	}
	return io.ReadAll(body)
}

// begin returns how a request is to be answered.
func (f *Fake) begin(raw []byte) Behaviour {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.behaviour.Record {
		f.requests = append(f.requests, raw)
	}
	return f.behaviour
}

// Sleep waits for d, or returns the context's error if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
