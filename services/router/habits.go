package router

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
