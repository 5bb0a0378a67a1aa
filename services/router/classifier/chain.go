package classifier

import (
	"math"
	"slices"
)

// chain is a linear-chain conditional random field (Lafferty et al. 2001) over the clauses of a message. A label is a
// specialist or, last, the background, which asks for nothing. The chain also keeps the set of specialists that labels so
// far have named, so that it gives the exact probability of each set. The clauses of the message before come first: their labels
// show which specialist a message follows up on, but are not in the set.
type chain struct {
	labels int
	// clause has the weights of clause features by label.
	clause [][]float32
	// edge has the weights of edge features by kind of change.
	edge [changeKinds][]float32
	// pair has the weight of each label after each label.
	pair [][]float32
}

// Kinds of changes of label. Staying at a label has no edge weights.
const (
	changeSpecialist = iota
	fromBackground
	toBackground
	changeKinds
)

func newChain(labels int) *chain {
	m := &chain{labels: labels}
	for range labels {
		m.clause = append(m.clause, make([]float32, clauseBuckets))
		m.pair = append(m.pair, make([]float32, labels))
	}
	for k := range m.edge {
		m.edge[k] = make([]float32, edgeBuckets)
	}
	return m
}

// change returns the kind of a change of label, or -1 if it stays.
func (m *chain) change(from, to int) int {
	switch background := m.labels - 1; {
	case from == to:
		return -1
	case from == background:
		return fromBackground
	case to == background:
		return toBackground
	}
	return changeSpecialist
}

// input is a message ready for the chain.
type input struct {
	clauses [][]feature
	edges   [][]feature // before each clause but the first
	// prior are log odds to add by clause and label. Nil: none.
	prior [][]float64
	// earlier is how many clauses at the start belong to the message before. Their labels are not in the set.
	earlier int
}

// potentials are the factors of a labeling: one for each clause's label, and one for each pair of neighbouring labels.
type potentials struct {
	label   [][]float64 // by clause
	pair    [][]float64 // by clause but the first; from*labels+to
	earlier int         // as in input
}

func (m *chain) potentials(in input) potentials {
	p := potentials{label: make([][]float64, len(in.clauses)), pair: make([][]float64, len(in.edges)), earlier: in.earlier}
	for i, fs := range in.clauses {
		logs := make([]float64, m.labels)
		for l := range logs {
			logs[l] = dot(m.clause[l], fs)
			if in.prior != nil {
				logs[l] += in.prior[i][l]
			}
		}
		p.label[i] = factors(logs)
	}
	for i, fs := range in.edges {
		var change [changeKinds]float64
		for k := range change {
			change[k] = dot(m.edge[k], fs)
		}
		logs := make([]float64, m.labels*m.labels)
		for from := range m.labels {
			for to := range m.labels {
				logs[from*m.labels+to] = float64(m.pair[from][to])
				if k := m.change(from, to); k >= 0 {
					logs[from*m.labels+to] += change[k]
				}
			}
		}
		p.pair[i] = factors(logs)
	}
	return p
}

// only returns potentials of labelings in which each clause has an allowed label. Nil allows all.
func (p potentials) only(allowed []int) potentials {
	if allowed == nil {
		return p
	}
	label := make([][]float64, len(p.label))
	for i, factors := range p.label {
		label[i] = slices.Clone(factors)
		for l := range label[i] {
			if allowed[i]>>l&1 == 0 {
				label[i][l] = 0
			}
		}
	}
	p.label = label
	return p
}

func dot(weights []float32, fs []feature) float64 {
	var sum float64
	for _, f := range fs {
		sum += float64(weights[f.bucket] * f.value)
	}
	return sum
}

// factors returns the exponentials, scaled so that the largest is 1.
func factors(logs []float64) []float64 {
	top := math.Inf(-1)
	for _, x := range logs {
		top = max(top, x)
	}
	for i, x := range logs {
		logs[i] = math.Exp(x - top)
	}
	return logs
}

// named returns the set with the specialist that the label of clause i names, as bits. The background names none.
func (m *chain) named(p potentials, i, label int) int {
	if label == m.labels-1 || i < p.earlier {
		return 0
	}
	return 1 << label
}

// states is how many pairs of a set and a label there are; state set*labels+label.
func (m *chain) states() int { return m.labels << (m.labels - 1) }

// steps calls fn with each way from a state before clause i to a state of clause i, within the sets that are subsets of
// allowed.
func (m *chain) steps(p potentials, i, allowed int, fn func(from, to int, factor float64)) {
	for set := range 1 << (m.labels - 1) {
		if set&^allowed != 0 {
			continue
		}
		for to := range m.labels {
			named := m.named(p, i, to)
			if named&^allowed != 0 {
				continue
			}
			for from := range m.labels {
				fn(set*m.labels+from, (set|named)*m.labels+to, p.pair[i-1][from*m.labels+to]*p.label[i][to])
			}
		}
	}
}

// first returns the factors of the states of the first clause.
func (m *chain) first(p potentials, allowed int) []float64 {
	row := make([]float64, m.states())
	for l := range m.labels {
		if named := m.named(p, 0, l); named&^allowed == 0 {
			row[named*m.labels+l] = p.label[0][l]
		}
	}
	return row
}

// forward returns for each clause and state the sum over all labelings that lead there, each row scaled to the sum 1.
func (m *chain) forward(p potentials, allowed int) [][]float64 {
	rows := make([][]float64, len(p.label))
	for i := range rows {
		if i == 0 {
			rows[0] = m.first(p, allowed)
		} else {
			rows[i] = make([]float64, m.states())
			m.steps(p, i, allowed, func(from, to int, factor float64) { rows[i][to] += rows[i-1][from] * factor })
		}
		normalise(rows[i])
	}
	return rows
}

// backward returns for each clause and state the sum over all labelings from there that end with a set in ends, each row
// scaled to the sum 1.
func (m *chain) backward(p potentials, allowed int, ends func(set int) bool) [][]float64 {
	rows := make([][]float64, len(p.label))
	last := len(rows) - 1
	for i := last; i >= 0; i-- {
		rows[i] = make([]float64, m.states())
		if i == last {
			for state := range rows[i] {
				if ends(state / m.labels) {
					rows[i][state] = 1
				}
			}
		} else {
			m.steps(p, i+1, allowed, func(from, to int, factor float64) { rows[i][from] += factor * rows[i+1][to] })
		}
		normalise(rows[i])
	}
	return rows
}

func normalise(row []float64) {
	var sum float64
	for _, x := range row {
		sum += x
	}
	for i := range row {
		if sum > 0 {
			row[i] /= sum
		}
	}
}

// setProbabilities returns the probability of each set of specialists. The empty set's is that of a message which asks for
// nothing.
func (m *chain) setProbabilities(p potentials) []float64 {
	sets := make([]float64, 1<<(m.labels-1))
	rows := m.forward(p, len(sets)-1)
	for state, x := range rows[len(rows)-1] {
		sets[state/m.labels] += x
	}
	return sets
}

// labeling returns the most probable labels of the clauses that name exactly the specialists of a set (Viterbi). It returns
// nil if there are fewer clauses than specialists.
func (m *chain) labeling(p potentials, set int) []int {
	best := m.first(p, set)
	from := make([][]int, len(p.label))
	for i := 1; i < len(p.label); i++ {
		next := make([]float64, m.states())
		from[i] = make([]int, m.states())
		m.steps(p, i, set, func(a, b int, factor float64) {
			if x := best[a] * factor; x > next[b] {
				next[b], from[i][b] = x, a
			}
		})
		normalise(next)
		best = next
	}
	state, top := -1, 0.0
	for l := range m.labels {
		if x := best[set*m.labels+l]; x > top {
			state, top = set*m.labels+l, x
		}
	}
	if state < 0 {
		return nil
	}
	labels := make([]int, len(p.label))
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i] = state % m.labels
		if i > 0 {
			state = from[i][state]
		}
	}
	return labels
}
