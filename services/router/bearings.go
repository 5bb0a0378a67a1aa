package router

import "slices"

// bearings are the leanings of a message's words, looked up once, so that any stretch of it is weighed in a few steps.
type bearings struct {
	classes int
	// upto has for each word, and each class, the sum of what lies before it: words and pairs. There is one row more than
	// there are words.
	upto []float64
	// starts has what is more, or less, where a stretch begins with the word; ends what is more where it ends there.
	starts, ends []float64
}

// bearings looks the words of a message up. Stems that are redefined mean something else than in the examples, and lean to
// nobody.
func (h *habits) bearings(ws []word, redefined map[string]bool) bearings {
	size := len(ws) * h.classes
	all := make([]float64, 3*size+h.classes)
	b := bearings{classes: h.classes, starts: all[:size], ends: all[size : 2*size], upto: all[2*size:]}
	before := ""
	for i, w := range ws {
		next := b.row(b.upto, i+1)
		copy(next, b.row(b.upto, i))
		stem := habitual(w.stem)
		if redefined[w.stem] {
			before = ""
			continue
		}
		own := h.of(feature{stem, single})
		if own == nil && w.content() {
			own = h.news
		}
		accumulate(next, own, 1)
		if len(stem) > onsetLetters {
			accumulate(next, h.of(feature{stem[:onsetLetters], onset}), 1)
		}
		if before != "" {
			pair := h.of(feature{before, stem})
			accumulate(next, pair, 1)
			accumulate(b.row(b.starts, i), pair, -1) // what came before is not part of it
		}
		accumulate(b.row(b.starts, i), h.of(feature{edge, stem}), 1)
		accumulate(b.row(b.ends, i), h.of(feature{stem, edge}), 1)
		before = stem
	}
	return b
}

func (b bearings) row(table []float64, i int) []float64 { return table[i*b.classes : (i+1)*b.classes] }

// accumulate adds some times xs to sums. Nil xs are zeros; xs that sums has no room for are left out.
func accumulate(sums, xs []float64, times float64) {
	for i := range min(len(sums), len(xs)) {
		sums[i] += times * xs[i]
	}
}

// weigh adds to sums how the words from lo to hi-1 lean to each class, those that are muted aside.
func (b bearings) weigh(sums []float64, lo, hi int, muted []bool) {
	for lo < hi {
		end := hi
		if muted != nil {
			for lo < hi && muted[lo] {
				lo++
			}
			for end = lo; end < hi && !muted[end]; end++ {
			}
		}
		if lo < end {
			accumulate(sums, b.row(b.upto, end), 1)
			accumulate(sums, b.row(b.upto, lo), -1)
			accumulate(sums, b.row(b.starts, lo), 1)
			accumulate(sums, b.row(b.ends, end-1), 1)
		}
		lo = end
	}
}

// Bounds of a cut that nothing but the examples speaks for.
const (
	// tearGain is how much likelier two requests must be than one, as a logarithm. It is high, since a naive model takes
	// words that go together for so many proofs. With 9 or 15 the tuned messages come out a point worse.
	tearGain = 12
	// minTorn is how many words a part has at least.
	minTorn = 3
	// maxTorn is how many words are looked at: who writes more without a mark tells a story.
	maxTorn = 60
)

// tear returns where the words from lo to hi-1 best fall into requests for two specialists, or 0 if they are likelier one.
func (b bearings) tear(lo, hi int, forbidden func(cut int) bool) int {
	if hi-lo < 2*minTorn || hi-lo > maxTorn {
		return 0
	}
	specialists := b.classes - 1
	sums := make([]float64, 3*specialists)
	left, right, whole := sums[:specialists], sums[specialists:2*specialists], sums[2*specialists:]
	b.weigh(whole, lo, hi, nil)
	one := slices.Max(whole)
	cut, gain := 0, float64(tearGain)
	for i := lo + minTorn; i <= hi-minTorn; i++ {
		if forbidden(i) {
			continue
		}
		clear(left)
		clear(right)
		b.weigh(left, lo, i, nil)
		b.weigh(right, i, hi, nil)
		l, r := slices.Max(left), slices.Max(right)
		if l+r-one > gain && slices.Index(left, l) != slices.Index(right, r) {
			cut, gain = i, l+r-one
		}
	}
	return cut
}
