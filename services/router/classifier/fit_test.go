package classifier

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var fitBeliefs = flag.Bool("fit", false, "fit the beliefs that the certainty rests on, and print them")

// tuningFiles are the messages that the rules may be tuned on.
var tuningFiles = []string{"tuned.jsonl", "more_structure.jsonl", "more_phrasing.jsonl"}

// sample is what a message's certainty rests on, and whether it was routed right.
type sample struct {
	traits traits
	right  bool
}

// TestFitBeliefs fits the beliefs, to be copied into certainty.go when rules, keywords or examples have changed:
//
//	go test ./services/router/classifier -run TestFitBeliefs -v -args -fit
//
// It shows first how good beliefs are on a file that they were not fitted to, which is what can be hoped for elsewhere.
func TestFitBeliefs(t *testing.T) {
	if !*fitBeliefs {
		t.Skip("not asked to fit: -args -fit")
	}
	before := beliefs
	defer func() { beliefs = before }()
	l := newFour()
	for _, left := range tuningFiles {
		fit(t, l, slices.DeleteFunc(slices.Clone(tuningFiles), func(f string) bool { return f == left }))
		s := assess(l, evalCases(t, left), func(evalCase, Result) {})
		t.Logf("%s, fitted to the others: certain of %.1f%%, right when certain %.1f%%",
			left, percent(s.certain, s.all), percent(s.certainRight, s.certain))
	}
	fit(t, l, tuningFiles)
	var b strings.Builder
	for _, x := range beliefs {
		fmt.Fprintf(&b, " %.2f,", x)
	}
	t.Logf("beliefs, in the order of the traits:%s", b.String())
}

// fit sets the beliefs by logistic regression. Which group of a message is the least certain depends on them, so that it
// takes some rounds.
func fit(t *testing.T, l *Classifier, files []string) {
	t.Helper()
	const rounds, passes, decay = 6, 400, 0.002
	for range rounds {
		samples := samplesOf(t, l, files)
		for pass := range passes {
			rate := 0.5 / (1 + 0.02*float64(pass))
			var step traits
			for _, s := range samples {
				wrong := -s.traits.certainty()
				if s.right {
					wrong++
				}
				for i, x := range s.traits {
					step[i] += wrong * x / float64(len(samples))
				}
			}
			for i := range beliefs {
				beliefs[i] += rate * (step[i] - decay*beliefs[i])
			}
		}
	}
}

// samplesOf routes the messages of some files. Those whose certainty is no matter of traits are left out.
func samplesOf(t *testing.T, l *Classifier, files []string) []sample {
	t.Helper()
	var all []sample
	for _, file := range files {
		for _, c := range evalCases(t, file) {
			if r := classify(l, c.Text, c.History...); r.features != (traits{}) {
				all = append(all, sample{r.features, slices.Equal(names(r), c.Gold)})
			}
		}
	}
	return all
}
