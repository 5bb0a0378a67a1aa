package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

var update = flag.Bool("update", false, "write what the transcripts should be from what they are")

// TestTranscripts plays testdata/*.txtar. Each file tells in prose what it shows and has the sections
//
//	config   optional: "max_steps N", "max_result_bytes N", one a line
//	history  optional: lines "user TEXT", "assistant TEXT", "call ID NAME ARGUMENTS" and "tool ID TEXT"
//	script   the model's answers, separated by blank lines: lines "text TEXT", "call [#ID] NAME ARGUMENTS", "finish REASON"
//	want     the conversation, the log and the result; -update writes it
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d transcripts, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := make(map[string]string)
			for _, f := range archive.Files {
				sections[f.Name] = string(f.Data)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(t, sections) })
			if *update {
				archive.Files = append(archive.Files[:len(archive.Files)-1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(sections["want"], got); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// play runs a transcript and writes down what became of it.
func play(t *testing.T, sections map[string]string) string {
	model := scripted.New(steps(t, sections["script"])...)
	cfg := agentloop.Config{Model: paired(t, model), Tools: transcriptTools(), Logger: quiet}
	for line := range strings.Lines(sections["config"]) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "max_steps":
			cfg.MaxSteps = n
		case "max_result_bytes":
			cfg.MaxResultBytes = n
		default:
			t.Fatalf("config %q", name)
		}
	}
	run := mustNew(t, cfg).Start(history(t, sections["history"]), "the question")
	for !run.Done() {
		for range run.Step(t.Context()) {
		}
	}
	var b strings.Builder
	for _, m := range run.Messages() {
		writeMessage(&b, m)
	}
	r := run.Result()
	for _, c := range r.Calls {
		outcome := "ok"
		switch {
		case c.Error != "":
			outcome = "failed"
		case c.Repeated:
			outcome = "repeated"
		}
		if c.RepairedFrom != "" {
			outcome += ", repaired from " + c.RepairedFrom
		}
		fmt.Fprintf(&b, "- step %d %s %s %s: %s\n", c.Step, c.ID, c.Name, c.Arguments, outcome)
	}
	fmt.Fprintf(&b, "= %s %q error %v\n= model calls: %d", r.FinishReason, r.Text, run.Err(), len(r.Steps))
	for i, req := range model.Requests() {
		if req.NoToolCalls {
			fmt.Fprintf(&b, ", no tools in %d", i)
		}
	}
	if n := model.Remaining(); n > 0 {
		fmt.Fprintf(&b, ", %d steps of the script left", n)
	}
	return b.String() + "\n"
}

func writeMessage(b *strings.Builder, m agentloop.Message) {
	fmt.Fprintf(b, "%s", m.Role)
	if m.ToolCallID != "" {
		fmt.Fprintf(b, " %s", m.ToolCallID)
	}
	if m.Text != "" {
		fmt.Fprintf(b, ": %s", strings.ReplaceAll(m.Text, "\n", "\n  "))
	}
	b.WriteString("\n")
	for _, c := range m.ToolCalls {
		fmt.Fprintf(b, "  calls %s %s %s\n", c.ID, c.Name, c.Arguments)
	}
}

// steps reads a script section.
func steps(t *testing.T, script string) []scripted.Step {
	var all []scripted.Step
	for part := range strings.SplitSeq(strings.TrimSpace(script), "\n\n") {
		var s scripted.Step
		for line := range strings.SplitSeq(part, "\n") {
			kind, rest, _ := strings.Cut(line, " ")
			switch kind {
			case "text":
				s.Text += rest
			case "finish":
				s.FinishReason = agentloop.FinishReason(rest)
			case "call":
				var c agentloop.ToolCall
				if strings.HasPrefix(rest, "#") {
					c.ID, rest, _ = strings.Cut(rest[1:], " ")
				}
				c.Name, c.Arguments, _ = strings.Cut(rest, " ")
				s.ToolCalls = append(s.ToolCalls, c)
			case "nothing":
			default:
				t.Fatalf("script line %q", line)
			}
		}
		all = append(all, s)
	}
	return all
}

// history reads a history section.
func history(t *testing.T, text string) []agentloop.Message {
	var messages []agentloop.Message
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "user", "assistant":
			messages = append(messages, agentloop.Message{Role: agentloop.Role(kind), Text: rest})
		case "tool":
			id, text, _ := strings.Cut(rest, " ")
			messages = append(messages, agentloop.Message{Role: agentloop.RoleTool, ToolCallID: id, Text: text})
		case "call":
			fields := strings.SplitN(rest, " ", 3)
			last := &messages[len(messages)-1]
			last.ToolCalls = append(last.ToolCalls, agentloop.ToolCall{ID: fields[0], Name: fields[1], Arguments: fields[2]})
		default:
			t.Fatalf("history line %q", line)
		}
	}
	return messages
}

type weatherArgs struct {
	City  string   `json:"city" jsonschema:"name of the city"`
	Days  int      `json:"days,omitempty"`
	Parts []string `json:"parts,omitempty"`
}

// transcriptTools are the tools of the transcripts. They count their runs, so that a result shows whether it is a new one.
func transcriptTools() []agentloop.Tool {
	counter := func() func() int { n := 0; return func() int { n++; return n } }
	book, flaky := counter(), counter()
	var mu sync.Mutex
	forecasts := make(map[string]int)
	bookTool := agentloop.NewTool("book", "Books a table.", func(context.Context, struct{}) (string, error) {
		return fmt.Sprintf("booked %d", book()), nil
	})
	bookTool.Effects = true
	slow := agentloop.NewTool("slow", "Takes its time.", func(ctx context.Context, _ struct{}) (any, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("looking: %w", ctx.Err())
	})
	slow.Timeout = 2 * time.Second
	return []agentloop.Tool{
		agentloop.NewTool("weather", "The weather.", func(_ context.Context, in weatherArgs) (map[string]any, error) {
			mu.Lock()
			defer mu.Unlock()
			forecasts[in.City]++
			return map[string]any{"city": in.City, "sky": "rain & wind", "run": forecasts[in.City]}, nil
		}),
		agentloop.NewTool("flaky", "Fails once.", func(context.Context, struct{}) (string, error) {
			if n := flaky(); n == 1 {
				return "", errors.New("the station does not answer, try again")
			}
			return "it works now", nil
		}),
		agentloop.NewTool("panics", "Panics.", func(context.Context, struct{}) (string, error) { panic("secret") }),
		agentloop.NewTool("exits", "Ends its goroutine.", func(context.Context, struct{}) (string, error) {
			runtime.Goexit()
			return "", nil
		}),
		agentloop.NewTool("unshowable", "Returns what is no JSON.", func(context.Context, struct{}) (any, error) { return func() {}, nil }),
		agentloop.NewTool("mines", "Panics when it is shown.", func(context.Context, struct{}) (any, error) { return mine{}, nil }),
		agentloop.NewTool("list", "A long list.", func(context.Context, struct{}) (any, error) {
			type item struct {
				Title string `json:"title"`
			}
			return map[string][]item{"items": {{"one, ë"}, {"two, ë"}, {"three, ë"}, {"four, ë"}}}, nil
		}),
		bookTool,
		slow,
	}
}

// mine panics when it is marshalled.
type mine struct{}

func (mine) MarshalJSON() ([]byte, error) { panic("secret") }

var _ json.Marshaler = mine{}
