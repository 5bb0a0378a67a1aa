package gateway

import (
	"strings"
	"testing"
)

func TestLanguageOf(t *testing.T) {
	tests := map[string]string{
		"Do you have trail running shoes in size 42?":             "en",
		"¿Tienen zapatillas del 42?":                              "es",
		"Busco unas zapatillas y quiero saber las devoluciones":   "es",
		"Habt ihr Laufschuhe in 42 und wie ist die Rückgabe?":     "de",
		"Je cherche des chaussures, quelle est votre politique ?": "fr",
		"¿Talla?":   "es",
		"Größe 42?": "de",
		"42":        "",
		"":          "",
	}
	for text, want := range tests {
		if got := languageOf(text); got != want {
			t.Errorf("languageOf(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestUnansweredPartsAreNamedInTheShoppersLanguage(t *testing.T) {
	for base, start := range map[string]string{
		"en": "I could not", "es": "Ahora mismo", "de": "Diesen Teil", "fr": "Je n’ai pas", "it": "I could not",
	} {
		got := sayUnanswered(base, "one\ntwo")
		if !strings.HasPrefix(got, start) || !strings.Contains(got, "one two") {
			t.Errorf("%s: %q", base, got)
		}
	}
}
