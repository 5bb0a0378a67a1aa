package hostile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/services/internal/offline/hostile"
)

const chat = "/v1/chat/completions"

// streamed is the body of a streamed request.
func streamed(model string) string {
	return fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"hello"}]}`, model)
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, chat, strings.NewReader(body)))
	return w
}

func parsed(t *testing.T, list string) []hostile.Mode {
	t.Helper()
	modes, err := hostile.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

// The table of the documentation has each mode once, in the row of its outcome.
func TestDocumentationHasEveryMode(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range hostile.Modes() {
		want = append(want, "`"+m.Name+"`")
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) == 2 && strings.HasSuffix(cells[1], "` |") {
			got = append(got, strings.Split(strings.TrimSuffix(cells[1], " |"), ", ")...)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the table of README.md differs from the modes (-want +got):\n%s", diff)
	}
}

func TestParseKeepsTheOrder(t *testing.T) {
	modes := parsed(t, "think-paired, split-bytes")
	if len(modes) != 2 || modes[0].Name != "think-paired" || modes[1].Name != "split-bytes" {
		t.Errorf("modes %v", modes)
	}
	for list, unknown := range map[string]string{"split-byts": "split-byts", "crlf,think-pared": "think-pared", "": `""`} {
		if _, err := hostile.Parse(list); err == nil || !strings.Contains(err.Error(), unknown) {
			t.Errorf("Parse(%q): error %v does not name %q", list, err, unknown)
		}
	}
}

func TestConfigIsValidated(t *testing.T) {
	next := http.NotFoundHandler()
	for _, cfg := range []hostile.Config{{Model: "m"}, {Next: next}, {Next: next, Model: "m", EventDelay: -1}} {
		if _, err := hostile.New(cfg); err == nil {
			t.Errorf("New(%+v) took it", cfg)
		}
	}
}

func TestARequestChoosesItsModesByTheModelsName(t *testing.T) {
	h, _ := hostileEndpoint(t, hostile.Config{Modes: parsed(t, "error-401")})
	for model, status := range map[string]int{
		"quartet-offline":            http.StatusUnauthorized,
		hostile.Alias:                http.StatusUnauthorized,
		"quartet-offline+error-400":  http.StatusBadRequest,
		hostile.Alias + "+error-400": http.StatusBadRequest,
		hostile.Alias + "+crlf":      http.StatusOK,
		hostile.Alias + "+crfl":      http.StatusNotFound,
		"another+crlf":               http.StatusNotFound,
	} {
		if w := post(h, streamed(model)); w.Code != status {
			t.Errorf("model %q: status %d, want %d: %s", model, w.Code, status, w.Body)
		}
	}
}

func TestOtherRequestsAreAnsweredWell(t *testing.T) {
	h, _ := hostileEndpoint(t, hostile.Config{Modes: parsed(t, "garbage-event")})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/models", nil))
	if w.Code != http.StatusOK {
		t.Errorf("the list of models: status %d", w.Code)
	}
	w = post(h, strings.Replace(streamed(hostile.Alias), `"stream":true,`, "", 1))
	if w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), "Hello!") {
		t.Errorf("a request without stream: status %d, %s", w.Code, w.Body)
	}
	for _, body := range []string{"null", "{", `[]`, `{"stream":true}`, `{"model":"quartet-offline","stream":true,"messages":[]}`} {
		if w := post(h, body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "invalid_request_error") {
			t.Errorf("body %s: status %d, %s", body, w.Code, w.Body)
		}
	}
}

func TestEveryOtherRequestOfAConversationIsRefused(t *testing.T) {
	h, _ := hostileEndpoint(t, hostile.Config{Modes: parsed(t, "error-500-once")})
	other := strings.Replace(streamed(hostile.Alias), "hello", "goodbye", 1)
	var got []int
	for _, body := range []string{streamed(hostile.Alias), other, streamed(hostile.Alias), streamed(hostile.Alias), other} {
		got = append(got, post(h, body).Code)
	}
	if diff := gocmp.Diff([]int{500, 500, 200, 500, 200}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestEventDelayIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := hostileEndpoint(t, hostile.Config{EventDelay: time.Second})
		begun := time.Now()
		events := strings.Count(post(h, streamed(hostile.Alias)).Body.String(), "data: ")
		if took := time.Since(begun); took != time.Duration(events-1)*time.Second {
			t.Errorf("%d events took %v", events, took)
		}
	})
}

func TestWhatIsSentIsWhatTheTableSays(t *testing.T) {
	h, _ := hostileEndpoint(t, hostile.Config{})
	tests := []struct{ mode, has, lacks string }{
		{"think-paired", `"content":"<think>Nobody`, ""},
		{"think-close-only", `</think>`, "<think>"},
		{"think-unterminated", `"content":"<think>Nobody`, "</think>"},
		{"think-mixed-case", `</THINK>`, "<think>"},
		{"think-variants", `</thinking><thought>`, ""},
		{"think-length", `"finish_reason":"length"`, "Hello"},
		{"reasoning-content", `"reasoning_content":"Nobody`, ""},
		{"reasoning", `"reasoning":"Nobody`, ""},
		{"split-events", `"content":"H"`, "Hello"},
		{"choices-empty", `"choices":[]`, ""},
		{"answer-empty", `"finish_reason":"stop"`, `"content":`},
		{"finish-missing", "[DONE]", `"finish_reason":"stop"`},
		{"finish-content-filter", `"finish_reason":"content_filter"`, `"stop"`},
		{"done-missing", `"finish_reason":"stop"`, "[DONE]"},
		{"end-missing", "Hello", "[DONE]"},
		{"crlf", "\r\n\r\n", "\n\n"},
		{"no-space", "data:{", "data: "},
		{"comments", "\n: still thinking\n", ""},
		{"garbage-event", "data: {\"choices\":[{\"del\n", ""},
		{"error-event", `data: {"error":`, "[DONE]"},
		{"error-event-first", `data: {"error":`, "Hello"},
		{"error-status-200", `{"error":{`, "data:"},
		{"page-status-200", "<html>", "data:"},
		{"not-a-stream", `"object":"chat.completion"`, "data:"},
	}
	for _, tt := range tests {
		w := post(h, streamed(hostile.Alias+"+"+tt.mode))
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, tt.has) || tt.lacks != "" && strings.Contains(body, tt.lacks) {
			t.Errorf("%s: status %d, want %q and no %q in:\n%s", tt.mode, w.Code, tt.has, tt.lacks, body)
		}
	}
	if got := post(h, streamed(hostile.Alias+"+content-type-html")).Header().Get("Content-Type"); got != "text/html" {
		t.Errorf("content type %q", got)
	}
	if got := post(h, streamed(hostile.Alias+"+rate-limit-seconds")).Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q", got)
	}
}
