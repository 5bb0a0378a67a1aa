package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// echoFaults are endpoints that repeat the request, as JSON in a string, where they report a failure.
var echoFaults = map[string]func(w http.ResponseWriter, text []byte){
	"400": func(w http.ResponseWriter, text []byte) {
		http.Error(w, fmt.Sprintf(`{"error":{"message":%s,"type":%s}}`, text, text), http.StatusBadRequest)
	},
	"500": func(w http.ResponseWriter, text []byte) {
		http.Error(w, fmt.Sprintf(`{"error":%s}`, text), http.StatusInternalServerError)
	},
	"page": func(w http.ResponseWriter, text []byte) { fmt.Fprintf(w, "<html>%s</html>", text) },
	"error event": func(w http.ResponseWriter, text []byte) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"We \"}}]}\n\ndata: {\"error\":{\"message\":%s,\"code\":503}}\n\n", text)
	},
	"malformed call": func(w http.ResponseWriter, text []byte) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":%s,\"arguments\":%s}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", text, text)
	},
	"answer": func(w http.ResponseWriter, text []byte) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	},
}

// logLines keeps what is logged.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was logged so far.
func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestEchoesOfTheEndpointStayOutOfLogsAndErrors asks all services, whose endpoint repeats what it is sent in all that it
// answers. No log and no error to the caller may hold the shopper's words.
func TestEchoesOfTheEndpointStayOutOfLogsAndErrors(t *testing.T) {
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	logs := &logLines{}
	logger := slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g := newBlockingModel(newBrain(t))
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	named := func(name string) *model.Traced {
		m, err := model.New(model.Config{URL: server.URL + "/v1", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	h := newSystemWith(t, redisServer.URL(), g, func(cfg *suite.Config) {
		cfg.Logger, cfg.Model, cfg.FastModel = logger, named(offline.Model), named(offline.ModelFast)
	})
	const canary = "heliotrope"
	for name, echo := range echoFaults {
		t.Run(name, func(t *testing.T) {
			g.setFault(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				words := string(body)
				words = words[max(0, strings.LastIndex(words, canary)):] // errors keep only the start
				text, err := json.Marshal(words)
				if err != nil {
					t.Error(err)
				}
				echo(w, text)
			})
			defer g.setFault(nil)
			id := "echo-" + strings.ReplaceAll(name, " ", "-")
			ctx, cancel := context.WithTimeout(t.Context(), endpointDeadline)
			defer cancel()
			reply, err := h.gateway.Ask(ctx, &gatewayv1.AskRequest{
				StoreId: "demo", CustomerId: "ava", ThreadId: id, RequestId: id, Message: "Do you have " + canary + " sandals, and where is my order?",
			})
			if raw := protojson.Format(status.Convert(err).Proto()); strings.Contains(raw, canary) {
				t.Errorf("the caller sees %s", raw)
			}
			for _, r := range reply.GetResults() {
				if raw := protojson.Format(r.GetFailure()); strings.Contains(raw, canary) {
					t.Errorf("the caller sees of %s: %s", r.GetAssignment().GetSpecialist(), raw)
				}
			}
		})
	}
	for line := range strings.Lines(logs.String()) {
		if strings.Contains(line, canary) {
			t.Errorf("logged: %.500s", line)
		}
	}
}
