package specialist

import (
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// An answer with a text says why it ended, whatever ended it; every reason of the contract has its own.
func TestFinishReasons(t *testing.T) {
	seen := map[specialistv1.FinishReason]bool{specialistv1.FinishReason_FINISH_REASON_UNSPECIFIED: true}
	for from, want := range map[agentloop.FinishReason]specialistv1.FinishReason{
		agentloop.FinishStop:          specialistv1.FinishReason_FINISH_REASON_STOP,
		agentloop.FinishLength:        specialistv1.FinishReason_FINISH_REASON_LENGTH,
		agentloop.FinishError:         specialistv1.FinishReason_FINISH_REASON_LENGTH, // of a provider: the answer may be cut
		agentloop.FinishContentFilter: specialistv1.FinishReason_FINISH_REASON_CONTENT_FILTER,
		agentloop.FinishMaxSteps:      specialistv1.FinishReason_FINISH_REASON_MAX_STEPS,
		agentloop.FinishDeadline:      specialistv1.FinishReason_FINISH_REASON_DEADLINE,
		agentloop.FinishCanceled:      specialistv1.FinishReason_FINISH_REASON_DEADLINE, // nobody is left to read it
		agentloop.FinishBudget:        specialistv1.FinishReason_FINISH_REASON_BUDGET,
	} {
		got := finishReason(from)
		if got != want {
			t.Errorf("%s becomes %v, want %v", from, got, want)
		}
		seen[got] = true
	}
	for number, name := range specialistv1.FinishReason_name {
		if !seen[specialistv1.FinishReason(number)] {
			t.Errorf("nothing becomes %s", name)
		}
	}
}
