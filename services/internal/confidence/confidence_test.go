package confidence

import (
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func TestEvidenceRaisesOrLowersTheConfidence(t *testing.T) {
	const asked = "Do you have waterproof boots?"
	answer := func(claims int32, e *specialistv1.Evidence) *specialistv1.Answer {
		return &specialistv1.Answer{
			Text: "Yes, one waterproof boot: Moorland, 90 EUR.", Claims: claims, Evidence: e,
			FinishReason: specialistv1.FinishReason_FINISH_REASON_STOP,
			ToolCalls:    []*specialistv1.ToolCall{{ResultPreview: `{"products":[{"title":"Moorland boot","details":"waterproof yes"}]}`}},
		}
	}
	ended, other := answer(2, &specialistv1.Evidence{Found: 1}), answer(2, &specialistv1.Evidence{Found: 1})
	ended.FinishReason = specialistv1.FinishReason_FINISH_REASON_LENGTH
	other.ToolCalls[0].ResultPreview = `{"products":[{"title":"Moorland tent"}]}`
	best := Of(asked, answer(2, &specialistv1.Evidence{Found: 1}))
	for name, worse := range map[string]*specialistv1.Answer{
		"no claims":            answer(0, &specialistv1.Evidence{Found: 1}),
		"an unsupported claim": answer(2, &specialistv1.Evidence{Found: 1, UnsupportedClaims: 1}),
		"only near":            answer(2, &specialistv1.Evidence{Found: 1, Near: 1}),
		"a repaired call":      answer(2, &specialistv1.Evidence{Found: 1, RepairedCalls: 1}),
		"nothing found":        answer(2, &specialistv1.Evidence{Empty: 1}),
		"ended early":          ended,
		"about other things":   other,
	} {
		if c := Of(asked, worse); c >= best || c <= 0 {
			t.Errorf("%s: %.2f, want less than %.2f", name, c, best)
		}
	}
	if c := Of("Welche Farbe?", answer(2, &specialistv1.Evidence{Found: 1, UnsupportedClaims: 1})); c >= HandoffBelow {
		t.Errorf("an unsupported claim about something else: %.2f, want a handoff by default", c)
	}
}

func TestANoneIsAsSureAsItsEvidence(t *testing.T) {
	none := func(e *specialistv1.Evidence) float64 {
		return Of("Do you sell kayaks?", &specialistv1.Answer{
			Text: "We have no kayaks.", FinishReason: specialistv1.FinishReason_FINISH_REASON_STOP, Evidence: e,
		})
	}
	if c := none(&specialistv1.Evidence{Empty: 2, Absent: 2}); c < 0.75 {
		t.Errorf("every look-up shows that there is none: %.2f, want a high confidence", c)
	}
	for name, e := range map[string]*specialistv1.Evidence{
		"one of two look-ups does not show that there is none": {Empty: 2, Absent: 1},
		"something else was found":                             {Found: 1, Empty: 1, Absent: 1},
	} {
		if c := none(e); c >= HandoffBelow {
			t.Errorf("%s: %.2f, want a handoff by default", name, c)
		}
	}
}

func TestWordsAreCoveredInAnyForm(t *testing.T) {
	for _, tt := range []struct {
		asked, result, answer string
		want                  float64
	}{
		{"Do you have hiking boots?", `{"title":"Hiking boot"}`, "Yes, a boot for hiking.", 1},
		{"Zelte für uns", `{"title":"Zelt"}`, "Ja, ein Zelt.", 1},
		{"red boots", `{"title":"Boot"}`, "A red boot.", 0.5}, // the result has nothing red
		{"red boots", `{"title":"Red boot"}`, "Sorry?", 0},
		{"is it?", `{"title":"Boot"}`, "A boot.", 0}, // nothing to cover
	} {
		a := &specialistv1.Answer{
			Text: tt.answer, ToolCalls: []*specialistv1.ToolCall{{ResultPreview: tt.result}}, Evidence: &specialistv1.Evidence{Found: 1},
		}
		if got := FeaturesOf(tt.asked, a)[1]; got != tt.want {
			t.Errorf("%q: %v, want %v", tt.asked, got, tt.want)
		}
	}
}

func TestAReplyIsAsGoodAsItsWorstAnswer(t *testing.T) {
	for want, answers := range map[float64][]float64{0.3: {0.8, 0.3}, 0: {0.8, 0}, 1: nil} {
		if got := OfReply(answers...); got != want {
			t.Errorf("%v: %v, want %v", answers, got, want)
		}
	}
}
