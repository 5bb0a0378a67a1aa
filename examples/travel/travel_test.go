package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the output of the scripted run to testdata")

// TestWhatAScriptedRunShows compares all that the program prints, times included: they are 0 in the bubble.
func TestWhatAScriptedRunShows(t *testing.T) {
	const golden = "testdata/scripted.txt"
	synctest.Test(t, func(t *testing.T) {
		model := scripted.New(script(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))...)
		var out bytes.Buffer
		if err := converse(t.Context(), model, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), printer{&out}); err != nil {
			t.Fatal(err)
		}
		if n := model.Remaining(); n > 0 {
			t.Errorf("%d steps of the script were not asked for", n)
		}
		got := inOrder(out.String())
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		checkRequests(t, model.Requests())
	})
}

// inOrder sorts the results of tools that ran side by side.
func inOrder(out string) string {
	lines := strings.SplitAfter(out, "\n")
	isResult := func(line string) bool { return strings.HasPrefix(line, "     gave ") }
	for i := 0; i < len(lines); i++ {
		end := i
		for end < len(lines) && isResult(lines[end]) {
			end++
		}
		slices.Sort(lines[i:end])
		i = max(i, end-1)
	}
	return strings.Join(lines, "")
}

// checkRequests checks what the model reads: one system prompt, all that was said before, and no calls after the last step.
func checkRequests(t *testing.T, requests []*agentloop.Request) {
	t.Helper()
	var said []string
	barred := 0
	for i, r := range requests {
		systems := 0
		for _, m := range r.Messages {
			if m.Role == agentloop.RoleSystem {
				systems++
			}
		}
		if systems != 1 || r.Messages[0].Role != agentloop.RoleSystem {
			t.Errorf("request %d has %d system prompts", i, systems)
		}
		if r.NoToolCalls {
			barred++
		}
	}
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == agentloop.RoleUser && slices.ContainsFunc(scenarios, func(s scenario) bool { return s.message == m.Text }) {
			said = append(said, m.Text)
		}
	}
	if len(said) != len(scenarios) {
		t.Errorf("the last request has %d messages of %d: %q", len(said), len(scenarios), said)
	}
	if barred != 1 {
		t.Errorf("%d requests forbid calls, want the one after the last step", barred)
	}
}

func TestWithoutAKeyTheScriptIsPlayed(t *testing.T) {
	var out bytes.Buffer
	if err := start(t.Context(), nil, func(string) string { return "" }, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a script answers", "9. A tool that fails", "The booking desk is not available."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed:\n%s", want, out.String())
		}
	}
}

func TestMistakesAreToldInOneLine(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		key  string
		want string
	}{
		"an unknown flag":           {args: []string{"--frm"}, want: "flag provided but not defined: -frm"},
		"an argument":               {args: []string{"Lisbon"}, want: `unexpected argument "Lisbon"`},
		"a key without a model":     {key: "k", want: "--model is missing"},
		"an address without scheme": {args: []string{"--url", "localhost/v1", "--model", "m"}, want: "want http:// or https:// and a host"},
	} {
		t.Run(name, func(t *testing.T) {
			getenv := func(name string) string { return map[string]string{"OPENAI_API_KEY": tc.key}[name] }
			var out bytes.Buffer
			err := start(t.Context(), tc.args, getenv, &out)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") || out.Len() > 0 {
				t.Errorf("got %v and printed %q, want %q", err, out.String(), tc.want)
			}
		})
	}
}

func TestAModelErrorEndsTheConversation(t *testing.T) {
	broken := errors.New("out of order")
	model := scripted.New(scripted.Step{Text: "Hello!"}, scripted.Step{Err: broken})
	var out bytes.Buffer
	err := converse(context.Background(), model, time.Now(), printer{&out})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "message 2: ") {
		t.Errorf("got %v", err)
	}
}
