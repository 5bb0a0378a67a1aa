package bench

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The requests of a turn, as far as the fake model and the baseline read them.
const (
	routeRequest = `{"model":"m","stream":true,"messages":[{"role":"system","content":"Split."},{"role":"user","content":"` + Message + `"}],` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"route","schema":{"type":"object"}}}}`
	searchTools  = `"tools":[{"type":"function","function":{"name":"search_catalog","parameters":{"type":"object"}}}]`
	supportTools = `"tools":[{"type":"function","function":{"name":"lookup_order","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"search_policies","parameters":{"type":"object"}}}]`
	found = `{"role":"tool","tool_call_id":"call_1","content":"<tool_result>\n{\"products\":[{\"title\":\"Moss Boot\",\"price\":\"89.95 EUR\"}]}\n</tool_result>"}`
	rules = `{"role":"tool","tool_call_id":"call_1","content":"{\"passages\":[{\"text\":\"Send it back within 30 days.\"}]}"}`

	mergeRequest = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Message\n\n## Section 1: boots\nThe Moss Boot.\n\n## Section 2: rules\n30 days."}]}`
)

func asking(tools, messages string) string {
	return `{"model":"m","stream":true,"messages":[{"role":"user","content":"q"}` + messages + `],` + tools + `}`
}

func turnRequests() []json.RawMessage {
	var out []json.RawMessage
	for _, r := range []string{
		routeRequest, asking(searchTools, ""), asking(supportTools, ""), asking(supportTools, ","+rules), asking(searchTools, ","+found), mergeRequest,
	} {
		out = append(out, json.RawMessage(r))
	}
	return out
}

func TestTheFakeModelAnswersWhatItIsAsked(t *testing.T) {
	tests := []struct {
		name, request string
		want          chatAnswer
	}{
		{"to split a message", routeRequest, chatAnswer{text: decision}},
		{"with the tools of a catalog", asking(searchTools, ""), chatAnswer{tool: "search_catalog", arguments: toolCalls["search_catalog"]}},
		{"with a tool that it does not call before", asking(supportTools, ""), chatAnswer{tool: "search_policies", arguments: toolCalls["search_policies"]}},
		{"to word passages", asking(supportTools, ","+rules), chatAnswer{text: "Send it back within 30 days."}},
		{"to merge", mergeRequest, chatAnswer{text: "The Moss Boot.\n\n30 days."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var req chatRequest
			if err := json.Unmarshal([]byte(tt.request), &req); err != nil {
				t.Fatal(err)
			}
			if got, err := req.answer(); err != nil || got != tt.want {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
	if text, err := words(`{"products":[{"title":"Moss Boot","price":"89.95 EUR"}]}`); err != nil || !strings.Contains(text, "Moss Boot") || !strings.Contains(text, "89.95 EUR") {
		t.Errorf("of a product it says %q, %v", text, err)
	}
}

func TestTheFakeModelRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON":                    "{",
		"tools that it can not call": asking(strings.ReplaceAll(searchTools, "search_catalog", "sing"), ""),
		"a result of nothing":        asking(searchTools, `,{"role":"tool","content":"{}"}`),
		"a result that is no object": asking(searchTools, `,{"role":"tool","content":"nothing"}`),
	} {
		w := httptest.NewRecorder()
		NewFake().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
}

func TestTheFakeModelStreamsItsAnswers(t *testing.T) {
	w := httptest.NewRecorder()
	NewFake().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(routeRequest)))
	var text strings.Builder
	events := strings.Split(strings.TrimSpace(w.Body.String()), "\n\n")
	for _, e := range events[:len(events)-1] {
		var event struct {
			Choices []struct {
				Delta struct{ Content string }
			}
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(e, "data: ")), &event); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		for _, c := range event.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	if text.String() != decision || len(events) < 10 || events[len(events)-1] != "data: [DONE]" {
		t.Errorf("streamed in %d events: %s", len(events), &text)
	}
}

func TestEachCallTakesItsLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake()
		f.behaviour.Latency = 50 * time.Millisecond
		begun := time.Now()
		f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(routeRequest)))
		if took := time.Since(begun); took != 50*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}
