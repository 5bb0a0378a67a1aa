package wrap_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

func TestReasoningIsMoved(t *testing.T) {
	usage := &agentloop.Usage{InputTokens: 1}
	call := []agentloop.ToolCallDelta{{Name: "find"}}
	for name, c := range map[string]struct {
		in, want []agentloop.Chunk
		err      error
	}{
		"split over chunks": {
			[]agentloop.Chunk{{Text: "<th", Model: "m"}, {Text: "ink>hm"}, {Text: ".</think>\nYes", Reasoning: "field "}, {Text: "."}, {FinishReason: agentloop.FinishStop, Usage: usage}},
			[]agentloop.Chunk{{Model: "m"}, {Reasoning: "hm"}, {Text: "Yes", Reasoning: "field ."}, {Text: "."}, {FinishReason: agentloop.FinishStop, Usage: usage}},
			nil,
		},
		"what was held comes with the end": {
			[]agentloop.Chunk{{Text: "Yes.", FinishReason: agentloop.FinishStop}},
			[]agentloop.Chunk{{Text: "Yes.", FinishReason: agentloop.FinishStop}},
			nil,
		},
		"what was held when the limit came is reasoning": {
			[]agentloop.Chunk{{Text: "\nHm, "}, {Text: "so", FinishReason: agentloop.FinishLength}},
			[]agentloop.Chunk{{Reasoning: "\nHm, so", FinishReason: agentloop.FinishLength}},
			nil,
		},
		"nothing is held of an answer whose reasoning comes apart": {
			[]agentloop.Chunk{{Reasoning: "Hm."}, {Text: "Ye"}, {Text: "s."}, {FinishReason: agentloop.FinishStop}},
			[]agentloop.Chunk{{Reasoning: "Hm."}, {Text: "Ye"}, {Text: "s."}, {FinishReason: agentloop.FinishStop}},
			nil,
		},
		"tool calls do not wait": {
			[]agentloop.Chunk{{Text: "Let me see."}, {ToolCalls: call}, {FinishReason: agentloop.FinishToolCalls}},
			[]agentloop.Chunk{{ToolCalls: call}, {Text: "Let me see.", FinishReason: agentloop.FinishToolCalls}},
			nil,
		},
		"what was held when a filter stopped it is reasoning": {
			[]agentloop.Chunk{{Text: "Hm"}, {FinishReason: agentloop.FinishContentFilter}},
			[]agentloop.Chunk{{Reasoning: "Hm", FinishReason: agentloop.FinishContentFilter}},
			nil,
		},
		"what was held before an error is reasoning": {
			[]agentloop.Chunk{{Text: "Hm"}}, []agentloop.Chunk{{Reasoning: "Hm"}}, errBroken,
		},
		"an error before anything": {nil, nil, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			inner := scripted.New(scripted.Step{Chunks: append([]agentloop.Chunk{}, c.in...), Err: c.err})
			got, err := collect(wrap.Reasoning(inner, wrap.ReasoningConfig{Hold: 1 << 10}).Generate(t.Context(), user("hi")))
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// An answer of 40 tokens, 20 ms apart, streams from its first token, unless the last answer held reasoning without an open tag.
func TestTextIsHeldOnceReasoningCameWithoutAnOpenTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const thoughts = "I greet. </think>Hello."
		plain := strings.TrimSpace(strings.Repeat("word ", 40))
		inner := scripted.New(
			trickle(plain), trickle(thoughts), trickle(thoughts), trickle(plain), trickle(plain),
		)
		m := wrap.Reasoning(inner, wrap.ReasoningConfig{})
		for i, want := range []struct {
			first time.Duration
			text  string
		}{
			{20 * time.Millisecond, plain},             // nothing is known
			{20 * time.Millisecond, "I greet. Hello."}, // as documented
			{60 * time.Millisecond, "Hello."},          // after the tag
			{40 * 20 * time.Millisecond, plain},        // it might have been reasoning
			{20 * time.Millisecond, plain},
		} {
			begun, first, text := time.Now(), time.Duration(0), ""
			for c, err := range m.Generate(t.Context(), user("hi")) {
				if err != nil {
					t.Fatal(err)
				}
				if text += c.Text; first == 0 && c.Text != "" {
					first = time.Since(begun)
				}
			}
			if first != want.first || text != want.text {
				t.Errorf("answer %d: first text after %v, want %v; text %q", i+1, first, want.first, text)
			}
		}
	})
}

// trickle is an answer that sends a word each 20 ms.
func trickle(text string) scripted.Step {
	var chunks []agentloop.Chunk
	for _, word := range strings.SplitAfter(text, " ") {
		chunks = append(chunks, agentloop.Chunk{Text: word})
	}
	return scripted.Step{Chunks: chunks, Delay: 20 * time.Millisecond, ChunkDelay: 20 * time.Millisecond}
}

func TestReasoningStopsWithItsConsumer(t *testing.T) {
	stopEarly(t, func() iter.Seq2[agentloop.Chunk, error] {
		inner := scripted.New(scripted.Step{Text: "<think>ab</think>cd <", ChunkSize: 1, Err: errBroken})
		return wrap.Reasoning(inner, wrap.ReasoningConfig{}).Generate(t.Context(), user("hi"))
	}, 6)
}
