package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// script answers the scenarios as a model might: once for a city by another name, once in two steps where one would do, and
// once with a call that it may not make any more.
func script() []scripted.Step {
	call := func(name, arguments string) agentloop.ToolCall {
		return agentloop.ToolCall{Name: name, Arguments: arguments}
	}
	usage := &agentloop.Usage{InputTokens: 100, OutputTokens: 10}
	calls := func(calls ...agentloop.ToolCall) scripted.Step { return scripted.Step{ToolCalls: calls, Usage: usage} }
	says := func(text string, calls ...agentloop.ToolCall) scripted.Step {
		return scripted.Step{Text: text, ToolCalls: calls, Usage: usage}
	}
	return []scripted.Step{
		says("Hello to you!"),
		says("One bag and a charger."),
		calls(call("get_weather", `{"city":"Lisboa"}`)), calls(call("get_weather", `{"city":"Lisbon"}`)), says("Sunny, 24 °C."),
		calls(call("convert_money", `{"amount":120,"from":"EUR","to":"USD"}`)), says("132 dollars."),
		calls(call("find_trains", `{"from":"Lisbon","to":"Porto"}`)), says("Two:\n\n- Heron 12\n- Heron 16"),
		calls(call("get_weather", `{"city":"Porto","day":"2026-03-05"}`), call("convert_money", `{"amount":80,"from":"USD","to":"GBP"}`)),
		says("Light rain, and 62.55 pounds."),
		calls(call("find_trains", `{"from":"Porto","to":"Lisbon"}`), call("get_weather", `{"city":"Lisbon","day":"2026-03-05"}`)),
		calls(call("convert_money", `{"amount":5000,"from":"JPY","to":"EUR"}`)), says("Heron 11 or 17; some wind; 30.86 euros."),
		calls(call("find_trains", `{"from":"Lisbon","to":"Porto"}`)),
		says("24.50 euros; I could not convert them.", call("convert_money", `{"amount":24.5,"from":"EUR","to":"USD"}`)),
		calls(call("find_rooms", `{"city":"Porto"}`)), says("The booking desk is not available."),
	}
}

// TestWhatAScriptedRunShows compares all that the program prints, times included: they are 0 in the bubble.
func TestWhatAScriptedRunShows(t *testing.T) {
	const golden = "testdata/scripted.txt"
	synctest.Test(t, func(t *testing.T) {
		model := scripted.New(script()...)
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

func TestTheOfflineModelAnswersAllScenarios(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go in PATH to build the offline model with")
	}
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP"} { // what Unix and Windows call it
		t.Setenv(name, temp)
	}
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	var out bytes.Buffer
	if err := start(t.Context(), nil, func(string) string { return "" }, &out); err != nil {
		t.Fatal(err)
	}
	played := regexp.MustCompile(`(?m)^\d\. `).Split(out.String(), -1)[1:]
	for i, want := range []struct {
		calls  []string
		finish agentloop.FinishReason
		facts  []string
	}{
		{nil, agentloop.FinishStop, []string{"Hello"}},
		{nil, agentloop.FinishStop, []string{"one bag", "layers"}},
		{[]string{`get_weather {"city":"Lisbon"}`}, agentloop.FinishStop, []string{"Lisbon", "sunny", "24 °C"}},
		{[]string{`convert_money {"amount":120,"from":"EUR","to":"USD"}`}, agentloop.FinishStop, []string{"132.00 USD"}},
		{[]string{`find_trains {"from":"Lisbon","to":"Porto"}`}, agentloop.FinishStop, []string{"Heron 12", "08:09", "Heron 16", "24.50 EUR"}},
		{[]string{`get_weather {"city":"Porto","day":"` + tomorrow + `"}`, `convert_money {"amount":80,"from":"USD","to":"GBP"}`},
			agentloop.FinishStop, []string{"Porto", "light rain", "17 °C", "62.55 GBP"}},
		{[]string{`find_trains {"from":"Porto","to":"Lisbon"}`, `get_weather {"city":"Lisbon","day":"` + tomorrow + `"}`, `convert_money {"amount":5000,"from":"JPY","to":"EUR"}`},
			agentloop.FinishStop, []string{"Heron 11", "Heron 17", "some wind", "23 °C", "30.86 EUR"}},
		{[]string{`find_trains {"from":"Lisbon","to":"Porto"}`}, agentloop.FinishMaxSteps, []string{"Heron 16", "24.50 EUR", "had to stop"}},
		{[]string{`find_rooms {"city":"Porto"}`}, agentloop.FinishStop, []string{"booking desk is not available"}},
	} {
		if i >= len(played) {
			t.Fatalf("only %d scenarios were played:\n%s", len(played), out.String())
		}
		calls, answer, finish := readScenario(played[i])
		if diff := cmp.Diff(want.calls, calls); diff != "" {
			t.Errorf("scenario %d: calls, -want +got:\n%s", i+1, diff)
		}
		if finish != string(want.finish) {
			t.Errorf("scenario %d: finish reason %q, want %q", i+1, finish, want.finish)
		}
		for _, fact := range want.facts {
			if !strings.Contains(answer, fact) {
				t.Errorf("scenario %d: the answer lacks %q: %s", i+1, fact, answer)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "travel-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// readScenario finds the calls, the answer and the finish reason in what was printed of a scenario.
func readScenario(printed string) (calls []string, answer, finish string) {
	for _, m := range regexp.MustCompile(`(?m)^     calls (.*)$`).FindAllStringSubmatch(printed, -1) {
		calls = append(calls, m[1])
	}
	if m := regexp.MustCompile(`(?s)\n   < (.*)\n     \[steps: \d+, finish reason: (\w+),`).FindStringSubmatch(printed); m != nil {
		answer, finish = m[1], m[2]
	}
	return calls, answer, finish
}

func TestMistakesAreToldInOneLine(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		key  string
		want string
	}{
		"an unknown flag":           {args: []string{"--frm"}, want: "flag provided but not defined: -frm"},
		"an argument":               {args: []string{"Lisbon"}, want: `unexpected argument "Lisbon"`},
		"a key without a model":     {key: "k", want: "--model is missing: OPENAI_API_KEY is set, and OpenAI has no quartet-offline"},
		"an address without scheme": {args: []string{"--url", "localhost/v1"}, want: "want http:// or https:// and a host"},
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
