package classifier

import "math"

// Threshold is the confidence from which a result is certain enough to use without asking a model.
const Threshold = 0.95

// calibration are the weights of a logistic regression that turns the chain's probability of a set into the probability
// that the set is right (Platt scaling). The trainer fits it to messages of authors that the chain was not fitted to.
type calibration [calibrationFeatures]float64

const (
	calibrationBias  = iota // 1
	calibrationLogit        // log odds of the set
	calibrationParts        // 1: the set has more than one specialist
	calibrationWords        // log(1 + words)
	calibrationClauses
	calibrationEarlier // 1: there is an earlier message
	calibrationFeatures
)

// calibrationInput returns the features of a decision.
func calibrationInput(probability float64, set, clauses, words int, earlier bool) calibration {
	const most = 6 // log odds
	// Rounding may leave a probability above 1.
	probability = min(max(probability, 1e-9), 1-1e-9)
	f := calibration{calibrationBias: 1, calibrationWords: math.Log1p(float64(words)), calibrationClauses: math.Log1p(float64(clauses))}
	f[calibrationLogit] = min(max(math.Log(probability/(1-probability)), -most), most)
	if set&(set-1) != 0 {
		f[calibrationParts] = 1
	}
	if earlier {
		f[calibrationEarlier] = 1
	}
	return f
}

// confidence returns the estimated probability that a decision with the features is right.
func (c calibration) confidence(features calibration) float64 {
	var sum float64
	for i, x := range features {
		sum += c[i] * x
	}
	return 1 / (1 + math.Exp(-sum))
}

// fitCalibration fits the weights to decisions by gradient descent.
func fitCalibration(decisions []decision) calibration {
	const passes, rate, decay = 4000, 0.3, 1e-3
	c := calibration{calibrationLogit: 1}
	for range passes {
		var gradient calibration
		for _, d := range decisions {
			miss := count(d.right) - c.confidence(d.input)
			for k, x := range d.input {
				gradient[k] += miss * x / float64(len(decisions))
			}
		}
		for k := range c {
			c[k] += rate * (gradient[k] - decay*c[k])
		}
	}
	return c
}
