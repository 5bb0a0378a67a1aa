package gemini_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/services/internal/model/gemini"
	"github.com/quartet-commerce/quartet/services/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newModel(t *testing.T, url string) agentloop.Model {
	t.Helper()
	m, err := gemini.New(gemini.Config{BaseURL: url + "/v1beta", APIKey: modeltest.Key, Model: modeltest.Model, ReasoningSwitch: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Provider{New: newModel, Wire: wire{}})
}

// exchange asks an endpoint that answers every call with body, and returns what came, the error and the last request.
func exchange(t *testing.T, m func(t *testing.T, url string) agentloop.Model, status int, body string, requests ...func(calls []agentloop.ToolCall) *agentloop.Request) (finish agentloop.FinishReason, last string, err error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, readErr := io.ReadAll(r.Body)
		if readErr != nil {
			t.Error(readErr)
		}
		last = string(raw)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer srv.Close()
	asked := m(t, srv.URL)
	var calls []agentloop.ToolCall
	for _, request := range requests {
		for c, e := range asked.Generate(t.Context(), request(calls)) {
			err = e
			for _, d := range c.ToolCalls {
				calls = append(calls, agentloop.ToolCall{ID: d.ID, Name: d.Name, Arguments: d.Arguments})
			}
			if c.FinishReason != "" {
				finish = c.FinishReason
			}
		}
	}
	return finish, last, err
}

func ask(_ []agentloop.ToolCall) *agentloop.Request {
	return &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "hi"}}}
}

func TestSignaturesOfCallsComeBackFromAnotherProcess(t *testing.T) {
	sent := modeltest.Continue(t, newModel, `data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"c2lnbmVk"}]},"finishReason":"STOP"}]}`+"\n\n")
	if !strings.Contains(sent, `"thoughtSignature":"c2lnbmVk"`) {
		t.Errorf("request %s", sent)
	}
}

func TestDataOfOtherProvidersIsPassedOver(t *testing.T) {
	_, last, err := exchange(t, newModel, 200, `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, func([]agentloop.ToolCall) *agentloop.Request {
		return &agentloop.Request{Messages: []agentloop.Message{
			{Role: agentloop.RoleUser, Text: "hi"},
			{Role: agentloop.RoleAssistant, ProviderData: "not JSON", ToolCalls: []agentloop.ToolCall{{ID: "a", Name: "f", ProviderData: `{"other":{"x":1}}`}}},
			{Role: agentloop.RoleTool, ToolCallID: "a"},
		}}
	})
	if err != nil || strings.Contains(last, "other") || strings.Contains(last, "not JSON") {
		t.Errorf("error %v, request %s", err, last)
	}
}

func TestOlderModelsGetNoStandInForASignature(t *testing.T) {
	older := func(t *testing.T, url string) agentloop.Model {
		m, err := gemini.New(gemini.Config{BaseURL: url, APIKey: modeltest.Key, Model: "gemini-2.5-flash"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	_, last, err := exchange(t, older, 200, `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, func([]agentloop.ToolCall) *agentloop.Request {
		return &agentloop.Request{Messages: []agentloop.Message{
			{Role: agentloop.RoleAssistant, ToolCalls: []agentloop.ToolCall{{ID: "x:1", Name: "f", Arguments: "not JSON"}}},
			{Role: agentloop.RoleTool, ToolCallID: "x:1"},
		}}
	})
	if err != nil || strings.Contains(last, "thoughtSignature") || !strings.Contains(last, `"malformed":"not JSON"`) {
		t.Errorf("error %v, request %s", err, last)
	}
}

func TestFinishReasonsAreTranslated(t *testing.T) {
	for reason, want := range map[string]agentloop.FinishReason{
		"SAFETY": agentloop.FinishContentFilter, "RECITATION": agentloop.FinishContentFilter, "SPII": agentloop.FinishContentFilter,
		"MALFORMED_FUNCTION_CALL": agentloop.FinishError, "SOMETHING_NEW": agentloop.FinishError, "MAX_TOKENS": agentloop.FinishLength,
	} {
		got, _, err := exchange(t, newModel, 200, `data: {"candidates":[{"finishReason":"`+reason+`"}]}`+"\n\n", ask)
		if got != want || err != nil {
			t.Errorf("%s: %q, error %v, want %q", reason, got, err, want)
		}
	}
}

func TestWaitIsTakenFromTheDetails(t *testing.T) {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": 429, "message": "slow down", "details": []any{map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = exchange(t, newModel, 429, string(body), ask)
	var status *endpoint.StatusError
	if !errors.As(err, &status) || status.RetryAfter != 34500*time.Millisecond {
		t.Errorf("error %v, want a wait of 34.5s", err)
	}
}

func TestStreamsThatBreakOff(t *testing.T) {
	for name, body := range map[string]string{"nothing": "", "an empty piece": "data: {}\n\n", "a page": "<html>\nsign in\n</html>"} {
		if _, _, err := exchange(t, newModel, 200, body, ask); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	finish, _, err := exchange(t, newModel, 200, `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`+"\n\n", ask)
	if err != nil || finish != agentloop.FinishLength {
		t.Errorf("text without an end: %q, error %v", finish, err)
	}
}

func TestNewRefusesWhatCanNotWork(t *testing.T) {
	for name, cfg := range map[string]gemini.Config{
		"Model is empty": {APIKey: "k"}, "APIKey is empty": {Model: "m"}, "want http://": {Model: "m", APIKey: "k", BaseURL: "localhost"},
	} {
		if _, err := gemini.New(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}
