package router

import "math"

// Weights of a logistic model of how likely the best specialist of a stretch of words is the right one. Of a grid of
// weights they were the ones with the fewest mistakes above DefaultCertainThreshold, on the tuned part of testdata/eval
// and on messages that the rules had not been tuned on, among those that were certain of nearly half of the former. They
// rank well; as probabilities they are too low for what is plain and too high for what is new.
const (
	biasWeight        = 3.2
	weaknessWeight    = -3.5 // times e to the minus score: a lone weak word
	productWeight     = -0.8 // the product specialist gets what nobody has words for
	rivalWeight       = -2.5 // times the next score as a part of the best
	unexplainedWeight = -2.0 // times the part of the content words that no evidence rests on
)

// signWeights are what the signs weigh in the same model.
var signWeights = [...]struct {
	sign   sign
	weight float64
}{
	{named, -0.8}, {pointed, -1.5}, {misled, -0.8}, {newVerb, -0.4}, {typo, -0.5}, {served, -0.8}, {stranger, -1},
}

// certainty turns evidence into how likely the best specialist is right, 0 to 1.
func (e evidence) certainty(product int) float64 {
	best, score, next := e.best(product)
	if score <= 0 {
		return 0
	}
	x := biasWeight + weaknessWeight*math.Exp(-score) + rivalWeight*max(next, 0)/score
	if e.all > 0 {
		x += unexplainedWeight * float64(e.all-e.explained) / float64(e.all)
	}
	if best == product {
		x += productWeight
	}
	for _, w := range signWeights {
		if e.signs.has(w.sign) {
			x += w.weight
		}
	}
	return 1 / (1 + math.Exp(-x))
}
