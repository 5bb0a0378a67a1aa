package agentloop_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

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

// bound is what may be kept of an answer of 10 tokens.
const bound = 10 * 64

func TestAnswerThatExceedsItsTokensIsCut(t *testing.T) {
	whole := strings.Repeat("abcdefgh", bound/8)
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
			if got.Steps[0].FinishReason != agentloop.FinishLength || got.Steps[0].Usage.OutputTokens > bound/4 {
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
