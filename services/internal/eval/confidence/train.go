package confidence

import (
	"fmt"

	"github.com/quartet-commerce/quartet/services/internal/confidence"
)

const (
	rounds = 2000 // of gradient descent
	rate   = 0.5
	ridge  = 0.005 // keeps weights small that few replies speak for
	folds  = 5     // of the cross-validation
)

// signs are those that the weights may have: chance among few replies must not make a failed call speak for an answer.
var signs = confidence.Weights{0, -1, 1, -1, -1, -1, -1}

// Train fits the weights of a logistic regression to judged replies by gradient descent. A reply is as good as its worst answer, so
// each round learns from the answer that is the worst in the round.
func Train(replies []Reply) (confidence.Weights, error) {
	w := signs // at first, the worst answer of a reply has the worst signs
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
			if w[i]*signs[i] < 0 {
				w[i] = 0
			}
		}
	}
	return w, nil
}

// CrossValidate returns the replies, each with the confidence by weights that were fitted to other replies, four fifths of all.
func CrossValidate(replies []Reply) ([]Reply, error) {
	out := make([]Reply, len(replies))
	for fold := range folds {
		var rest []Reply
		for i, reply := range replies {
			if i%folds != fold {
				rest = append(rest, reply)
			}
		}
		w, err := Train(rest)
		if err != nil {
			return nil, err
		}
		for i := fold; i < len(replies); i += folds {
			out[i] = replies[i]
			out[i].Confidence, _ = worst(w, replies[i].Answers)
		}
	}
	return out, nil
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
