package classifier

import (
	_ "embed" // the background sentences
	"math"
	"slices"
	"strings"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// feature is a piece of a request that naive Bayes counts: a word, a pair of words, a word at the start or the end of the
// request, or the first letters of a word. Words are stems. The constants below tell the kinds apart.
type feature [2]string

const (
	unigram   = ""  // {stem, unigram}
	boundary  = "^" // {boundary, stem} begins a request, {stem, boundary} ends it
	prefix    = "*" // {the first letters, prefix}
	anyNumber = "#" // stands for all numbers
)

// Smoothing, chosen on the messages that the classifier may be tuned on.
const (
	// priorExamples is how many examples each class has beside its own, with the features of all classes.
	priorExamples = 2
	// floorExamples is how many more examples of an average class have a feature. It damps rare features.
	floorExamples = 0.25
	// prefixLetters is how many first letters of a longer stem are a feature, so that "deliveries" resembles "delivered".
	prefixLetters = 4
)

//go:embed background.txt
var backgroundText string

// backgroundSentences ask for nothing; they tell the story around a request. They were invented for this.
var backgroundSentences = func() [][]word {
	var all [][]word
	for line := range strings.Lines(backgroundText) {
		all = append(all, splitWords(line))
	}
	return all
}()

// naiveBayes is a multi-class naive Bayes model of requests. The classes are the specialists and, last, the background. It
// is immutable.
type naiveBayes struct {
	classes int
	// index has for each feature where its row in logOdds begins.
	index map[feature]int
	// logOdds has for each feature and class the logarithm of the feature's share in the class, less the mean of all classes.
	logOdds []float64
	// unseen are the log odds of a word without a feature. They favour classes with many rare words.
	unseen []float64
}

// train counts the features of the specialists' examples.
func train(specialists []*specialistv1.Specialist) *naiveBayes {
	examples := make([][][]word, len(specialists)+1)
	for i, s := range specialists {
		for _, e := range s.GetExamples() {
			examples[i] = append(examples[i], splitWords(e))
		}
	}
	examples[len(specialists)] = backgroundSentences
	m := &naiveBayes{classes: len(examples), index: map[feature]int{}, unseen: make([]float64, len(examples))}
	lastSeen := map[feature]int{} // the number of the last example with the feature
	total := 0
	for class, requests := range examples {
		for _, ws := range requests {
			total++
			eachFeature(ws, func(f feature) {
				if lastSeen[f] == total {
					return
				}
				lastSeen[f] = total
				m.counts(f)[class]++
			})
		}
	}
	for f, row := range m.index {
		counts := m.logOdds[row : row+m.classes]
		if f[1] == unigram && sum(counts) == 1 {
			m.unseen[slices.Index(counts, 1)]++
		}
		toLogOdds(counts, examples, float64(total))
	}
	toLogOdds(m.unseen, examples, float64(total))
	return m
}

// counts returns the counts of a feature for each class.
func (m *naiveBayes) counts(f feature) []float64 {
	row, known := m.index[f]
	if !known {
		row = len(m.logOdds)
		m.index[f] = row
		m.logOdds = append(m.logOdds, make([]float64, m.classes)...)
	}
	return m.logOdds[row : row+m.classes]
}

// toLogOdds replaces how many examples of each class have a feature by the log odds. Total is the number of all examples.
func toLogOdds(counts []float64, examples [][][]word, total float64) {
	share, floor := sum(counts)/total, floorExamples*float64(len(counts))/total
	for i, n := range counts {
		counts[i] = math.Log((n+priorExamples*share)/(float64(len(examples[i]))+priorExamples) + floor)
	}
	mean := sum(counts) / float64(len(counts))
	for i := range counts {
		counts[i] -= mean
	}
}

// of returns the log odds of a feature; nil if no example has it.
func (m *naiveBayes) of(f feature) []float64 {
	row, known := m.index[f]
	if !known {
		return nil
	}
	return m.logOdds[row : row+m.classes]
}

// eachFeature calls count with each feature of a request, as often as it occurs.
func eachFeature(ws []word, count func(feature)) {
	before := boundary
	for _, w := range ws {
		stem := featureStem(w.stem)
		count(feature{stem, unigram})
		count(feature{before, stem})
		if len(stem) > prefixLetters {
			count(feature{stem[:prefixLetters], prefix})
		}
		before = stem
	}
	if len(ws) > 0 {
		count(feature{before, boundary})
	}
}

// featureStem returns the stem that stands for a word in features.
func featureStem(stem string) string {
	if stem[0] >= '0' && stem[0] <= '9' {
		return anyNumber
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

// exampleScores are the log odds of a message's words, summed up so that any span of the message is scored in a few steps.
type exampleScores struct {
	classes int
	// before has for each word and class the sum of the words and pairs before it, and one more row for all.
	before []float64
	// starts has for each word what to add if a span starts there, ends what to add if it ends there.
	starts, ends []float64
}

// scores looks up the words of a message. Stems that a store redefines mean something else than in the examples, and
// score nothing.
func (m *naiveBayes) scores(ws []word, redefined map[string]bool) exampleScores {
	size := len(ws) * m.classes
	s := exampleScores{
		classes: m.classes, before: make([]float64, size+m.classes), starts: make([]float64, size), ends: make([]float64, size),
	}
	last := ""
	for i, w := range ws {
		next := s.row(s.before, i+1)
		copy(next, s.row(s.before, i))
		stem := featureStem(w.stem)
		if redefined[w.stem] {
			last = ""
			continue
		}
		own := m.of(feature{stem, unigram})
		if own == nil && w.content() {
			own = m.unseen
		}
		accumulate(next, own, 1)
		if len(stem) > prefixLetters {
			accumulate(next, m.of(feature{stem[:prefixLetters], prefix}), 1)
		}
		if last != "" {
			pair := m.of(feature{last, stem})
			accumulate(next, pair, 1)
			accumulate(s.row(s.starts, i), pair, -1) // the word before is not part of the span
		}
		accumulate(s.row(s.starts, i), m.of(feature{boundary, stem}), 1)
		accumulate(s.row(s.ends, i), m.of(feature{stem, boundary}), 1)
		last = stem
	}
	return s
}

func (s exampleScores) row(table []float64, i int) []float64 {
	return table[i*s.classes : (i+1)*s.classes]
}

// accumulate adds xs times factor to sums. Nil xs are zeros; xs that sums has no room for are left out.
func accumulate(sums, xs []float64, factor float64) {
	for i := range min(len(sums), len(xs)) {
		sums[i] += factor * xs[i]
	}
}

// addTo adds the log odds of the words from lo to hi-1 to sums, except for ignored words. Ignored may be nil.
func (s exampleScores) addTo(sums []float64, lo, hi int, ignored []bool) {
	for lo < hi {
		end := hi
		if ignored != nil {
			for lo < hi && ignored[lo] {
				lo++
			}
			for end = lo; end < hi && !ignored[end]; end++ {
			}
		}
		if lo < end {
			accumulate(sums, s.row(s.before, end), 1)
			accumulate(sums, s.row(s.before, lo), -1)
			accumulate(sums, s.row(s.starts, lo), 1)
			accumulate(sums, s.row(s.ends, end-1), 1)
		}
		lo = end
	}
}

const (
	// minSplitGain is how much likelier two requests must be than one, as a logarithm, to split where nothing but the
	// examples speaks for it. It is high because naive Bayes is overconfident.
	minSplitGain = 12
	// minSplitWords is how many words a part has at least.
	minSplitWords = 3
	// maxSplitWords is how many words are looked at. A longer stretch without a mark tells a story.
	maxSplitWords = 60
)

// split returns where the words from lo to hi-1 best split into requests for two specialists, or 0 if they are likelier
// one.
func (s exampleScores) split(lo, hi int, forbidden func(at int) bool) int {
	if hi-lo < 2*minSplitWords || hi-lo > maxSplitWords {
		return 0
	}
	specialists := s.classes - 1
	left, right, whole := make([]float64, specialists), make([]float64, specialists), make([]float64, specialists)
	s.addTo(whole, lo, hi, nil)
	one := slices.Max(whole)
	at, gain := 0, float64(minSplitGain)
	for i := lo + minSplitWords; i <= hi-minSplitWords; i++ {
		if forbidden(i) {
			continue
		}
		clear(left)
		clear(right)
		s.addTo(left, lo, i, nil)
		s.addTo(right, i, hi, nil)
		l, r := slices.Max(left), slices.Max(right)
		if l+r-one > gain && slices.Index(left, l) != slices.Index(right, r) {
			at, gain = i, l+r-one
		}
	}
	return at
}
