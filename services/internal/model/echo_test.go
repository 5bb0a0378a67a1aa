package model_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model"
)

// canary is what a shopper writes.
const canary = "heliotrope sandals near Zwolle"

// echoes are endpoints that repeat the request where they report a failure. The text is JSON in a string.
var echoes = map[string]func(w http.ResponseWriter, text string){
	"a refusal": func(w http.ResponseWriter, text string) {
		http.Error(w, `{"error":{"message":`+text+`,"type":`+text+`,"code":`+text+`,"status":`+text+`}}`, http.StatusBadRequest)
	},
	"a failure": func(w http.ResponseWriter, text string) {
		http.Error(w, `{"error":`+text+`}`, http.StatusInternalServerError)
	},
	"a failure as a page": func(w http.ResponseWriter, text string) { http.Error(w, "<html>"+text, http.StatusBadGateway) },
	"a failure's headers": func(w http.ResponseWriter, text string) {
		w.Header()["X-Request-Id"], w.Header()["Request-Id"], w.Header()["Content-Type"] = []string{text}, []string{text}, []string{text}
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"a page":             func(w http.ResponseWriter, text string) { fmt.Fprint(w, "<html>\n"+text+"\n</html>") },
	"an answer in words": func(w http.ResponseWriter, text string) { fmt.Fprint(w, text) },
	"an answer of another kind": func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":`+text+`}`)
	},
	"an error in the stream": func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":%s,\"code\":503,\"status\":\"UNAVAILABLE\"}}\n\n", text)
	},
	"an error event": func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":%s}}\n\n", text)
	},
	"broken events": func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\nevent: message_start\ndata: {%s\n\n", text, text)
	},
	"broken HTTP": func(w http.ResponseWriter, text string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			fmt.Fprintf(conn, "%s\r\n\r\n", text)
			conn.Close()
		}
	},
	"a broken header": func(w http.ResponseWriter, text string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", text)
			conn.Close()
		}
	},
}

// What an endpoint writes about a failure may hold what the shopper wrote: errors and logs must not show it.
func TestEchoesOfTheRequestStayOutOfErrorsAndLogs(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		for name, echo := range echoes {
			t.Run(provider+", "+name, func(t *testing.T) {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					echo(w, `"`+canary+`"`)
				}))
				defer srv.Close()
				var logs bytes.Buffer
				logger := slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
				before := slog.Default()
				slog.SetDefault(logger) // for libraries
				defer slog.SetDefault(before)
				m, err := model.New(model.Config{Provider: provider, URL: srv.URL, Key: "k", Name: "m", MaxAttempts: 1})
				if err != nil {
					t.Fatal(err)
				}
				failed := false
				for _, err := range m.Generate(t.Context(), &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: canary}}}) {
					if err != nil {
						failed = true
						logger.Error("call failed", "error", err)
					}
				}
				if !failed {
					t.Error("no error")
				}
				for line := range strings.Lines(logs.String()) {
					for word := range strings.FieldsSeq(canary) {
						if strings.Contains(line, word) {
							t.Errorf("logged: %s", line)
						}
					}
				}
			})
		}
	}
}
