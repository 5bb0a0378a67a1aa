package hostile_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/offline/hostile"
)

// outcome is what a loop makes of a misbehaviour. The zero value, with modes, is an answer as good as that of a well-behaved
// endpoint, without waits, from the question about the weather.
type outcome struct {
	modes     string
	question  string                 // empty: weather
	idle      time.Duration          // timeout; 0: none
	text      string                 // empty: as well-behaved
	part      bool                   // of the well-behaved answer the start, and not all
	none      bool                   // no text at all
	finish    agentloop.FinishReason // empty: stop
	err       error
	status    int      // of a StatusError
	says      string   // of an error
	noTool    bool     // no tool ran
	callError string   // what the model was told of its calls
	calls     []string // cities, in the order of the call log; nil: any
	requests  int      // 0: as well-behaved
	repeated  int      // calls that were answered without running the tool once more
	estimated bool
	wait      time.Duration // exactly
	upTo      time.Duration // beyond wait: more than nothing, at most so much
	deadline  bool          // the caller's deadline ends it
	thoughts  bool          // those of the first answer are shown
}

// timeout of a question. It falls between two pieces of an endless answer.
const timeout = 30*time.Second + 10*time.Millisecond

// idle is the idle timeout of a model that has one. It leaves time for three attempts.
const idle = 5 * time.Second

var outcomes = []outcome{
	{modes: "split-bytes"},
	{modes: "split-events"},
	{modes: "split-characters", text: strings.NewReplacer("°", "\uFFFD\uFFFD", "í", "\uFFFD\uFFFD").Replace(forecasts)},
	{modes: "think-paired"},
	{modes: "think-paired,split-bytes"},
	{modes: "think-paired,split-events"},
	{modes: "think-close-only"},
	{modes: "think-close-only,split-events", thoughts: true},
	{modes: "think-unterminated"},
	{modes: "think-unterminated,split-events"},
	{modes: "think-mixed-case"},
	{modes: "think-variants"},
	{modes: "think-variants,split-events"},
	{modes: "think-length", requests: 3},
	{modes: "think-length-always", none: true, err: agentloop.ErrNoAnswer, finish: agentloop.FinishLength, requests: 4},
	{modes: "reasoning-content"},
	{modes: "reasoning"},
	{modes: "reasoning,think-paired,split-events"},

	{modes: "ids-missing"},
	{modes: "ids-duplicate"},
	{modes: "indexes-missing"},
	{modes: "indexes-missing,ids-missing"},
	{modes: "indexes-duplicate"},
	{modes: "indexes-out-of-order", text: "San Martín: sky light rain, 7 °C.\n\nOslo: sky light rain, 7 °C.", calls: []string{"San Martín", "Oslo"}},
	{modes: "calls-interleaved"},
	{modes: "calls-interleaved,ids-missing,split-events"},
	{modes: "arguments-null", noTool: true, callError: `got "null"`},
	{modes: "arguments-array", noTool: true, callError: `got "[{`},
	{modes: "arguments-string", noTool: true, callError: `something`},
	{modes: "arguments-number", noTool: true, callError: `got "42"`},
	{modes: "arguments-truncated", noTool: true, callError: "unexpected EOF"},
	{modes: "arguments-empty", noTool: true, callError: "city: missing, want a string"},
	{modes: "arguments-double-encoded"},
	{modes: "arguments-trailing-garbage", noTool: true, callError: "more text after the first value"},
	{modes: "arguments-gigantic", noTool: true, callError: "the answer was cut", estimated: true},
	{modes: "unknown-tool", noTool: true, callError: `there is no tool "no_such_tool"; the tools are: [get_forecast]`},
	{modes: "text-before-tools"},
	{modes: "calls-hermes"},
	{modes: "calls-hermes,split-events"},
	{modes: "calls-llama"},
	{modes: "calls-llama,split-events"},
	{modes: "calls-mistral"},
	{modes: "calls-mistral,split-events"},
	{modes: "calls-mistral-args"},
	{modes: "calls-mistral-args,split-events"},
	{modes: "calls-qwen-coder"},
	{modes: "calls-qwen-coder,split-events"},
	{modes: "calls-json"},
	{modes: "calls-json,split-events"},
	{modes: "same-call-again", err: agentloop.ErrMaxSteps, finish: agentloop.FinishMaxSteps, requests: maxSteps + 1, repeated: 2 * (maxSteps - 1)},
	{modes: "tools-despite-none", none: true, err: agentloop.ErrNoAnswer, requests: maxSteps + 2, repeated: 2 * (maxSteps - 1)},

	{modes: "choices-empty"},
	{modes: "answer-empty", requests: 3},
	{modes: "answer-empty", question: identity, requests: 2},
	{modes: "answer-empty-always", none: true, err: agentloop.ErrNoAnswer, requests: 3},
	{modes: "answer-gigantic", text: strings.Repeat("and on, ", 64*agentloop.DefaultMaxOutputTokens/8), finish: agentloop.FinishLength, estimated: true},
	{modes: "usage-missing", estimated: true},
	{modes: "usage-everywhere"},
	{modes: "finish-missing"},
	{modes: "finish-length", part: true, finish: agentloop.FinishLength},
	{modes: "finish-content-filter", part: true, finish: agentloop.FinishContentFilter},
	{modes: "finish-stop-with-tools"},

	{modes: "rate-limit-seconds", requests: 4, wait: 2 * 2 * time.Second},
	{modes: "rate-limit-date", requests: 4, wait: 2 * 3 * time.Second},
	{modes: "rate-limit-absurd", none: true, noTool: true, status: 429, finish: agentloop.FinishError, requests: 1},
	{modes: "rate-limit-no-hint", requests: 4, upTo: time.Second},
	{modes: "error-500-once", requests: 4, upTo: time.Second},
	{modes: "error-500-always", none: true, noTool: true, status: 500, finish: agentloop.FinishError, requests: 3, upTo: 1500 * time.Millisecond},
	{modes: "error-401", none: true, noTool: true, status: 401, finish: agentloop.FinishError, requests: 1},
	{modes: "error-400", none: true, noTool: true, status: 400, finish: agentloop.FinishError, requests: 1},
	{modes: "error-html", none: true, noTool: true, status: 502, says: "Bad gateway", finish: agentloop.FinishError, requests: 3, upTo: 1500 * time.Millisecond},
	{modes: "error-status-200", requests: 4, upTo: time.Second},
	{modes: "page-status-200", none: true, noTool: true, says: "Sign in", finish: agentloop.FinishError, requests: 3, upTo: 1500 * time.Millisecond},
	{modes: "silent", none: true, noTool: true, deadline: true, requests: 1},
	{modes: "silent", idle: idle, none: true, noTool: true, err: wrap.ErrIdle, finish: agentloop.FinishError, requests: 3, wait: 3 * idle, upTo: 1500 * time.Millisecond},
	{modes: "silent-once", none: true, noTool: true, deadline: true, requests: 1},
	{modes: "silent-once", idle: idle, requests: 4, wait: 2 * idle, upTo: time.Second},
	{modes: "cut-before-answer", requests: 4, upTo: time.Second},

	{modes: "error-event", none: true, noTool: true, status: 500, finish: agentloop.FinishError, requests: 1, estimated: true},
	{modes: "error-event", question: identity, part: true, status: 500, finish: agentloop.FinishError, requests: 1, estimated: true},
	{modes: "error-event-first", none: true, noTool: true, status: 500, finish: agentloop.FinishError, requests: 3, upTo: 1500 * time.Millisecond},
	{modes: "cut", none: true, noTool: true, err: io.ErrUnexpectedEOF, finish: agentloop.FinishError, requests: 1, estimated: true},
	{modes: "cut", question: identity, part: true, err: io.ErrUnexpectedEOF, finish: agentloop.FinishError, requests: 1, estimated: true},
	{modes: "obey"},
	{modes: "comments"},
	{modes: "comments,crlf,split-bytes"},
	{modes: "comments-endless", none: true, noTool: true, deadline: true, requests: 1, estimated: true},
	{modes: "comments-endless", question: identity, part: true, deadline: true, requests: 1, estimated: true},
	{modes: "comments-endless", idle: idle, none: true, noTool: true, err: wrap.ErrIdle, finish: agentloop.FinishError, requests: 1, estimated: true, wait: idle},
	{modes: "comments-endless", idle: idle, question: identity, part: true, err: wrap.ErrIdle, finish: agentloop.FinishError, requests: 1, estimated: true, wait: idle},
	{modes: "trickle", noTool: true, text: strings.Repeat("and so on, ", int(timeout/(20*time.Millisecond))+1), deadline: true, requests: 1, estimated: true},
	{modes: "trickle", idle: idle, noTool: true, text: strings.Repeat("and so on, ", int(timeout/(20*time.Millisecond))+1), deadline: true, requests: 1, estimated: true},
	{modes: "hang", none: true, noTool: true, deadline: true, requests: 1, estimated: true},
	{modes: "hang", question: identity, part: true, deadline: true, requests: 1, estimated: true},
	{modes: "hang", idle: idle, none: true, noTool: true, err: wrap.ErrIdle, finish: agentloop.FinishError, requests: 1, estimated: true, wait: idle},
	{modes: "hang", idle: idle, question: identity, part: true, err: wrap.ErrIdle, finish: agentloop.FinishError, requests: 1, estimated: true, wait: idle},
	{modes: "endless-line", none: true, noTool: true, deadline: true, requests: 1, estimated: true},
	{modes: "endless-line", idle: idle, none: true, noTool: true, err: wrap.ErrIdle, finish: agentloop.FinishError, requests: 1, estimated: true, wait: idle},
	{modes: "flooding-line", none: true, noTool: true, err: bufio.ErrTooLong, finish: agentloop.FinishError, requests: 1, estimated: true, upTo: time.Second},
	{modes: "done-missing"},
	{modes: "end-missing", none: true, noTool: true, err: io.ErrUnexpectedEOF, finish: agentloop.FinishError, requests: 1, estimated: true},
	{modes: "end-missing", question: identity, finish: agentloop.FinishLength},
	{modes: "crlf"},
	{modes: "no-space"},
	{modes: "garbage-event", none: true, noTool: true, says: "JSON", finish: agentloop.FinishError, requests: 1, estimated: true},
	{modes: "garbage-event", question: identity, part: true, says: "JSON", finish: agentloop.FinishError, requests: 1, estimated: true},
	{modes: "garbage-event-first", none: true, noTool: true, says: "JSON", finish: agentloop.FinishError, requests: 3, upTo: 1500 * time.Millisecond},
	{modes: "content-type-html"},
	{modes: "content-type-json"},
	{modes: "not-a-stream"},
}

func TestTheLoopSurvives(t *testing.T) {
	well := wellBehaved(t)
	for _, s := range outcomes {
		t.Run(s.name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := inMemory(t, s.modes, s.idle).ask(t, s.questionOr(), timeout)
				s.check(t, well[s.questionOr()], got)
				s.checkTime(t, got.took)
			})
		})
	}
}

// The same over TCP, with the model as the services make it.
func TestTheLoopSurvivesOverTCP(t *testing.T) {
	well := wellBehaved(t)
	for _, s := range outcomes {
		if s.wait > 0 || s.upTo > 0 || s.deadline {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			s.check(t, well[s.questionOr()], onTCP(t, s.modes).ask(t, s.questionOr(), timeout))
		})
	}
}

// wellBehaved returns what comes of both questions when all is well.
func wellBehaved(t *testing.T) map[string]talk {
	t.Helper()
	well := make(map[string]talk)
	for _, question := range []string{weather, identity} {
		well[question] = onTCP(t, "").ask(t, question, timeout)
		if got := well[question]; got.err != nil || got.result.Text == "" {
			t.Fatalf("the well-behaved endpoint answers %q, error %v", got.result.Text, got.err)
		}
	}
	if got := well[weather]; got.result.Text != forecasts || len(got.cities) != 2 || got.requests != 2 {
		t.Fatalf("the well-behaved endpoint answers %q after %d requests, tool run for %q", got.result.Text, got.requests, got.cities)
	}
	return well
}

func TestEndlessAnswersEndWithTheCallersDeadlineOverTCP(t *testing.T) {
	for _, s := range outcomes {
		if !s.deadline || s.idle != 0 {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			got := onTCP(t, s.modes).ask(t, s.questionOr(), 50*time.Millisecond)
			if !errors.Is(got.err, context.DeadlineExceeded) || got.result.FinishReason != agentloop.FinishDeadline || len(got.cities) > 0 {
				t.Errorf("finish reason %q, error %v, tool run for %q", got.result.FinishReason, got.err, got.cities)
			}
		})
	}
}

func TestEveryModeHasACaseOfItsOwn(t *testing.T) {
	for _, m := range hostile.Modes() {
		if !slices.ContainsFunc(outcomes, func(s outcome) bool { return s.modes == m.Name }) {
			t.Errorf("mode %q is not in the outcome test", m.Name)
		}
	}
}

func (s outcome) name() string {
	name := s.modes
	if s.question != "" {
		name += "/" + s.question
	}
	if s.idle != 0 {
		name += "/with a clock"
	}
	return name
}

func (s outcome) questionOr() string { return cmp.Or(s.question, weather) }

// check compares what came of a question with what should, given what comes of it when all is well.
func (s outcome) check(t *testing.T, well, got talk) {
	t.Helper()
	s.checkText(t, well.result.Text, got.result.Text)
	s.checkError(t, got)
	s.checkCalls(t, well, got)
	if want := cmp.Or(s.requests, well.requests); got.requests != want {
		t.Errorf("%d requests, want %d", got.requests, want)
	}
	if got.result.Usage.Estimated != s.estimated {
		t.Errorf("usage %+v, want estimated: %v", got.result.Usage, s.estimated)
	}
	s.checkConversation(t, got)
}

func (s outcome) checkText(t *testing.T, well, got string) {
	t.Helper()
	want := cmp.Or(s.text, well)
	switch {
	case s.none:
		if got != "" {
			t.Errorf("answer %q, want none", got)
		}
	case s.part:
		if got == "" || len(got) >= len(want) || !strings.HasPrefix(want, got) {
			t.Errorf("answer %q, want a part of %q", got, want)
		}
	case s.callError != "":
		if got == "" || got == want {
			t.Errorf("answer %q, want one without a forecast", got)
		}
	case got != want:
		t.Errorf("answer differs (-want +got):\n%s", gocmp.Diff(want, got))
	}
}

func (s outcome) checkError(t *testing.T, got talk) {
	t.Helper()
	finish := cmp.Or(s.finish, agentloop.FinishStop)
	switch {
	case s.deadline:
		finish = agentloop.FinishDeadline
		if !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline's", got.err)
		}
	case s.status != 0:
		var status *endpoint.StatusError
		if !errors.As(got.err, &status) || status.StatusCode != s.status {
			t.Errorf("error %v, want status %d", got.err, s.status)
		}
	case s.err == nil && s.says == "" && got.err != nil, !errors.Is(got.err, s.err) && s.says == "":
		t.Errorf("error %v, want %v", got.err, s.err)
	}
	if s.says != "" && (got.err == nil || !strings.Contains(got.err.Error()+" "+endpoint.Message(got.err), s.says)) {
		t.Errorf("error %v does not say %q", got.err, s.says)
	}
	if got.result.FinishReason != finish {
		t.Errorf("finish reason %q, want %q", got.result.FinishReason, finish)
	}
}

func (s outcome) checkCalls(t *testing.T, well, got talk) {
	t.Helper()
	want := well.cities
	if s.noTool {
		want = nil
	}
	if diff := gocmp.Diff(want, got.cities); diff != "" {
		t.Errorf("the tool ran for others (-want +got):\n%s", diff)
	}
	repeated := 0
	for i, c := range got.result.Calls {
		if c.Repeated {
			repeated++
		}
		if (c.Error == "") != (s.callError == "") || !strings.Contains(c.Error, s.callError) {
			t.Errorf("call %q: error %q, want %q", c.ID, c.Error, s.callError)
		}
		if s.calls != nil && !strings.Contains(c.Arguments, s.calls[i]) {
			t.Errorf("call %d has arguments %s, want %s", i, c.Arguments, s.calls[i])
		}
	}
	if repeated != s.repeated {
		t.Errorf("%d repeated calls, want %d", repeated, s.repeated)
	}
}

func (s outcome) checkTime(t *testing.T, took time.Duration) {
	t.Helper()
	want := s.wait
	if s.deadline {
		want = timeout
	}
	if s.upTo == 0 && took != want || s.upTo > 0 && (took <= want || took > want+s.upTo) {
		t.Errorf("took %v, want %v, and up to %v more", took, want, s.upTo)
	}
}

// checkConversation looks for what must never be: thoughts, and calls without exactly one answer.
func (s outcome) checkConversation(t *testing.T, got talk) {
	t.Helper()
	if strings.Contains(got.deltas, secret) != s.thoughts || strings.Contains(got.result.Text, secret) {
		t.Errorf("thoughts were shown: %v in %q", !s.thoughts, got.deltas)
	}
	answers := make(map[string]int)
	for _, m := range got.messages {
		if strings.Contains(m.Text, secret) && (!s.thoughts || len(m.ToolCalls) == 0) {
			t.Errorf("thoughts are in the conversation: %q", m.Text)
		}
		for _, c := range m.ToolCalls {
			if _, taken := answers[c.ID]; taken || c.ID == "" {
				t.Errorf("call id %q is empty or taken", c.ID)
			}
			answers[c.ID] = 0
		}
		if m.Role == agentloop.RoleTool {
			answers[m.ToolCallID]++
		}
	}
	for id, n := range answers {
		if n != 1 {
			t.Errorf("call %q has %d answers", id, n)
		}
	}
}
