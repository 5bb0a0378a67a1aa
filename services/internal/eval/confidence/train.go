package confidence

import (
	"fmt"

	"github.com/quartet-commerce/quartet/services/internal/confidence"
)

const (
	rounds = 600 // of gradient descent
	rate   = 1
	ridge  = 0.005 // keeps weights small that few replies speak for
	folds  = 10    // of the cross-validation
)

// signs are those that the weights may have: chance among few replies must not make a repaired call speak for an answer.
var signs = confidence.Weights{0, 1, 1, -1, 1, -1, -1}

// A Trainer fits weights to judged replies.
type Trainer struct {
	// Without are the features that it does not look at.
	Without map[int]bool
}

// Train fits the weights of a logistic regression to judged replies by gradient descent. A reply is as good as its worst answer, so
// each round learns from the answer that is the worst in the round.
func (t Trainer) Train(replies []Reply) (confidence.Weights, error) {
	w := signs // at first, the worst answer of a reply has the worst signs
	for i := range t.Without {
		w[i] = 0
	}
	for range rounds {
		var slope confidence.Weights
		for _, reply := range replies {
			q, ok := quality[reply.Label]
			if !ok {
				return w, fmt.Errorf("unknown label %q", reply.Label)
			}
			c, worst := worst(w, reply.Answers)
			for i, x := range worst {
				slope[i] += (q - c) * x
			}
		}
		for i := range w {
			if i == 0 { // the level may be anything
				w[i] += rate * slope[i] / float64(len(replies))
				continue
			}
			w[i] += rate * (slope[i]/float64(len(replies)) - ridge*w[i])
			if t.Without[i] || w[i]*signs[i] < 0 {
				w[i] = 0
			}
		}
	}
	return w, nil
}

// CrossValidate returns the replies, each with the confidence by weights that were fitted to replies of other folds.
func (t Trainer) CrossValidate(replies []Reply) ([]Reply, error) {
	return t.validate(replies, folds, func(i int) int { return i % folds })
}

// CrossSources returns the replies, each with the confidence by weights that were fitted to replies of the other sources.
func (t Trainer) CrossSources(replies []Reply) ([]Reply, error) {
	number := make(map[string]int)
	for _, r := range replies {
		if _, ok := number[r.Source]; !ok {
			number[r.Source] = len(number)
		}
	}
	return t.validate(replies, len(number), func(i int) int { return number[replies[i].Source] })
}

func (t Trainer) validate(replies []Reply, folds int, foldOf func(i int) int) ([]Reply, error) {
	out := make([]Reply, len(replies))
	for fold := range folds {
		var rest []Reply
		for i, reply := range replies {
			if foldOf(i) != fold {
				rest = append(rest, reply)
			}
		}
		w, err := t.Train(rest)
		if err != nil {
			return nil, err
		}
		for i, reply := range replies {
			if foldOf(i) == fold {
				out[i] = reply.With(w)
			}
		}
	}
	return out, nil
}

// With returns the reply with the confidence by weights.
func (r Reply) With(w confidence.Weights) Reply {
	r.Confidence = 0
	if !r.Failed {
		r.Confidence, _ = worst(w, r.Answers)
	}
	return r
}

// worst returns the lowest confidence of answers, and the features of that answer.
func worst(w confidence.Weights, answers []confidence.Features) (float64, confidence.Features) {
	lowest, of := 1.0, confidence.Features{}
	for _, f := range answers {
		if c := w.Of(f); c < lowest {
			lowest, of = c, f
		}
	}
	return lowest, of
}
