package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T) *openai.Client {
	t.Helper()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(s)
	t.Cleanup(hs.Close)
	cfg := openai.DefaultConfig("any")
	cfg.BaseURL = hs.URL + "/v1"
	cfg.HTTPClient = hs.Client()
	return openai.NewClientWithConfig(cfg)
}

func weatherRequest(question string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    ModelFast,
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: question}},
		Tools: []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{
			Name: "get_forecast", Description: "Weather forecast for a city.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}}},
	}
}

func TestCompletionIsReadByAnotherClient(t *testing.T) {
	c := newClient(t)
	got, err := c.CreateChatCompletion(t.Context(), weatherRequest("what is the weather in Oslo?"))
	if err != nil {
		t.Fatal(err)
	}
	choice := got.Choices[0]
	if choice.FinishReason != openai.FinishReasonToolCalls || len(choice.Message.ToolCalls) != 1 {
		t.Fatalf("choice = %+v, want one tool call", choice)
	}
	call := choice.Message.ToolCalls[0]
	if call.ID == "" || call.Function.Name != "get_forecast" || call.Function.Arguments != `{"city":"Oslo"}` {
		t.Errorf("call = %+v", call)
	}
	if got.Model != ModelFast || got.Usage.PromptTokens == 0 || got.Usage.TotalTokens != got.Usage.PromptTokens+got.Usage.CompletionTokens {
		t.Errorf("model %q, usage %+v", got.Model, got.Usage)
	}

	req := weatherRequest("what is the weather in Oslo?")
	req.Messages = append(req.Messages, choice.Message, openai.ChatCompletionMessage{Role: "tool", ToolCallID: call.ID, Content: `{"sky":"light rain"}`})
	got, err = c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.Choices[0].Message.Content; text != "sky light rain." || got.Choices[0].FinishReason != openai.FinishReasonStop {
		t.Errorf("answer = %q, finish %q", text, got.Choices[0].FinishReason)
	}
}

// collect reads a stream to its end.
func collectStream(t *testing.T, c *openai.Client, req openai.ChatCompletionRequest) (text string, calls []openai.ToolCall, finish openai.FinishReason, used *openai.Usage) {
	t.Helper()
	stream, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text, calls, finish, used
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Usage != nil {
			used = chunk.Usage
		}
		for _, ch := range chunk.Choices {
			text += ch.Delta.Content
			if ch.FinishReason != "" {
				finish = ch.FinishReason
			}
			for _, d := range ch.Delta.ToolCalls {
				for *d.Index >= len(calls) {
					calls = append(calls, openai.ToolCall{})
				}
				k := &calls[*d.Index]
				k.ID += d.ID
				k.Function.Name += d.Function.Name
				k.Function.Arguments += d.Function.Arguments
			}
		}
	}
}

// What no search has checked is neither claimed nor denied.
func TestProductsAreOfferedIfANegationWasNotChecked(t *testing.T) {
	result := `{"total":1,"note":"%s","products":[{"product_id":"J1","title":"Fell jacket","price":"49.00 EUR"}]}`
	for note, want := range map[string]string{
		`The search does not check \"without hood\"; see what each product says.`: "These may suit:\n- Fell jacket",
		`None is waterproof.`: "Nothing fits all of that. The nearest:\n- Fell jacket",
	} {
		got, err := newClient(t).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: ModelFast,
			Messages: []openai.ChatCompletionMessage{
				{Role: "user", Content: "a jacket without a hood?"},
				{Role: "assistant", ToolCalls: []openai.ToolCall{{ID: "c1", Type: "function", Function: openai.FunctionCall{Name: "search_catalog", Arguments: `{"query":"jacket without hood"}`}}}},
				{Role: "tool", ToolCallID: "c1", Content: fmt.Sprintf(result, note)},
			},
			Tools: []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{
				Name: "search_catalog", Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Choices[0].Message.Content; !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q, want %q", note, text, want)
		}
	}
}

func TestStreamSaysTheSameAsTheWhole(t *testing.T) {
	c := newClient(t)
	req := weatherRequest("how is the weather in Rio de la Plata or in San Martín de los Andes?")
	want, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	_, calls, finish, used := collectStream(t, c, req)
	if finish != openai.FinishReasonToolCalls || used == nil || used.CompletionTokens != want.Usage.CompletionTokens {
		t.Errorf("finish %q, usage %+v, want as %+v", finish, used, want.Usage)
	}
	whole := want.Choices[0].Message.ToolCalls
	if len(calls) != 2 || len(whole) != 2 || calls[0].Function != whole[0].Function || calls[1].Function != whole[1].Function || calls[0].ID == "" {
		t.Errorf("streamed calls %+v, want %+v", calls, whole)
	}

	req = weatherRequest("hello!")
	want, err = c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	text, calls, finish, used := collectStream(t, c, req)
	if text != want.Choices[0].Message.Content || text == "" || len(calls) != 0 || finish != openai.FinishReasonStop {
		t.Errorf("streamed %q %v %q, want %q", text, calls, finish, want.Choices[0].Message.Content)
	}
	if used != nil {
		t.Errorf("usage %+v was not asked for", used)
	}
}

func TestModelsSayThatTheyAreRules(t *testing.T) {
	list, err := newClient(t).ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range list.Models {
		ids = append(ids, m.ID)
		if !strings.Contains(m.OwnedBy, "rules") {
			t.Errorf("%s is owned by %q, which does not say that it is rules", m.ID, m.OwnedBy)
		}
	}
	if diff := cmp.Diff([]string{Model, ModelFast}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestBadRequestsAreRefusedAsTheRealAPIDoes(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	call := `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for name, tc := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"broken JSON":                     {`{"model":`, 400, "parse"},
		"no messages":                     {`{"model":"quartet-offline"}`, 400, "messages"},
		"no model":                        {`{"messages":[{"role":"user","content":"x"}]}`, 400, "model"},
		"unknown model":                   {`{"model":"other","messages":[{"role":"user","content":"x"}]}`, 404, "model_not_found"},
		"a call that nobody answered":     {`{"model":"quartet-offline","messages":[{"role":"user","content":"x"},` + call + `,{"role":"user","content":"y"}]}`, 400, "tool_call_id"},
		"a call open at the end":          {`{"model":"quartet-offline","messages":[` + call + `]}`, 400, "tool_call_id"},
		"an answer to no call":            {`{"model":"quartet-offline","messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`, 400, "role 'tool'"},
		"an unknown role":                 {`{"model":"quartet-offline","messages":[{"role":"wizard","content":"x"}]}`, 400, "wizard"},
		"a forced tool that is not there": {`{"model":"quartet-offline","messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"function","function":{"name":"g"}}}`, 400, "g"},
		"a form for a judge":              {`{"model":"quartet-offline","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"wrong":{"type":"array"}}}}}}`, 400, "cannot judge"},
		"a schema that is none":           {`{"model":"quartet-offline","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":[1]}}]}`, 400, "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(tc.body)))
			var body struct{ Error *openai.APIError }
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error == nil || body.Error.Message == "" {
				t.Fatalf("body %q is no error: %v", w.Body, err)
			}
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("got %d %s, want %d with %q", w.Code, w.Body, tc.status, tc.says)
			}
		})
	}
}

func TestConfigIsValidated(t *testing.T) {
	for _, cfg := range []Config{{Latency: -1}, {TokenDelay: -1}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v) took a negative duration", cfg)
		}
	}
}

func TestLatencyAndTokenDelayAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Latency: 3 * time.Second, TokenDelay: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"quartet-offline","stream":true,"messages":[{"role":"user","content":"hi"}]}`)))
		chunks := strings.Count(w.Body.String(), "data: ")
		if got, want := time.Since(start), 3*time.Second+time.Duration(chunks-1)*time.Second; got != want || chunks < 5 {
			t.Errorf("%d chunks took %v, want %v", chunks, got, want)
		}
	})
}

func TestACallerThatLeavesStopsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Latency: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(`{"model":"quartet-offline","messages":[{"role":"user","content":"hi"}]}`)))
		if time.Since(start) != time.Second || w.Body.Len() != 0 {
			t.Errorf("took %v and wrote %q", time.Since(start), w.Body)
		}
	})
}

func TestServeStopsCleanly(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, lis, s) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + lis.Addr().String() + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	cancel()
	if err := <-done; err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("Serve returned %v after status %d", err, resp.StatusCode)
	}
	if err := Serve(t.Context(), lis, s); err == nil {
		t.Error("Serve on a closed listener returned nil")
	}
}
