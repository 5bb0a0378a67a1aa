package openai_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// TestAnswersThatDoNotStream plays whole answers, asked for as such and, for endpoints that pass over it, as a stream.
func TestAnswersThatDoNotStream(t *testing.T) {
	cases := []struct {
		name, contentType, body string
		want                    []agentloop.Chunk
		err                     string // part of the error, or of what the endpoint wrote
	}{
		{
			name: "text, reasoning and usage", contentType: "application/json",
			body: `{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"hm"},"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`,
			want: []agentloop.Chunk{{Text: "a", Reasoning: "hm", Model: "m-1"}, {FinishReason: "length", Usage: &agentloop.Usage{InputTokens: 5, OutputTokens: 7}}},
		},
		{
			name: "parallel calls with the same id, numbered wrongly", contentType: "application/json; charset=utf-8",
			body: "\n{\"choices\":[{\"message\":{\"content\":null,\n\"tool_calls\":[" + `{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"a","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			want: []agentloop.Chunk{{ToolCalls: []agentloop.ToolCallDelta{{Index: 0, ID: "a", Name: "f", Arguments: "{}"}, {Index: 1, ID: "a", Name: "g", Arguments: "{}"}}}, {FinishReason: "tool_calls"}},
		},
		{
			name: "no reason for the end, and another type", contentType: "text/event-stream",
			body: `{"choices":[{"message":{"content":"a"},"finish_reason":""}]}`, want: []agentloop.Chunk{{Text: "a"}},
		},
		{name: "an error in place of an answer", contentType: "application/json", body: `{"error":{"message":"no luck","code":502}}`, err: "answered 502 Bad Gateway no luck"},
		{name: "another object", contentType: "application/json", body: `{"status":"` + testKey + `"}`, err: `content type "application/json": {"status":"[key]"}`},
		{name: "no object after all", contentType: "application/json", body: `{"choices":[{"mess`, err: `content type "application/json": {"choices":[{"mess`},
		{name: "a page", contentType: "text/html; charset=utf-8", body: "<!doctype html>\n<title>" + testKey + "</title>\n" + strings.Repeat("<p>", 500), err: `content type "text/html; charset=utf-8": <!doctype html> <title>[key]</title> <p>`},
		{name: "words", contentType: "text/plain", body: "data not found: try later", err: `content type "text/plain": data not found: try later`},
		{name: "a list", contentType: "application/json", body: `[{"error":"x"}]`, err: `[{"error":"x"}]`},
		{name: "a stream after all", contentType: "", body: ": hi\n\nevent: x\ndata: " + `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, want: []agentloop.Chunk{{Text: "a"}, {FinishReason: "stop"}}},
		{name: "nothing", contentType: "application/json", body: " \n", err: "ended without an answer"},
	}
	for _, c := range cases {
		for _, noStream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, no stream %v", c.name, noStream), func(t *testing.T) {
				m := replayed(t, replay{status: 200, contentType: c.contentType, body: strings.NewReader(c.body)}, noStream)
				got, err := collect(t.Context(), m, ask("hi"))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("chunks (-want +got):\n%s", diff)
				}
				if (err == nil) != (c.err == "") || !strings.Contains(fmt.Sprint(err, " ", endpoint.Message(err)), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				if msg := fmt.Sprint(err, " ", endpoint.Message(err)); len(msg) > 700 || strings.Contains(msg, testKey) || strings.Contains(msg, "\n") {
					t.Errorf("error of %d bytes shows the key or is several lines: %q", len(msg), msg)
				}
			})
		}
	}
}

// TestConnectionThatBreaksIsAnError cuts a connection in an answer, of either kind.
func TestConnectionThatBreaksIsAnError(t *testing.T) {
	for _, start := range []string{
		"", `{"choices":[{"message":{"content":"a"},"finish`, `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n" + `data: {"cho`,
	} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, start)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		if got, err := collect(t.Context(), m, ask("hi")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %q: %+v, error %v", start, got, err)
		}
	}
}

// TestRedirectionsAreFollowedOrSaid answers with the kinds of redirection that keep the request, and those that lead nowhere.
func TestRedirectionsAreFollowedOrSaid(t *testing.T) {
	answer := stream(`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n")
	var first, second []byte
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		second, _ = io.ReadAll(r.Body)
		answer(w, r)
	}))
	defer target.Close()
	moved := serve(t, func(w http.ResponseWriter, r *http.Request) {
		first, _ = io.ReadAll(r.Body)
		w.Header().Set("Location", target.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	if got, err := collect(t.Context(), moved, ask("hi")); err != nil || len(got) != 2 {
		t.Errorf("moved: %+v, error %v", got, err)
	}
	if !bytes.Contains(first, []byte("hi")) || !bytes.Equal(first, second) {
		t.Errorf("moved with %q, asked with %q", second, first)
	}
	lost := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTemporaryRedirect) })
	if _, err := collect(t.Context(), lost, ask("hi")); err == nil || !strings.Contains(err.Error(), "answered 307") {
		t.Errorf("lost: error %v", err)
	}
}

// TestClientsMayChangeTheirRequests has a client add a header to each request, as some do that ought to copy it first.
func TestClientsMayChangeTheirRequests(t *testing.T) {
	var before []string
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		before = append(before, req.Header.Values("X-Call")...)
		req.Header.Add("X-Call", "1")
		return replay{status: 200, body: strings.NewReader("data: [DONE]\n\n")}.RoundTrip(req)
	})}
	m, err := openai.New(openai.Config{BaseURL: "http://endpoint.invalid", Model: "m", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := collect(t.Context(), m, ask("hi")); err != nil {
			t.Fatal(err)
		}
	}
	if len(before) != 0 {
		t.Errorf("a request came with the header of another: %q", before)
	}
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestRefusedFieldsComeWithAHint(t *testing.T) {
	plain := ask("hi")
	plain.NoReasoning = true
	const format, reasoning = "Config.ResponseFormat", "Config.ReasoningSwitch"
	typed := ask("hi")
	typed.Output = &agentloop.OutputSchema{Name: "x", Schema: []byte(`{"type":"object"}`)}
	offering := ask("hi")
	offering.Tools = []agentloop.ToolSpec{{Name: "find", Parameters: []byte(`{"type":"object"}`)}}
	for name, c := range map[string]struct {
		cfg     openai.Config
		req     *agentloop.Request
		status  int
		message string
		want    string // the setting that may help
	}{
		"by its name":             {openai.Config{}, typed, 400, "'response_format' of type 'json_schema' is not supported", format},
		"in words":                {openai.Config{}, typed, 422, "This Response Format is unavailable now", format},
		"the other format":        {openai.Config{ResponseFormat: openai.ResponseJSONObject}, typed, 400, "unknown value json_object", format},
		"another fault":           {openai.Config{}, typed, 400, "context too long", ""},
		"another status":          {openai.Config{}, typed, 500, "response_format failed", ""},
		"no format was asked for": {openai.Config{}, ask("hi"), 400, "response_format", ""},
		"the template":            {openai.Config{ReasoningSwitch: openai.SwitchEnableThinking}, plain, 400, "property 'chat_template_kwargs' is unsupported", reasoning},
		"the effort":              {openai.Config{ReasoningSwitch: openai.SwitchEffortNone}, plain, 400, "Unrecognized request argument supplied: reasoning_effort", reasoning},
		"no switch was sent":      {openai.Config{}, ask("hi"), 400, "reasoning_effort", ""},
		"tools, vLLM":             {openai.Config{}, offering, 400, `\"auto\" tool choice requires --enable-auto-tool-choice`, "TextTools"},
		"tools, Ollama":           {openai.Config{}, offering, 400, "gemma3 does not support tools", "TextTools"},
		"no tools were sent":      {openai.Config{}, ask("hi"), 400, "gemma3 does not support tools", ""},
		"none was sent":           {openai.Config{ResponseFormat: openai.ResponseNone}, typed, 400, "response_format", ""},
	} {
		c.cfg.Model, c.cfg.BaseURL = "m", "http://endpoint.invalid"
		c.cfg.HTTPClient = &http.Client{Transport: replay{status: c.status, body: strings.NewReader(`{"error":{"message":"` + c.message + `"}}`)}}
		m, err := openai.New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = collect(t.Context(), m, c.req)
		var status *endpoint.StatusError
		if !errors.As(err, &status) || strings.Contains(err.Error(), "may help") != (c.want != "") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// What cannot be read may be readable the next time; what breaks off needs no hint.
func TestAnswersThatCanNotBeReadAreWorthAnotherTry(t *testing.T) {
	for name, r := range map[string]replay{
		"a page":                  {status: 200, contentType: "text/html", body: strings.NewReader("<html>\nSign in\n</html>")},
		"another object":          {status: 200, contentType: "application/json", body: strings.NewReader(`{"status":"starting"}`)},
		"half of an event's JSON": {status: 200, contentType: "text/event-stream", body: strings.NewReader("data: {\"choices\":[{\"del\n\n")},
		"an event of other types": {status: 200, contentType: "text/event-stream", body: strings.NewReader("data: {\"choices\":7}\n\n")},
	} {
		_, err := collect(t.Context(), replayed(t, r, false), ask("hi"))
		var hint wrap.RetryHinter
		if !errors.As(err, &hint) {
			t.Errorf("%s: error %v has no hint", name, err)
			continue
		}
		if after, retry := hint.RetryHint(); after != 0 || !retry {
			t.Errorf("%s: RetryHint is %v, %v", name, after, retry)
		}
	}
}

// TestReasoningComesBackWhereTheEndpointWantsIt has another process send the results of a call.
func TestReasoningComesBackWhereTheEndpointWantsIt(t *testing.T) {
	const body = `data: {"choices":[{"index":0,"delta":{"reasoning_content":"I "}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"reasoning_content":"look."}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	for _, send := range []bool{true, false} {
		var last string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			last = string(raw)
			stream(body)(w, r)
		}))
		defer srv.Close()
		process := func() *openai.Model {
			m, err := openai.New(openai.Config{BaseURL: srv.URL, Model: "m", SendReasoning: send})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		chunks, err := collect(t.Context(), process(), ask("hi"))
		if err != nil {
			t.Fatal(err)
		}
		call := agentloop.Message{Role: agentloop.RoleAssistant, ToolCalls: []agentloop.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}
		for _, c := range chunks {
			call.ProviderData += c.ProviderData
		}
		next := ask("hi")
		next.Messages = append(next.Messages, call, agentloop.Message{Role: agentloop.RoleTool, ToolCallID: "a", Text: "x"},
			agentloop.Message{Role: agentloop.RoleAssistant, Text: "a", ProviderData: `{"gemini":{}}`})
		if _, err := collect(t.Context(), process(), next); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(last, `"reasoning_content":"I look."`) != send || strings.Contains(last, "gemini") {
			t.Errorf("send %v: request %s", send, last)
		}
	}
}
