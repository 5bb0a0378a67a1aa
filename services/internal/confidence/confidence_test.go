package confidence

import (
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func TestEvidenceRaisesOrLowersTheConfidence(t *testing.T) {
	answer := func(claims int32, e *specialistv1.Evidence) *specialistv1.Answer {
		return &specialistv1.Answer{FinishReason: specialistv1.FinishReason_FINISH_REASON_STOP, Claims: claims, Evidence: e}
	}
	ended := answer(2, nil)
	ended.FinishReason = specialistv1.FinishReason_FINISH_REASON_LENGTH
	best := Of(answer(2, nil))
	for name, worse := range map[string]*specialistv1.Answer{
		"no claims": answer(0, nil), "an unsupported claim": answer(2, &specialistv1.Evidence{UnsupportedClaims: 1}),
		"only near": answer(2, &specialistv1.Evidence{Near: 1}), "a failed call": answer(2, &specialistv1.Evidence{FailedCalls: 1}),
		"a repaired call": answer(2, &specialistv1.Evidence{RepairedCalls: 1}), "ended early": ended,
	} {
		if c := Of(worse); c >= best || c <= 0 {
			t.Errorf("%s: %.2f, want less than %.2f", name, c, best)
		}
	}
	if none := Of(answer(2, &specialistv1.Evidence{Empty: 1})); none != best {
		t.Errorf("an honest \"none\" has %.2f, want %.2f", none, best)
	}
	if c := Of(answer(2, &specialistv1.Evidence{UnsupportedClaims: 1})); c >= 0.4 {
		t.Errorf("an unsupported claim: %.2f, want a handoff by default, below 0.4", c)
	}
}
