package specialist

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// maxProducts bounds the products of an answer: more than six is a list, not advice.
const maxProducts = 6

// compose makes the answer from what the loop said, what the tools found, and what became of the text's claims.
func compose(turn *Turn, result *agentloop.Result, text string, verdict grounding.Verdict) *specialistv1.Answer {
	f := turn.Findings
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &specialistv1.Answer{
		Text:         text,
		Confidence:   f.evidence(result, verdict).confidence(),
		FinishReason: finishReason(result.FinishReason),
		Model:        result.Model,
		Usage:        usage(result.Usage),
		Products:     named(f.products, text),
		Promotion:    f.promotion,
		Order:        f.order,
		OrderActions: f.possible,
		Passages:     f.passages,

		Claims: int32(verdict.Claims), UnsupportedClaims: verdict.Texts,
	}
	a.SuggestedActions = f.actions
	if c := result.Cost; c != nil {
		a.Cost = &commonv1.Cost{AmountMicros: c.Micros, CurrencyCode: c.Currency}
	}
	for _, c := range result.Calls {
		a.ToolCalls = append(a.ToolCalls, toolCall(c))
	}
	return a
}

// named returns the candidates that the text names, by title or id, in the order of their candidacy.
func named(products []*specialistv1.ProductChoice, text string) []*specialistv1.ProductChoice {
	words := wordsOf(text)
	var out []*specialistv1.ProductChoice
	for _, p := range products {
		title := wordsOf(p.GetTitle())
		if len(out) < maxProducts && (strings.Contains(text, p.GetProductId()) || containsRun(words, title)) {
			out = append(out, p)
		}
	}
	return out
}

// containsRun reports whether words holds run as neighbours, in order.
func containsRun(words, run []string) bool {
	for i := 0; len(run) > 0 && i+len(run) <= len(words); i++ {
		if slices.Equal(words[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func usage(u agentloop.Usage) *commonv1.Usage {
	return &commonv1.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens,
		ReasoningOutputTokens: u.ReasoningTokens, ModelCalls: int32(u.ModelCalls), Estimated: u.Estimated,
	}
}

// finishReason says why an answer with a text ended. An answer that ended with a provider's unknown reason may be cut, which
// is what length says.
func finishReason(r agentloop.FinishReason) specialistv1.FinishReason {
	switch r {
	case agentloop.FinishLength, agentloop.FinishError:
		return specialistv1.FinishReason_FINISH_REASON_LENGTH
	case agentloop.FinishContentFilter:
		return specialistv1.FinishReason_FINISH_REASON_CONTENT_FILTER
	case agentloop.FinishMaxSteps:
		return specialistv1.FinishReason_FINISH_REASON_MAX_STEPS
	case agentloop.FinishBudget:
		return specialistv1.FinishReason_FINISH_REASON_BUDGET
	case agentloop.FinishDeadline, agentloop.FinishCanceled:
		return specialistv1.FinishReason_FINISH_REASON_DEADLINE
	}
	return specialistv1.FinishReason_FINISH_REASON_STOP
}

func setDuration(a *specialistv1.Answer, d time.Duration) { a.Duration = durationpb.New(d) }
