package text_test

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

func TestLanguage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		"tn-2000":                             "",
		"Where is my order?":                  "en",
		"do you sell it in blue":              "en",
		"Habt ihr wasserdichte Jacken?":       "de",
		"wie lange habe ich fur die ruckgabe": "de",
		"Je cherche une tente":                "fr",
		"Est-ce que l’article est là ?":       "fr",
		"¿Dónde está mi pedido?":              "es",
		"cuanto cuesta el envio":              "es",
		"Vorrei restituire il mio ordine":     "it",
		"Hebben jullie een tent voor mij?":    "nl",
		"Vocês têm uma barraca?":              "pt",
		"Har ni ett tält till mig?":           "sv",
		"Hvor er min ordre, jeg venter":       "da",
		"Gdzie jest moje zamówienie?":         "pl",
		"注文はどこですか":                            "",
	} {
		if got := text.Language(in); got != want {
			t.Errorf("Language(%q) = %q, want %q", in, got, want)
		}
	}
}

// Least shares of the messages of an evaluation set whose language must be told, of all and of those in the four
// languages that most stores have. Texts of which nothing is told count as English.
const (
	leastRight       = 0.98
	leastRightCommon = 0.985
)

func TestLanguageOfLabelledMessages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../router/testdata/eval/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no evaluation sets", err)
	}
	common := map[string]bool{"en": true, "de": true, "fr": true, "es": true}
	var n, right, nCommon, rightCommon int
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		messages, err := routing.Read(f, []string{"search", "recommend", "promotions", "support"})
		if err != nil {
			t.Fatal(name, err)
		}
		for _, m := range messages {
			if m.Language == "none" {
				continue
			}
			ok := cmp.Or(text.Language(m.Text), "en") == m.Language
			if n++; ok {
				right++
			}
			if common[m.Language] {
				if nCommon++; ok {
					rightCommon++
				}
			}
		}
	}
	all, main := float64(right)/float64(n), float64(rightCommon)/float64(nCommon)
	t.Logf("%d messages: %.1f %% right; %d in English, German, French and Spanish: %.1f %%", n, 100*all, nCommon, 100*main)
	if all < leastRight || main < leastRightCommon {
		t.Errorf("fewer right than %.1f %% and %.1f %%", 100*leastRight, 100*leastRightCommon)
	}
}
