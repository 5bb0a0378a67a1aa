package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// Run runs the suite.
func Run(t *testing.T, p Provider) {
	t.Run("answers are read", p.answers)
	t.Run("requests are written", p.requests)
	t.Run("conversations come back as they were", p.conversations)
	t.Run("refusals are typed and not retried", p.refusals)
	t.Run("a failure in the middle is an error", p.failures)
	t.Run("the context ends a call", p.endings)
	t.Run("calls do not mix", p.concurrency)
}

// lookups are calls for tests.
var lookups = []agentloop.ToolCall{
	{ID: "toolu_1", Name: "find_shoes", Arguments: `{"query":"trail <42>","size":42}`},
	{ID: "toolu_2", Name: "find_policy", Arguments: `{"topic":"returns"}`},
	{ID: "toolu_3", Name: "find_shoes", Arguments: `{}`},
}

func (p Provider) answers(t *testing.T) {
	usage := agentloop.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30, ReasoningTokens: 10}
	cases := []struct {
		name string
		send Script
	}{
		{"plain text", plain("Hello.")},
		{"text in pieces", plain("Hel", "lo ", "wörld", "\n\n", "data: {}")},
		{"one tool call", Script{Calls: lookups[:1], Finish: agentloop.FinishToolCalls, Usage: usage}},
		{"text and parallel tool calls", Script{Text: []string{"Let me look."}, Calls: lookups, Finish: agentloop.FinishToolCalls, Usage: usage}},
		{"a call without arguments", Script{Calls: lookups[2:], Finish: agentloop.FinishToolCalls, Usage: usage}},
		{"reasoning", Script{Reasoning: "hm", Text: []string{"Yes."}, Finish: agentloop.FinishStop, Usage: usage}},
		{"reasoning that is no text", Script{Sealed: true, Text: []string{"Yes."}, Finish: agentloop.FinishStop, Usage: usage}},
		{"reasoning of both kinds before a call", Script{Reasoning: "hm", Sealed: true, Calls: lookups[:1], Finish: agentloop.FinishToolCalls, Usage: usage}},
		{"reasoning cut at the limit", Script{Reasoning: "hm", Finish: agentloop.FinishLength, Usage: usage}},
		{"cut at the limit", Script{Text: []string{"Hel"}, Finish: agentloop.FinishLength, Usage: usage}},
		{"withheld", Script{Finish: agentloop.FinishContentFilter, Usage: agentloop.Usage{InputTokens: 9}}},
	}
	for _, c := range cases {
		for name, edit := range map[string]func(string) string{"": nil, ", with fields that nobody knows": withNews} {
			t.Run(c.name+name, func(t *testing.T) {
				s := p.serve(t, always(c.send), edit)
				got, err := ask(t.Context(), p.New(t, s.URL), question("hi"))
				if err != nil {
					t.Fatal(err)
				}
				want := answer{
					Pieces: p.pieces(c.send.Text), Reasoning: c.send.Reasoning, Calls: c.send.Calls, Finish: c.send.Finish, Usage: c.send.Usage, Model: Model + "-1",
				}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(agentloop.ToolCall{}, "ID"), compact); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				ids := make(map[string]bool)
				for _, call := range got.Calls {
					if call.ID == "" || ids[call.ID] {
						t.Errorf("id %q is empty or taken", call.ID)
					}
					ids[call.ID] = true
				}
			})
		}
	}
}

// tools are offered in tests.
var tools = []agentloop.ToolSpec{
	{Name: "find_shoes", Description: "Finds shoes.", Parameters: []byte(`{"type":"object","properties":{"query":{"type":"string","description":"what"},"size":{"type":"integer","minimum":1}},"required":["query"],"additionalProperties":false}`)},
	{Name: "find_policy", Description: "Finds policies.", Parameters: []byte(`{"type":"object","properties":{}}`)},
}

func (p Provider) requests(t *testing.T) {
	warm, cold, user := 0.5, 0.0, question("hi").Messages
	cases := []struct {
		name string
		req  agentloop.Request
	}{
		{"temperature and limit", agentloop.Request{Messages: user, Temperature: &warm, MaxOutputTokens: 77}},
		{"a temperature of zero", agentloop.Request{Messages: user, Temperature: &cold, MaxOutputTokens: 77}},
		{"no temperature", agentloop.Request{Messages: user, MaxOutputTokens: 77}},
		{"tools", agentloop.Request{Messages: user, MaxOutputTokens: 77, Tools: tools}},
		{"tools that must not be called", agentloop.Request{Messages: user, MaxOutputTokens: 77, Tools: tools, NoToolCalls: true}},
		{"no reasoning", agentloop.Request{Messages: user, MaxOutputTokens: 77, NoReasoning: true}},
		{"typed output", agentloop.Request{Messages: user, MaxOutputTokens: 77, Output: &agentloop.OutputSchema{
			Name: "route", Schema: []byte(`{"type":"object","properties":{"to":{"type":"string","enum":["a","b"]}},"required":["to"],"additionalProperties":false}`),
		}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := p.serve(t, always(plain("Hello.")), nil)
			if _, err := ask(t.Context(), p.New(t, s.URL), &c.req); err != nil {
				t.Fatal(err)
			}
			got := s.requests()
			want := []*Seen{{Request: c.req, Key: Key, Model: Model}}
			if diff := cmp.Diff(want, got, compact, cmpopts.IgnoreFields(agentloop.OutputSchema{}, "Name")); diff != "" {
				t.Errorf("received (-sent +received):\n%s", diff)
			}
		})
	}
}

func (p Provider) conversations(t *testing.T) {
	say := func(role agentloop.Role, text string) agentloop.Message {
		return agentloop.Message{Role: role, Text: text}
	}
	result := func(id, text string) agentloop.Message {
		return agentloop.Message{Role: agentloop.RoleTool, ToolCallID: id, Text: text}
	}
	cases := map[string][]agentloop.Message{
		"system prompt": {say("system", "Be brief."), say("user", "hi")},
		"several turns": {say("system", "Be brief."), say("user", "hi"), say("assistant", "Hello."), say("user", "size 42?")},
		"one tool": {
			say("user", "shoes?"), {Role: "assistant", ToolCalls: lookups[:1]}, result("toolu_1", `{"total":1}`),
		},
		"parallel tools, and the turn after": {
			say("system", "Be brief."), say("user", "shoes? returns?"), {Role: "assistant", Text: "Let me look.", ToolCalls: lookups},
			result("toolu_1", "Error: no such size"), result("toolu_2", `"30 days"`), result("toolu_3", "none"),
			say("assistant", "No shoes; 30 days."), say("user", "thanks"),
		},
		"two rounds of tools": {
			say("user", "shoes?"), {Role: "assistant", ToolCalls: lookups[:1]}, result("toolu_1", "none"),
			{Role: "assistant", ToolCalls: lookups[1:2]}, result("toolu_2", "some"), say("user", "You have 5 seconds left."),
		},
	}
	for name, messages := range cases {
		t.Run(name, func(t *testing.T) {
			s := p.serve(t, always(plain("Hello.")), nil)
			if _, err := ask(t.Context(), p.New(t, s.URL), &agentloop.Request{Messages: messages, Tools: tools}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(numbered(messages), numbered(s.requests()[0].Messages), compact); diff != "" {
				t.Errorf("received (-sent +received):\n%s", diff)
			}
		})
	}
}

// numbered returns messages with the ids of calls replaced by their numbers.
func numbered(messages []agentloop.Message) []agentloop.Message {
	ids := make(map[string]string)
	var out []agentloop.Message
	for _, m := range messages {
		var calls []agentloop.ToolCall
		for _, c := range m.ToolCalls {
			ids[c.ID] = fmt.Sprint(len(ids))
			c.ID = ids[c.ID]
			calls = append(calls, c)
		}
		m.ToolCalls, m.ToolCallID = calls, ids[m.ToolCallID]
		out = append(out, m)
	}
	return out
}

func (p Provider) refusals(t *testing.T) {
	cases := []struct {
		name   string
		status int
		header http.Header
		wait   time.Duration // give or take ten seconds: dates have whole ones, and a busy machine is late
	}{
		{"rate limit", 429, http.Header{"Retry-After": {"70"}}, 70 * time.Second},
		{"rate limit until a time", 429, http.Header{"Retry-After": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}, time.Hour},
		{"rate limit without a hint", 429, nil, 0},
		{"failure", 500, nil, 0},
		{"overload", 503, http.Header{"Retry-After": {"20"}}, 20 * time.Second},
		{"key refused", 401, nil, 0},
		{"bad request", 400, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := p.refuse(t, c.status, c.header, "no luck with "+Key)
			_, err := ask(t.Context(), p.New(t, s.URL), question("hi"))
			code, wait, ok := statusOf(err)
			if !ok || code != c.status || (wait-c.wait).Abs() > 10*time.Second {
				t.Errorf("error %v: status %d, wait %v, want %d, %v", err, code, wait, c.status, c.wait)
			}
			if msg := fmt.Sprint(err); strings.Contains(msg, Key) || strings.Contains(msg, "no luck") || strings.Contains(msg, "\n") {
				t.Errorf("error %q shows the key or the provider's words, or is several lines", msg)
			}
			if msg := endpoint.Message(err); strings.Contains(msg, Key) || !strings.Contains(msg, "no luck") || strings.Contains(msg, "\n") {
				t.Errorf("message %q shows the key, or not the provider's words, or is several lines", msg)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func (p Provider) failures(t *testing.T) {
	s := p.serve(t, always(Script{Text: []string{"Hel"}, Fail: "too busy for " + Key}), nil)
	got, err := ask(t.Context(), p.New(t, s.URL), question("hi"))
	code, _, ok := statusOf(err)
	if msg := endpoint.Message(err); !ok || code < 500 || !strings.Contains(msg, "too busy") || strings.Contains(msg, Key) {
		t.Errorf("error %v with status %d and message %q, want the provider's, without the key", err, code, msg)
	}
	if strings.Contains(fmt.Sprint(err), "too busy") {
		t.Errorf("error %v shows the provider's words", err)
	}
	if diff := cmp.Diff([]string{"Hel"}, got.Pieces); diff != "" && !p.NoStream {
		t.Errorf("text before the error (-want +got):\n%s", diff)
	}
	for name, script := range map[string]Script{
		"before anything": {Cut: true}, "in a text": {Text: []string{"Hel"}, Cut: true}, "in a call": {Calls: lookups[:1], Cut: true},
		"in reasoning": {Reasoning: "hm", Cut: true},
	} {
		t.Run("a connection that breaks "+name+" is one", func(t *testing.T) {
			s := p.serve(t, always(script), nil)
			if a, err := ask(t.Context(), p.New(t, s.URL), question("hi")); err == nil {
				t.Errorf("no error, answer %+v", a)
			}
		})
	}
	t.Run("a call that just ends is one", func(t *testing.T) {
		frames := p.Wire.Stream(Script{Calls: lookups[:1], Open: true})
		var n int
		s := p.serve(t, always(Script{Calls: lookups[:1], Finish: agentloop.FinishToolCalls}), func(frame string) string {
			if n++; n > len(frames) {
				return "" // the end
			}
			if p.NoStream {
				return frame[:len(frame)/2]
			}
			return frame
		})
		if a, err := ask(t.Context(), p.New(t, s.URL), question("hi")); err == nil {
			t.Errorf("no error, answer %+v", a)
		}
	})
}

func (p Provider) endings(t *testing.T) {
	left := func(t *testing.T, s *server) {
		t.Helper()
		select {
		case <-s.gone:
		case <-time.After(10 * time.Second):
			t.Error("the server still sees the client")
		}
	}
	texts := [][]string{nil, {"Hel"}}
	if p.NoStream {
		texts = texts[:1] // there is no half of it
	}
	for _, text := range texts {
		t.Run(fmt.Sprintf("deadline after %d pieces", len(text)), func(t *testing.T) {
			s := p.serve(t, always(Script{Text: text, Open: true}), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			begun := time.Now()
			if _, err := ask(ctx, p.New(t, s.URL), question("hi")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
			}
			if d := time.Since(begun); d > 5*time.Second {
				t.Errorf("it took %v", d)
			}
			left(t, s)
		})
	}
	if p.NoStream {
		return
	}
	t.Run("cancelled half way", func(t *testing.T) {
		s := p.serve(t, always(Script{Text: []string{"Hel"}, Open: true}), nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for c, err := range p.New(t, s.URL).Generate(ctx, question("hi")) {
			if c.Text != "" {
				cancel()
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("error %v, want %v", last, context.Canceled)
		}
		left(t, s)
	})
	t.Run("the consumer stops", func(t *testing.T) {
		s := p.serve(t, always(Script{Text: []string{"Hel"}, Open: true}), nil)
		for c := range p.New(t, s.URL).Generate(t.Context(), question("hi")) {
			if c.Text != "" {
				break
			}
		}
		left(t, s)
	})
}

func (p Provider) concurrency(t *testing.T) {
	s := p.serve(t, func(seen *Seen) Script {
		return plain("You said ", seen.Messages[0].Text)
	}, nil)
	m := p.New(t, s.URL)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			text := fmt.Sprintf("message %d", i)
			got, err := ask(t.Context(), m, question(text))
			if want := "You said " + text; err != nil || strings.Join(got.Pieces, "") != want {
				t.Errorf("answer %q, error %v, want %q", got.Pieces, err, want)
			}
		})
	}
	wg.Wait()
}
