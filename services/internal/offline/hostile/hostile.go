// Package hostile makes a model endpoint misbehave on demand, as real endpoints do: chunks cut anywhere, reasoning in the
// answer, malformed tool calls, refusals, streams that break off, hang or never end. The offline model answers behind it, so
// tests can compare an answer with the one of a well-behaved endpoint.
//
// A mode is a row of a table. It acts at one of three places: it refuses the request, edits the chunks of the real
// answer, or rewrites what goes over the wire. The last two are pure functions, so that modes can be combined.
//
// The package knows OpenAI's wire format and nothing else. It must not import other packages of this repository.
package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Alias is another name of the model behind the endpoint. Modes may follow it.
const Alias = "quartet-hostile"

const (
	chatPath = "/v1/chat/completions"
	maxBody  = 8 << 20 // of a request
	// suffix stands in a model's name before the modes of one request.
	suffix = "+"
)

// Config says which endpoint misbehaves, and how.
type Config struct {
	// Next answers: the offline model, or anything that serves POST /v1/chat/completions. Required.
	Next http.Handler
	// Model is the name by which Next knows the model that Alias stands for. Required.
	Model string
	// Modes act on every request whose model's name ends in no modes of its own. They act in this order. Empty: such requests
	// are answered well.
	Modes []Mode
	// EventDelay is the wait between two events of a stream. Zero: none.
	EventDelay time.Duration
}

// Validate returns an error that names the field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.Next == nil:
		return errors.New("hostile: Next is nil")
	case c.Model == "":
		return errors.New("hostile: Model is empty")
	case c.EventDelay < 0:
		return errors.New("hostile: EventDelay is negative")
	}
	return nil
}

// Handler is the endpoint. It is safe for concurrent use. For modes that act on every second request of a conversation it
// remembers up to 4096 conversations; when there are more it forgets all of them, and each mode acts once more.
type Handler struct {
	cfg   Config
	turns turns
}

// New returns an endpoint, or the error of cfg.Validate.
func New(cfg Config) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Handler{cfg: cfg}, nil
}

// ServeHTTP misbehaves on chat requests and passes all others on. Modes that do not refuse need a streamed answer; a request
// without "stream": true is answered well.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != chatPath {
		h.cfg.Next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "could not read the body", http.StatusBadRequest)
		return
	}
	x, body, err := h.read(body)
	if err != nil {
		refusal(http.StatusNotFound, err.Error())(w, r)
		return
	}
	for _, m := range x.modes {
		if m.refuse != nil && (!m.once || h.turns.next(x.conversation, m.Name)) {
			m.refuse(w, r)
			return
		}
	}
	if !x.Stream {
		h.cfg.Next.ServeHTTP(w, withBody(r, body))
		return
	}
	h.stream(w, withBody(r, body), x)
}

// read parses a request, and returns its body as Next should see it: without modes in the model's name. The error is that of
// Parse; what is wrong with the rest is left for Next to say.
func (h *Handler) read(body []byte) (*exchange, []byte, error) {
	x := &exchange{}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, x) != nil || json.Unmarshal(body, &fields) != nil || fields == nil {
		return &exchange{}, body, nil
	}
	x.conversation, x.modes = conversation(x), h.cfg.Modes
	name, list, chosen := strings.Cut(x.Model, suffix)
	if chosen {
		var err error
		if x.modes, err = Parse(list); err != nil {
			return nil, nil, fmt.Errorf("model %q: %w", x.Model, err)
		}
	}
	if name == Alias {
		name = h.cfg.Model
	}
	changed := map[string]any{"model": name}
	for _, m := range x.modes {
		if m.whole {
			x.Stream, changed["stream"] = false, false
		}
	}
	for field, value := range changed {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, nil, err
		}
		fields[field] = raw
	}
	body, err := json.Marshal(fields)
	return x, body, err
}

// stream gets the real answer, edits it and sends it.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, x *exchange) {
	var real recorder
	h.cfg.Next.ServeHTTP(&real, r)
	chunks, err := parseStream(real.body.Bytes())
	if real.status != http.StatusOK || err != nil {
		real.replay(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, m := range x.modes {
		if m.contentType != "" {
			w.Header().Set("Content-Type", m.contentType)
		}
	}
	send(r.Context(), w, h.frames(x, chunks), h.cfg.EventDelay)
}

// frames returns what is written of an answer: first the modes edit it, then what they made of it goes over the wire their way.
func (h *Handler) frames(x *exchange, chunks []chunk) []frame {
	for _, m := range x.modes {
		if m.edit != nil && (!m.once || isText(chunks) && h.turns.next(x.conversation, m.Name)) {
			chunks = m.edit(x, chunks)
		}
	}
	frames := framesOf(chunks)
	for _, m := range x.modes {
		if m.wire != nil {
			frames = m.wire(frames)
		}
	}
	return frames
}

// send writes frames until they end or the caller leaves.
func send(ctx context.Context, w http.ResponseWriter, frames []frame, delay time.Duration) {
	flush := http.NewResponseController(w)
	for i, f := range frames {
		if i > 0 && !wait(ctx, delay) {
			return
		}
		for {
			if _, err := w.Write(f.data); err != nil || flush.Flush() != nil {
				return
			}
			if f.every == 0 {
				break
			}
			if !wait(ctx, f.every) {
				return
			}
		}
		switch f.then {
		case hang:
			<-ctx.Done()
			return
		case cut:
			panic(http.ErrAbortHandler) // net/http's way to break a connection
		}
	}
}

// wait sleeps for d and reports false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// withBody returns the request with another body.
func withBody(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = make(http.Header)
	}
	return r.header
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// Flush implements http.Flusher.
func (r *recorder) Flush() {}

// replay writes the answer as it came.
func (r *recorder) replay(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(max(r.status, http.StatusOK))
	_, _ = w.Write(r.body.Bytes()) // a caller that has gone needs no answer
}
