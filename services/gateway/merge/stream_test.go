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
	w := &stream{output: silent(), evidence: &grounding.MergeEvidence{}, answers: strings.Repeat("shoes ", 10_000)}
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
