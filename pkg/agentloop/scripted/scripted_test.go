package scripted_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

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

func TestStepIsSentInPieces(t *testing.T) {
	usage := &agentloop.Usage{InputTokens: 3, OutputTokens: 2}
	call := agentloop.ToolCallDelta{Index: 0, ID: "a", Name: "look", Arguments: `{}`}
	raw := []agentloop.Chunk{{Text: "x"}, {}}
	boom := errors.New("boom")
	cases := []struct {
		name string
		step scripted.Step
		want []agentloop.Chunk
		err  error
	}{
		{name: "nothing", want: []agentloop.Chunk{{FinishReason: "stop", Model: "scripted"}}},
		{
			name: "text in characters, not bytes",
			step: scripted.Step{Text: "näh", ChunkSize: 2, Usage: usage, Model: "m"},
			want: []agentloop.Chunk{{Text: "nä", Model: "m"}, {Text: "h", Model: "m"}, {FinishReason: "stop", Usage: usage, Model: "m"}},
		},
		{
			name: "reasoning, text, calls",
			step: scripted.Step{Reasoning: "hm", Text: "wait", ToolCalls: []agentloop.ToolCall{{ID: "a", Name: "look", Arguments: `{}`}}},
			want: []agentloop.Chunk{
				{Reasoning: "hm", Model: "scripted"}, {Text: "wait", Model: "scripted"},
				{ToolCalls: []agentloop.ToolCallDelta{call}, Model: "scripted"}, {FinishReason: "tool_calls", Model: "scripted"},
			},
		},
		{name: "a finish reason of its own", step: scripted.Step{FinishReason: "length"}, want: []agentloop.Chunk{{FinishReason: "length", Model: "scripted"}}},
		{name: "an error after some text", step: scripted.Step{Text: "so", Err: boom}, want: []agentloop.Chunk{{Text: "so", Model: "scripted"}}, err: boom},
		{name: "raw chunks", step: scripted.Step{Chunks: raw}, want: raw},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := collect(t.Context(), scripted.New(c.step), ask("hi"))
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestsAreKeptAsTheyWere(t *testing.T) {
	temperature := 0.5
	req := ask("hi")
	req.Messages[0].ToolCalls = []agentloop.ToolCall{{Name: "a"}}
	req.Temperature = &temperature
	req.Output = &agentloop.OutputSchema{Name: "o"}
	m := scripted.New(scripted.Step{})
	if _, err := collect(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	req.Messages[0].Text, req.Messages[0].ToolCalls[0].Name, temperature, req.Output.Name = "changed", "changed", 9, "changed"
	m.Requests()[0].Messages[0].Text = "changed"
	got := m.Requests()[0]
	if got.Messages[0].Text != "hi" || got.Messages[0].ToolCalls[0].Name != "a" || *got.Temperature != 0.5 || got.Output.Name != "o" {
		t.Errorf("the kept request changed: %+v", got)
	}
}

func TestMoreCallsThanStepsFail(t *testing.T) {
	m := scripted.New(scripted.Step{}, scripted.Step{})
	if m.Remaining() != 2 {
		t.Errorf("remaining %d, want 2", m.Remaining())
	}
	for range 2 {
		if _, err := collect(t.Context(), m, ask("hi")); err != nil {
			t.Fatal(err)
		}
	}
	_, err := collect(t.Context(), m, ask("hi"))
	if err == nil || !strings.Contains(err.Error(), "scripted: call 3: the script has 2 steps") {
		t.Errorf("error %v", err)
	}
	if m.Remaining() != 0 || len(m.Requests()) != 3 {
		t.Errorf("remaining %d, requests %d", m.Remaining(), len(m.Requests()))
	}
}

func TestCheckFailsTheCall(t *testing.T) {
	bad := errors.New("no tools")
	refuse := scripted.Step{Text: "ok", Check: func(req *agentloop.Request) error {
		req.Messages[0].Text = "changed"
		return bad
	}}
	model, req := scripted.New(scripted.Step{}, refuse), ask("hi")
	if _, err := collect(t.Context(), model, req); err != nil {
		t.Fatal(err)
	}
	chunks, err := collect(t.Context(), model, req)
	if !errors.Is(err, bad) || err.Error() != "scripted: call 2: no tools" || len(chunks) > 0 || req.Messages[0].Text != "hi" {
		t.Errorf("%d chunks, error %v", len(chunks), err)
	}
	byFunc := scripted.Func(func(*agentloop.Request) scripted.Step { return refuse })
	if _, err := collect(t.Context(), byFunc, req); !errors.Is(err, bad) || err.Error() != "scripted: no tools" {
		t.Errorf("error %v", err)
	}
}

func TestDelaysAreExactAndEndWithTheContext(t *testing.T) {
	step := scripted.Step{Text: "abc", ChunkSize: 1, Delay: time.Minute, ChunkDelay: time.Second}
	cases := []struct {
		name    string
		hang    bool
		timeout time.Duration
		chunks  int
		took    time.Duration
		err     error
	}{
		{"in time", false, time.Hour, 4, time.Minute + 3*time.Second, nil},
		{"before the first chunk", false, time.Second, 0, time.Second, context.DeadlineExceeded},
		{"while the model hangs", true, 2 * time.Hour, 3, 2 * time.Hour, context.DeadlineExceeded},
		{"between chunks", false, time.Minute + 1500*time.Millisecond, 2, time.Minute + 1500*time.Millisecond, context.DeadlineExceeded},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				step.Hang = c.hang
				begun := time.Now()
				chunks, err := collect(ctx, scripted.New(step), ask("hi"))
				if len(chunks) != c.chunks || !errors.Is(err, c.err) || time.Since(begun) != c.took {
					t.Errorf("%d chunks after %v, error %v", len(chunks), time.Since(begun), err)
				}
			})
		})
	}
}

func TestConcurrentCallsGetAStepEach(t *testing.T) {
	steps := make([]scripted.Step, 50)
	for i := range steps {
		steps[i].Text = string(rune('a' + i))
	}
	m := scripted.New(steps...)
	var mu sync.Mutex
	seen := make(map[string]int)
	var wg sync.WaitGroup
	for range steps {
		wg.Go(func() {
			chunks, err := collect(t.Context(), m, ask("hi"))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			seen[chunks[0].Text]++
		})
	}
	wg.Wait()
	if len(seen) != len(steps) {
		t.Errorf("%d different answers, want %d", len(seen), len(steps))
	}
}

func TestConsumerMayStopEarly(t *testing.T) {
	n := 0
	for range scripted.New(scripted.Step{Text: "abc", ChunkSize: 1}).Generate(t.Context(), ask("hi")) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d chunks, want 1", n)
	}
}
