package classifier

import (
	"math"
	"math/rand/v2"
)

// example is a message and the specialists that should get a part of it, with its input.
type example struct {
	in  input
	set int // as bits
	// allowed are the labels that each clause may have, as bits. Nil: any.
	allowed []int
	weight  float64 // of its gradient
}

// Settings of the fit, chosen by cross-validation over authors.
const (
	fitRate       = 0.1
	fitDecay      = 1e-3 // L2, applied to the weights that an example touches
	fitDropout    = 0.15 // the share of a clause's features that each pass leaves out
	leastGradient = 1e-3 // a smaller gradient moves no weight
)

// fit maximises the likelihood of the sets of examples by AdaGrad (Duchi et al. 2011) and leaves the mean of the weights of
// the later epochs in the chain. Where it is not labelled which clause is whose, the chain sums over all labelings that name
// exactly the set. The result depends on nothing but the arguments.
func (m *chain) fit(examples []example, epochs int) {
	r := rand.New(rand.NewPCG(1, 2))
	squares, sum := newChain(m.labels), newChain(m.labels)
	for epoch := range epochs {
		for _, e := range r.Perm(len(examples)) {
			if len(examples[e].in.clauses) > 0 {
				m.step(dropped(examples[e], r), squares)
			}
		}
		if first := epochs / 3; epoch >= first {
			sum.add(m, 1/float32(epochs-first))
		}
	}
	*m = *sum
}

func dropped(e example, r *rand.Rand) example {
	clauses := make([][]feature, len(e.in.clauses))
	for i, fs := range e.in.clauses {
		for _, f := range fs {
			if r.Float64() >= fitDropout {
				f.value /= 1 - fitDropout
				clauses[i] = append(clauses[i], f)
			}
		}
	}
	e.in.clauses = clauses
	return e
}

// add adds the weights of another chain times a factor.
func (m *chain) add(o *chain, factor float32) {
	addTo := func(a, b []float32) {
		for i := range b {
			a[i] += factor * b[i]
		}
	}
	for l := range m.clause {
		addTo(m.clause[l], o.clause[l])
		addTo(m.pair[l], o.pair[l])
	}
	for k := range m.edge {
		addTo(m.edge[k], o.edge[k])
	}
}

// step moves the weights along the gradient of one example.
func (m *chain) step(e example, squares *chain) {
	p, everything := m.potentials(e.in), 1<<(m.labels-1)-1
	wanted, ok := m.expect(p.only(e.allowed), e.set, func(set int) bool { return set == e.set })
	if !ok {
		return // fewer clauses than specialists, or none that is allowed to be one's
	}
	guessed, _ := m.expect(p, everything, func(int) bool { return true })
	for i, fs := range e.in.clauses {
		for l := range m.labels {
			if d := e.weight * (wanted.label[i][l] - guessed.label[i][l]); math.Abs(d) > leastGradient {
				for _, f := range fs {
					move(m.clause[l], squares.clause[l], f.bucket, d*float64(f.value))
				}
			}
		}
	}
	for i, fs := range e.in.edges {
		var change [changeKinds]float64
		for from := range m.labels {
			for to := range m.labels {
				d := e.weight * (wanted.pair[i][from*m.labels+to] - guessed.pair[i][from*m.labels+to])
				move(m.pair[from], squares.pair[from], uint32(to), d)
				if k := m.change(from, to); k >= 0 {
					change[k] += d
				}
			}
		}
		for k, d := range change {
			if math.Abs(d) <= leastGradient {
				continue
			}
			for _, f := range fs {
				move(m.edge[k], squares.edge[k], f.bucket, d*float64(f.value))
			}
		}
	}
}

// move moves one weight along its gradient.
func move(weights, squares []float32, bucket uint32, gradient float64) {
	gradient -= fitDecay * float64(weights[bucket])
	squares[bucket] += float32(gradient * gradient)
	weights[bucket] += float32(fitRate * gradient / math.Sqrt(float64(squares[bucket])+1e-6))
}

// fitLabels fits the weights of free labels to examples of one clause and one label each (multinomial logistic regression).
// The weights of other labels stay.
func (m *chain) fitLabels(examples []labelled, free []bool) {
	r := rand.New(rand.NewPCG(1, 2))
	squares := make([][]float32, m.labels)
	for l := range squares {
		if free[l] {
			squares[l] = make([]float32, clauseBuckets)
		}
	}
	for range describedEpochs {
		for _, i := range r.Perm(len(examples)) {
			e := examples[i]
			p := m.potentials(input{clauses: [][]feature{e.features}}).label[0]
			normalise(p)
			for l := range p {
				gradient := -p[l]
				if l == e.label {
					gradient++
				}
				if free[l] && math.Abs(gradient) > 1e-3 {
					for _, f := range e.features {
						move(m.clause[l], squares[l], f.bucket, e.weight*gradient*float64(f.value))
					}
				}
			}
		}
	}
}

// expect returns the posterior probability of each label and pair of labels, given that a labeling ends with a set in ends
// (forward-backward). It reports whether there is such a labeling.
func (m *chain) expect(p potentials, allowed int, ends func(set int) bool) (potentials, bool) {
	forward, backward := m.forward(p, allowed), m.backward(p, allowed, ends)
	out := potentials{label: make([][]float64, len(p.label)), pair: make([][]float64, len(p.pair))}
	for i := range p.label {
		states := make([]float64, m.states())
		for state := range states {
			states[state] = forward[i][state] * backward[i][state]
		}
		normalise(states)
		out.label[i] = make([]float64, m.labels)
		var sum float64
		for state, x := range states {
			out.label[i][state%m.labels] += x
			sum += x
		}
		if sum == 0 {
			return out, false
		}
		if i == 0 {
			continue
		}
		pairs := make([]float64, m.labels*m.labels)
		m.steps(p, i, allowed, func(from, to int, factor float64) {
			pairs[from%m.labels*m.labels+to%m.labels] += forward[i-1][from] * factor * backward[i][to]
		})
		normalise(pairs)
		out.pair[i-1] = pairs
	}
	return out, true
}
