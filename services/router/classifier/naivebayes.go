package classifier

import (
	_ "embed" // the scenes
	"math"
	"slices"
	"strings"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// What no published keyword says, the published examples do: how often a word, or two in a row, stands in those of each
// specialist. That is a naive Bayes model, made anew from whatever a deployment's specialists publish.

// feature is a piece of a request that is counted: a word, two that follow each other, one that begins or ends the
// request, or how a word begins, all as stems. The other half says which.
type feature [2]string

// Halves that are no stems.
const (
	single = ""  // {stem, single}
	edge   = "^" // {edge, stem} begins a request, {stem, edge} ends it
	onset  = "*" // {the first letters, onset}
	digits = "#" // any number
)

// How counts become leanings, chosen on the messages that the rules may be tuned on. Half of rare, or twice, is a point worse;
// what is borrowed hardly matters.
const (
	// borrowed is how many examples each specialist is taken to have beside its own, with the features that all have.
	borrowed = 2
	// rare is how many examples more of an average specialist are taken to have a feature: what is in few says little.
	rare = 0.25
	// onsetLetters is how much of a longer stem counts as well, so that "deliveries" says what "delivered" does.
	onsetLetters = 4
)

//go:embed scenes.txt
var scenes string

// scene are the words of sentences that ask for nothing: the story around a request. They were invented, as the
// specialists' examples are.
var scene = func() [][]word {
	var all [][]word
	for line := range strings.Lines(scenes) {
		all = append(all, splitWords(line))
	}
	return all
}()

// habits is how shoppers put what they ask each specialist, and what they only tell. It is immutable.
type habits struct {
	// classes are the specialists and, last, the scene.
	classes int
	// places has for each feature where in leanings it stands.
	places map[feature]int
	// leanings has for each feature, and each class, the logarithm of how often the feature is in an example of that
	// class, less the mean of all classes.
	leanings []float64
	// news is how a word leans that is in no example: to classes with many words that are in only one.
	news []float64
}

// learn counts what the specialists' examples are made of.
func learn(specialists []*specialistv1.Specialist) *habits {
	examples := make([][][]word, len(specialists)+1)
	for i, s := range specialists {
		for _, e := range s.GetExamples() {
			examples[i] = append(examples[i], splitWords(e))
		}
	}
	examples[len(specialists)] = scene
	h := &habits{classes: len(examples), places: map[feature]int{}, news: make([]float64, len(examples))}
	seen := map[feature]int{} // the number of the last example with the feature
	all := 0
	for class, requests := range examples {
		for _, ws := range requests {
			all++
			eachFeature(ws, func(f feature) {
				if seen[f] == all {
					return
				}
				seen[f] = all
				h.counts(f)[class]++
			})
		}
	}
	for f, place := range h.places {
		counts := h.leanings[place : place+h.classes]
		if f[1] == single && sum(counts) == 1 {
			h.news[slices.Index(counts, 1)]++
		}
		h.lean(counts, examples, float64(all))
	}
	h.lean(h.news, examples, float64(all))
	return h
}

// counts returns the numbers of a feature, one for each class.
func (h *habits) counts(f feature) []float64 {
	place, known := h.places[f]
	if !known {
		place = len(h.leanings)
		h.places[f] = place
		h.leanings = append(h.leanings, make([]float64, h.classes)...)
	}
	return h.leanings[place : place+h.classes]
}

// lean turns how many examples of each class have a feature into how it leans. All is the number of all examples.
func (h *habits) lean(counts []float64, examples [][][]word, all float64) {
	share, floor := sum(counts)/all, rare*float64(h.classes)/all
	for i, n := range counts {
		counts[i] = math.Log((n+borrowed*share)/(float64(len(examples[i]))+borrowed) + floor)
	}
	mean := sum(counts) / float64(len(counts))
	for i := range counts {
		counts[i] -= mean
	}
}

// of returns how a feature leans; nil if it is in no example.
func (h *habits) of(f feature) []float64 {
	place, known := h.places[f]
	if !known {
		return nil
	}
	return h.leanings[place : place+h.classes]
}

// eachFeature calls count with each feature of a request, as often as it occurs.
func eachFeature(ws []word, count func(feature)) {
	before := edge
	for _, w := range ws {
		stem := habitual(w.stem)
		count(feature{stem, single})
		count(feature{before, stem})
		if len(stem) > onsetLetters {
			count(feature{stem[:onsetLetters], onset})
		}
		before = stem
	}
	if len(ws) > 0 {
		count(feature{before, edge})
	}
}

// habitual returns the stem that stands for a word: one for all numbers.
func habitual(stem string) string {
	if stem[0] >= '0' && stem[0] <= '9' {
		return digits
	}
	return stem
}

func sum(xs []float64) float64 {
	var all float64
	for _, x := range xs {
		all += x
	}
	return all
}

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
