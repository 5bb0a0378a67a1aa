package merge

import (
	"strings"
	"testing"
)

func TestUnansweredPartsAreNamedInTheShoppersLanguage(t *testing.T) {
	for base, start := range map[string]string{
		"en": "I could not", "es": "Ahora mismo", "de": "Diesen Teil", "fr": "Je n’ai pas", "it": "In questo momento", "nl-BE": "Dit deel", "pt": "Neste momento", "pl": "I could not", "": "I could not",
	} {
		got := unansweredText(base, "one\ntwo")
		if !strings.HasPrefix(got, start) || !strings.Contains(got, "one two") {
			t.Errorf("%s: %q", base, got)
		}
	}
}
