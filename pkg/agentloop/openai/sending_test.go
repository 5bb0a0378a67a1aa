package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// TestRequestsSideBySideStayApart sends requests of many sizes at once, to an endpoint that repeats them.
func TestRequestsSideBySideStayApart(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
			return
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, body.Messages[0].Content)
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				text := strings.Repeat(string(rune('a'+i)), 1+n*n*(i+1)*10)
				if got, err := collect(t.Context(), m, ask(text)); err != nil || got[0].Text != text {
					t.Errorf("%d times %q came back as %v, error %v", len(text), text[0], got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestTransportSendsAnyBody sends bodies that know their length, and one that does not.
func TestTransportSendsAnyBody(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer srv.Close()
	client := &http.Client{Transport: endpoint.NewTransport()}
	defer client.CloseIdleConnections()
	text := strings.Repeat("0123456789", 10_000)
	for name, body := range map[string]io.Reader{
		"text": strings.NewReader(text), "bytes": bytes.NewReader([]byte(text)), "buffer": bytes.NewBufferString(text),
		"stream": io.MultiReader(strings.NewReader(text)),
	} {
		resp, err := client.Post(srv.URL, "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != text || err != nil {
			t.Errorf("%s: %d bytes came back, error %v", name, len(got), err)
		}
	}
}

// TestRequestsThatJSONCanNotHold checks that such a request is refused before anything is sent.
func TestRequestsThatJSONCanNotHold(t *testing.T) {
	m := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the endpoint was asked") })
	none, endless := math.NaN(), math.Inf(1)
	for name, change := range map[string]func(*agentloop.Request){
		"no number": func(r *agentloop.Request) { r.Temperature = &none },
		"endless":   func(r *agentloop.Request) { r.Temperature = &endless },
		"a broken schema": func(r *agentloop.Request) {
			r.Tools = []agentloop.ToolSpec{{Name: "look", Parameters: json.RawMessage(`{"type":`)}}
		},
		"no schema at all": func(r *agentloop.Request) {
			r.Output = &agentloop.OutputSchema{Name: "route", Schema: json.RawMessage(``)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("hi")
			change(req)
			if _, err := collect(t.Context(), m, req); err == nil || !strings.Contains(err.Error(), "encode the request") {
				t.Errorf("error %v, want one that says so", err)
			}
		})
	}
}
