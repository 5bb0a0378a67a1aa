package classifier

import (
	"math"
	"slices"
)

// Threshold is the confidence from which a result is certain enough to use without asking a model.
const Threshold = 0.95

// certainty turns the chain's probability of a set into a confidence, by the shape of the decision: at the same probability, one that gives
// several clauses to one specialist is wrong more often than others.
type certainty [shapes]struct {
	// Calibration has the weights.
	Calibration calibration `json:"calibration"`
	// Least is the confidence below which a result is not certain, if it is above Threshold.
	Least float64 `json:"least"`
}

// confidence returns the estimated probability that a decision is right. What is not certain stays below Threshold.
func (c certainty) confidence(features calibration) float64 {
	by := c[features.shape()]
	x := by.Calibration.confidence(features)
	if x < by.Least {
		x = min(x, doubtful)
	}
	return x
}

// calibration are the weights of a logistic regression that turns the chain's probability of a set into the probability
// that the set is right (Platt scaling). The trainer fits it to messages of authors that the chain was not fitted to.
type calibration [calibrationFeatures]float64

const (
	calibrationBias    = iota // 1
	calibrationLogit          // log odds of the set
	calibrationCut            // log odds of the set, lowest over further cuts
	calibrationParts          // 1: the set has more than one specialist
	calibrationWords          // log(1 + words)
	calibrationClauses        // log(clauses)
	calibrationEarlier        // 1: there is an earlier message
	calibrationUnasked        // 1: several clauses and no question mark
	calibrationFeatures
)

// calibrationInput returns the features of a decision.
func calibrationInput(probability, cut float64, set int, read reading, earlier bool) calibration {
	f := calibration{calibrationBias: 1, calibrationWords: math.Log1p(float64(len(read.words))),
		calibrationClauses: math.Log(float64(max(len(read.clauses), 1)))}
	f[calibrationLogit], f[calibrationCut] = logOdds(probability), logOdds(cut)
	if set&(set-1) != 0 {
		f[calibrationParts] = 1
	}
	if earlier {
		f[calibrationEarlier] = 1
	}
	if len(read.clauses) > 1 && !slices.ContainsFunc(read.words, func(w word) bool { return w.asked }) {
		f[calibrationUnasked] = 1
	}
	return f
}

// Shapes of decisions.
const (
	oneClause = iota
	oneSpecialist
	severalSpecialists
	shapes
)

func (c calibration) shape() int {
	switch {
	case c[calibrationParts] > 0:
		return severalSpecialists
	case c[calibrationClauses] > 0:
		return oneSpecialist
	}
	return oneClause
}

// logOdds returns the log odds of a probability, within bounds.
func logOdds(probability float64) float64 {
	const most = 6
	probability = min(max(probability, 1e-9), 1-1e-9) // rounding may leave it above 1
	return min(max(math.Log(probability/(1-probability)), -most), most)
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

// wantedRight is the share of the certain decisions on a source's messages that are right, at least, by models that were not fitted to it,
// if it has fewestMessages.
const (
	wantedRight    = 0.97
	fewestMessages = 100
)

// fitCertainty fits calibrations to decisions on unseen sources, and chooses the thresholds with which most decisions are certain of those
// with which enough certain ones on each source are right.
func fitCertainty(decisions []decision) certainty {
	var c certainty
	for shape := range c {
		c[shape].Calibration = fitCalibration(slices.DeleteFunc(slices.Clone(decisions), func(d decision) bool { return d.input.shape() != shape }))
	}
	var thresholds []float64
	for i := range 11 {
		thresholds = append(thresholds, Threshold+float64(i)/10*(1-Threshold)) // the last is 1: never certain
	}
	best, most := c, -1
	for _, one := range thresholds {
		for _, same := range thresholds {
			for _, several := range thresholds {
				c[oneClause].Least, c[oneSpecialist].Least, c[severalSpecialists].Least = one, same, several
				if n, ok := certainDecisions(decisions, c); ok && n > most {
					best, most = c, n
				}
			}
		}
	}
	return best
}

// certainDecisions counts the certain decisions, and reports whether enough of those on each source are right.
func certainDecisions(decisions []decision, c certainty) (n int, ok bool) {
	messages, certain, right := map[string]int{}, map[string]int{}, map[string]int{}
	for _, d := range decisions {
		messages[d.source]++
		if d.confidence(c) >= Threshold {
			n++
			certain[d.source]++
			right[d.source] += int(count(d.right))
		}
	}
	for source, all := range messages {
		if all >= fewestMessages && float64(right[source]) < wantedRight*float64(certain[source]) {
			return n, false
		}
	}
	return n, true
}
