// Package offline is a chat model that follows rules instead of weights, behind an OpenAI-compatible HTTP server. It answers in
// a fresh clone without a key, and in tests over the real wire format.
//
// The API is [New], which returns an HTTP handler, and [Serve]. The HTTP layer (server.go, validate.go and package
// wire) knows nothing of language. The rules start at respond in respond.go, a pure function from a request to a reply:
//
//   - intents.go: what a shopper may want, by patterns in English, German, French and Spanish
//   - arguments.go: money, measures, sizes, numbers and codes in a message
//   - plan.go: which tools of the suite an intent calls; other tools are called by their schemas
//   - answer.go: one template for each shape of result, with the sentences of sayings.json
//   - route.go: routing requests, which the router's classifier decides
//
// The model makes up no facts and translates nothing. What it cannot read it says, and it says what it can help with. A real
// language model understands what no pattern here has.
package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
)

const (
	ownedBy = "quartet (rules, not a language model)"
	maxBody = 8 << 20
	// bytesPerToken is usual in English prose.
	bytesPerToken = 4
	// shutdownTimeout is how long replies under way may take after Serve's context has ended.
	shutdownTimeout = 2 * time.Second
)

// Config configures a [Server]. The zero value answers at once and logs nothing.
type Config struct {
	// Latency is the wait before the first byte of a reply. Zero: none.
	Latency time.Duration
	// TokenDelay is the wait between two chunks of a stream. Zero: none.
	TokenDelay time.Duration
	// Logger gets one debug line per request, without any text of the conversation. Nil: no logging.
	Logger *slog.Logger
}

// Server is the HTTP handler. It keeps no conversation: every request is independent. It is safe for concurrent use.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	replies atomic.Int64
}

// New returns a server, or an error if a duration is negative.
func New(cfg Config) (*Server, error) {
	if cfg.Latency < 0 || cfg.TokenDelay < 0 {
		return nil, errors.New("offline: Latency and TokenDelay must not be negative")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.HandleFunc("GET /v1/models", s.models)
	return s, nil
}

// ServeHTTP answers POST /v1/chat/completions and GET /v1/models.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Serve answers on lis with a handler, usually a [Server] or a handler in front of one. When ctx ends, it gives replies under way
// two seconds to finish, and returns nil. It owns lis, and returns an error only if lis fails.
func Serve(ctx context.Context, lis net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(lis) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the offline model: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close() // the remaining replies are cut
	}
	<-failed
	return nil
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	var list []any
	for _, id := range []string{Model, ModelFast} {
		list = append(list, object{"id": id, "object": "model", "created": 1, "owned_by": ownedBy})
	}
	write(w, http.StatusOK, wire.Encode(object{"object": "list", "data": list}))
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, invalid("", "could not read the body, of at most %d bytes", maxBody))
		return
	}
	var req chatRequest
	if err := json.Unmarshal(body, &req); err != nil {
		refuse(w, invalid("", "could not parse the JSON body of your request: %v", err))
		return
	}
	if bad := check(&req); bad != nil {
		refuse(w, bad)
		return
	}
	if !wire.Wait(r.Context(), s.cfg.Latency) {
		return
	}
	s.reply(w, r, &req, len(body))
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request, req *chatRequest, size int) {
	a := respond(req)
	n := s.replies.Add(1)
	a.ID, a.Created, a.Model = fmt.Sprintf("chatcmpl-offline-%d", n), time.Now().Unix(), req.Model
	out := len(a.Text)
	for i := range a.Calls {
		a.Calls[i].ID = fmt.Sprintf("call_%d_%d", n, i+1)
		out += len(a.Calls[i].Function.Name) + len(a.Calls[i].Function.Arguments)
	}
	a.Usage = &openai.Usage{PromptTokens: (size + 3) / bytesPerToken, CompletionTokens: (out + 3) / bytesPerToken}
	a.Usage.TotalTokens = a.Usage.PromptTokens + a.Usage.CompletionTokens
	s.cfg.Logger.LogAttrs(r.Context(), slog.LevelDebug, "offline model replies", slog.String("model", req.Model),
		slog.Int("tool_calls", len(a.Calls)), slog.Int("input_tokens", a.Usage.PromptTokens), slog.Int("output_tokens", a.Usage.CompletionTokens))
	if !req.Stream {
		write(w, http.StatusOK, a.Whole())
		return
	}
	if req.StreamOptions == nil || !req.StreamOptions.IncludeUsage {
		a.Usage = nil
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	for i, chunk := range append(a.Chunks(), []byte("[DONE]")) {
		if i > 0 && !wire.Wait(r.Context(), s.cfg.TokenDelay) {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", chunk); err != nil || flush.Flush() != nil {
			return
		}
	}
}

func refuse(w http.ResponseWriter, e *openai.APIError) {
	write(w, e.HTTPStatusCode, wire.Encode(object{"error": e}))
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the caller may have gone
}
