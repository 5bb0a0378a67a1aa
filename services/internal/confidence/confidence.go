// Package confidence computes how far an answer can be trusted, from evidence alone.
package confidence

import (
	"math"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// Features are what the confidence of an answer depends on. Each is 0 or 1; the first is always 1.
type Features [featureCount]float64

const featureCount = 7

// Names of the features, in their order.
var Names = [featureCount]string{
	"any answer", "a look-up found only what is near", "all claims are supported", "a claim is unsupported",
	"a tool call failed", "a tool call was repaired", "the answer was ended early",
}

// Weights of the features in the logarithm of the odds that an answer is good.
type Weights [featureCount]float64

// fitted is what quartet eval confidence --train prints; docs/evaluation.md says for which replies.
var fitted = Weights{-0.11, -0.67, 0.93, -0.64, -0.32, -0.92, -0.66}

// Of is the confidence in an answer, from 0 to 1.
func Of(a *specialistv1.Answer) float64 { return fitted.Of(FeaturesOf(a)) }

// Of is the probability that an answer with these features is good.
func (w Weights) Of(f Features) float64 {
	sum := 0.0
	for i := range w {
		sum += w[i] * f[i]
	}
	return 1 / (1 + math.Exp(-sum))
}

// FeaturesOf returns the features of an answer.
func FeaturesOf(a *specialistv1.Answer) Features {
	e := a.GetEvidence()
	var f Features
	for i, is := range [featureCount]bool{
		true, e.GetNear() > 0, a.GetClaims() > 0 && e.GetUnsupportedClaims() == 0,
		e.GetUnsupportedClaims() > 0, e.GetFailedCalls() > 0, e.GetRepairedCalls() > 0,
		a.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_STOP,
	} {
		if is {
			f[i] = 1
		}
	}
	return f
}
