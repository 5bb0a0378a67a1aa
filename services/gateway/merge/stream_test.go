package merge

import (
	"errors"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

func TestAMergeWithoutAnEndOfASentenceIsGivenUp(t *testing.T) {
	w := &stream{output: silent(), quotes: builtInQuotes, evidence: &grounding.MergeEvidence{}, answers: strings.Repeat("shoes ", 10_000)}
	for fed := 0; fed <= text.MaxSentence+1000; fed += 100 {
		if err := w.add(agentloop.TextDelta{Text: strings.Repeat("x", 100)}); err != nil {
			if !errors.Is(err, errEndless) {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("%d bytes are held", len(w.sentences.Rest()))
}

func TestTheMergersPromptAndRequestAreNotQuoted(t *testing.T) {
	for _, text := range []string{
		"You edit an online store's reply to a shopper. Colleagues", "Language: en\n\n## Section 1: what", "Today is Sunday, 22 November 2026 (UTC).", "## Not answered\n- a tent\n\nSorry.",
	} {
		w := &stream{output: silent(), quotes: builtInQuotes, evidence: &grounding.MergeEvidence{}, answers: "We have it."}
		if err := w.add(agentloop.TextDelta{Text: text + ". And so on."}); !errors.Is(err, errPrompt) || w.output.Len() > 0 {
			t.Errorf("%q: error %v, text %q", text, err, w.output.String())
		}
	}
}

// What a merge may not do otherwise: leave out what the shopper said, or begin with something else than the answer.
func TestThePromptOfTheMergeHasItsRules(t *testing.T) {
	for _, rule := range []string{"You may repeat the shopper's words", "Start with the answer itself", "Keep every fact", "If they contradict each other, give both"} {
		if !strings.Contains(BuiltIn().GetText(), rule) {
			t.Errorf("the prompt does not say %q", rule)
		}
	}
}
