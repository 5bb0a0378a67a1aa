package grounding

import (
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/eval"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

const (
	answerLine  = `{"id":"a1","kind":"price","language":"en","message":"tents?","payloads":[{"tool":"search_catalog","result":{"products":[{"title":"Alder","price":"249.50 EUR"}]}}],`
	sectionPart = `{"id":"m1","kind":"date","language":"de","message":"two things","sections":[{"query":"tents?","text":"The Alder costs 249.50 EUR.","titles":["Alder"]},{"query":"where is it?","text":"It arrives on 3 May 2026."}],`
)

func measured(t *testing.T, lines ...string) *Report {
	t.Helper()
	cases, err := Read(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return Measure(t.Context(), cases, nil)
}

func TestFigures(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want Figures
	}{
		"an honest answer": {
			answerLine + `"text":"It costs 249.50 EUR. Fine.","verdict":"honest"}`,
			Figures{Flagged: eval.Share{N: 0, Of: 1}, FlaggedSentences: eval.Share{N: 0, Of: 2}},
		},
		"one with a claim that nothing supports": {
			answerLine + `"text":"It costs 251.50 EUR. Fine.","verdict":"honest"}`,
			Figures{Flagged: eval.Share{N: 1, Of: 1}, FlaggedSentences: eval.Share{N: 1, Of: 2}},
		},
		"a wrong fact that is caught": {
			answerLine + `"text":"It costs 251.50 EUR.","verdict":"corrupted","wrong":"251.50"}`,
			Figures{Caught: eval.Share{N: 1, Of: 1}},
		},
		"another claim than the wrong one is flagged": {
			answerLine + `"text":"The blue one costs 251.50 EUR.","verdict":"corrupted","wrong":"blue"}`,
			Figures{Caught: eval.Share{N: 0, Of: 1}},
		},
		"an honest merge": {
			sectionPart + `"honest":"The Alder is 249.50 EUR. Your parcel comes on 3 May 2026."}`,
			Figures{Harmed: eval.Share{N: 0, Of: 1}, FlaggedSentences: eval.Share{N: 0, Of: 2}},
		},
		"one that is withheld": {
			sectionPart + `"honest":"The Alder is 251.50 EUR. Your parcel comes on 4 May 2026."}`,
			Figures{Harmed: eval.Share{N: 1, Of: 1}, FlaggedSentences: eval.Share{N: 2, Of: 2}, Withheld: 1},
		},
		"one that is cut": {
			sectionPart + `"honest":"The Alder is 249.50 EUR. Your parcel comes on 4 May 2026."}`,
			Figures{Harmed: eval.Share{N: 1, Of: 1}, FlaggedSentences: eval.Share{N: 1, Of: 2}, Cut: 1},
		},
		"one with an answer twice": {
			sectionPart + `"honest":"The Alder is 249.50 EUR. Your parcel comes soon."}`,
			Figures{Harmed: eval.Share{N: 1, Of: 1}, FlaggedSentences: eval.Share{N: 0, Of: 2}, Doubled: 1},
		},
		"a wrong fact in a merge": {
			sectionPart + `"merged":"The Alder is 249.50 EUR. Your parcel comes on 4 May 2026.","wrong":"4 May"}`,
			Figures{Caught: eval.Share{N: 1, Of: 1}},
		},
		"a section that a merge drops": {
			sectionPart + `"merged":"The Alder is 249.50 EUR.","wrong":"#1"}`,
			Figures{Caught: eval.Share{N: 1, Of: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := measured(t, c.line)
			if r.Figures != c.want {
				t.Errorf("figures %+v, want %+v", r.Figures, c.want)
			}
			for kind, f := range r.ByKind {
				if *f != c.want {
					t.Errorf("of kind %s: %+v", kind, f)
				}
			}
			isMiss := c.want.Caught.N < c.want.Caught.Of || c.want.Flagged.N+c.want.Harmed.N > 0
			if got := len(r.Misses) == 1; got != isMiss {
				t.Errorf("misses %+v", r.Misses)
			}
		})
	}
}

func TestWrongCasesAreNamed(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{``, "no cases"},
		{`{`, "case 1: unexpected EOF"},
		{answerLine + `"text":"Fine.","verdict":"honest"}` + "\n" + answerLine + `"text":"Fine.","verdict":"good"}`, `case 2: verdict is "good"`},
		{answerLine + `"verdict":"honest"}`, "want one of text, honest and merged"},
		{answerLine + `"honest":"Fine."}`, "want payloads beside text"},
		{answerLine + `"text":"Fine.","verdict":"corrupted"}`, "want wrong beside a corrupted text"},
		{answerLine + `"text":"Fine.","verdict":"corrupted","wrong":"blue"}`, "which the text does not say"},
		{sectionPart + `"merged":"Fine.","wrong":"#2"}`, "no such section"},
	} {
		if _, err := Read(strings.NewReader(c.line)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %s", c.line, err, c.says)
		}
	}
}

// The public texts are read whole; the packages of the checks have tests for the figures.
func TestPublicCases(t *testing.T) {
	for name, want := range map[string]int{"honest": 63, "corrupted": 63, "answers": 96} {
		cases, err := Read(publicdata.Open(t, "grounding/"+name+".jsonl"))
		if err != nil || len(cases) != want {
			t.Fatalf("%s: %d cases, %v; want %d", name, len(cases), err, want)
		}
		r := Measure(t.Context(), cases, nil)
		if n := r.Caught.Of + r.Flagged.Of + r.Harmed.Of; n != want {
			t.Errorf("%s: %d counted, want %d", name, n, want)
		}
	}
}
