// Package confidence computes how far an answer can be trusted, from evidence alone.
package confidence

import (
	"cmp"
	"math"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// HandoffBelow is the confidence below which a reply recommends a human, unless the store has its own limit.
const HandoffBelow = 0.5

// Features are what the confidence of an answer depends on. Each is from 0 to 1; the first is always 1.
type Features [featureCount]float64

const featureCount = 7

// Names of the features, in their order.
var Names = [featureCount]string{
	"any answer", "words of the sub-query in both results and answer", "a look-up shows that there is none",
	"a look-up found only what is near", "all claims are supported", "a tool call was repaired", "the answer was ended early",
}

// Weights of the features in the logarithm of the odds that an answer is good.
type Weights [featureCount]float64

// fitted is what quartet eval confidence --train prints; docs/evaluation.md says for which replies.
var fitted = Weights{-0.08, 0.90, 1.53, -0.52, 0.83, -0.71, -0.48}

// Of is the confidence in an answer to a sub-query, from 0 to 1.
func Of(subQuery string, a *specialistv1.Answer) float64 { return fitted.Of(FeaturesOf(subQuery, a)) }

// Of is the probability that an answer with these features is good.
func (w Weights) Of(f Features) float64 {
	sum := 0.0
	for i := range w {
		sum += w[i] * f[i]
	}
	return 1 / (1 + math.Exp(-sum))
}

// OfReply is the confidence in a reply of several answers: the lowest of theirs. A reply is only as good as its worst part.
func OfReply(answers ...float64) float64 {
	lowest := 1.0
	for _, c := range answers {
		lowest = min(lowest, max(c, 0))
	}
	return lowest
}

// FeaturesOf returns the features of an answer to a sub-query.
func FeaturesOf(subQuery string, a *specialistv1.Answer) Features {
	e := a.GetEvidence()
	return Features{
		1,
		coverage(subQuery, a),
		flag(e.GetFound() == 0 && e.GetAbsent() > 0 && e.GetAbsent() == e.GetEmpty()),
		flag(e.GetNear() > 0),
		flag(a.GetClaims() > 0 && e.GetUnsupportedClaims() == 0),
		flag(e.GetRepairedCalls() > 0),
		flag(a.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_STOP),
	}
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// coverage returns the share of the content words of a sub-query that both a result and the text of the answer have. If no look-up
// found anything, it is 0: what such a result says repeats the words that it was asked for. It is 0 too if a claim is unsupported: an
// invented price of the right thing is wrong.
func coverage(subQuery string, a *specialistv1.Answer) float64 {
	language := cmp.Or(text.Language(subQuery), "en")
	asked := contentWords(language, subQuery)
	if e := a.GetEvidence(); len(asked) == 0 || e.GetFound()+e.GetNear() == 0 || e.GetUnsupportedClaims() > 0 {
		return 0
	}
	results := make(map[string]bool)
	for _, c := range a.GetToolCalls() {
		for w := range contentWords(language, c.GetResultPreview()) {
			results[w] = true
		}
	}
	answer := contentWords(language, a.GetText())
	both := 0
	for w := range asked {
		if results[w] && answer[w] {
			both++
		}
	}
	return float64(both) / float64(len(asked))
}

// contentWords returns the stems of the words of a text that are not stop words of its language.
func contentWords(language, s string) map[string]bool {
	stems := make(map[string]bool)
	for _, w := range text.Words(s) {
		if !text.IsStopWord(language, w.Text) {
			stems[text.Stem(language, w.Text)] = true
		}
	}
	return stems
}
