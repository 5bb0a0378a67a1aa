// Package modeltest is the conformance suite of the adapters for providers' APIs. It runs over HTTP against a server that
// speaks the provider's API by a Wire, which the adapter's tests implement. It must not import any adapter.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

const (
	// Key is the API key that models under test are to be made with.
	Key = "key-5up3r"
	// Model is the name that models under test are to be made with.
	Model = "test-model"
)

// Provider is what the suite is run for.
type Provider struct {
	// New returns a model of name Model that asks the endpoint at url with Key, and that has a switch for reasoning.
	New func(t *testing.T, url string) agentloop.Model
	// Wire speaks the provider's API from the server's side.
	Wire Wire
	// NoStream says that the model asks for complete answers: what Wire calls a stream is then one frame.
	NoStream bool
}

// Wire translates between a provider's API and the suite. It must be safe for concurrent use.
type Wire interface {
	// Read takes a request apart. It returns an error for one that the provider would refuse.
	Read(r *http.Request) (*Seen, error)
	// Stream returns an answer as the provider sends it, cut where the provider's events end.
	Stream(s Script) []string
	// Refusal returns the body of a refusal.
	Refusal(status int, message string) string
}

// Seen is what a server received.
type Seen struct {
	// Request as the provider understands it. Ids of calls need not be those that were sent, but have to pair up.
	agentloop.Request
	// Key that the caller showed.
	Key string
	// Model that was asked for.
	Model string
}

// Script is an answer to send.
type Script struct {
	// Reasoning comes first. Empty: none.
	Reasoning string
	// Sealed adds reasoning that is not text, as providers send it that do not show reasoning.
	Sealed bool
	// Text comes in these pieces.
	Text []string
	// Calls come last.
	Calls []agentloop.ToolCall
	// Finish reason at the end.
	Finish agentloop.FinishReason
	// Usage to report.
	Usage agentloop.Usage
	// Fail, if not empty, is the message of an error event in place of the end: the provider is overloaded.
	Fail string
	// Open leaves out the end, and keeps the stream open until the client goes.
	Open bool
	// Cut leaves out the end likewise, and breaks the connection.
	Cut bool
}

// Ends reports whether the answer has an end.
func (s Script) Ends() bool { return !s.Open && !s.Cut }

// server is an endpoint of the provider's.
type server struct {
	*httptest.Server
	gone chan struct{} // gets a value when a client leaves an open stream

	mu   sync.Mutex
	seen []*Seen
}

// requests returns what was received so far.
func (s *server) requests() []*Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// serve starts an endpoint that answers as script says, with the frames changed by edit unless it is nil.
func (p Provider) serve(t *testing.T, script func(*Seen) Script, edit func(string) string) *server {
	t.Helper()
	s := &server{gone: make(chan struct{}, 1)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, err := p.Wire.Read(r)
		if err != nil {
			t.Errorf("the provider would refuse the request: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, p.Wire.Refusal(http.StatusBadRequest, err.Error()))
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, seen)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		answer := script(seen)
		for _, frame := range p.Wire.Stream(answer) {
			if edit != nil {
				frame = edit(frame)
			}
			_, _ = io.WriteString(w, frame)
			w.(http.Flusher).Flush()
		}
		if answer.Cut {
			panic(http.ErrAbortHandler)
		}
		if answer.Open {
			w.(http.Flusher).Flush() // the headers, where there is no frame
			<-r.Context().Done()
			s.gone <- struct{}{}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// refuse starts an endpoint that refuses every call.
func (p Provider) refuse(t *testing.T, status int, header http.Header, message string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, &Seen{})
		s.mu.Unlock()
		for k, v := range header {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, p.Wire.Refusal(status, message))
	}))
	t.Cleanup(s.Close)
	return s
}

// answer is all that a model yielded.
type answer struct {
	Pieces    []string // of the text
	Reasoning string
	Calls     []agentloop.ToolCall
	Finish    agentloop.FinishReason
	Usage     agentloop.Usage
	Model     string
}

// ask ranges over one answer.
func ask(ctx context.Context, m agentloop.Model, req *agentloop.Request) (answer, error) {
	var a answer
	var failed error
	for c, err := range m.Generate(ctx, req) {
		switch {
		case failed != nil:
			return a, fmt.Errorf("something follows the error %w", failed)
		case err != nil:
			failed = err
			continue
		}
		if err := a.add(c); err != nil {
			return a, err
		}
	}
	return a, failed
}

// pieces returns the pieces of a text that the model has to yield.
func (p Provider) pieces(text []string) []string {
	if p.NoStream && len(text) > 0 {
		return []string{strings.Join(text, "")}
	}
	return text
}

func (a *answer) add(c agentloop.Chunk) error {
	if c.Text != "" {
		a.Pieces = append(a.Pieces, c.Text)
	}
	a.Reasoning += c.Reasoning
	for _, d := range c.ToolCalls {
		if d.Index == len(a.Calls) {
			a.Calls = append(a.Calls, agentloop.ToolCall{})
		}
		if d.Index < 0 || d.Index >= len(a.Calls) {
			return fmt.Errorf("tool call with index %d after %d calls", d.Index, len(a.Calls))
		}
		call := &a.Calls[d.Index]
		call.ID += d.ID
		call.Name += d.Name
		call.Arguments += d.Arguments
	}
	if c.FinishReason != "" {
		if a.Finish != "" {
			return errors.New("a second finish reason")
		}
		a.Finish = c.FinishReason
	}
	if c.Usage != nil {
		if a.Usage != (agentloop.Usage{}) {
			return errors.New("a second usage")
		}
		a.Usage = *c.Usage
	}
	if c.Model != "" {
		a.Model = c.Model
	}
	return nil
}

// statusOf returns what an error says of the provider's refusal.
func statusOf(err error) (code int, wait time.Duration, ok bool) {
	var status *endpoint.StatusError
	if !errors.As(err, &status) {
		return 0, 0, false
	}
	return status.StatusCode, status.RetryAfter, true
}

// question is a request of one message.
func question(text string) *agentloop.Request {
	return &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: text}}}
}

// always is a script for every request.
func always(s Script) func(*Seen) Script { return func(*Seen) Script { return s } }

// plain is a script of one text.
func plain(text ...string) Script {
	return Script{Text: text, Finish: agentloop.FinishStop, Usage: agentloop.Usage{InputTokens: 5, OutputTokens: 2}}
}

// withNews adds fields that no adapter knows to the JSON of a frame.
func withNews(frame string) string {
	return strings.Replace(frame, "{", `{"x_new":{"deep":[1,"two"]},"x_flag":true,`, 1)
}

// Continue has one model answer with a tool call, which the endpoint sends as body, and another one, as another process
// would, continue the conversation. It returns the other's request.
func Continue(t *testing.T, newModel func(t *testing.T, url string) agentloop.Model, body string) (request string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		request = string(raw)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
	defer srv.Close()
	loop, err := agentloop.New(agentloop.Config{Model: newModel(t, srv.URL)})
	if err != nil {
		t.Fatal(err)
	}
	run := loop.Start(nil, "hi")
	for range run.Step(t.Context()) {
	}
	stored, err := json.Marshal(run.Messages())
	if err != nil {
		t.Fatal(err)
	}
	var messages []agentloop.Message
	if err := json.Unmarshal(stored, &messages); err != nil {
		t.Fatal(err)
	}
	if last := messages[len(messages)-1]; last.Role != agentloop.RoleTool {
		t.Fatalf("the conversation ends with %+v, want the result of a tool", last)
	}
	if _, err := ask(t.Context(), newModel(t, srv.URL), &agentloop.Request{Messages: messages}); err != nil {
		t.Fatal(err)
	}
	return request
}
