package httpjson_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/services/internal/httpjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, url string) *httpjson.Client {
	t.Helper()
	c, err := httpjson.New(endpoint.Config{Provider: "embeddings", BaseURL: url, APIKey: "k3y", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCloseClosesIdleConnections(t *testing.T) {
	var open atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	srv.Start()
	defer srv.Close()
	c := newClient(t, srv.URL)
	var out struct{}
	if err := c.Post(t.Context(), struct{}{}, &out); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for deadline := time.Now().Add(5 * time.Second); open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the connection is still open")
		}
	}
}

// Endpoints repeat the texts that they are sent, and shoppers write those.
func TestErrorsDoNotShowWhatTheEndpointWrites(t *testing.T) {
	const canary = "heliotrope"
	for name, answer := range map[string]http.HandlerFunc{
		"a refusal": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"`+canary+` k3y"}`, http.StatusBadRequest)
		},
		"a page":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>"+canary) },
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"n":"`+canary+`"}`) },
		"broken HTTP": func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", canary)
				conn.Close()
			}
		},
	} {
		srv := httptest.NewServer(answer)
		c := newClient(t, srv.URL)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		var out struct{ N int }
		err := c.Post(ctx, struct{}{}, &out)
		cancel()
		if err == nil || strings.Contains(err.Error(), canary) || strings.Contains(err.Error()+endpoint.Message(err), "k3y") {
			t.Errorf("%s: error %v", name, err)
		}
		if name == "a refusal" && !strings.Contains(endpoint.Message(err), canary) {
			t.Errorf("%s: message %q", name, endpoint.Message(err))
		}
		c.Close()
		srv.Close()
	}
}
