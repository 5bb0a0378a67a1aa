package classifier

import "math"

// DefaultThreshold is the confidence from which a result is certain enough to use without asking a model.
const DefaultThreshold = 0.9

// features are what the confidence of a message's routing depends on. TestFitCalibration fits their weights.
type features [featureCount]float64

const (
	bias                = iota // 1
	margin                     // margin in log odds over the next specialist, from -maxMargin to maxMargin
	backgroundMargin           // margin of the background class, from -maxMargin to maxMargin
	onlyBareName               // 1: the words only name a product
	onlyServiceAsked           // 1: the words only ask for a service in general
	hasUnknownVerb             // 1: there is a verb that no specialist published
	manyUnknownWords           // log(1 + content words without a score) of the message
	severalGroups              // 1: the message has more than one group
	manyUnplaced               // log(1 + segments without a group of their own) of the message
	hasSwallowedRequest        // 1: a segment that asks is in the group of another
	hasHistory                 // 1: there are earlier messages
	featureCount
)

// maxMargin bounds margins. Naive Bayes is overconfident, so that more says nothing more.
const maxMargin = 5

// calibrationWeights are the weights of a logistic regression of whether the set of specialists is right.
var calibrationWeights = features{
	bias: 0.21, margin: 0.60, backgroundMargin: -0.20, onlyBareName: -0.73, onlyServiceAsked: -0.72, hasUnknownVerb: -0.26,
	manyUnknownWords: -0.23, severalGroups: -0.99, manyUnplaced: -0.25, hasSwallowedRequest: -0.53, hasHistory: 0.57,
}

// confidence returns the estimated probability that a message is routed right.
func (f features) confidence() float64 { return 1 / (1 + math.Exp(-f.logit())) }

// logit returns the sum of the logistic regression.
func (f features) logit() float64 {
	var sum float64
	for i, v := range f {
		sum += calibrationWeights[i] * v
	}
	return sum
}

// features returns the features of a span for its best specialist. Those of the message are zero.
func (e score) features(product int) features {
	var f features
	best, _, _ := e.top(product)
	f[bias], f[margin] = 1, maxMargin
	for i := range e.bySpecialist {
		if i != best {
			f[margin] = max(min(f[margin], e.logOdds[best]-e.logOdds[i]), -maxMargin)
		}
	}
	f[backgroundMargin] = max(min(e.backgroundMargin(), maxMargin), -maxMargin)
	for feature, set := range map[int]spanFlags{onlyBareName: bareName, onlyServiceAsked: serviceAsked, hasUnknownVerb: unknownVerb} {
		if e.flags.has(set) {
			f[feature] = 1
		}
	}
	return f
}

// withMessageFeatures adds the features of the whole message to those of one of its groups.
func (d *decoder) withMessageFeatures(f features) features {
	f[manyUnknownWords], f[manyUnplaced] = math.Log1p(float64(d.unknownWords)), math.Log1p(float64(d.unplacedSegments))
	for feature, set := range map[int]bool{
		severalGroups: len(d.groups) > 1, hasSwallowedRequest: d.swallowedRequest, hasHistory: len(d.history) > 0,
	} {
		if set {
			f[feature] = 1
		}
	}
	return f
}
