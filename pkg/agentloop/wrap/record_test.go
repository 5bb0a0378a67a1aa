package wrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// fullRequest has something in every field.
func fullRequest() *agentloop.Request {
	return &agentloop.Request{
		Messages: []agentloop.Message{
			{Role: agentloop.RoleUser, Text: "Is it <raining>?"},
			{Role: agentloop.RoleAssistant, ToolCalls: []agentloop.ToolCall{{ID: "a", Name: "find", Arguments: "{}", ProviderData: "call <data>"}}, ProviderData: "message data"},
			{Role: agentloop.RoleTool, ToolCallID: "a", Text: "no"},
		},
		Tools:           []agentloop.ToolSpec{{Name: "find", Description: "Finds.", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "x"}},
		Temperature:     new(0.5),
		MaxOutputTokens: 100,
		Output:          &agentloop.OutputSchema{Name: "o", Schema: json.RawMessage(`{}`)},
	}
}

var fullChunks = []agentloop.Chunk{
	{Text: "N", Model: "m"}, {Reasoning: "hm"}, {ToolCalls: []agentloop.ToolCallDelta{{Index: 1, ID: "b", Name: "find", Arguments: "{}", ProviderData: "call data"}}}, {ProviderData: "message data"},
	{FinishReason: agentloop.FinishToolCalls, Usage: &agentloop.Usage{InputTokens: 7, OutputTokens: 2}},
}

func record(t *testing.T, m agentloop.Model, req *agentloop.Request) (wrap.Exchange, error) {
	t.Helper()
	var got []wrap.Exchange
	_, err := collect(wrap.Record(m, func(x wrap.Exchange) { got = append(got, x) }).Generate(t.Context(), req))
	if len(got) != 1 {
		t.Fatalf("%d exchanges", len(got))
	}
	return got[0], err
}

// Recordings are kept in files: this form must be readable for as long as they are.
func TestExchangeJSON(t *testing.T) {
	x, _ := record(t, scripted.New(scripted.Step{Chunks: []agentloop.Chunk{{Text: "N"}}, Err: &statusError{429, time.Second}}), user("hi"))
	raw, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var form struct {
		Request json.RawMessage
		Chunks  []json.RawMessage
		Error   json.RawMessage
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		t.Fatal(err)
	}
	if want := `{"message":"status 4xx","kind":"retryable","retry_after_ns":1000000000}`; string(form.Error) != want {
		t.Errorf("error %s, want %s", form.Error, want)
	}
	for _, name := range []string{`"request":`, `"chunks":`, `"error":`} {
		if !strings.Contains(string(raw), name) {
			t.Errorf("no %s in %s", name, raw)
		}
	}
	old := `{"request":{"Messages":[{"Role":"user","Text":"hi"}]},"chunks":[{"Text":"N"}],"error":{"message":"status 4xx","kind":"retryable","retry_after_ns":1000000000}}`
	var read wrap.Exchange
	if err := json.Unmarshal([]byte(old), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x, read); diff != "" {
		t.Errorf("an old recording (-want +got):\n%s", diff)
	}
}

func TestRecordingIsACopy(t *testing.T) {
	req := fullRequest()
	x, _ := record(t, scripted.New(scripted.Step{Chunks: fullChunks}), req)
	req.Messages[1].ToolCalls[0].Name = "changed"
	req.Tools[0].Parameters[0] = '['
	*req.Temperature = 2
	req.Output.Schema[0] = '['
	if diff := cmp.Diff(*fullRequest(), x.Request); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(fullChunks, x.Chunks); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

func TestReplayAfterAFileIsTheSame(t *testing.T) {
	x, _ := record(t, scripted.New(scripted.Step{Chunks: fullChunks}), fullRequest())
	raw, err := json.MarshalIndent([]wrap.Exchange{x, x}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	var exchanges []wrap.Exchange
	if err := json.Unmarshal(raw, &exchanges); err != nil {
		t.Fatal(err)
	}
	m := wrap.Replay(exchanges)
	for range 2 {
		got, err := collect(m.Generate(t.Context(), fullRequest()))
		if diff := cmp.Diff(fullChunks, got); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
	}
	if n := m.Remaining(); n != 0 {
		t.Errorf("%d exchanges remain", n)
	}
}

func TestErrorsKeepTheirKindInAReplay(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		is    error
		wait  time.Duration
		retry bool
		bad   bool
	}{
		"cancelled":   {fmt.Errorf("x: %w", context.Canceled), context.Canceled, 0, false, false},
		"deadline":    {context.DeadlineExceeded, context.DeadlineExceeded, 0, false, false},
		"budget":      {fmt.Errorf("%w: x", agentloop.ErrBudget), agentloop.ErrBudget, 0, false, false},
		"bad request": {badRequest, nil, 0, false, true},
		"retryable":   {&statusError{429, time.Minute}, nil, time.Minute, true, false},
		"broken off":  {io.ErrUnexpectedEOF, nil, 0, true, false},
		"other":       {errBroken, nil, 0, false, false},
	} {
		x, _ := record(t, scripted.New(scripted.Step{Text: "a", Err: c.err}), user("hi"))
		chunks, err := collect(wrap.Replay([]wrap.Exchange{x}).Generate(t.Context(), user("hi")))
		if len(chunks) != 1 || err == nil || err.Error() != c.err.Error() {
			t.Errorf("%s: got %+v, %v", name, chunks, err)
		}
		for _, target := range []error{context.Canceled, context.DeadlineExceeded, agentloop.ErrBudget} {
			if got := errors.Is(err, target); got != (target == c.is) {
				t.Errorf("%s: is %v: %v", name, target, got)
			}
		}
		bad := errors.Is(err, endpoint.ErrBadRequest)
		if wait, retry := wrap.Retryable(err); wait != c.wait || retry != c.retry || bad != c.bad {
			t.Errorf("%s: wait %v, retry %v, bad request %v", name, wait, retry, bad)
		}
	}
}

func TestReplayReportsTheFirstDivergence(t *testing.T) {
	type request = agentloop.Request
	for where, change := range map[string]func(*request){
		"":                         func(*request) {},
		"messages[0].text":         func(r *request) { r.Messages[0].Text = "Is it <snowing>?"; r.Messages[2].Text = "yes" },
		"messages[1].role":         func(r *request) { r.Messages[1].Role = agentloop.RoleUser },
		"messages[1].tool_calls":   func(r *request) { r.Messages[1].ToolCalls[0].Arguments = `{"a":1}` },
		"messages[2].tool_call_id": func(r *request) { r.Messages[2].ToolCallID = "z" },
		"messages[2]":              func(r *request) { r.Messages = r.Messages[:2] },
		"messages[3]":              func(r *request) { r.Messages = append(r.Messages, agentloop.Message{Text: "more"}) },
		"tools[0]":                 func(r *request) { r.Tools[0].Description = "Seeks." },
		"tools[1].name":            func(r *request) { r.Tools = r.Tools[:1] },
		"tools[2].name":            func(r *request) { r.Tools = append(r.Tools, agentloop.ToolSpec{Name: "new"}) },
		"settings":                 func(r *request) { *r.Temperature = 1 },
	} {
		t.Run(where, func(t *testing.T) {
			x := wrap.Exchange{Request: *fullRequest()}
			m := wrap.Replay([]wrap.Exchange{x, x})
			req := fullRequest()
			change(req)
			_, err := collect(m.Generate(t.Context(), req))
			var d *wrap.DivergenceError
			if where == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if !errors.As(err, &d) || d.Where != where || d.Call != 0 || d.Recorded == d.Got {
				t.Fatalf("error %v, want one at %s", err, where)
			}
			if _, again := collect(m.Generate(t.Context(), fullRequest())); again != err {
				t.Errorf("then %v, want the same", again)
			}
		})
	}
}

func TestDivergenceShowsTheFirstDifference(t *testing.T) {
	x := wrap.Exchange{Request: *user(strings.Repeat("é", 100) + "one" + strings.Repeat("z", 100))}
	_, err := collect(wrap.Replay([]wrap.Exchange{x}).Generate(t.Context(), user(strings.Repeat("é", 100)+"two")))
	want := `wrap: replay: call 0 differs at messages[0].text: recorded "…` + strings.Repeat("é", 40) + "one" + strings.Repeat("z", 77) + `…", got "…` + strings.Repeat("é", 40) + `two"`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestReplayOfMoreCallsThanRecorded(t *testing.T) {
	_, err := collect(wrap.Replay(nil).Generate(t.Context(), user("hi")))
	if d := (*wrap.DivergenceError)(nil); !errors.As(err, &d) || d.Where != "calls" {
		t.Errorf("error %v", err)
	}
}

func TestReplayStopsWithTheContextAndTheConsumer(t *testing.T) {
	x := wrap.Exchange{Request: *user("hi"), Chunks: fullChunks}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := collect(wrap.Replay([]wrap.Exchange{x}).Generate(ctx, user("hi"))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	stopEarly(t, func() iter.Seq2[agentloop.Chunk, error] {
		return wrap.Replay([]wrap.Exchange{x}).Generate(t.Context(), user("hi"))
	}, 4)
}

func TestRecordOfAStoppedAnswer(t *testing.T) {
	var got []wrap.Exchange
	m := wrap.Record(scripted.New(scripted.Step{Chunks: fullChunks}), func(x wrap.Exchange) { got = append(got, x) })
	for range m.Generate(t.Context(), user("hi")) {
		break
	}
	if len(got) != 1 || len(got[0].Chunks) != 1 || got[0].Error != nil {
		t.Errorf("got %+v", got)
	}
}

func TestSinkIsCalledOneAtATime(t *testing.T) {
	var got []wrap.Exchange // the race detector watches it
	m := wrap.Record(scripted.Func(func(*agentloop.Request) scripted.Step { return scripted.Step{Text: "a"} }), func(x wrap.Exchange) { got = append(got, x) })
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = collect(m.Generate(t.Context(), user("hi"))) })
	}
	wg.Wait()
	if len(got) != 20 {
		t.Errorf("%d exchanges", len(got))
	}
}
