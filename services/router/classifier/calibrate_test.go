package classifier

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var fitWeights = flag.Bool("fit", false, "fit the calibration weights and print them")

// tuningFiles are the messages that the classifier may be tuned on.
var tuningFiles = []string{"tuned.jsonl", "more_structure.jsonl", "more_phrasing.jsonl"}

// sample is the features of a message, and whether it was routed right.
type sample struct {
	features features
	right    bool
}

// TestFitCalibration fits the weights. Copy them into calibrate.go after you change the classifier, keywords or examples:
//
//	go test ./services/router/classifier -run TestFitCalibration -v -args -fit
//
// It first shows how good the weights are on a file that they were not fitted to.
func TestFitCalibration(t *testing.T) {
	if !*fitWeights {
		t.Skip("not asked to fit: -args -fit")
	}
	before := calibrationWeights
	defer func() { calibrationWeights = before }()
	l := newFour()
	for _, left := range tuningFiles {
		fit(t, l, slices.DeleteFunc(slices.Clone(tuningFiles), func(f string) bool { return f == left }))
		s := assess(l, evalCases(t, left), func(evalCase, Result) {})
		t.Logf("%s, fitted to the others: certain of %.1f%%, right when certain %.1f%%",
			left, percent(s.certain, s.all), percent(s.certainRight, s.certain))
	}
	fit(t, l, tuningFiles)
	var b strings.Builder
	for _, x := range calibrationWeights {
		fmt.Fprintf(&b, " %.2f,", x)
	}
	t.Logf("weights, in the order of the features:%s", b.String())
}

// fit sets the weights by logistic regression. Which group of a message is the least confident depends on the weights, so
// that it takes several rounds.
func fit(t *testing.T, l *Classifier, files []string) {
	t.Helper()
	const rounds, passes, decay = 6, 400, 0.002
	for range rounds {
		samples := samplesOf(t, l, files)
		for pass := range passes {
			rate := 0.5 / (1 + 0.02*float64(pass))
			var step features
			for _, s := range samples {
				wrong := -s.features.confidence()
				if s.right {
					wrong++
				}
				for i, x := range s.features {
					step[i] += wrong * x / float64(len(samples))
				}
			}
			for i := range calibrationWeights {
				calibrationWeights[i] += rate * (step[i] - decay*calibrationWeights[i])
			}
		}
	}
}

// samplesOf routes the messages of some files. Messages without features are left out.
func samplesOf(t *testing.T, l *Classifier, files []string) []sample {
	t.Helper()
	var all []sample
	for _, file := range files {
		for _, c := range evalCases(t, file) {
			if r := classify(l, c.Text, c.History...); r.features != (features{}) {
				all = append(all, sample{r.features, slices.Equal(names(r), c.Gold)})
			}
		}
	}
	return all
}
