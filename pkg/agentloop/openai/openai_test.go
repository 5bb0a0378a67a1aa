package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

const testKey = "key-5up3r"

// serve returns a model whose endpoint answers every call with h.
func serve(t *testing.T, h http.HandlerFunc) *openai.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	m, err := openai.New(openai.Config{BaseURL: srv.URL + "/v1", APIKey: testKey, Model: "test-model"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stream returns a handler that sends the body as an event stream.
func stream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

func ask(text string) *agentloop.Request {
	return &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: text}}}
}

// collect ranges over an answer and returns all of it.
func collect(ctx context.Context, m agentloop.Model, req *agentloop.Request) ([]agentloop.Chunk, error) {
	var chunks []agentloop.Chunk
	for c, err := range m.Generate(ctx, req) {
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func TestNewRefusesWhatCanNotWork(t *testing.T) {
	cases := []struct {
		name string
		cfg  openai.Config
		want string // part of the error; empty for none
	}{
		{"no model", openai.Config{APIKey: "k"}, "Model is empty"},
		{"no key for OpenAI", openai.Config{Model: "m"}, "APIKey is empty"},
		{"no key for OpenAI, spelled out", openai.Config{Model: "m", BaseURL: openai.DefaultBaseURL + "/"}, "APIKey is empty"},
		{"no key elsewhere", openai.Config{Model: "m", BaseURL: "http://localhost:1/v1"}, ""},
		{"no scheme", openai.Config{Model: "m", BaseURL: "localhost:8080"}, "want http://"},
		{"no host", openai.Config{Model: "m", BaseURL: "http:///v1"}, "want http://"},
		{"not a URL", openai.Config{Model: "m", BaseURL: "http://a b"}, "not a URL"},
		{"a user in the URL", openai.Config{Model: "m", BaseURL: "http://u:secret@host/v1"}, "must not hold a user"},
		{"a query in the URL", openai.Config{Model: "m", BaseURL: "http://host/v1?key=secret"}, "must not hold a user"},
		{"a response format that is none", openai.Config{Model: "m", APIKey: "k", ResponseFormat: "yaml"}, `ResponseFormat "yaml": want [json_schema json_object none]`},
		{"a switch that is none", openai.Config{Model: "m", APIKey: "k", ReasoningSwitch: "off"}, `ReasoningSwitch "off": want [none enable_thinking`},
		{"a key of two lines", openai.Config{Model: "m", APIKey: "secret\nother"}, "character that no key has"},
		{"a key with a line feed at its end", openai.Config{Model: "m", APIKey: "k\n"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := openai.New(c.cfg)
			switch {
			case c.want == "" && (err != nil || m == nil):
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			case err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret")):
				t.Errorf("error %q holds a secret or a line break", err)
			}
		})
	}
}

func TestStreamsAreDecoded(t *testing.T) {
	const done = "data: [DONE]\n\n"
	call := func(i int, id, name, args string) agentloop.Chunk {
		return agentloop.Chunk{ToolCalls: []agentloop.ToolCallDelta{{Index: i, ID: id, Name: name, Arguments: args}}}
	}
	text := func(s string) agentloop.Chunk { return agentloop.Chunk{Text: s} }
	finish := func(r agentloop.FinishReason) agentloop.Chunk { return agentloop.Chunk{FinishReason: r} }
	delta := func(d string) string { return `data: {"choices":[{"index":0,"delta":` + d + "}]}\n\n" }
	ended := func(r string) string {
		return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + r + "\"}]}\n\n"
	}
	cases := []struct {
		name, body string
		want       []agentloop.Chunk
		err        string // part of the error
		says       string // what the endpoint wrote of it
		is         error
	}{
		{
			name: "text, model, usage after empty choices",
			body: `data: {"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n" + delta(`{"content":"Hel"}`) + delta(`{"content":"lo"}`) + ended("stop") +
				`data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}}` + "\n\n" + done,
			want: []agentloop.Chunk{{Model: "m-1"}, text("Hel"), text("lo"), {
				FinishReason: "stop", Usage: &agentloop.Usage{InputTokens: 5, OutputTokens: 7, CachedInputTokens: 2, ReasoningTokens: 3},
			}},
		},
		{
			name: "reasoning counted apart is part of the output",
			body: ended("stop") + `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":22,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":10}}}` + "\n\n" + done,
			want: []agentloop.Chunk{{FinishReason: "stop", Usage: &agentloop.Usage{InputTokens: 5, OutputTokens: 17, ReasoningTokens: 10}}},
		},
		{
			name: "usage counted up in every event is reported once, the last",
			body: `data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}` + "\n\n" + ended("stop") +
				`data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n" + done,
			want: []agentloop.Chunk{text("a"), {FinishReason: "stop", Usage: &agentloop.Usage{InputTokens: 5, OutputTokens: 2}}},
		},
		{
			name: "usage of zero is none",
			body: delta(`{"content":"a"}`) + ended("stop") + `data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}` + "\n\n" + done,
			want: []agentloop.Chunk{text("a"), finish("stop")},
		},
		{
			name: "reasoning under either name, once",
			body: delta(`{"reasoning_content":"hm"}`) + delta(`{"reasoning":"so"}`) + delta(`{"reasoning":"x","reasoning_content":"x"}`) + ended("stop") + done,
			want: []agentloop.Chunk{{Reasoning: "hm"}, {Reasoning: "so"}, {Reasoning: "x"}, finish("stop")},
		},
		{
			name: "tool calls in pieces",
			body: delta(`{"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`) +
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`) + delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}`) + ended("tool_calls") + done,
			want: []agentloop.Chunk{call(0, "a", "f", ""), call(0, "", "", "{}"), call(1, "b", "g", "{}"), finish("tool_calls")},
		},
		{
			name: "tool call without an index",
			body: delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`) + delta(`{"tool_calls":[{"index":null,"function":{"arguments":"x"}}]}`) + ended("tool_calls") + done,
			want: []agentloop.Chunk{call(-1, "a", "f", "{}"), call(-1, "", "", "x"), finish("tool_calls")},
		},
		{name: "refusal is an answer", body: delta(`{"refusal":"I will not."}`) + ended("stop") + done, want: []agentloop.Chunk{text("I will not."), finish("stop")}},
		{name: "only the first choice counts", body: `data: {"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}` + "\n\n" + delta(`{"content":"yes"}`) + ended("stop") + done, want: []agentloop.Chunk{text("yes"), finish("stop")}},
		{name: "repeated finish reason", body: delta(`{"content":"a"}`) + ended("length") + ended("length") + done, want: []agentloop.Chunk{text("a"), finish("length")}},
		{name: "finish reasons of others' own", body: ended("MAX_TOKENS") + done, want: []agentloop.Chunk{finish("length")}},
		{name: "content filter", body: ended("content_filter") + done, want: []agentloop.Chunk{finish("content_filter")}},
		{name: "unknown finish reason", body: ended("eos") + done, want: []agentloop.Chunk{finish("stop")}},
		{
			name: "comments, other fields, no space after the colon, CRLF",
			body: ": hello\n\nevent: message\nid: 7\nretry: 10\n" + strings.ReplaceAll(delta(`{"content":"a"}`), "data: ", "data:") + strings.Repeat(": still here\n\n", 1000) + strings.ReplaceAll(ended("stop"), "\n", "\r\n") + done,
			want: []agentloop.Chunk{text("a"), finish("stop")},
		},
		{name: "no final line feed", body: delta(`{"content":"a"}`) + ended("stop") + "data: [DONE]", want: []agentloop.Chunk{text("a"), finish("stop")}},
		{name: "finished without [DONE]", body: delta(`{"content":"a"}`) + strings.TrimSpace(ended("stop")), want: []agentloop.Chunk{text("a"), finish("stop")}},
		{name: "[DONE] without a finish reason", body: delta(`{"content":"a"}`) + done, want: []agentloop.Chunk{text("a")}},
		{name: "text without an end may be cut", body: delta(`{"content":"a"}`), want: []agentloop.Chunk{text("a"), finish("length")}},
		{name: "call without an end is not run", body: delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`), want: []agentloop.Chunk{call(0, "a", "f", "{")}, is: io.ErrUnexpectedEOF},
		{name: "nothing at all", body: "", is: io.ErrUnexpectedEOF},
		{name: "not a stream", body: "<html>\nsign in\n</html>", is: io.ErrUnexpectedEOF},
		{name: "empty data", body: "data:\n\n" + ended("stop") + done, want: []agentloop.Chunk{finish("stop")}},
		{name: "broken JSON", body: delta(`{"content":"a"}`) + "data: {\"choices\":[\n\n", want: []agentloop.Chunk{text("a")}, err: "not the JSON of a chat completion"},
		{name: "error event", body: delta(`{"content":"a"}`) + `data: {"error":{"message":"overloaded","code":"529"}}` + "\n\n", want: []agentloop.Chunk{text("a")}, err: "answered 529", says: "overloaded"},
		{name: "error event after comments", body: ": wait\n\n" + `data: {"error":{"message":"overloaded","type":null,"code":null}}` + "\n\n", err: "the endpoint reports a failure", says: "overloaded"},
		{name: "error event that is a string", body: `data: {"error":"out of ` + testKey + ` memory"}`, says: "out of [key] memory"},
		{name: "error event of another kind", body: `data: {"error":{"reason":7}}`, says: `{"reason":7}`},
		{name: "error beside choices", body: `data: {"choices":[{"index":0,"delta":{"content":""}}],"error":{"code":400,"message":"Token limit reached"}}` + "\n\n" + ended("stop") + done, err: "answered 400 Bad Request", says: "Token limit reached"},
		{
			name: "words in parts, thoughts among them",
			body: delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"},"b",7,null]}`) + ended("stop") + done,
			want: []agentloop.Chunk{{Text: "ab", Reasoning: "hm"}, finish("stop")},
		},
		{
			name: "reasoning that is no string",
			body: delta(`{"reasoning":{"text":"hm"},"reasoning_details":[{"data":"c2ln"}]}`) + delta(`{"reasoning_content":[{"type":"reasoning","text":"so"}]}`) + delta(`{"reasoning":7,"content":{"type":"reasoning.text","text":"x"}}`) + ended("stop") + done,
			want: []agentloop.Chunk{{Reasoning: "hm"}, {Reasoning: "so"}, {Reasoning: "x"}, finish("stop")},
		},
		{
			name: "arguments that are no string",
			body: delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}},{"index":1,"id":"b","function":{"name":"g","arguments":null}}]}`) + ended("tool_calls") + done,
			want: []agentloop.Chunk{{ToolCalls: []agentloop.ToolCallDelta{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {Index: 1, ID: "b", Name: "g"}}}, finish("tool_calls")},
		},
		{name: "text, then a call without an end", body: delta(`{"content":"a"}`) + delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`), want: []agentloop.Chunk{text("a"), call(0, "a", "f", "{")}, is: io.ErrUnexpectedEOF},
		{name: "a whole answer for an event", body: `data: {"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n" + done, want: []agentloop.Chunk{text("a"), finish("stop")}},
		{name: "broken after the end", body: delta(`{"content":"a"}`) + ended("stop") + "data: {", want: []agentloop.Chunk{text("a"), finish("stop")}},
		{name: "the mark of UTF-8", body: "\xef\xbb\xbf\n" + delta(`{"content":"a"}`) + ended("stop") + done, want: []agentloop.Chunk{text("a"), finish("stop")}},
		{name: "error body without events", body: `{"error":{"message":"no such model","type":"x"}}`, says: "no such model"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := collect(t.Context(), serve(t, stream(c.body)), ask("hi"))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
			var status *endpoint.StatusError
			switch {
			case c.err == "" && c.says == "" && c.is == nil:
				if err != nil {
					t.Errorf("error %v", err)
				}
			case c.is != nil && !errors.Is(err, c.is), !strings.Contains(fmt.Sprint(err), c.err):
				t.Errorf("error %v, want %v %s", err, c.is, c.err)
			case endpoint.Message(err) != c.says && (c.says != "" || errors.As(err, &status)), c.says != "" && strings.Contains(err.Error(), c.says):
				t.Errorf("error %v, of which the endpoint wrote %q, want %q and not in the error's text", err, endpoint.Message(err), c.says)
			case strings.Contains(c.name, "error") && !errors.As(err, &status):
				t.Errorf("error %v is no StatusError", err)
			}
		})
	}
}

func TestRefusalsAreTyped(t *testing.T) {
	cases := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   endpoint.StatusError
	}{
		{
			"rate limit with seconds", 429, http.Header{"Retry-After": {"7"}}, `{"error":{"message":"slow down","type":"x","code":"rate_limit_exceeded"}}`,
			endpoint.StatusError{StatusCode: 429, Type: "rate_limit_exceeded", RetryAfter: 7 * time.Second, Message: "slow down"},
		},
		{
			"rate limit with milliseconds", 429, http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"250"}}, `{"error":{"message":"slow down"}}`,
			endpoint.StatusError{StatusCode: 429, RetryAfter: 250 * time.Millisecond, Message: "slow down"},
		},
		{"a proxy's page", 502, nil, "<html>\n  Bad gateway\n</html>", endpoint.StatusError{StatusCode: 502, Message: "<html> Bad gateway </html>"}},
		{"an error that is a string", 404, nil, `{"error":"model \"m\" not found"}`, endpoint.StatusError{StatusCode: 404, Message: `model "m" not found`}},
		{"an error of another kind", 503, nil, `{"error":{"reason":7}}`, endpoint.StatusError{StatusCode: 503, Message: `{"reason":7}`}},
		{"a limit that is used up", 429, http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"3s"}}, `{"error":{"message":"slow down"}}`, endpoint.StatusError{StatusCode: 429, RetryAfter: 3 * time.Second, Message: "slow down"}},
		{"an empty body", 500, nil, "", endpoint.StatusError{StatusCode: 500}},
		{"the key repeated", 401, nil, `{"error":{"message":"bad key ` + testKey + `"}}`, endpoint.StatusError{StatusCode: 401, Message: "bad key [key]"}},
		{"the key repeated in a page", 401, nil, `bad key ` + testKey, endpoint.StatusError{StatusCode: 401, Message: "bad key [key]"}},
		{"many words", 400, nil, strings.Repeat("é", 10000), endpoint.StatusError{StatusCode: 400, Message: strings.Repeat("é", 250) + " [cut]"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range c.header {
					w.Header()[k] = v
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := collect(t.Context(), m, ask("hi"))
			var got *endpoint.StatusError
			if !errors.As(err, &got) {
				t.Fatalf("error %v is no StatusError", err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the key shows in %q", err)
			}
		})
	}
}

func TestNoEndpointIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	m, err := openai.New(openai.Config{BaseURL: "http://" + addr, APIKey: testKey, Model: "m", HTTPClient: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = collect(t.Context(), m, ask("hi"))
	var opErr *net.OpError
	if !errors.As(err, &opErr) || strings.Contains(err.Error(), testKey) {
		t.Errorf("error %v, want the connection's", err)
	}
}

func TestContextEndsTheCall(t *testing.T) {
	// The handler sends one event when asked to, then waits for the client to go.
	hang := func(events int, gone chan<- struct{}) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for range events {
				_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			close(gone)
		}
	}
	for _, events := range []int{0, 1} {
		t.Run(fmt.Sprintf("deadline after %d events", events), func(t *testing.T) {
			gone := make(chan struct{})
			m := serve(t, hang(events, gone))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if chunks, err := collect(ctx, m, ask("hi")); !errors.Is(err, context.DeadlineExceeded) || len(chunks) != events {
				t.Errorf("%d chunks, error %v", len(chunks), err)
			}
			<-gone
		})
	}
	t.Run("cancelled half way", func(t *testing.T) {
		gone := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for _, err := range serve(t, hang(1, gone)).Generate(ctx, ask("hi")) {
			cancel()
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("error %v, want %v", last, context.Canceled)
		}
		<-gone
	})
	t.Run("the consumer stops", func(t *testing.T) {
		gone := make(chan struct{})
		for range serve(t, hang(1, gone)).Generate(t.Context(), ask("hi")) {
			break
		}
		<-gone
	})
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	const callers, rounds = 30, 3
	var opened atomic.Int64
	var arrived sync.WaitGroup
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Done()
		arrived.Wait() // so that all callers need a connection at once
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-time.After(time.Millisecond) // the end of the body comes apart from the end of the events
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	m, err := openai.New(openai.Config{BaseURL: srv.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		arrived.Add(callers)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if _, err := collect(t.Context(), m, ask("hi")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if n := opened.Load(); n > callers {
		t.Errorf("%d connections for %d calls at once, %d times", n, callers, rounds)
	}
}

func TestStreamLeftOpenAfterItsEndDoesNotHang(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	if chunks, err := collect(t.Context(), m, ask("hi")); err != nil || len(chunks) != 2 {
		t.Errorf("%d chunks, error %v", len(chunks), err)
	}
}
