package model_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/model"
)

// answerOf runs one request against a model and returns its text.
func answerOf(t *testing.T, m agentloop.Model) (string, error) {
	t.Helper()
	var text strings.Builder
	for c, err := range m.Generate(t.Context(), &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "hi"}}}) {
		if err != nil {
			return text.String(), err
		}
		text.WriteString(c.Text)
	}
	return text.String(), nil
}

func TestABusyEndpointIsAskedAgainAndThoughtsStayOut(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{"I should greet.", "</thi", "nk>", "Hello", " there."} {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", piece)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	m, err := model.New(model.Config{URL: server.URL + "/v1", Name: "maker/QwQ-32B"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := answerOf(t, m)
	if err != nil || text != "Hello there." || calls.Load() != 2 {
		t.Errorf("answer %q, error %v, after %d calls", text, err, calls.Load())
	}
}

// The endpoint sends the second piece only when the first one has arrived.
func TestTheTextOfAModelThatIsNotKnownIsNotHeld(t *testing.T) {
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-arrived:
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\".\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	m, err := model.New(model.Config{URL: server.URL + "/v1", Name: "maker/some-model-8b-instruct", IdleTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for c, err := range m.Generate(t.Context(), &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "hi"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		if text += c.Text; text == "Hello" {
			close(arrived)
		}
	}
	if text != "Hello." {
		t.Errorf("answer %q", text)
	}
}

// hanging starts an endpoint that sends the given bytes and then nothing, to the first call; further ones are answered.
func hanging(t *testing.T, start string) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the caller's leaving is seen
		w.Header().Set("Content-Type", "text/event-stream")
		if calls.Add(1) == 1 {
			_, _ = io.WriteString(w, start)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", calls
}

func TestASilentEndpointIsAskedAgainOrIsUnavailable(t *testing.T) {
	const half = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"
	url, calls := hanging(t, ": processing\n\n")
	m, err := model.New(model.Config{URL: url, Name: "gpt-x", IdleTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := answerOf(t, m); err != nil || text != "Hello." || calls.Load() != 2 {
		t.Errorf("answer %q, error %v, after %d calls", text, err, calls.Load())
	}
	url, calls = hanging(t, half)
	if m, err = model.New(model.Config{URL: url, Name: "gpt-x", IdleTimeout: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	var unavailable *fault.Unavailable
	if text, err := answerOf(t, m); !errors.Is(err, wrap.ErrIdle) || !errors.As(err, &unavailable) || text != "Hel" || calls.Load() != 1 {
		t.Errorf("answer %q, error %v, after %d calls", text, err, calls.Load())
	}
}
