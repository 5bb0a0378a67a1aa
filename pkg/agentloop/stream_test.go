package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// sleepTool is a tool that takes a time and says when it began and ended.
func sleepTool(name string, d time.Duration, note func(string)) agentloop.Tool {
	return agentloop.NewTool(name, "Sleeps.", func(ctx context.Context, in struct {
		ID string `json:"id"`
	}) (string, error) {
		note("+" + in.ID)
		defer note("-" + in.ID)
		select {
		case <-time.After(d):
			return "rested " + in.ID, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

func sleepCalls(name string, ids ...string) []agentloop.ToolCall {
	calls := make([]agentloop.ToolCall, len(ids))
	for i, id := range ids {
		calls[i] = agentloop.ToolCall{ID: id, Name: name, Arguments: fmt.Sprintf(`{"id":%q}`, id)}
	}
	return calls
}

// eventLog notes what happened; safe for concurrent use.
type eventLog struct {
	mu    sync.Mutex
	lines []string
}

func (d *eventLog) note(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, s)
}

func (d *eventLog) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// describe writes an event in a word or two.
func describe(ev agentloop.Event) string {
	switch ev := ev.(type) {
	case agentloop.TextDelta:
		return fmt.Sprintf("%d text %s", ev.Step, ev.Text)
	case agentloop.ToolStarted:
		return fmt.Sprintf("%d start %s", ev.Step, ev.Call.ID)
	case agentloop.ToolFinished:
		return fmt.Sprintf("%d end %s", ev.Record.Step, ev.Record.ID)
	case agentloop.StepFinished:
		return fmt.Sprintf("%d step, %d calls", ev.Step, ev.Record.ToolCalls)
	case agentloop.Finished:
		return "finished " + ev.Result.Text
	}
	return fmt.Sprintf("%T", ev)
}

// everyEvent is a loop whose run has events of every kind: text before tools, tools side by side, one with effects, an answer.
func everyEvent(t *testing.T, d *eventLog) *agentloop.Loop {
	book := sleepTool("book", time.Second, d.note)
	book.Effects = true
	return mustNew(t, agentloop.Config{
		Tools: []agentloop.Tool{sleepTool("nap", 2*time.Second, d.note), sleepTool("doze", time.Second, d.note), book},
		Model: paired(t, scripted.New(
			scripted.Step{Text: "Let me", ChunkSize: 4, ToolCalls: slices.Concat(sleepCalls("nap", "a"), sleepCalls("doze", "b"), sleepCalls("book", "c"), sleepCalls("doze", "d"))},
			scripted.Step{Text: "Done.", Delay: time.Second},
		)),
	})
}

var everyEventEvents = []string{
	"0 text Let ", "0 text me", "0 start a", "0 start b", "0 end b", "0 end a", "0 start c", "0 end c", "0 start d", "0 end d",
	"0 step, 4 calls", "1 text Done.", "1 step, 0 calls", "finished Done.",
}

func TestStreamYieldsAllEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d eventLog
		var got []string
		for ev, err := range everyEvent(t, &d).Stream(t.Context(), nil, "hi") {
			if err != nil {
				t.Error(err)
			}
			got = append(got, describe(ev))
		}
		if diff := cmp.Diff(everyEventEvents, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestStreamAndRunAreTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d eventLog
		var streamed *agentloop.Result
		for ev := range everyEvent(t, &d).Stream(t.Context(), nil, "hi") {
			if f, ok := ev.(agentloop.Finished); ok {
				streamed = f.Result
			}
		}
		ran, err := everyEvent(t, &d).Run(t.Context(), nil, "hi")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*agentloop.Result{streamed, ran} {
			for i := range r.Calls {
				r.Calls[i].Start = time.Time{}
			}
		}
		if diff := cmp.Diff(ran, streamed); diff != "" {
			t.Errorf("(-Run +Stream):\n%s", diff)
		}
	})
}

// Breaking out after any event must stop the model and the tools, and wait for them.
func TestConsumerCanStopAnywhere(t *testing.T) {
	for stop := range everyEventEvents {
		t.Run(everyEventEvents[stop], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d eventLog
				n := 0
				begun := time.Now()
				for range everyEvent(t, &d).Stream(t.Context(), nil, "hi") {
					if n == stop {
						break
					}
					n++
				}
				atBreak := d.read()
				for _, line := range atBreak {
					if !slices.Contains(atBreak, strings.Replace(line, "+", "-", 1)) {
						t.Errorf("tool %s still ran after the break: %v", line, atBreak)
					}
				}
				time.Sleep(time.Hour) // of the bubble: whatever still runs would show now
				if diff := cmp.Diff(atBreak, d.read()); diff != "" {
					t.Errorf("after the break (-at break +later):\n%s", diff)
				}
				if stop < 4 && time.Since(begun) > time.Hour {
					t.Errorf("the break waited %v", time.Since(begun)-time.Hour)
				}
			})
		})
	}
}

func TestStepCanBeStopped(t *testing.T) {
	for stop := range 3 {
		model := scripted.New(scripted.Step{Text: "x", ToolCalls: []agentloop.ToolCall{call("echo", `{"text":"x"}`)}})
		run := mustNew(t, agentloop.Config{Model: model, Tools: []agentloop.Tool{echo("echo")}}).Start(nil, "hi")
		n := 0
		for range run.Step(t.Context()) {
			if n == stop {
				break
			}
			n++
		}
		if !run.Done() || !errors.Is(run.Err(), context.Canceled) || run.Result().FinishReason != agentloop.FinishCanceled {
			t.Errorf("stop at %d: done %v, error %v, %s", stop, run.Done(), run.Err(), run.Result().FinishReason)
		}
		checkPairing(t, run.Messages())
	}
}

func TestStoppingAtTheLastEventKeepsTheAnswer(t *testing.T) {
	run := mustNew(t, agentloop.Config{Model: scripted.New(scripted.Step{Text: "x"})}).Start(nil, "hi")
	for ev := range run.Step(t.Context()) {
		if _, ok := ev.(agentloop.StepFinished); ok {
			break
		}
	}
	if run.Err() != nil || run.Result().Text != "x" {
		t.Errorf("text %q, error %v", run.Result().Text, run.Err())
	}
}

func TestConsumerThatPanicsLeavesNothingRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d eventLog
		begun := time.Now()
		func() {
			defer func() { _ = recover() }()
			for ev := range everyEvent(t, &d).Stream(t.Context(), nil, "hi") {
				if describe(ev) == "0 start b" {
					synctest.Wait() // until a runs
					panic("x")
				}
			}
		}()
		if time.Since(begun) > 0 {
			t.Errorf("waited %v", time.Since(begun))
		}
		if diff := cmp.Diff([]string{"+a", "-a"}, d.read()); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
	})
}

func TestContextEndsTheRun(t *testing.T) {
	// The model takes 1.5 s, then two tools a second and a third one another, then the model begins after a second.
	cases := []struct {
		name   string
		after  time.Duration
		cancel bool
		text   string
		steps  int
		errors []string // of the calls
	}{
		{name: "before anything", after: 0, steps: 1},
		{name: "while the model thinks", after: 500 * time.Millisecond, steps: 1},
		{name: "while the model writes", after: 1050 * time.Millisecond, text: "Let ", steps: 1},
		{name: "while tools run", after: 2000 * time.Millisecond, steps: 1, errors: []string{"nap: cancelled while it ran", "nap: cancelled while it ran", "cancelled before it ran"}},
		{name: "after some tools", after: 3000 * time.Millisecond, steps: 1, errors: []string{"", "", "nap: cancelled while it ran"}},
		{name: "while the answer is written", after: 5000 * time.Millisecond, text: "Al", steps: 2, errors: []string{"", "", ""}},
	}
	for _, c := range cases {
		for _, how := range []string{"deadline", "cancel"} {
			t.Run(c.name+", by "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ctx context.Context
					var cancel context.CancelFunc
					want, reason := context.DeadlineExceeded, agentloop.FinishDeadline
					if how == "deadline" {
						ctx, cancel = context.WithTimeout(t.Context(), c.after)
					} else {
						want, reason = context.Canceled, agentloop.FinishCanceled
						ctx, cancel = context.WithCancel(t.Context())
						time.AfterFunc(c.after, cancel)
						if c.after == 0 {
							cancel()
						}
					}
					defer cancel()
					loop := mustNew(t, agentloop.Config{
						MaxParallel: 2, Tools: []agentloop.Tool{sleepTool("nap", time.Second, func(string) {})},
						Model: paired(t, scripted.New(
							scripted.Step{Delay: time.Second, Text: "Let me", ChunkSize: 4, ChunkDelay: 100 * time.Millisecond, ToolCalls: sleepCalls("nap", "a", "b", "c")},
							scripted.Step{Delay: time.Second, Text: "All done.", ChunkSize: 2, ChunkDelay: time.Second},
						)),
					})
					run := loop.Start(nil, "hi")
					begun := time.Now()
					for !run.Done() {
						for range run.Step(ctx) {
						}
					}
					got := run.Result()
					if !errors.Is(run.Err(), want) || got.FinishReason != reason || got.Text != c.text {
						t.Errorf("%s %q, error %v", got.FinishReason, got.Text, run.Err())
					}
					if time.Since(begun) != c.after || got.Duration != c.after || len(got.Steps) != c.steps {
						t.Errorf("%d steps, ended after %v, says %v", len(got.Steps), time.Since(begun), got.Duration)
					}
					var callErrors []string
					for _, r := range got.Calls {
						callErrors = append(callErrors, r.Error)
					}
					if diff := cmp.Diff(c.errors, callErrors); diff != "" {
						t.Errorf("calls (-want +got):\n%s", diff)
					}
					checkPairing(t, run.Messages())
				})
			})
		}
	}
}

// With a reserve the deadline ends the tools, not the run: what is left of the time goes to an answer.
func TestReserveIsKeptForTheAnswer(t *testing.T) {
	cases := []struct {
		name    string
		tool    time.Duration // that each call takes
		timeout time.Duration
		err     error
		calls   []string // their errors
	}{
		{"time enough", time.Second, time.Minute, nil, []string{"", ""}},
		{"a tool takes too long", time.Hour, 10 * time.Second, agentloop.ErrOutOfTime, []string{"nap: cancelled while it ran"}},
		{"time is up between steps", 3 * time.Second, 11 * time.Second, agentloop.ErrOutOfTime, []string{"", "nap: cancelled while it ran"}},
		{"no time from the start", time.Second, 4 * time.Second, agentloop.ErrOutOfTime, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				model := scripted.Func(func(req *agentloop.Request) scripted.Step {
					if req.NoToolCalls || calls == 2 {
						return scripted.Step{Delay: time.Second, Text: "what I know"}
					}
					calls++
					return scripted.Step{Delay: time.Second, ToolCalls: sleepCalls("nap", fmt.Sprint(calls))}
				})
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				loop := mustNew(t, agentloop.Config{
					Model: paired(t, model), Tools: []agentloop.Tool{sleepTool("nap", c.tool, func(string) {})}, ToolTimeout: 2 * time.Hour, Reserve: 5 * time.Second,
				})
				got, err := loop.Run(ctx, nil, "hi")
				if !errors.Is(err, c.err) || got.Text != "what I know" || (got.FinishReason == agentloop.FinishDeadline) != (c.err != nil) {
					t.Errorf("%s %q, error %v", got.FinishReason, got.Text, err)
				}
				var failed []string
				for _, r := range got.Calls {
					failed = append(failed, r.Error)
				}
				if diff := cmp.Diff(c.calls, failed); diff != "" || ctx.Err() != nil {
					t.Errorf("context %v, calls (-want +got):\n%s", ctx.Err(), diff)
				}
			})
		})
	}
}
