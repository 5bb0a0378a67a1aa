package wrap_test

import (
	"errors"
	"iter"
	"testing"

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
			[]agentloop.Chunk{{Text: "Yes.", FinishReason: agentloop.FinishLength}},
			[]agentloop.Chunk{{Text: "Yes.", FinishReason: agentloop.FinishLength}},
			nil,
		},
		"tool calls do not wait": {
			[]agentloop.Chunk{{Text: "Let me see."}, {ToolCalls: call}, {FinishReason: agentloop.FinishToolCalls}},
			[]agentloop.Chunk{{ToolCalls: call}, {Text: "Let me see.", FinishReason: agentloop.FinishToolCalls}},
			nil,
		},
		"what was held comes before an error": {
			[]agentloop.Chunk{{Text: "Yes"}}, []agentloop.Chunk{{Text: "Yes"}}, errBroken,
		},
		"an error before anything": {nil, nil, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			inner := scripted.New(scripted.Step{Chunks: append([]agentloop.Chunk{}, c.in...), Err: c.err})
			got, err := collect(wrap.Reasoning(inner, wrap.ReasoningConfig{}).Generate(t.Context(), user("hi")))
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReasoningStopsWithItsConsumer(t *testing.T) {
	stopEarly(t, func() iter.Seq2[agentloop.Chunk, error] {
		inner := scripted.New(scripted.Step{Text: "<think>ab</think>cd <", ChunkSize: 1, Err: errBroken})
		return wrap.Reasoning(inner, wrap.ReasoningConfig{}).Generate(t.Context(), user("hi"))
	}, 6)
}
