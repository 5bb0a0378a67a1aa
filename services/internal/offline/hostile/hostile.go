// Package hostile makes a model endpoint misbehave on demand, as real endpoints do: chunks cut anywhere, reasoning in the
// answer, malformed tool calls, refusals, streams that break off, hang or never end. The offline model answers behind it, so
// tests can compare an answer with the one of a well-behaved endpoint.
//
// A mode is a row of the table in modes.go. It acts at one of three places: it refuses the request, edits the real answer,
// or rewrites what goes over the wire (frames.go). The last two do not depend on each other, so modes can be combined.
//
// The package knows OpenAI's wire format and nothing else. Of this repository, it must import only package wire.
package hostile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
)

// Alias is another name of the model behind the endpoint. Modes may follow it.
const Alias = "quartet-hostile"

const (
	chatPath = "/v1/chat/completions"
	maxBody  = 8 << 20 // of a request
	maxTurns = 4096    // that are remembered
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

// Handler is the endpoint. It is safe for concurrent use. For modes that act on every second request of a conversation it
// remembers up to 4096 conversations; when there are more it forgets all of them, and each mode acts once more.
type Handler struct {
	cfg   Config
	turns turns
}

// New returns an endpoint, or an error if a field is missing or negative.
func New(cfg Config) (*Handler, error) {
	if cfg.Next == nil || cfg.Model == "" || cfg.EventDelay < 0 {
		return nil, errors.New("hostile: Next and Model are required, and EventDelay must not be negative")
	}
	return &Handler{cfg: cfg}, nil
}

// exchange is a request with its modes.
type exchange struct {
	openai.ChatCompletionRequest
	modes        []Mode
	conversation string // a hash that is the same for all requests of a conversation: the model and the messages up to the user's first one
}

// turns knows whose turn it is, the mode's or the well-behaved answer's. Conversations that begin alike and run at the same
// time take turns together. The zero value is ready to use.
type turns struct {
	mu    sync.Mutex
	acted map[string]bool // conversation and mode: the turn was the mode's last time
}

// next takes the next turn and reports whether it is the mode's, as the first, the third and so on are.
func (t *turns) next(conversation, mode string) bool {
	key := mode + "\x00" + conversation
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.acted == nil || len(t.acted) >= maxTurns {
		t.acted = make(map[string]bool)
	}
	t.acted[key] = !t.acted[key]
	return t.acted[key]
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
		refusal{status: http.StatusNotFound, message: err.Error()}.write(w, r)
		return
	}
	stream := x.Stream
	for _, m := range x.modes {
		if m.refusal != nil && (!m.once || h.turns.next(x.conversation, m.Name)) {
			m.refusal.write(w, r)
			return
		}
		stream = stream && !m.whole
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	real := recorder{header: http.Header{}, status: http.StatusOK}
	h.cfg.Next.ServeHTTP(&real, r)
	said, ok := wire.Parse(real.Bytes())
	if !ok || !stream {
		maps.Copy(w.Header(), real.header)
		w.WriteHeader(real.status)
		_, _ = w.Write(real.Bytes()) // a caller that has gone needs no answer
		return
	}
	if x.StreamOptions == nil || !x.StreamOptions.IncludeUsage {
		said.Usage = nil
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, m := range x.modes {
		if m.contentType != "" {
			w.Header().Set("Content-Type", m.contentType)
		}
	}
	send(r.Context(), w, h.frames(&answer{said, x}), h.cfg.EventDelay)
}

// read parses a request, and returns its body as Next should see it: without modes in the model's name and without a stream. The
// error is that of Parse; what is wrong with the rest is left for Next to say.
func (h *Handler) read(body []byte) (*exchange, []byte, error) {
	x := &exchange{modes: h.cfg.Modes}
	var fields map[string]any
	if json.Unmarshal(body, x) != nil || json.Unmarshal(body, &fields) != nil || fields == nil {
		return &exchange{}, body, nil
	}
	opening := x.Messages[:slices.IndexFunc(x.Messages, func(m openai.ChatCompletionMessage) bool { return m.Role == "user" })+1]
	x.conversation = fmt.Sprintf("%x", sha256.Sum256(wire.Encode([]any{x.Model, opening})))
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
	fields["model"], fields["stream"] = name, false
	delete(fields, "stream_options")
	return x, wire.Encode(fields), nil
}

// frames returns what is written of an answer: first the modes edit it, then what they made of it goes over the wire their way.
func (h *Handler) frames(a *answer) []frame {
	for _, m := range a.request.modes {
		if m.edit != nil && (!m.once || len(a.Calls) == 0 && h.turns.next(a.request.conversation, m.Name)) {
			m.edit(a)
		}
	}
	frames := framesOf(a.Chunks())
	for _, m := range a.request.modes {
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
		if i > 0 && !wire.Wait(ctx, delay) {
			return
		}
		for {
			if _, err := w.Write(f.data); err != nil || flush.Flush() != nil {
				return
			}
			if f.every == 0 {
				break
			}
			if !wire.Wait(ctx, f.every) {
				return
			}
		}
		if f.cut {
			panic(http.ErrAbortHandler) // net/http's way to break a connection
		}
	}
}

// recorder keeps an answer.
type recorder struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

func (r refusal) write(w http.ResponseWriter, req *http.Request) {
	switch {
	case r.cut:
		panic(http.ErrAbortHandler)
	case r.status == 0:
		<-req.Context().Done()
		return
	case r.retryAt > 0:
		w.Header().Set("Retry-After", time.Now().Add(r.retryAt).UTC().Format(http.TimeFormat))
	case r.retryAfter != "":
		w.Header().Set("Retry-After", r.retryAfter)
	}
	kind, text := "application/json", fmt.Sprintf(`{"error":{"message":%q,"type":"hostile"}}`, r.message)
	if r.page != "" {
		kind, text = "text/html", fmt.Sprintf("<!DOCTYPE html>\n<html><head><title>%[1]s</title></head>\n<body><h1>%[1]s</h1></body></html>\n", r.page)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(r.status)
	_, _ = fmt.Fprintln(w, text) // a caller that has gone needs no answer
}
