package agentloop_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// Providers number, name and split tool calls in many ways; what comes out must be the calls that were meant.
func TestCallsAreAssembledFromPieces(t *testing.T) {
	d := func(index int, id, name, arguments string) agentloop.ToolCallDelta {
		return agentloop.ToolCallDelta{Index: index, ID: id, Name: name, Arguments: arguments}
	}
	c := func(id, name, arguments string) agentloop.ToolCall {
		return agentloop.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	cases := []struct {
		name   string
		pieces []agentloop.ToolCallDelta
		want   []agentloop.ToolCall
	}{
		{"in order", []agentloop.ToolCallDelta{d(0, "a", "f", ""), d(0, "", "", `{"x"`), d(0, "", "", `:1}`), d(1, "b", "g", `{}`)}, []agentloop.ToolCall{c("a", "f", `{"x":1}`), c("b", "g", `{}`)}},
		{"mixed", []agentloop.ToolCallDelta{d(0, "a", "f", "["), d(1, "b", "g", "{"), d(2, "c", "h", "("), d(0, "", "", "]"), d(2, "", "", ")"), d(1, "", "", "}")}, []agentloop.ToolCall{c("a", "f", "[]"), c("b", "g", "{}"), c("c", "h", "()")}},
		{"numbered from the end", []agentloop.ToolCallDelta{d(1, "b", "g", "{"), d(0, "a", "f", "{"), d(1, "", "", "}"), d(0, "", "", "}")}, []agentloop.ToolCall{c("b", "g", "{}"), c("a", "f", "{}")}},
		{"numbers left out", []agentloop.ToolCallDelta{d(3, "a", "f", "{}"), d(7, "b", "g", "{}")}, []agentloop.ToolCall{c("a", "f", "{}"), c("b", "g", "{}")}},
		{"one id twice", []agentloop.ToolCallDelta{d(0, "a", "f", "{}"), d(1, "a", "g", "{}")}, []agentloop.ToolCall{c("a", "f", "{}"), c("call_0_1", "g", "{}")}},
		{"arguments before the name", []agentloop.ToolCallDelta{d(0, "", "", "{"), d(0, "a", "f", "}")}, []agentloop.ToolCall{c("a", "f", "{}")}},
		{"all numbered 0, with ids", []agentloop.ToolCallDelta{d(0, "a", "f", "{"), d(0, "", "", "}"), d(0, "b", "g", "{"), d(0, "", "", "}")}, []agentloop.ToolCall{c("a", "f", "{}"), c("b", "g", "{}")}},
		{"all numbered 0, without ids", []agentloop.ToolCallDelta{d(0, "", "f", "{}"), d(0, "", "f", "{}")}, []agentloop.ToolCall{c("call_0_0", "f", "{}"), c("call_0_1", "f", "{}")}},
		{"id and name in every piece", []agentloop.ToolCallDelta{d(0, "a", "f", "{"), d(0, "a", "f", "}"), d(0, "a", "f", "")}, []agentloop.ToolCall{c("a", "f", "{}")}},
		{"name in every piece, no id", []agentloop.ToolCallDelta{d(0, "", "f", "{"), d(0, "", "f", "}"), d(0, "", "f", "")}, []agentloop.ToolCall{c("call_0_0", "f", "{}")}},
		{"another id in every piece", []agentloop.ToolCallDelta{d(0, "a", "f", "{"), d(0, "b", "", "}")}, []agentloop.ToolCall{c("b", "f", "{}")}},
		{"no index, one piece each", []agentloop.ToolCallDelta{d(-1, "a", "f", "{}"), d(-1, "b", "g", "{}")}, []agentloop.ToolCall{c("a", "f", "{}"), c("b", "g", "{}")}},
		{"no index, further pieces without an id", []agentloop.ToolCallDelta{d(-1, "a", "f", "{"), d(-1, "", "", "}"), d(-1, "b", "g", "{"), d(-1, "", "", "}")}, []agentloop.ToolCall{c("a", "f", "{}"), c("b", "g", "{}")}},
		{"no index, further pieces by id", []agentloop.ToolCallDelta{d(-1, "a", "f", "{"), d(-1, "b", "g", "{"), d(-1, "a", "", "}"), d(-1, "b", "", "}")}, []agentloop.ToolCall{c("a", "f", "{}"), c("b", "g", "{}")}},
		{"no index, no id, two names", []agentloop.ToolCallDelta{d(-1, "", "f", "{}"), d(-1, "", "g", "{}")}, []agentloop.ToolCall{c("call_0_0", "f", "{}"), c("call_0_1", "g", "{}")}},
		{"arguments without any call", []agentloop.ToolCallDelta{d(-1, "", "", "{}")}, []agentloop.ToolCall{c("call_0_0", "", "{}")}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var chunks []agentloop.Chunk
			for _, p := range tc.pieces {
				chunks = append(chunks, agentloop.Chunk{ToolCalls: []agentloop.ToolCallDelta{p}})
			}
			model := scripted.New(scripted.Step{Chunks: chunks}, scripted.Step{Text: "done"})
			run := mustNew(t, agentloop.Config{Model: paired(t, model)}).Start(nil, "hi")
			for range run.Step(t.Context()) {
			}
			if diff := cmp.Diff(tc.want, run.Messages()[1].ToolCalls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Chunks that hold no text come in any place and number.
func TestChunksWithoutTextChangeNothing(t *testing.T) {
	usage := &agentloop.Usage{InputTokens: 7, OutputTokens: 2}
	cases := []struct {
		name   string
		chunks []agentloop.Chunk
	}{
		{"usage alone, at the end", []agentloop.Chunk{{Text: "hi", Model: "m"}, {FinishReason: agentloop.FinishLength}, {Usage: usage}}},
		{"usage alone, at the start", []agentloop.Chunk{{Usage: usage}, {Text: "hi", Model: "m", FinishReason: agentloop.FinishLength}}},
		{"usage counted up on the way", []agentloop.Chunk{{Usage: &agentloop.Usage{InputTokens: 7}}, {Text: "hi", Model: "m"}, {Usage: usage, FinishReason: agentloop.FinishLength}}},
		{"empty ones everywhere", []agentloop.Chunk{{}, {Text: "h", Model: "m"}, {}, {Text: "i"}, {}, {FinishReason: agentloop.FinishLength}, {}, {Usage: usage}, {}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := mustNew(t, agentloop.Config{Model: scripted.New(scripted.Step{Chunks: c.chunks})}).Run(t.Context(), nil, "hi")
			want := *usage
			want.ModelCalls = 1
			if err != nil || got.Text != "hi" || got.FinishReason != agentloop.FinishLength || got.Usage != want || got.Model != "m" {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}

// What a provider wants back travels with the messages, in one step and to the next, through JSON, and not cut.
func TestProviderDataTravelsWithTheConversation(t *testing.T) {
	model := scripted.New(scripted.Step{Chunks: []agentloop.Chunk{
		{ToolCalls: []agentloop.ToolCallDelta{{Index: 0, ID: "a", Name: "f", Arguments: `{"x":`, ProviderData: "call data"}}},
		{ToolCalls: []agentloop.ToolCallDelta{{Index: 0, Arguments: "1}"}, {Index: 1, ID: "b", Name: "f", Arguments: "{}"}}},
		{FinishReason: agentloop.FinishToolCalls, ProviderData: `{"message":"data"}`},
	}}, scripted.Step{Text: "done"})
	run := mustNew(t, agentloop.Config{Model: model}).Start(nil, "hi")
	for !run.Done() {
		for range run.Step(t.Context()) {
		}
	}
	raw, err := json.Marshal(model.Requests()[1].Messages)
	if err != nil {
		t.Fatal(err)
	}
	var messages []agentloop.Message
	if err := json.Unmarshal(raw, &messages); err != nil {
		t.Fatal(err)
	}
	want := agentloop.Message{Role: agentloop.RoleAssistant, ProviderData: `{"message":"data"}`, ToolCalls: []agentloop.ToolCall{
		{ID: "a", Name: "f", Arguments: `{"x":1}`, ProviderData: "call data"}, {ID: "b", Name: "f", Arguments: "{}"},
	}}
	if diff := cmp.Diff(want, messages[1]); diff != "" {
		t.Errorf("message in the second request (-want +got):\n%s", diff)
	}

	large := scripted.New(scripted.Step{Chunks: []agentloop.Chunk{{ProviderData: strings.Repeat("x", 65)}, {Text: "a"}}})
	run = mustNew(t, agentloop.Config{Model: large, MaxOutputTokens: 1}).Start(nil, "hi")
	for range run.Step(t.Context()) {
	}
	if step := run.Result().Steps[0]; step.FinishReason != agentloop.FinishLength {
		t.Errorf("%+v, want data beyond the bound of an answer to end it", step)
	}
}

// endless is a model that repeats a chunk without end, in its first answer, and keeps the messages of the second.
type endless struct {
	chunk  agentloop.Chunk
	sent   int
	second []agentloop.Message
	calls  int
}

func (m *endless) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		if m.calls++; m.calls > 1 {
			m.second = slices.Clone(req.Messages)
			yield(agentloop.Chunk{Text: "Sorry.", FinishReason: agentloop.FinishStop}, nil)
			return
		}
		for ctx.Err() == nil {
			m.sent++
			if !yield(m.chunk, nil) {
				return
			}
		}
	}
}

// maxKept is the size in bytes that an answer of 10 tokens may have.
const maxKept = 10 * 64

func TestAnswerBeyondItsTokensIsCut(t *testing.T) {
	whole := strings.Repeat("abcdefgh", maxKept/8)
	usage := &agentloop.Usage{InputTokens: 7, OutputTokens: 2}
	for name, c := range map[string]struct {
		chunks []agentloop.Chunk
		text   string
		finish agentloop.FinishReason
	}{
		"exactly as much as there may be": {[]agentloop.Chunk{{Text: whole}, {FinishReason: agentloop.FinishStop}}, whole, agentloop.FinishStop},
		"a byte more":                     {[]agentloop.Chunk{{Text: whole}, {Text: "x"}, {FinishReason: agentloop.FinishStop}}, whole, agentloop.FinishLength},
		"all in one piece":                {[]agentloop.Chunk{{Text: whole + "x", FinishReason: agentloop.FinishStop, Usage: usage}}, whole, agentloop.FinishLength},
		"in the middle of a character":    {[]agentloop.Chunk{{Text: whole[1:] + "é"}}, whole[1:], agentloop.FinishLength},
		"beside reasoning":                {[]agentloop.Chunk{{Reasoning: whole[8:]}, {Text: "12345678"}, {Text: "9"}}, "12345678", agentloop.FinishLength},
	} {
		t.Run(name, func(t *testing.T) {
			loop := mustNew(t, agentloop.Config{Model: scripted.New(scripted.Step{Chunks: c.chunks}), MaxOutputTokens: 10})
			var deltas string
			var got *agentloop.Result
			for ev, err := range loop.Stream(t.Context(), nil, "hi") {
				switch ev := ev.(type) {
				case agentloop.TextDelta:
					deltas += ev.Text
				case agentloop.Finished:
					if got = ev.Result; err != nil {
						t.Errorf("error %v", err)
					}
				}
			}
			if got.Text != c.text || deltas != c.text || got.FinishReason != c.finish {
				t.Errorf("text of %d bytes, %d streamed, finish reason %q; want %d and %q", len(got.Text), len(deltas), got.FinishReason, len(c.text), c.finish)
			}
			if reported := c.chunks[0].Usage != nil; got.Usage.Estimated == reported {
				t.Errorf("usage %+v", got.Usage)
			}
		})
	}
}

func TestEndlessAnswersAreStopped(t *testing.T) {
	piece := strings.Repeat("x", 64)
	call := func(index int, name, arguments string) agentloop.Chunk {
		return agentloop.Chunk{ToolCalls: []agentloop.ToolCallDelta{{Index: index, Name: name, Arguments: arguments}}}
	}
	for name, c := range map[string]struct {
		chunk agentloop.Chunk
		sent  int
		text  string
		calls int // that the model was told are refused
	}{
		"text":      {agentloop.Chunk{Text: piece}, 11, strings.Repeat(piece, 10), 0},
		"reasoning": {agentloop.Chunk{Reasoning: piece}, 11, "Sorry.", 0},
		"arguments": {call(0, "note", piece), 9, "Sorry.", 1},
		"calls":     {call(-1, "note", ""), 10, "Sorry.", 9},
	} {
		t.Run(name, func(t *testing.T) {
			m := &endless{chunk: c.chunk}
			ran := 0
			note := agentloop.NewTool("note", "Notes.", func(context.Context, struct{}) (string, error) {
				ran++
				return "noted", nil
			})
			loop := mustNew(t, agentloop.Config{Model: paired(t, m), Tools: []agentloop.Tool{note}, MaxOutputTokens: 10})
			got, err := loop.Run(t.Context(), nil, "hi")
			if err != nil || got.Text != c.text || m.sent != c.sent || ran != 0 {
				t.Errorf("text of %d bytes, error %v, after %d chunks, tool ran %d times", len(got.Text), err, m.sent, ran)
			}
			if got.Steps[0].FinishReason != agentloop.FinishLength || got.Steps[0].Usage.OutputTokens > maxKept/4 {
				t.Errorf("step %+v", got.Steps[0])
			}
			refused := 0
			for _, msg := range m.second {
				if msg.Role == agentloop.RoleTool && strings.Contains(msg.Text, "cut before they had come") {
					refused++
				}
				for _, c := range msg.ToolCalls {
					if c.Arguments != "" {
						t.Errorf("the conversation has %q", c.Arguments)
					}
				}
			}
			if refused != c.calls || len(got.Calls) != c.calls {
				t.Errorf("%d calls, of %d the model was told; want %d", len(got.Calls), refused, c.calls)
			}
		})
	}
}

// A call may be cut before, in or after its arguments. Only the last has what the model meant.
func TestCallsOfACutAnswer(t *testing.T) {
	for arguments, want := range map[string]string{
		"":        "note: arguments: the answer was cut before they had come",
		`{"id":"`: "unexpected EOF",
		`{}`:      "",
	} {
		ran := 0
		note := agentloop.NewTool("note", "Notes.", func(_ context.Context, _ struct {
			ID string `json:"id,omitempty"`
		}) (string, error) {
			ran++
			return "noted", nil
		})
		m := scripted.New(
			scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "note", Arguments: arguments}}, FinishReason: agentloop.FinishLength},
			scripted.Step{Text: "Done."},
		)
		got, err := mustNew(t, agentloop.Config{Model: paired(t, m), Tools: []agentloop.Tool{note}}).Run(t.Context(), nil, "hi")
		if err != nil || len(got.Calls) != 1 || !strings.Contains(got.Calls[0].Error, want) || (ran == 1) != (want == "") {
			t.Errorf("arguments %q: %+v, error %v, tool ran %d times", arguments, got.Calls, err, ran)
		}
		if diff := cmp.Diff("Done.", got.Text); diff != "" {
			t.Error(diff)
		}
	}
}
