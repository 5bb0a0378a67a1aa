package grounding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClaimsSayWhatTheyRestOn(t *testing.T) {
	var e Evidence
	e.AddResult("call_1", `{"products":[{"product_id":"T-1","title":"Hollin Drift 2 tent","price":"289.00 EUR","details":"says \"light\" 1840 g"},`+
		`{"product_id":"T-2","title":"Hollin Gale 3 tent","price":"515.00 EUR","a/b":7.25}]}`)
	e.AddResult("call_2", "Returns are free for 30 days.")
	e.AddText("a tent below 400 EUR")
	const text = "The Hollin Drift 2 tent costs 515 EUR, weighs 1840 g.\n" +
		"The Hollin Gale 3 tent costs 515 EUR, below no 400 EUR, at 7.25.\nYou have 30 days.\nTwo are 578 EUR, with FREE-9. I have cancelled your order."
	source := func(call, pointer, value string) []Source {
		return []Source{{CallID: call, Pointer: pointer, Value: value}}
	}
	want := []Claim{
		{Text: "2", Kind: Number, Subject: "T-1", Verdict: Supported, Sources: source("call_1", "/products/0/title", "Hollin Drift 2 tent")},
		{Text: "515 EUR", Kind: Amount, Subject: "T-1", Verdict: Contradicted, Sources: source("call_1", "/products/1/price", "515.00 EUR")},
		{Text: "1840", Kind: Measure, Subject: "T-1", Verdict: Supported, Sources: source("call_1", "/products/0/details", `says "light" 1840 g`)},
		{Text: "3", Kind: Number, Subject: "T-2", Verdict: Supported, Sources: source("call_1", "/products/1/title", "Hollin Gale 3 tent")},
		{Text: "515 EUR", Kind: Amount, Subject: "T-2", Verdict: Supported, Sources: source("call_1", "/products/1/price", "515.00 EUR")},
		{Text: "400 EUR", Kind: Amount, Subject: "T-2", Verdict: Supported, Sources: source("", "", "400 EUR")},
		{Text: "7.25", Kind: Number, Subject: "T-2", Verdict: Supported, Sources: source("call_1", "/products/1/a~1b", "7.25")},
		{Text: "30", Kind: Measure, Verdict: Supported, Sources: source("call_2", "", "30")},
		{Text: "578 EUR", Kind: Amount, Verdict: Supported, Sources: []Source{{Rule: RuleQuantity}}},
		{Text: "FREE-9", Kind: Code, Verdict: Unsupported},
		{Text: "I have cancelled your order.", Kind: Action, Verdict: Unsupported},
	}
	got := e.Check(text)
	for i, c := range got {
		if text[c.Start:c.End] != c.Text {
			t.Errorf("claim %q stands at %q", c.Text, text[c.Start:c.End])
		}
		got[i].Start, got[i].End = 0, 0
	}
	if diff := cmp.Diff(Claims(want), got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
