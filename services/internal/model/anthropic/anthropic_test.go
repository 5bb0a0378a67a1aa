package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model/anthropic"
	"github.com/quartet-commerce/quartet/services/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newModel(t *testing.T, url string) agentloop.Model {
	t.Helper()
	m, err := anthropic.New(anthropic.Config{BaseURL: url + "/v1/", APIKey: modeltest.Key + "\n", Model: modeltest.Model, ReasoningSwitch: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Provider{New: newModel, Wire: wire{}})
}

// exchange asks an endpoint that answers with body, and returns what came, the error and the request.
func exchange(t *testing.T, req *agentloop.Request, status int, body string) (chunks []agentloop.Chunk, sent string, err error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, readErr := io.ReadAll(r.Body)
		if readErr != nil {
			t.Error(readErr)
		}
		sent = string(raw)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer srv.Close()
	for c, e := range newModel(t, srv.URL).Generate(t.Context(), req) {
		if err = e; err == nil {
			chunks = append(chunks, c)
		}
	}
	return chunks, sent, err
}

func user(text string) agentloop.Message {
	return agentloop.Message{Role: agentloop.RoleUser, Text: text}
}

func TestStreamsAreDecoded(t *testing.T) {
	frame := func(kind, rest string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}\n\n"
	}
	text := frame("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"a"}`)
	end := func(reason string) string {
		return frame("message_delta", `,"delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":3}`) + frame("message_stop", "")
	}
	usage := &agentloop.Usage{OutputTokens: 3}
	a := agentloop.Chunk{Text: "a"}
	cases := []struct {
		name, body string
		want       []agentloop.Chunk
		err        string
	}{
		{"cache reads and writes are input", frame("message_start", `,"message":{"model":"m-1","usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":1}}`) + text + end("end_turn"),
			[]agentloop.Chunk{{Model: "m-1"}, a, {FinishReason: "stop", Usage: &agentloop.Usage{InputTokens: 23, CachedInputTokens: 11, OutputTokens: 3}}}, ""},
		{"events and blocks that nobody knows", frame("weather", `,"index":0,"delta":"x"`) + frame("content_block_start", `,"index":3,"content_block":{"type":"hologram","id":"h"}`) +
			frame("content_block_delta", `,"index":3,"delta":{"type":"hologram_delta","partial_json":"{"}`) + text + end("stop_sequence"), []agentloop.Chunk{a, {FinishReason: "stop", Usage: usage}}, ""},
		{"comments", ": hello\n\n" + text + ": still here\n\n" + end("end_turn"), []agentloop.Chunk{a, {FinishReason: "stop", Usage: usage}}, ""},
		{"arguments at once", frame("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"a":1}}`) + end("tool_use"),
			[]agentloop.Chunk{{ToolCalls: []agentloop.ToolCallDelta{{ID: "t", Name: "f", Arguments: `{"a":1}`}}}, {FinishReason: "tool_calls", Usage: usage}}, ""},
		{"the context window is full", text + end("model_context_window_exceeded"), []agentloop.Chunk{a, {FinishReason: "length", Usage: usage}}, ""},
		{"a reason that nobody knows", text + end("bored"), []agentloop.Chunk{a, {FinishReason: "stop", Usage: usage}}, ""},
		{"text without an end may be cut", text, []agentloop.Chunk{a, {FinishReason: "length"}}, ""},
		{"nothing", "", nil, "unexpected EOF"},
		{"a page", "<html>\nsign in\n</html>\n\n", nil, "unexpected EOF"},
		{"broken JSON", text + "event: message_delta\ndata: {\"type\":\n\n", []agentloop.Chunk{a}, "stream"},
		{"rate limit in the middle", text + frame("error", `,"error":{"type":"rate_limit_error","message":"slow"}`), []agentloop.Chunk{a}, "answered 429 Too Many Requests, rate_limit_error"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := exchange(t, &agentloop.Request{Messages: []agentloop.Message{user("hi")}}, 200, c.body)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
			if (err == nil) != (c.err == "") || !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// thinkingAndCall is an answer that reasons, openly and not, and calls a tool.
func thinkingAndCall() string {
	var body strings.Builder
	event := func(kind, rest string) {
		fmt.Fprintf(&body, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	event("message_start", `,"message":{"model":"m-1","usage":{"input_tokens":5}}`)
	event("content_block_start", `,"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`)
	event("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":"I "}`)
	event("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":"look."}`)
	event("content_block_delta", `,"index":0,"delta":{"type":"signature_delta","signature":"c2ln"}`)
	event("content_block_start", `,"index":1,"content_block":{"type":"redacted_thinking","data":"c2VhbGVk"}`)
	event("content_block_start", `,"index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}`)
	event("message_delta", `,"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}`)
	event("message_stop", "")
	return body.String()
}

func TestReasoningBehindCallsComesBackFromAnotherProcess(t *testing.T) {
	sent := modeltest.Continue(t, newModel, thinkingAndCall())
	var body struct {
		Messages []struct {
			Role    string
			Content []struct{ Type, Thinking, Signature, Data string }
		}
	}
	if err := json.Unmarshal([]byte(sent), &body); err != nil {
		t.Fatal(err)
	}
	type block struct{ Type, Thinking, Signature, Data string }
	var got []block
	for _, b := range body.Messages[1].Content {
		got = append(got, block(b))
	}
	want := []block{{"thinking", "I look.", "c2ln", ""}, {"redacted_thinking", "", "", "c2VhbGVk"}, {Type: "tool_use"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks of the answer, sent back (-want +got):\n%s", diff)
	}
	without := func(t *testing.T, url string) agentloop.Model { return noReasoning{newModel(t, url)} }
	if sent := modeltest.Continue(t, without, thinkingAndCall()); strings.Contains(sent, "c2ln") || strings.Contains(sent, "c2VhbGVk") {
		t.Errorf("reasoning is sent back where it is switched off: %s", sent)
	}
}

// noReasoning switches reasoning off in every call.
type noReasoning struct{ agentloop.Model }

func (n noReasoning) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	off := *req
	off.NoReasoning = true
	return n.Model.Generate(ctx, &off)
}

func TestWhatTheAPIRefusesIsNotSent(t *testing.T) {
	hot := 1.7
	_, sent, _ := exchange(t, &agentloop.Request{
		Temperature: &hot,
		Messages: []agentloop.Message{
			{Role: agentloop.RoleSystem}, {Role: agentloop.RoleAssistant, Text: "Hello."}, user("a"), user(" "),
			{Role: agentloop.RoleAssistant, Text: " ", ToolCalls: []agentloop.ToolCall{{ID: "functions.f:0", Name: "no such tool", Arguments: "oops"}}},
			{Role: agentloop.RoleTool, ToolCallID: "functions.f:0"}, user("b"),
		},
	}, 400, "")
	var got struct {
		MaxTokens   int `json:"max_tokens"`
		Temperature float64
		System      []any
		Messages    []message
	}
	if err := json.Unmarshal([]byte(sent), &got); err != nil {
		t.Fatal(err)
	}
	if got.MaxTokens != 4096 || got.Temperature != 1 || got.System != nil {
		t.Errorf("sent %s", sent)
	}
	if err := readMessages(&modeltest.Seen{}, got.Messages); err != nil {
		t.Errorf("%v in %s", err, sent)
	}
	if !strings.Contains(sent, `"id":"functions_f_0"`) || !strings.Contains(sent, `"malformed":"oops"`) || !strings.Contains(sent, `"name":"no_such_tool"`) {
		t.Errorf("sent %s", sent)
	}
}

func TestSchemaOfAnAnswerIsCutToWhatTheAPITakes(t *testing.T) {
	_, sent, _ := exchange(t, &agentloop.Request{
		Messages: []agentloop.Message{user("hi")},
		Output:   &agentloop.OutputSchema{Name: "x", Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":3,"maximum":9},"s":{"type":"array","items":{"type":"string","maxLength":4}}}}`)},
	}, 400, "")
	if !strings.Contains(sent, `"additionalProperties":false`) || strings.Contains(sent, `"minimum":3`) || strings.Contains(sent, `"maxLength":4`) {
		t.Errorf("sent %s", sent)
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Api-Key: other")
	modeltest.Run(t, modeltest.Provider{New: newModel, Wire: wire{}})
}
