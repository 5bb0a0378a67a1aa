package model_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
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
	m, err := model.New(model.Config{URL: server.URL + "/v1", Name: "some-local-model"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := answerOf(t, m)
	if err != nil || text != "Hello there." || calls.Load() != 2 {
		t.Errorf("answer %q, error %v, after %d calls", text, err, calls.Load())
	}
}
