package search

// scratch is the memory of a lookup, used over and over. Its slices go by the number of the document.
type scratch struct {
	form, term tally // the form of a term at hand, and the best of its forms so far
	matches    []Match
	docs       []uint32 // with matches
}

// tally is what documents are worth.
type tally struct {
	worth  []float64
	strong []bool
	docs   []uint32 // that are worth anything
}

func (t *tally) size(n int) {
	if len(t.worth) < n {
		t.worth, t.strong = make([]float64, n), make([]bool, n)
	}
}

func (t *tally) add(doc uint32, worth float64, strong bool) {
	if t.worth[doc] == 0 {
		t.docs = append(t.docs, doc)
	}
	t.worth[doc] += worth
	t.strong[doc] = t.strong[doc] || strong
}

func (t *tally) reset() {
	for _, doc := range t.docs {
		t.worth[doc], t.strong[doc] = 0, false
	}
	t.docs = t.docs[:0]
}

func (s *scratch) size(n int) {
	s.form.size(n)
	s.term.size(n)
	if len(s.matches) < n {
		s.matches = make([]Match, n)
	}
}

func (s *scratch) reset() {
	s.form.reset()
	s.term.reset()
	for _, doc := range s.docs {
		s.matches[doc] = Match{}
	}
	s.docs = s.docs[:0]
}
