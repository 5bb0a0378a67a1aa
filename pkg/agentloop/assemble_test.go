package agentloop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// Providers number, name and split tool calls in many ways; what comes out must be the calls that were meant.
func TestCallsArePutTogetherFromTheirPieces(t *testing.T) {
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
