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

func TestAnHonestNoneNeedsNoHuman(t *testing.T) {
	none := &specialistv1.Answer{
		Text: "We have no kayaks.", FinishReason: specialistv1.FinishReason_FINISH_REASON_STOP, Evidence: &specialistv1.Evidence{Empty: 1},
	}
	if c := Of("Do you sell kayaks?", none); c < HandoffBelow {
		t.Errorf("nothing found for one word: %.2f", c)
	}
	long := "a light blue kayak for two people with a spare paddle"
	if c := Of(long, none); c >= Of("Do you sell kayaks?", none) {
		t.Errorf("nothing found for many words: %.2f, want less than for one", c)
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
