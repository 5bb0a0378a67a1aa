package wrap_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/publicdata"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// thinkCase is a case of a public test suite, in the several shapes that its tests have.
type thinkCase struct {
	Test string
	Case struct {
		Name, Desc, In, Input, ExpectedContent, ExpectedThinking, WantContent, WantThink string

		Chunks json.RawMessage // strings, in the cases that matter here
		Steps  []struct {
			Input, WantContent, WantThinking string
			WantEvents                       []struct {
				Type    string `json:"$type"`
				Content string
			}
		}
	}
	Adds, Asserts []string
}

func (c *thinkCase) name() string { return c.Test + "/" + c.Case.Name + c.Case.Desc }

func (c *thinkCase) input() string {
	var chunks []string
	_ = json.Unmarshal(c.Case.Chunks, &chunks)
	in := c.Case.In + c.Case.Input + strings.Join(chunks, "") + strings.Join(c.Adds, "")
	for _, s := range c.Case.Steps {
		in += s.Input
	}
	return in
}

var asserted = regexp.MustCompile(`(content|thinking) != "((?:[^"\\]|\\.)*)"`)

func (c *thinkCase) want() (text, reasoning string) {
	text = c.Case.ExpectedContent + c.Case.WantContent
	reasoning = c.Case.ExpectedThinking + c.Case.WantThink
	for _, s := range c.Case.Steps {
		text += s.WantContent
		reasoning += s.WantThinking
		for _, e := range s.WantEvents {
			if strings.Contains(e.Type, "Thinking") {
				reasoning += e.Content
			} else {
				text += e.Content
			}
		}
	}
	for _, m := range asserted.FindAllStringSubmatch(strings.Join(c.Asserts, "\n"), -1) {
		if m[1] == "content" {
			text += m[2]
		} else {
			reasoning += m[2]
		}
	}
	return text, reasoning
}

// Cases that do not apply, and why.
const (
	switchedOff = "expects tags in the answer of a model whose reasoning is switched off; the wrapper is then left out"
	dropsIt     = "expects reasoning to vanish; here it is kept apart"
	otherCalls  = "holds tool calls in the format of another model"
	onlyFirst   = "takes only a first block for reasoning; here every block is"
)

var notForReasoning = map[string]string{
	"TestCogitoParser/thinking_disabled_with_think_tags":                                        switchedOff,
	"TestCogitoParser_StreamingEdgeCases/thinking_disabled_with_split_tags":                     switchedOff,
	"TestNemotron3NanoParser/thinking disabled but model outputs think close anyway":            switchedOff,
	"TestQwen3VLNonThinkingParserStreaming/simple thinking":                                     switchedOff,
	"TestQwen3VLNonThinkingParserStreaming/nested thinking (outside thinking, inside thinking)": switchedOff,
	"TestQwen3VLNonThinkingParserStreaming/partial thinking incomplete":                         switchedOff,
	"TestQwen3VLThinkingParserWithNonThinkingPrefill/thinking prefill":                          switchedOff,
	"TestLagunaParserThinkingDefaultsOff/":                                                      dropsIt,
	"TestLagunaParserThinkingExplicitlyDisabled/":                                               dropsIt,
	"TestDeepSeekParser/thinking_with_tool_call":                                                otherCalls,
	"TestLFM2Parser/thinking_directly_to_tool_call":                                             otherCalls,
}

// notRun counts the cases that do not apply.
var notRun = map[string]int{switchedOff: 7, dropsIt: 2, otherCalls: 2, onlyFirst: 1}

// The 68 of 137 cases of a public suite that hold reasoning tags and no <tool_call>: 56 run, and notRun says how many do not,
// and why. Package texttools has another 68, with calls; the last one holds calls in the format of another model. Two things
// are told apart: space at the ends, which theirs trims, and a stray close tag, which theirs leaves in the answer.
func TestPublicReasoningCases(t *testing.T) {
	ran, skipped := 0, make(map[string]int)
	for _, c := range publicdata.Lines[thinkCase](t, "toolcalls/ollama.jsonl") {
		in := c.input()
		why, skip := notForReasoning[c.name()]
		if in == "<think>a</think><think>b</think>c" {
			why, skip = onlyFirst, true
		}
		if !strings.Contains(in, "think>") || strings.Contains(in, "<tool_call>") {
			continue
		}
		if skip {
			skipped[why]++
			continue
		}
		ran++
		t.Run(c.name(), func(t *testing.T) {
			wantText, wantReasoning := c.want()
			wantText = strings.ReplaceAll(wantText, "</think>", "")
			opened := wantReasoning != "" && !strings.HasPrefix(strings.TrimSpace(in), "<think>")
			for size := range len(in) {
				inner := scripted.New(scripted.Step{Text: in, ChunkSize: size})
				got, err := collect(wrap.Reasoning(inner, wrap.ReasoningConfig{CloseOnly: opened}).Generate(t.Context(), user("hi")))
				text, reasoning := textOf(got)
				if strings.TrimSpace(text) != strings.TrimSpace(wantText) || strings.TrimSpace(reasoning) != strings.TrimSpace(wantReasoning) || err != nil {
					t.Fatalf("chunks of %d of %q: text %q, reasoning %q, error %v; want %q, %q", size, in, text, reasoning, err, wantText, wantReasoning)
				}
			}
		})
	}
	if diff := cmp.Diff(notRun, skipped); diff != "" || ran != 56 {
		t.Errorf("%d cases ran, not run (-want +got):\n%s", ran, diff)
	}
}
