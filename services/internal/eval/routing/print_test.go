package routing

import (
	"strings"
	"testing"
)

func TestPrintShowsTheMostFrequentConfusionsAndTheStartOfLongMessages(t *testing.T) {
	report := &Report{Misses: []Miss{{
		ID: "long", Text: strings.Repeat("ä", 100), Gold: []string{"search"}, Got: []string{"support"}, Source: "model", Notes: []string{"late"},
	}}}
	for range 12 {
		report.Confusion = append(report.Confusion,
			Confusion{Gold: []string{"search"}, Got: []string{"search"}, Messages: 9},
			Confusion{Gold: []string{"search"}, Got: []string{"promotions", "support"}, Messages: 3})
	}
	var out strings.Builder
	report.Print(&out, "a note")
	for _, want := range []string{
		"a note\n", "          and 2 pairs more\n", "(certainty 0.00, model)\n  \"" + strings.Repeat("ä", 90) + "…\"\n  late\n",
		"certain accuracy               -  0 of 0\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "       3  search -> promotions + support\n"); n != 10 {
		t.Errorf("%d confusions are shown, want 10:\n%s", n, out.String())
	}
}
