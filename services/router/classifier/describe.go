package classifier

import (
	"slices"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

const (
	// describedEpochs is how often New reads the examples of a specialist that the model does not know.
	describedEpochs = 20
	// maxContrast is how many examples of each other specialist it is told apart from.
	maxContrast = 250
	// maxExampleWeight bounds how much an example of a specialist with few of them counts.
	maxExampleWeight = 10
)

// forSpecialists returns the chain for specialists. Labels that the model knows have its weights; the weights of others are
// fitted to the examples that all of them publish.
func (m *model) forSpecialists(specialists []*specialistv1.Specialist) *chain {
	n := len(specialists)
	out := &chain{labels: n + 1, edge: m.chain.edge}
	from := make([]int, n+1)  // the label in the model, or -1
	free := make([]bool, n+1) // the label's weights are fitted here
	for l := range from {
		from[l] = len(m.names) // the background
		if l < n {
			from[l] = slices.Index(m.names, specialists[l].GetName())
		}
		if from[l] < 0 {
			free[l] = len(specialists[l].GetExamples()) > 0
			out.clause = append(out.clause, make([]float32, clauseBuckets))
		} else {
			out.clause = append(out.clause, m.chain.clause[from[l]])
		}
	}
	for a := range from {
		row := make([]float32, n+1)
		for b := range row {
			row[b] = m.pairWeight(from[a], from[b], a == b)
		}
		out.pair = append(out.pair, row)
	}
	if !slices.Contains(free, true) {
		return out
	}
	out.fitLabels(describedExamples(specialists, free), free)
	return out
}

// pairWeight returns the weight of a pair of labels of the model, or the mean of such pairs where one is not known.
func (m *model) pairWeight(a, b int, same bool) float32 {
	if a >= 0 && b >= 0 {
		return m.chain.pair[a][b]
	}
	var sum, n float32
	for i := range m.names {
		for j := range m.names {
			if (i == j) == same {
				sum += m.chain.pair[i][j]
				n++
			}
		}
	}
	return sum / n
}

// labelled is a clause of a published example.
type labelled struct {
	features []feature
	label    int
	weight   float64
}

// describedExamples returns the examples of the specialists to fit, and some of the others.
func describedExamples(specialists []*specialistv1.Specialist, free []bool) []labelled {
	var out []labelled
	for l, s := range specialists {
		weight := 1.0
		if free[l] { // a few examples stand against many
			weight = min(max(maxContrast/float64(len(s.GetExamples())), 1), maxExampleWeight)
		}
		for i, e := range s.GetExamples() {
			if !free[l] && i == maxContrast {
				break
			}
			ws := splitWords(e)
			cs := clauses(ws)
			for k := range cs {
				out = append(out, labelled{clauseFeatures(ws, cs, k, make([]bool, len(ws)), nil), l, weight})
			}
		}
	}
	return out
}
